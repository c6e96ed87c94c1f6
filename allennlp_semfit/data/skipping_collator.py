from typing import List

from allennlp.data import Instance
from allennlp.data.data_loaders import TensorDict
from allennlp.data.data_loaders.data_collator import DataCollator, allennlp_collate


class SkippingCollator(DataCollator):
    """
    AllenNLP's default collator, but the next `num_to_skip` batches are empty: a resumed run, which
    skips them, need not look up their vectors.
    """

    def __init__(self) -> None:
        self.num_to_skip = 0.0

    def __call__(self, instances: List[Instance]) -> TensorDict:
        if self.num_to_skip > 0:
            self.num_to_skip -= 1
            return {}
        return allennlp_collate(instances)
