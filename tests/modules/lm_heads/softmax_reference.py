"""What the tests of the softmax heads compare them with."""

import torch
from allennlp.data import Vocabulary

from allennlp_semfit.modules.lm_heads.adaptive_softmax_head import AdaptiveSoftmaxHead
from allennlp_semfit.modules.lm_heads.sampled_softmax_head import SampledSoftmaxHead


def vocabulary_of(num_words: int, namespace: str = "tokens") -> Vocabulary:
    """So many words, besides the padding and the unknown one."""
    vocab = Vocabulary()
    vocab.add_tokens_to_namespace([f"w{index}" for index in range(num_words)], namespace)
    return vocab


def scores_of(head, context):
    """The log-likelihood of every class, from the definition. Shape `(N, num_classes)`."""
    context = context.double()
    if isinstance(head, AdaptiveSoftmaxHead):
        shortlist = head.softmax.cutoffs[0]
        root = torch.log(
            torch.softmax(
                context @ head.softmax.head.weight.double().T
                + (head.softmax.head.bias.double() if head.softmax.head.bias is not None else 0),
                dim=1,
            )
        )
        clusters = []
        for index, (down, up) in enumerate(head.softmax.tail):
            within = context @ down.weight.double().T @ up.weight.double().T
            clusters.append(
                torch.log(torch.softmax(within, dim=1)) + root[:, shortlist + index, None]
            )
        return torch.cat([root[:, :shortlist], *clusters], dim=1)
    if isinstance(head, SampledSoftmaxHead):
        weight, bias = head.softmax.softmax_w, head.softmax.softmax_b
        if head.softmax.sparse:
            weight, bias = weight.weight, bias.weight[:, 0]
    else:
        weight, bias = (
            head._tied_embedding[0].weight[1:] if head._tied_embedding else head.weight,
            head.bias,
        )
        if head.embedding_dim != head.input_dim:
            context = context @ head.projection.weight.double().T + head.projection.bias.double()
    logits = context @ weight.double().T + bias.double()
    return torch.log(torch.exp(logits) / torch.exp(logits).sum(dim=1, keepdim=True))
