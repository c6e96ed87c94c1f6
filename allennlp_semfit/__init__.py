"""
ELMo-style word representations without a softmax, as an AllenNLP plugin.

For a plugin that `.allennlp_plugins` lists, AllenNLP imports this file alone: what it does not
import stays unregistered, and no config can name it. `--include-package` imports every module.
"""

from importlib.util import find_spec

__version__ = "0.1.0"

if not (find_spec("allennlp") and find_spec("allennlp_models")):
    raise ImportError(
        "allennlp_semfit needs AllenNLP, which declares bounds that no installer can meet. All "
        "that it imports is installed already. Install it by itself:\n"
        "  pip install --no-deps allennlp==2.10.1 allennlp-models==2.10.1"
    )

# The encoder of the shipped Transformer config. Only the command line imports it otherwise.
import allennlp_models.lm  # noqa: F401

from allennlp_semfit.commands.copy_configs import CopyConfigs
from allennlp_semfit.commands.count_vocabulary import CountVocabulary
from allennlp_semfit.commands.embed import Embed
from allennlp_semfit.commands.export_character_cnn import ExportCharacterCnn
from allennlp_semfit.commands.export_model import ExportModel
from allennlp_semfit.commands.export_task import ExportTask
from allennlp_semfit.commands.export_vectors import ExportVectors
from allennlp_semfit.commands.nearest_words import NearestWordsCommand
from allennlp_semfit.commands.prepare_corpus import PrepareCorpus
from allennlp_semfit.commands.show_neighbours import ShowNeighbours
from allennlp_semfit.commands.show_training import ShowTraining
from allennlp_semfit.commands.train_bpe import TrainBpe
from allennlp_semfit.commands.train_fasttext import TrainFastText
from allennlp_semfit.commands.train_svd import TrainSvd
from allennlp_semfit.data.fasttext_indexer import FastTextIndexer
from allennlp_semfit.data.language_modeling import LanguageModelingReader
from allennlp_semfit.data.watched_data_loader import WatchedDataLoader
from allennlp_semfit.mimick.indexer import MimickIndexer
from allennlp_semfit.mimick.model import Mimick
from allennlp_semfit.mimick.reader import WordVectorsReader
from allennlp_semfit.models.bidirectional_lm import BidirectionalLm
from allennlp_semfit.models.masked_lm import MaskedLm
from allennlp_semfit.modules.contextualizers.bidirectional_language_model_adapter import (
    BidirectionalLanguageModelAdapter,
)
from allennlp_semfit.modules.contextualizers.bidirectional_language_model_lstm import (
    BidirectionalLanguageModelLstm,
)
from allennlp_semfit.modules.contextualizers.bidirectional_language_model_sru_qrnn import (
    BidirectionalLanguageModelQrnn,
    BidirectionalLanguageModelSru,
)
from allennlp_semfit.modules.contextualizers.bidirectional_language_model_torch_lstm import (
    BidirectionalLanguageModelTorchLstm,
)
from allennlp_semfit.modules.contextualizers.hugging_face_encoder import HuggingFaceEncoder
from allennlp_semfit.modules.lm_heads.adaptive_softmax_head import AdaptiveSoftmaxHead
from allennlp_semfit.modules.lm_heads.contrastive_head import ContrastiveHead
from allennlp_semfit.modules.lm_heads.distances import Distance
from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.sampled_softmax_head import SampledSoftmaxHead
from allennlp_semfit.modules.lm_heads.semfit_head import SemfitHead
from allennlp_semfit.modules.lm_heads.softmax_head import SoftmaxHead
from allennlp_semfit.modules.token_embedders.cached_embedder import CachedEmbedder
from allennlp_semfit.modules.token_embedders.elmo_character_cnn_embedder import (
    ElmoCharacterCnnEmbedder,
)
from allennlp_semfit.modules.token_embedders.fasttext_embedder import FastTextEmbedder
from allennlp_semfit.patches import apply_patches
from allennlp_semfit.pretrained.embedder import ElmoSemfitEmbedder
from allennlp_semfit.pretrained.indexer import ElmoSemfitIndexer
from allennlp_semfit.pretrained.predictor import LanguageModelVectorsPredictor
from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder
from allennlp_semfit.pretrained.tagger import SemfitTagger, SemfitTaggerPredictor
from allennlp_semfit.subwords.tokenizer import SubwordTokenizer
from allennlp_semfit.training.fused_adam import FusedAdam
from allennlp_semfit.training.large_batch import (
    LargeBatchLearningRateScheduler,
)
from allennlp_semfit.training.resumable import (
    ResumableCheckpointer,
    ResumableTrainer,
    ResumableTrainModel,
)
from allennlp_semfit.training.token_averages import BaselineCosine, TokenAverage

__all__ = [
    "AdaptiveSoftmaxHead",
    "BaselineCosine",
    "BidirectionalLanguageModelAdapter",
    "BidirectionalLanguageModelLstm",
    "BidirectionalLanguageModelQrnn",
    "BidirectionalLanguageModelSru",
    "BidirectionalLanguageModelTorchLstm",
    "BidirectionalLm",
    "CachedEmbedder",
    "ContrastiveHead",
    "CopyConfigs",
    "CountVocabulary",
    "Distance",
    "ElmoCharacterCnnEmbedder",
    "ElmoSemfitEmbedder",
    "ElmoSemfitIndexer",
    "Embed",
    "ExportCharacterCnn",
    "ExportModel",
    "ExportTask",
    "ExportVectors",
    "FastTextEmbedder",
    "FastTextIndexer",
    "FusedAdam",
    "HuggingFaceEncoder",
    "LanguageModelVectorsPredictor",
    "LanguageModelingReader",
    "LargeBatchLearningRateScheduler",
    "LmHead",
    "MaskedLm",
    "Mimick",
    "MimickIndexer",
    "NearestWordsCommand",
    "PrepareCorpus",
    "ResumableCheckpointer",
    "ResumableTrainModel",
    "ResumableTrainer",
    "SampledSoftmaxHead",
    "SemfitHead",
    "SemfitTagger",
    "SemfitTaggerPredictor",
    "SentenceEmbedder",
    "ShowNeighbours",
    "ShowTraining",
    "SoftmaxHead",
    "SubwordTokenizer",
    "TokenAverage",
    "TrainBpe",
    "TrainFastText",
    "TrainSvd",
    "WatchedDataLoader",
    "WordVectorsReader",
]

apply_patches()
