"""Tiny data of the ten tasks, in the layout of SentEval's `downstream`."""

import random
from pathlib import Path

__all__ = ["BAD", "GOOD", "REST", "write_data"]

GOOD = ["fine", "snow", "roses", "bright"]
BAD = ["grey", "road", "dose", "broken"]
REST = ["the", "a", ".", "heron", "bridge", "captain", "of"]

QUESTION_CLASSES = ["ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"]
JUDGEMENTS = ["CONTRADICTION", "NEUTRAL", "ENTAILMENT"]


class _Writer:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.random = random.Random(7)

    def sentence(self, share: float = 0.5) -> str:
        """More of the good words, the nearer `share` is to 1."""
        words = self.random.choices(REST, k=self.random.randint(1, 5))
        for _ in range(3):
            words.append(self.random.choice(GOOD if self.random.random() < share else BAD))
        self.random.shuffle(words)
        return " ".join(words)

    def write(self, path: str, lines, encoding: str = "utf-8") -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes("".join(line + "\n" for line in lines).encode(encoding))

    def write_two_classes(self, positive: str, negative: str) -> None:
        self.write(positive, [self.sentence(0.8) + " " for _ in range(14)], "latin-1")
        self.write(negative, [self.sentence(0.2) + " " for _ in range(12)] + [""], "latin-1")

    def pair(self, label: int, highest: int):
        first = self.sentence()
        second = self.sentence()
        return first, first if self.random.random() < label / highest else second

    def sick(self, number: int) -> str:
        label = number % 3
        first, second = self.pair(label, 2)
        score = 1 + 2 * label - (number % 4) / 4 if label else 1 + (number % 4) / 4
        return f"{number}\t{first}\t{second}\t{score:g}\t{JUDGEMENTS[label]}"


def write_data(root: Path) -> Path:
    """
    Writes all files below `root`, and returns it. Each class of the training data has at least six
    examples.
    """
    writer = _Writer(root)
    for positive, negative in (
        ("MR/rt-polarity.pos", "MR/rt-polarity.neg"),
        ("CR/custrev.pos", "CR/custrev.neg"),
        ("SUBJ/subj.objective", "SUBJ/subj.subjective"),
        ("MPQA/mpqa.pos", "MPQA/mpqa.neg"),
    ):
        writer.write_two_classes(positive, negative)
    for split, number in (("train", 40), ("dev", 12), ("test", 15)):
        binary = [f"{writer.sentence(n % 2)} \t{n % 2}" for n in range(number)]
        writer.write(f"SST/binary/sentiment-{split}", binary)
        fine = [f"{n % 5} {writer.sentence(n % 5 / 4)}" for n in range(number)]
        writer.write(f"SST/fine/sentiment-{split}", fine)
    for name, number in (("train_5500", 48), ("TREC_10", 12)):
        questions = [
            f"{QUESTION_CLASSES[n % 6]}:kind {writer.sentence(n % 6 / 5)} ?" for n in range(number)
        ]
        writer.write(f"TREC/{name}.label", questions, "latin-1")
    for name, number in (("train", 24), ("test", 10)):
        lines = ["\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
        for n in range(number):
            lines.append("\t".join((str(n % 2), str(n), str(n + 1), *writer.pair(n % 2, 1))))
        writer.write(f"MRPC/msr_paraphrase_{name}.txt", lines)
    for name, number in (("train", 30), ("trial", 12), ("test_annotated", 15)):
        header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
        # That one came from another system.
        end = "\r" if name == "test_annotated" else ""
        lines = [header, *map(writer.sick, range(number))]
        writer.write(f"SICK/SICK_{name}.txt", [line + end for line in lines])
    return root
