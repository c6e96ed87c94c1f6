"""
The process in which `allennlp_semfit.subwords.train` trains byte-level BPE: Ctrl-C cannot interrupt
`tokenizers`, and its threads do not survive a fork. It is run by its path, not with `-m`, so that
it does not import AllenNLP.
"""

import json
import signal
import sys
from typing import Any, Dict, Iterator

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

# `str.split` splits at more characters than `pre_tokenizers.WhitespaceSplit`.
WHITESPACE = "[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
# `tokenizers` takes text, not counts. It reads up to 256 texts ahead.
MAX_REPEATS = 1000


def train(words: Dict[str, int], options: Dict[str, Any]) -> str:
    """
    Returns the contents of `tokenizer.json`. `words` maps words, in the symbols of byte-level BPE,
    to their counts. `options` are those of `tokenizers.trainers.BpeTrainer`.
    """
    num_texts = sum(-(-count // MAX_REPEATS) for count in words.values())

    def texts() -> Iterator[str]:
        for word, count in words.items():
            for start in range(0, count, MAX_REPEATS):
                yield f"{word} " * min(MAX_REPEATS, count - start)

    tokenizer = Tokenizer(models.BPE())
    # Converting each occurrence of a word to byte level would double the training time.
    tokenizer.pre_tokenizer = pre_tokenizers.CharDelimiterSplit(" ")
    tokenizer.train_from_iterator(texts(), trainers.BpeTrainer(**options), num_texts)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(f"{WHITESPACE}+"), "removed"),
            pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    return tokenizer.to_str(pretty=True)


if __name__ == "__main__":
    # Exit at once. A Python handler would run only after the training.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.write(train(*json.load(sys.stdin)))
