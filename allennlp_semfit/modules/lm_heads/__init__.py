from allennlp_semfit.modules.lm_heads.adaptive_softmax_head import AdaptiveSoftmaxHead
from allennlp_semfit.modules.lm_heads.contrastive_head import ContrastiveHead
from allennlp_semfit.modules.lm_heads.distances import Distance
from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.sampled_softmax_head import SampledSoftmaxHead
from allennlp_semfit.modules.lm_heads.semfit_head import SemfitHead
from allennlp_semfit.modules.lm_heads.softmax_head import SoftmaxHead

__all__ = ["AdaptiveSoftmaxHead", "ContrastiveHead", "Distance", "LmHead"]
__all__ += ["SampledSoftmaxHead", "SemfitHead", "SoftmaxHead"]
