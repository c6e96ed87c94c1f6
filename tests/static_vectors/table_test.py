import numpy
import pytest
from allennlp.data import Vocabulary
from allennlp.modules.token_embedders import Embedding
from gensim.models import KeyedVectors

from allennlp_semfit.static_vectors.table import write_table

WORDS = ["@@UNKNOWN@@", "the", "naïve", "三", "12", "#"]


@pytest.fixture
def vectors():
    vectors = numpy.random.RandomState(0).randn(len(WORDS), 7).astype(numpy.float32)
    vectors[2] *= 1e-20
    vectors[3] = 0
    return vectors


def test_gensim_reads_it(vectors, tmp_path):
    write_table(tmp_path / "new" / "table.txt", WORDS, vectors)
    read = KeyedVectors.load_word2vec_format(tmp_path / "new" / "table.txt")
    assert read.index_to_key == WORDS
    numpy.testing.assert_allclose(read.vectors, vectors, rtol=5e-6)
    assert (tmp_path / "new" / "table.txt").read_bytes().startswith(b"6 7\n@@UNKNOWN@@ ")


def test_allennlps_embedding_reads_it(vectors, tmp_path):
    path = tmp_path / "table.txt"
    write_table(path, WORDS, vectors)
    vocab = Vocabulary(tokens_to_add={"tokens": WORDS[1:]})
    embedding = Embedding(embedding_dim=7, vocab=vocab, pretrained_file=str(path), trainable=False)
    rows = [vocab.get_token_index(word) for word in ["a word that is not in it", *WORDS[1:]]]
    numpy.testing.assert_allclose(embedding.weight[rows].numpy(), vectors, rtol=5e-6)


def test_a_table_appears_when_it_is_complete(vectors, tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_table(path, ["a", "\ud800"], vectors[:2])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
