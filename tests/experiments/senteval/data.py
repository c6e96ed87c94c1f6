"""Tiny data of the ten tasks, in the layout of SentEval's `downstream`."""

import random
from pathlib import Path

GOOD = ["fine", "snow", "roses", "bright"]
BAD = ["grey", "road", "dose", "broken"]
REST = ["the", "a", ".", "heron", "bridge", "captain", "of"]

QUESTION_CLASSES = ["ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"]
JUDGEMENTS = ["CONTRADICTION", "NEUTRAL", "ENTAILMENT"]
NUM_EXAMPLES = 48


def write_data(root: Path) -> Path:
    """
    Writes all files below `root`, and returns it. Each class of the training data has at least six
    examples.
    """
    generator = random.Random(7)
    numbers = range(NUM_EXAMPLES)

    def sentence(share=0.5):
        """More of the good words, the nearer `share` is to 1."""
        words = generator.choices(REST, k=generator.randint(1, 5))
        words += [generator.choice(GOOD if generator.random() < share else BAD) for _ in range(3)]
        return " ".join(words)

    def write(path, lines):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{line}\n" for line in lines), "utf-8")

    for folder, positive, negative in (
        ("MR", "rt-polarity.pos", "rt-polarity.neg"),
        ("CR", "custrev.pos", "custrev.neg"),
        ("SUBJ", "subj.objective", "subj.subjective"),
        ("MPQA", "mpqa.pos", "mpqa.neg"),
    ):
        write(f"{folder}/{positive}", [sentence(0.8) for _ in range(14)])
        write(f"{folder}/{negative}", [*(sentence(0.2) for _ in range(12)), ""])
    for split in ("train", "dev", "test"):
        write(f"SST/binary/sentiment-{split}", [f"{sentence(n % 2)}\t{n % 2}" for n in numbers])
        write(f"SST/fine/sentiment-{split}", [f"{n % 5} {sentence(n % 5 / 4)}" for n in numbers])
    for name in ("train_5500", "TREC_10"):
        classes = [(QUESTION_CLASSES[n % 6], n % 6 / 5) for n in numbers]
        write(f"TREC/{name}.label", [f"{each}:kind {sentence(share)}" for each, share in classes])
    for name in ("train", "test"):
        pairs = [f"{n % 2}\t{n}\t{n}\t{sentence()}\t{sentence(n % 2)}" for n in numbers]
        write(f"MRPC/msr_paraphrase_{name}.txt", ["a header", *pairs])
    for name in ("train", "trial", "test_annotated"):
        pairs = [
            f"{n}\t{sentence()}\t{sentence(n % 3 / 2)}\t{1 + n % 17 / 4:g}\t{JUDGEMENTS[n % 3]}"
            for n in numbers
        ]
        write(f"SICK/SICK_{name}.txt", ["a header", *pairs])
    return root
