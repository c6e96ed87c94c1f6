"""Subwords of the test corpus, trained as `docs/howto/corpus.md` shows."""

import os
from pathlib import Path
from unittest import mock

from allennlp.data import Vocabulary
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tests import TRAIN


def write_subwords(directory: Path) -> None:
    """Writes `tokenizer.json` and `vocabulary`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.ByteLevel(use_regex=False)]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=2 + 256 + 300,
        special_tokens=["</s>", "<S>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    # `tokenizers` warns of a fork after it used threads.
    with mock.patch.dict(os.environ, TOKENIZERS_PARALLELISM="false"):
        tokenizer.train(sorted(map(str, TRAIN.iterdir())), trainer)
    ids = tokenizer.get_vocab()
    vocabulary = Vocabulary(tokens_to_add={"subwords": sorted(ids, key=ids.get)})
    vocabulary.save_to_files(str(directory / "vocabulary"))
    tokenizer.save(str(directory / "tokenizer.json"))
