from allennlp_semfit.models.bidirectional_lm import BidirectionalLm
from allennlp_semfit.models.language_model_archive import LANGUAGE_MODEL
from allennlp_semfit.models.language_model_base import LanguageModelBase
from allennlp_semfit.models.masked_lm import MaskedLm

__all__ = ["LANGUAGE_MODEL", "BidirectionalLm", "LanguageModelBase", "MaskedLm"]
