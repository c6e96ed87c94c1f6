"""The results that Li et al. 2019 report, for comparison. Scores are in percent."""

from typing import Dict, List, NamedTuple

__all__ = ["PAPER_NAMES", "SENTEVAL", "SHORT_NAMES", "TASKS", "TRAINING", "Training"]


class Training(NamedTuple):
    """A row of Table 2."""

    days: float
    gpus: int
    speed_up: float
    sentences_per_gpu: int
    million_parameters: int


# The names of the representations in the paper.
PAPER_NAMES: Dict[str, str] = {
    "fasttext": "FastText, Common Crawl",
    "elmo": "ELMo",
    "elmo_adaptive": "ELMo-A",
    "elmo_semfit": "ELMo-S",
    "elmo_semfit_oneb": "ELMo-S, One Billion Word",
    "elmo_semfit_cnn": "ELMo-S, CNN",
    "elmo_subword": "ELMo-Sub",
}

# For tables of our own results.
SHORT_NAMES = {**PAPER_NAMES, "fasttext": "fastText"}

TRAINING: Dict[str, Training] = {
    "elmo": Training(14, 3, 1.0, 128, 499),
    "elmo_adaptive": Training(5.7, 4, 1.8, 256, 196),
    "elmo_semfit": Training(2.5, 4, 4.2, 768, 76),
}

_TASK_COLUMNS = ["snli", "coref", "sst5", "ner", "srl"]
_TASK_ROWS: Dict[str, List[str]] = {
    "fasttext": ["87.7", "68.90", "51.30 ± 0.77", "90.97 ± 0.43", "80.2"],
    "elmo": ["88.5", "72.9", "52.96 ± 2.26", "92.51 ± 0.28", "83.4"],
    "elmo_adaptive": ["88.9", "72.9", "53.58 ± 0.77", "92.28 ± 0.20", "82.7"],
    "elmo_semfit": ["88.8", "72.9", "53.80 ± 0.73", "92.24 ± 0.10", "82.4"],
    "elmo_semfit_oneb": ["88.4", "73.0", "53.86 ± 4.02", "92.03 ± 0.47", "82.2"],
    "elmo_semfit_cnn": ["88.2", "72.9", "53.38 ± 0.68", "92.24 ± 0.36", "82.8"],
    "elmo_subword": ["87.1", "72.4", "53.02 ± 2.08", "92.17 ± 0.56", ""],
}
_SENTEVAL_COLUMNS = ["average", "SST-5", "SST-2", "TREC", "MR", "SUBJ"]
_SENTEVAL_ROWS: Dict[str, List[str]] = {
    "fasttext": ["71.10", "38.40", "80.12", "71.80", "74.30", "89.06"],
    "elmo_semfit": ["80.96", "45.22", "85.45", "92.87", "80.05", "94.11"],
    "elmo_semfit_oneb": ["80.31", "44.99", "83.21", "91.60", "78.85", "93.84"],
    "elmo_subword": ["80.30", "45.25", "84.42", "92.13", "78.40", "93.83"],
}


# By representation and task: Tables 3 and 4, formatted as in the paper.
TASKS = {name: dict(zip(_TASK_COLUMNS, row)) for name, row in _TASK_ROWS.items()}
SENTEVAL = {name: dict(zip(_SENTEVAL_COLUMNS, row)) for name, row in _SENTEVAL_ROWS.items()}
