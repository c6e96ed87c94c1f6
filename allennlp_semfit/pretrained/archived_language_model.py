import os
from typing import Any, Dict, List, Sequence, Union

import torch
from allennlp.data import Batch, Instance, Token, TokenIndexer, Vocabulary
from allennlp.data.fields import TextField

from allennlp_semfit.pretrained.indexer import ElmoSemfitIndexer
from allennlp_semfit.pretrained.layers import LanguageModelLayers


class ArchivedLanguageModel(torch.nn.Module):
    """
    The layers of any language model, which AllenNLP builds, with the interface of
    `FolderLanguageModel`. The parameters and errors are those of `SentenceEmbedder`.
    """

    def __init__(self, archive_file: Union[str, os.PathLike], sub_token_mode: str) -> None:
        super().__init__()
        self._layers = LanguageModelLayers.from_archive(archive_file, sub_token_mode)
        self._layers.freeze()
        self._indexer = ElmoSemfitIndexer(archive_file)
        self.num_layers = self._layers.num_layers

    def get_output_dim(self) -> int:
        return self._layers.get_output_dim()

    def index(self, sentences: Sequence[Sequence[str]]) -> Dict[str, torch.Tensor]:
        indexers: Dict[str, TokenIndexer] = {"lm": self._indexer}
        fields = (TextField([Token(word) for word in words], indexers) for words in sentences)
        instances = Batch([Instance({"words": field}) for field in fields])
        # The indexer uses the language model's vocabulary.
        instances.index_instances(Vocabulary.empty())
        tensors: Dict[str, Any] = instances.as_tensor_dict()
        return tensors["words"]["lm"]

    def forward(self, tensors: Dict[str, torch.Tensor]) -> List[torch.Tensor]:
        layers, _ = self._layers(tensors)
        return [self._layers.pool_to_words(layer, tensors) for layer in layers]
