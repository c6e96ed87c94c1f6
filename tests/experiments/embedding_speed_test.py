from experiments.embedding_speed import measure_speed
from tests import VECTORS


def test_the_speed_of_language_models_and_fasttext_is_measured(lm_archive):
    models = {"elmo_semfit": lm_archive, "fasttext": VECTORS}
    rows = measure_speed(models, [["a", "b", "c"]] * 12)
    assert [row["label"] for row in rows] == list(models)
    assert all(row["words_per_second"] > 0 for row in rows)
