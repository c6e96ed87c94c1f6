from typing import Any, Dict, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import FeedForward, Seq2VecEncoder, TextFieldEmbedder
from allennlp.nn import InitializerApplicator
from allennlp.nn.util import get_text_field_mask

from allennlp_semfit.archives.archive import Archive
from allennlp_semfit.common.config_params import KnownParams
from allennlp_semfit.common.errors import check_dims
from allennlp_semfit.functional import cosine_distance, squared_l2_distance, unit_vectors
from allennlp_semfit.training.token_averages import BaselineCosine, TokenAverage


@Model.register("mimick")
class Mimick(Model, KnownParams):
    """
    MIMICK ([Pinter et al. 2017, "Mimicking Word Embeddings using Subword
    RNNs"](https://aclanthology.org/D17-1010), section 3) learns to predict the vectors of a table
    from the spelling of the words, so that words outside of the table get a vector too:

        f(w) = O_T tanh(T_h [h_f; h_b] + b_h) + b_T

    `h_f` and `h_b` are the last states of an LSTM over the characters in each direction.

    The loss is the squared Euclidean distance to the table's vector, `‖f(w) − e(w)‖²`, averaged
    over the words. `training_config/mimick.jsonnet` trains the model; the `mimick` indexer uses it.

    Registered as a `Model` with name "mimick".

    # Parameters

    vocab : `Vocabulary`
    text_field_embedder : `TextFieldEmbedder`
        Embeds the characters.
    seq2vec_encoder : `Seq2VecEncoder`
        Encodes the characters: a bidirectional `lstm` in the paper.
    feedforward : `FeedForward`
        Its output is the vector: a layer with `tanh` and a `linear` layer in the paper.
    initializer : `InitializerApplicator`, optional (default = `None`)

    # Raises

    `ConfigurationError`
        If the dimensions of two modules, or of the table and the model, do not match.

    # Example

    ```json
    "dataset_reader": {"type": "word_vectors"},
    "model": {
        "type": "mimick",
        "text_field_embedder": {
            "token_embedders": {
                "characters": {
                    "type": "embedding", "embedding_dim": 20, "vocab_namespace": "characters"
                }
            }
        },
        "seq2vec_encoder": {
            "type": "lstm", "input_size": 20, "hidden_size": 50, "bidirectional": true
        },
        "feedforward": {
            "input_dim": 100, "num_layers": 2, "hidden_dims": [300, 300],
            "activations": ["tanh", "linear"]
        }
    }
    ```
    """

    def __init__(
        self,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder,
        seq2vec_encoder: Seq2VecEncoder,
        feedforward: FeedForward,
        initializer: InitializerApplicator = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, **kwargs)
        check_dims(
            "mimick: the text_field_embedder's output",
            text_field_embedder.get_output_dim(),
            "the seq2vec_encoder's input",
            seq2vec_encoder.get_input_dim(),
        )
        check_dims(
            "mimick: the seq2vec_encoder's output",
            seq2vec_encoder.get_output_dim(),
            "the feedforward's `input_dim`",
            feedforward.get_input_dim(),
        )
        self._text_field_embedder = text_field_embedder
        self._seq2vec_encoder = seq2vec_encoder
        self._feedforward = feedforward
        self._cosine = TokenAverage()
        self._baseline_cosine = BaselineCosine()
        if initializer is not None:
            initializer(self)

    def get_output_dim(self) -> int:
        """The dimension of the vectors."""
        return int(self._feedforward.get_output_dim())

    def forward(
        self, word: TextFieldTensors, vector: Optional[torch.Tensor] = None
    ) -> Dict[str, torch.Tensor]:
        """
        # Parameters

        word : `TextFieldTensors`
            The characters of a word in each row.
        vector : `torch.Tensor`, optional (default = `None`)
            The table's vectors. Shape `(batch_size, dim)`.

        # Returns

        `Dict[str, torch.Tensor]`
            `"vectors"`: the predictions, shape `(batch_size, dim)`; with `vector`, `"loss"`, a
            scalar.

        # Raises

        `ConfigurationError`
            If `vector` has another dimension than the predictions.
        """
        mask = get_text_field_mask(word)
        encoded = self._seq2vec_encoder(self._text_field_embedder(word), mask)
        vectors = self._feedforward(encoded)
        outputs = {"vectors": vectors}
        if vector is not None:
            if vector.size(-1) != self.get_output_dim():
                raise ConfigurationError(
                    f"mimick: the table's vectors have dimension {vector.size(-1)}, but the last "
                    f"of the feedforward's `hidden_dims` is {self.get_output_dim()}; set it to "
                    f"{vector.size(-1)}."
                )
            outputs["loss"] = squared_l2_distance(vectors, vector).mean()
            with torch.no_grad():
                directions = unit_vectors(vector)  # (batch_size, dim)
                self._cosine(-cosine_distance(vectors, directions))
                self._baseline_cosine(directions)
        return outputs

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """
        `"cosine"`: the mean cosine of the predictions and the table's vectors.
        `"baseline_cosine"`: that of the best constant prediction, which is the mean direction.
        """
        return {
            "cosine": self._cosine.get_metric(reset),
            "baseline_cosine": self._baseline_cosine.get_metric(reset),
        }


class MimickArchive(Archive):
    """A trained MIMICK model."""

    kind = "MIMICK model"
    models = ("mimick",)
    reader = "word_vectors"
    remedy = "`allennlp train` makes it with training_config/mimick.jsonnet."
