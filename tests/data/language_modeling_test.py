from itertools import chain

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.dataset_readers.dataset_reader import DistributedInfo, WorkerInfo
from allennlp.data.tokenizers import CharacterTokenizer
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.data.fasttext_indexer import FastTextIndexer
from allennlp_semfit.data.language_modeling import LanguageModelingReader
from tests import TRAIN, VALIDATION, VECTORS
from tests.batches import with_all_vectors


def sentences(reader, path):
    return [[token.text for token in instance["source"].tokens] for instance in reader.read(path)]


def lines_of(*paths):
    return [line.split() for path in paths for line in path.read_text("utf-8").split("\n") if line]


def bare(**kwargs):
    return LanguageModelingReader(start_tokens=[], end_tokens=[], **kwargs)


def test_each_line_is_a_sentence_between_boundaries():
    expected = [["</s>", *words, "</s>"] for words in lines_of(VALIDATION)]
    reader = DatasetReader.by_name("language_modeling")()
    assert sentences(reader, VALIDATION) == expected
    instance = reader.text_to_instance("Nobody watered the roses .")
    assert [token.text for token in instance["source"].tokens] == [
        *["</s>", "Nobody", "watered", "the", "roses", ".", "</s>"]
    ]


@pytest.mark.parametrize(
    "path",
    [
        str(TRAIN),
        TRAIN,
        str(TRAIN / "shard-*.txt"),
        [str(TRAIN / "shard-00.txt"), str(TRAIN / "shard-01.txt")],
        {"one": TRAIN / "shard-00.txt", "two": TRAIN / "shard-01.txt"},
    ],
    ids=["directory", "path", "pattern", "list", "dict"],
)
def test_a_data_path_can_name_several_files(path):
    assert sentences(bare(), path) == lines_of(*sorted(TRAIN.iterdir()))


@given(st.lists(st.integers(0, 40), min_size=1).filter(any), st.integers(1, 12))
def test_a_long_line_is_split_into_sentences_without_losing_words(tmp_path_factory, counts, most):
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    path.write_text("".join(f"{' '.join(map(str, range(count)))}\n" for count in counts))
    read = sentences(bare(max_sequence_length=most), path)
    assert list(chain(*read)) == [str(i) for count in counts for i in range(count)]
    assert all(1 <= len(sentence) <= most for sentence in read)
    assert len(read) == sum(-(-count // most) for count in counts)


def test_max_sequence_length_includes_the_boundary_tokens(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("a b c d e\n")
    reader = LanguageModelingReader(max_sequence_length=4)
    expected = [["</s>", *words, "</s>"] for words in (["a", "b"], ["c", "d"], ["e"])]
    assert sentences(reader, path) == expected
    assert len(sentences(LanguageModelingReader(max_sequence_length=None), path)[0]) == 7
    with pytest.raises(ConfigurationError, match="`max_sequence_length` is 2"):
        LanguageModelingReader(max_sequence_length=2)


def test_boundary_tokens_must_be_a_list():
    with pytest.raises(ConfigurationError, match="`end_tokens` is the string '</s>'"):
        LanguageModelingReader.from_params(Params({"end_tokens": "</s>"}))


@pytest.mark.parametrize("start_method", ["fork", "spawn"])
def test_the_lines_are_sharded_over_processes_and_workers(start_method, monkeypatch, tmp_path):
    path = tmp_path / "text.txt"
    expected = lines_of(*sorted(TRAIN.iterdir()))
    # All shares have the same size, though every second line is empty.
    path.write_text("".join(f"{' '.join(words)}\n\n" for words in expected), "utf-8")
    shares = []
    # Not in a worker that was spawned, which only has a copy of the reader.
    for module in ("allennlp.common.util", "allennlp_semfit.data.language_modeling"):
        monkeypatch.setattr(f"{module}.is_distributed", lambda: start_method == "fork")
    monkeypatch.setattr("torch.distributed.get_world_size", lambda: 2)
    for rank in range(2):
        monkeypatch.setattr("torch.distributed.get_rank", lambda rank=rank: rank)
        for worker in range(3):
            reader = bare()
            reader._set_distributed_info(DistributedInfo(2, rank))
            reader._set_worker_info(WorkerInfo(3, worker))
            shares.append(sentences(reader, path))
    assert sorted(chain(*shares)) == sorted(expected)
    assert {len(share) for share in shares} == {len(expected) // 6}


def loaded(**kwargs):
    indexer = FastTextIndexer(VECTORS)
    reader = bare(token_indexers={"fasttext": indexer})
    loader = MultiProcessDataLoader(reader, TRAIN, batch_size=8, quiet=True, **kwargs)
    loader.index_with(Vocabulary.empty())
    batches = [with_all_vectors(batch["source"]["fasttext"]) for batch in loader]
    return sorted(tuple(v.tolist()) for b in batches for v in b["vectors"][b["word_mask"]])


@pytest.mark.parametrize("start_method", ["fork", "forkserver"])
@pytest.mark.parametrize("lazy", [True, False])
def test_two_workers_give_the_vectors_that_one_process_gives(start_method, lazy):
    options = {"max_instances_in_memory": 16} if lazy else {}
    assert loaded(num_workers=2, start_method=start_method, **options) == loaded()


def test_a_tokenizer_that_keeps_white_space_does_not_get_the_end_of_the_line(tmp_path):
    (tmp_path / "text.txt").write_bytes(b"ab\n\nc d\r\n")
    reader = bare(tokenizer=CharacterTokenizer())
    assert sentences(reader, tmp_path / "text.txt") == [["a", "b"], ["c", " ", "d"]]


def test_a_corpus_without_words_is_refused(tmp_path):
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text(" \n\u3000\n", "utf-8")
    with pytest.raises(ConfigurationError, match="one.txt, .*two.txt: no words found; give text"):
        list(bare().read(tmp_path))
