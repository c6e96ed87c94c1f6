"""
Trains a word representation for a number of minutes of processor time, which include building its
vocabulary:

    python -m experiments.peers.train NAME TEXT_DIR OUT_DIR MINUTES SEED

The learning rate reaches 0 at the end, so each number of minutes needs its own training.
`record.json` in OUT_DIR, which is written last, has the updates and the words read. `flair` needs
the environment of `make peers`: use `.venv-peers/bin/python`.
"""

import sys
from importlib import import_module
from pathlib import Path

import torch
from transformers import set_seed
from transformers.utils.logging import set_verbosity_error

from allennlp_semfit.common.text_files import find_text_files
from experiments.json_files import write_json
from experiments.peers.clock import TrainingClock
from experiments.run_record import FILE_NAME, describe_commit

# The modules, which are imported when needed, and their functions.
PEERS = {
    "word2vec": ("word2vec", "train_word2vec"),
    "bert": ("transformer", "train_bert"),
    "electra": ("transformer", "train_electra"),
    "flair": ("flair_trainer", "train_flair"),
}


def train_peer(name: str, text: Path, out: Path, minutes: float, seed: int = 1) -> None:
    """Trains one of `PEERS` on the files in `text`, which have a tokenized sentence per line."""
    module, function = PEERS[name]
    train = getattr(import_module(f"experiments.peers.{module}"), function)
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    set_seed(seed)
    counts = train(find_text_files([text]), out, TrainingClock(60 * minutes), seed=seed)
    write_json(out / FILE_NAME, {"seed": seed, **counts, "commit": describe_commit()})


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    set_verbosity_error()
    name, text, out, minutes, seed = sys.argv[1:]
    train_peer(name, Path(text), Path(out), float(minutes), int(seed))
