from typing import Any, Dict, List

from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.predictors import Predictor


@Predictor.register("language_model_vectors")
class LanguageModelVectorsPredictor(Predictor):
    """
    Computes the representations of the words of a sentence with a `bidirectional_lm` or
    `masked_lm`.

    Registered as a `Predictor` with name "language_model_vectors", the default for these models.

    The input is `{"sentence": "A tokenized sentence ."}`, which the archive's `language_modeling`
    reader splits into words. The output has, without boundary tokens:

    - `"tokens"`: the `length` words;
    - `"layers"`: shape `(num_layers, length, dim)`. Layer 0 is the projected input. With a
      `bidirectional_lm`, each vector has the forward half first.
    """

    def __init__(self, model: Model, dataset_reader: DatasetReader, frozen: bool = True) -> None:
        super().__init__(model, dataset_reader, frozen)
        model._contextualizer.return_all_layers = True  # type: ignore[union-attr]

    def predict(self, sentence: str) -> JsonDict:
        """The output described above, for a sentence tokenized like the training text."""
        return self.predict_json({"sentence": sentence})

    def predict_instance(self, instance: Instance) -> JsonDict:
        return self.predict_batch_instance([instance])[0]

    def predict_batch_instance(self, instances: List[Instance]) -> List[JsonDict]:
        for instance in instances:
            self._dataset_reader.apply_token_indexers(instance)
        outputs = self._model.forward_on_instances(instances)
        return [self._remove_boundary_tokens(*pair) for pair in zip(instances, outputs)]

    def _remove_boundary_tokens(self, instance: Instance, output: Dict[str, Any]) -> JsonDict:
        tokens = instance["source"].tokens  # type: ignore[attr-defined]
        start = len(self._dataset_reader.start_tokens)  # type: ignore[attr-defined]
        end = len(tokens) - len(self._dataset_reader.end_tokens)  # type: ignore[attr-defined]
        return {
            "tokens": [token.text for token in tokens[start:end]],
            "layers": output["lm_embeddings"][:, start:end].tolist(),
        }

    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        return self._dataset_reader.text_to_instance(json_dict["sentence"])
