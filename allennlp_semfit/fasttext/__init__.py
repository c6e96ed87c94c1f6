from allennlp_semfit.fasttext.model import FastTextModel
from allennlp_semfit.fasttext.train import train_fasttext

__all__ = ["FastTextModel", "train_fasttext"]
