"""
The process in which `allennlp_semfit.subwords.train` makes the merges.

It is a process of its own because the work is one call into Rust, where Ctrl-C would wait for its
end; and because the threads that it takes would make `tokenizers` warn, and give up its threads,
in whatever the caller forks later. It is started by its path, and not with `-m`, so as not to wait
for PyTorch and AllenNLP to be imported.
"""

import json
import signal
import sys
from typing import Iterable, Iterator, List, Tuple

PYTHON_WHITESPACE = "\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""What `str.split` splits at, as the inside of a character class: Rust's white space is less."""

WORDS_AT_A_TIME = 1000


def repeated(counts: Iterable[Tuple[str, int]]) -> Iterator[List[str]]:
    """
    The words of a corpus again, from how often each occurs: `tokenizers` takes nothing but text.

    # Parameters

    counts : `Iterable[Tuple[str, int]]`

    # Returns

    `Iterator[List[str]]`
        Of `WORDS_AT_A_TIME` words each, but for the last.
    """
    words: List[str] = []
    for word, count in counts:
        while count:
            taken = min(count, WORDS_AT_A_TIME - len(words))
            words += [word] * taken
            count -= taken
            if len(words) == WORDS_AT_A_TIME:
                yield words
                words = []
    if words:
        yield words


def train(
    counts_path: str,
    out_path: str,
    *,
    merges: int,
    min_frequency: int,
    boundary_tokens: List[str],
) -> None:
    """
    Learns byte-level BPE and saves a `tokenizer.json`. How far it has come it says on stdout: a
    line with the number of words that it has read, now and then.

    Of the pairs that are equally frequent the one is merged first whose left subword has the
    smaller id, then the one whose right subword has: neither chance nor the order of words matters.

    # Parameters

    counts_path : `str`
        A file with a word in each line, spelled in the characters that stand for its bytes, then a
        space and how often it occurs.
    out_path : `str`
    merges : `int`
        The most merges to make.
    min_frequency : `int`
        How often a pair must occur to be merged.
    boundary_tokens : `List[str]`
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=len(alphabet) + len(boundary_tokens) + merges,
        min_frequency=min_frequency,
        special_tokens=boundary_tokens,
        initial_alphabet=alphabet,
        show_progress=False,
    )

    def texts() -> Iterator[str]:
        num_words = 0
        with open(counts_path, encoding="utf-8", newline="\n") as file:
            for words in repeated((word, int(count)) for word, count in map(str.split, file)):
                yield " ".join(words)
                num_words += len(words)
                if num_words % (1000 * WORDS_AT_A_TIME) == 0:
                    print(num_words, flush=True)  # noqa: T201 (for the parent)
        print(num_words, flush=True)  # noqa: T201

    # Spelling each occurrence of a word would take most of the time.
    tokenizer.pre_tokenizer = pre_tokenizers.CharDelimiterSplit(" ")
    tokenizer.train_from_iterator(texts(), trainer)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(f"[{PYTHON_WHITESPACE}]+"), "removed"),
            pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    tokenizer.save(out_path)


if __name__ == "__main__":
    # The folder of a script comes first in the path: a module beside this one would hide a library.
    sys.path.pop(0)
    # If the parent is killed, the next line for it ends this process too.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    train(**json.loads(sys.argv[1]))
