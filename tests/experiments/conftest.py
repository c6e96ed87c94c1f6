import random

import pytest

from experiments.peers import transformer
from experiments.peers.train import train_peer

WORDS = ["the", "aspirin", "Aspirin", "dog", "dogs", "barks", "fell", "asleep", "in"]
WORDS += ["a", "U.S.", "court", "'s", ",", ".", "1,204", "naïve"]
MINUTES = 1.5 / 60


@pytest.fixture(scope="package", autouse=True)
def no_threads():
    """After threads of its own, `tokenizers` warns in each process that a later test forks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKENIZERS_PARALLELISM", "false")
        yield


@pytest.fixture(scope="package")
def text(tmp_path_factory):
    """A directory with 1,200 sentences in two files."""
    directory = tmp_path_factory.mktemp("text")
    generator = random.Random(1)
    for number in range(2):
        lines = (" ".join(generator.choices(WORDS, k=10)) + "\n" for _ in range(600))
        (directory / f"{number}.txt").write_text("".join(lines), "utf-8")
    return directory


@pytest.fixture(scope="package")
def trained(text, tmp_path_factory):
    """A function that trains a small peer for a second, unless it has; returns its directory."""
    directory = tmp_path_factory.mktemp("peers")

    def train(name):
        if not (directory / name).exists():
            train_peer(name, text, directory / name, MINUTES)
        return directory / name

    sizes = {**transformer.SIZES, "num_hidden_layers": 2, "intermediate_size": 16}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transformer, "SIZES", sizes)
        patch.setattr(transformer, "VOCABULARY_SIZE", 60)
        yield train
