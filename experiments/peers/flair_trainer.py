import logging
from collections import Counter
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Dict, Iterable, List, Sequence, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from more_itertools import divide
from torch.nn import Parameter
from torch.optim import SGD

from experiments.peers.clock import TrainingClock, learning_rate_factor, read_sentences
from experiments.peers.flair_embedder import save_flair_model
from experiments.run_record import count_parameters

# 256 for both directions together, as many as the other models have. With 256 for each, half a
# minute on a core covers half as much text, and the held-out loss is higher.
HIDDEN_SIZE = 128
# As many as in flair's own dictionary of characters.
NUM_CHARACTERS = 275
# What flair reads and shuffles at a time. It evaluates and generates text after each.
SENTENCES_PER_SPLIT = 20_000
HELD_OUT_SENTENCES = 100

# flair recommends 250 and 100, for days on a GPU. In half a minute on a core, these are a few dozen
# updates; the held-out loss decreases with the batch, of 100, 32, 16 and 8.
SEQUENCE_LENGTH = 100
BATCH_SIZE = 8
# flair's default. Half of it is worse.
LEARNING_RATE = 20.0


def train_flair(
    files: Sequence[Path], out: Path, clock: TrainingClock, *, seed: int
) -> Dict[str, Any]:
    """
    Trains a forward and a backward `LanguageModel` with flair's `LanguageModelTrainer`, each for
    half of the time. Writes them in flair's format, and both to `model.pt`, for the `flair`
    embedder.
    """
    try:
        import flair
        from flair.data import Dictionary
        from flair.models import LanguageModel
        from flair.trainers.language_model_trainer import LanguageModelTrainer, TextCorpus
    except ImportError:
        raise ConfigurationError(
            "flair is not installed; run `make peers`, then use .venv-peers/bin/python"
        ) from None
    logging.getLogger("flair").setLevel(logging.WARNING)
    flair.device = torch.device("cpu")

    with TemporaryDirectory() as temporary:
        corpus_path = Path(temporary) / "corpus"
        characters, characters_per_word = _write_corpus(files, corpus_path)
        dictionary = Dictionary()
        for character in characters:
            dictionary.add_item(character)
        clock.end_preparation()

        models = []
        updates = 0
        for half, is_forward in enumerate((True, False)):
            optimizer = _TimedSGD(clock, half)
            model = LanguageModel(dictionary, is_forward, HIDDEN_SIZE, nlayers=1)
            trainer = LanguageModelTrainer(
                model, TextCorpus(corpus_path, dictionary, is_forward), optimizer
            )
            trainer.train(
                Path(temporary) / "training",
                sequence_length=SEQUENCE_LENGTH,
                mini_batch_size=BATCH_SIZE,
                learning_rate=LEARNING_RATE,
                # The clock ends the training.
                max_epochs=1_000_000,
                num_workers=0,
            )
            optimizer.check_end()
            model.eval()
            models.append(model)
            updates += optimizer.updates
    forward, backward = models
    forward.save(out / "forward.pt")
    backward.save(out / "backward.pt")
    save_flair_model(out / "model.pt", forward, backward)
    return {
        "updates": updates,
        # Once in each direction. Mean of both.
        "words_read": round(updates / 2 * BATCH_SIZE * SEQUENCE_LENGTH / characters_per_word),
        "trainable_parameters": count_parameters(*models),
    }


class _TimedSGD:
    """Creates the optimizer, whose learning rate is that of the time in a half of the training."""

    def __init__(self, clock: TrainingClock, half: int) -> None:
        self._clock = clock
        self._half = half
        self.updates = 0

    def progress(self) -> float:
        return 2 * self._clock.progress() - self._half

    def __call__(self, parameters: Iterable[Parameter], lr: float) -> SGD:
        optimizer = SGD(parameters, lr)

        def set_learning_rate(*_: Any) -> None:
            progress = self.progress()
            if progress >= 1.0:
                # flair's way to end a training early.
                raise KeyboardInterrupt
            for group in optimizer.param_groups:
                group["lr"] = lr * learning_rate_factor(progress)
            self.updates += 1

        optimizer.register_step_pre_hook(set_learning_rate)
        return optimizer

    def check_end(self) -> None:
        """Raises `KeyboardInterrupt` again if a user did."""
        if self.progress() < 1.0:
            raise KeyboardInterrupt


def _write_corpus(files: Sequence[Path], path: Path) -> Tuple[List[str], float]:
    """
    Writes the files that flair's `TextCorpus` reads. Returns the most frequent characters, and the
    number of characters per word.
    """
    sentences = list(read_sentences(files))
    if len(sentences) < 10 * HELD_OUT_SENTENCES:
        raise ConfigurationError(
            f"flair needs at least {10 * HELD_OUT_SENTENCES} sentences, and the text has "
            f"{len(sentences)}; give more text"
        )
    held_out, training = sentences[:HELD_OUT_SENTENCES], sentences[HELD_OUT_SENTENCES:]
    (path / "train").mkdir(parents=True)
    _write_lines(path / "valid.txt", held_out)
    _write_lines(path / "test.txt", held_out)
    num_splits = ceil(len(training) / SENTENCES_PER_SPLIT)
    for number, split in enumerate(divide(num_splits, training)):
        _write_lines(path / "train" / f"{number:06}.txt", split)
    # Each with the line break that flair appends.
    counts = Counter("".join(f"{sentence}\n" for sentence in sentences))
    words = sum(sentence.count(" ") + 1 for sentence in sentences)
    characters = [character for character, _ in counts.most_common(NUM_CHARACTERS)]
    return characters, sum(counts.values()) / words


def _write_lines(file: Path, lines: Iterable[str]) -> None:
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
