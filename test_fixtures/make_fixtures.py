"""
Makes the fixtures in the folder of this script from its corpus:

    python test_fixtures/make_fixtures.py

Run it only if the corpus changes: with several threads, fastText is not deterministic, so the files
differ in every run.
"""

import tempfile
from pathlib import Path

import fasttext

FIXTURES = Path(__file__).parent
NUM_TABLE_WORDS = 60


def make_vectors(work_dir: Path) -> None:
    corpus = work_dir / "corpus.txt"
    shards = sorted((FIXTURES / "corpus" / "train").glob("*.txt"))
    corpus.write_text("".join(shard.read_text("utf-8") for shard in shards), "utf-8")
    options = {"dim": 10, "minCount": 1, "epoch": 50, "thread": 10, "verbose": 0}

    subwords = fasttext.train_unsupervised(str(corpus), bucket=1000, minn=3, maxn=6, **options)
    subwords.save_model(str(FIXTURES / "vectors.bin"))

    words_only = fasttext.train_unsupervised(str(corpus), minn=0, maxn=0, **options)
    words_only.save_model(str(FIXTURES / "words_only.bin"))

    # A classifier, which is not accepted as word vectors.
    labeled = work_dir / "labeled.txt"
    lines = corpus.read_text("utf-8").splitlines()
    labeled.write_text("".join(f"__label__{i % 2} {line}\n" for i, line in enumerate(lines)))
    classifier = fasttext.train_supervised(
        str(labeled), dim=10, minn=3, maxn=4, bucket=1000, thread=10, verbose=0
    )
    classifier.save_model(str(FIXTURES / "supervised.bin"))


def make_table() -> None:
    """Writes a table with the first words of `vectors.bin` only, as `fastText` writes a `.vec`."""
    model = fasttext.load_model(str(FIXTURES / "vectors.bin"))
    words = model.get_words()[:NUM_TABLE_WORDS]
    lines = [f"{len(words)} {model.get_dimension()}"]
    for word in words:
        lines.append(" ".join([word, *(f"{value:.3f}" for value in model.get_word_vector(word))]))
    (FIXTURES / "table.txt").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work_dir:
        make_vectors(Path(work_dir))
    make_table()
