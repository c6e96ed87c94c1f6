from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from allennlp_semfit.common.config_params import KnownParams
from allennlp_semfit.modules.contextualizers.bidirectional_stack import BidirectionalStack


class RegisteredStack(BidirectionalStack, Seq2SeqEncoder, KnownParams):
    """
    A base class for stacks that a config can name. AllenNLP finds the parameters that a subclass
    passes on as `**kwargs` only in a base class with `from_params`.
    """
