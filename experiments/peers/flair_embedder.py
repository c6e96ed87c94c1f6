from itertools import accumulate
from pathlib import Path
from typing import Any, Dict, List

import torch
from allennlp.data import Token, TokenIndexer, Vocabulary
from allennlp.data.token_indexers.token_indexer import IndexedTokenList
from allennlp.modules.token_embedders import TokenEmbedder
from torch.nn import LSTM, Embedding, Module

# What flair pads a sentence with, at its start and its end.
START, END = "\n", " "


def save_flair_model(file: Path, forward: Any, backward: Any) -> None:
    """
    Writes what the `flair` indexer and embedder need of two `flair.models.LanguageModel` with the
    same dictionary, for use without flair.
    """
    content: Dict[str, Any] = {"characters": forward.dictionary.get_items()}
    for name, model in (("forward", forward), ("backward", backward)):
        content[name] = {
            key: value.detach().clone()
            for key, value in model.state_dict().items()
            if key.startswith(("encoder.", "rnn."))
        }
    torch.save(content, file)


def _load(path: str) -> Dict[str, Any]:
    return torch.load(path, weights_only=True, map_location="cpu")


@TokenIndexer.register("flair")
class FlairIndexer(TokenIndexer):
    """
    The characters of a sentence for the `flair` embedder, in both directions. `model_path` is a
    `model.pt` of `python -m experiments.peers.train flair`.
    """

    def __init__(self, model_path: str) -> None:
        super().__init__()
        characters = _load(model_path)["characters"]
        # 0, flair's `<unk>`, for the others.
        self._ids = {character: number for number, character in enumerate(characters)}

    def count_vocab_items(self, token: Token, counter: Dict[str, Dict[str, int]]) -> None:
        pass

    def tokens_to_indices(self, tokens: List[Token], vocabulary: Vocabulary) -> IndexedTokenList:
        words = [token.ensure_text() for token in tokens]
        text = " ".join(words)
        # The positions of the character after each word and, in the reversed text, of that before.
        # `START` moves all by one.
        ends = list(accumulate(len(word) + 1 for word in words))
        return {
            "forward_ids": self._look_up(text),
            "backward_ids": self._look_up(text[::-1]),
            "forward_positions": ends,
            "backward_positions": [
                len(text) + 1 - (end - len(word) - 1) for end, word in zip(ends, words)
            ],
            "mask": [True] * len(words),
        }

    def _look_up(self, text: str) -> List[int]:
        return [self._ids.get(character, 0) for character in START + text + END]


class _Direction(Module):
    """flair's `LanguageModel` without its output layer."""

    def __init__(self, weights: Dict[str, torch.Tensor]) -> None:
        super().__init__()
        num_characters, embedding_size = weights["encoder.weight"].shape
        hidden_size = weights["rnn.weight_hh_l0"].size(1)
        num_layers = sum(key.startswith("rnn.weight_hh_l") for key in weights)
        self.encoder = Embedding(num_characters, embedding_size)
        self.rnn = LSTM(embedding_size, hidden_size, num_layers, batch_first=True)
        self.load_state_dict(weights)

    def forward(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        states, _ = self.rnn(self.encoder(ids))
        return states.gather(1, positions.unsqueeze(-1).expand(-1, -1, states.size(-1)))


@TokenEmbedder.register("flair")
class FlairEmbedder(TokenEmbedder):
    """
    The frozen vectors of flair's `StackedEmbeddings` of a forward and a backward `FlairEmbeddings`,
    without flair. `model_path` is that of the `flair` indexer.
    """

    def __init__(self, model_path: str) -> None:
        super().__init__()
        content = _load(model_path)
        self._forward = _Direction(content["forward"])
        self._backward = _Direction(content["backward"])
        self.requires_grad_(False)

    def get_output_dim(self) -> int:
        return self._forward.rnn.hidden_size + self._backward.rnn.hidden_size

    def forward(
        self,
        forward_ids: torch.Tensor,
        backward_ids: torch.Tensor,
        forward_positions: torch.Tensor,
        backward_positions: torch.Tensor,
        mask: torch.Tensor,
    ) -> torch.Tensor:
        """
        The ids have shape `(batch_size, num_characters)`, and the positions, of the characters
        whose states are the vectors of the words, `(batch_size, num_words)`.
        """
        vectors = [
            self._forward(forward_ids, forward_positions),
            self._backward(backward_ids, backward_positions),
        ]
        return torch.cat(vectors, dim=-1) * mask.unsqueeze(-1)
