import copy
import json
import pickle
import re
from pathlib import Path

import pytest
from allennlp.common import Params
from allennlp.data import Tokenizer, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.token_indexers import SingleIdTokenIndexer
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenizers import Tokenizer as HuggingFaceTokenizer
from tokenizers import models, normalizers, pre_tokenizers, trainers

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.data.language_modeling import LanguageModelingReader
from allennlp_semfit.data.subword_tokenizer import SubwordTokenizer
from tests import TRAIN
from tests.subword_files import write_subwords

FILES = sorted(TRAIN.iterdir())


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("subwords") / "made"
    write_subwords(directory)
    return directory


@pytest.fixture(scope="module")
def path(directory):
    return str(directory / "tokenizer.json")


@pytest.fixture(scope="module")
def tokenizer(path):
    return SubwordTokenizer(path)


def texts(tokens):
    return [token.text for token in tokens]


# Words of the text that the merges were learned from, words around boundary tokens, and others.
WORDS = st.one_of(
    st.sampled_from([word for path in FILES for word in path.read_text("utf-8").split()]),
    st.text("aeghinrst", min_size=1),
    st.text(st.sampled_from("</s>S a"), min_size=1),
    st.sampled_from(["</s>", "<S>", "x</s>", "</s></s>", "<S>y", "@@UNKNOWN@@", "@@NEWLINE@@"]),
    st.text(min_size=1),
).filter(lambda word: word.split() == [word])


class TestSubwords:
    @given(st.one_of(st.text(), st.lists(WORDS).map(" ".join)))
    def test_are_those_of_the_file_wherever_it_is_read(self, tokenizer, path, text):
        # `tokenizers` splits at fewer control characters than `str.split`.
        assume(not re.search(r"\S(</s>|<S>)|(</s>|<S>)\S", text))
        encoded = HuggingFaceTokenizer.from_file(path).encode(" ".join(text.split()))
        assert texts(tokenizer.tokenize(text)) == encoded.tokens

    def test_a_boundary_token_is_a_whole_word(self, tokenizer):
        assert texts(tokenizer.tokenize("</s> <S>")) == ["</s>", "<S>"]
        assert not {"</s>", "<S>"} & {*texts(tokenizer.tokenize("x</s> </s></s> <S>y"))}


class TestOffsets:
    @given(st.lists(st.one_of(WORDS, st.text())))
    def test_are_those_of_each_words_subwords(self, tokenizer, words):
        tokens, offsets = tokenizer.intra_word_tokenize(words)
        assert len(offsets) == len(words)
        covered = [i for first, last in offsets for i in range(first, last + 1)]
        assert covered == list(range(len(tokens)))
        for word, (first, last) in zip(words, offsets):
            alone = texts(tokenizer.intra_word_tokenize([word])[0])
            assert texts(tokens[first : last + 1]) == alone != []

    def test_a_word_without_subwords_is_unknown(self, tokenizer):
        tokens, offsets = tokenizer.intra_word_tokenize(["", "</s>", " \u3000", "the"])
        assert texts(tokens) == ["@@UNKNOWN@@", "</s>", "@@UNKNOWN@@", "Ġthe"]
        assert offsets == [(0, 0), (1, 1), (2, 2), (3, 3)]
        assert tokenizer.intra_word_tokenize([]) == ([], [])

    def test_what_utf8_cannot_say_is_a_question_mark(self, tokenizer):
        tokens, offsets = tokenizer.intra_word_tokenize(["a\ud800", "the"])
        assert tokens == tokenizer.tokenize("a? the")
        assert offsets[1] == (len(tokens) - 1, len(tokens) - 1)


def test_the_truncation_and_padding_of_the_file_are_not_used(tokenizer, path, tmp_path):
    other = HuggingFaceTokenizer.from_file(path)
    other.enable_truncation(2)
    other.enable_padding(length=1000)
    other.normalizer = normalizers.NFC()
    other.save(str(tmp_path / "it.json"))
    description = json.loads((tmp_path / "it.json").read_text("utf-8"))
    # `tokenizers` panics.
    description["truncation"]["stride"] = 2
    (tmp_path / "it.json").write_text(json.dumps(description), "utf-8")
    tokens = SubwordTokenizer(tmp_path / "it.json").tokenize("cafe\u0301 </s> and unseen words")
    assert tokens == tokenizer.tokenize("caf\u00e9 </s> and unseen words")


def loaded(tokenizer, vocabulary, **kwargs):
    reader = LanguageModelingReader(
        tokenizer=tokenizer, token_indexers={"subwords": SingleIdTokenIndexer(namespace="subwords")}
    )
    loader = MultiProcessDataLoader(reader, TRAIN, batch_size=8, quiet=True, **kwargs)
    loader.index_with(vocabulary)
    batches = [batch["source"]["subwords"]["tokens"] for batch in loader]
    return sorted(tuple(filter(None, ids)) for batch in batches for ids in batch.tolist())


class TestProcesses:
    def test_two_workers_give_the_ids_of_one_process(self, tokenizer, directory, capfd):
        vocabulary = Vocabulary.from_files(directory / "vocabulary")
        options = {"num_workers": 2, "max_instances_in_memory": 16}
        index = vocabulary.get_token_to_index_vocabulary("subwords")
        boundary = index["</s>"]
        expected = [
            (
                boundary,
                *(index[token.text] for token in tokenizer.tokenize(line)),
                boundary,
            )
            for path in FILES
            for line in path.read_text("utf-8").splitlines()
            if line.strip()
        ]
        assert loaded(tokenizer, vocabulary, **options) == sorted(expected)
        assert "huggingface" not in "".join(capfd.readouterr())

    def test_copies_do_not_need_the_file(self, path, tmp_path):
        moved = tmp_path / "tokenizer.json"
        moved.write_bytes(Path(path).read_bytes())
        original = SubwordTokenizer(moved)
        pickled = pickle.dumps(original)
        moved.unlink()
        text = "the boats </s> and unseen words"
        for each in (pickle.loads(pickled), copy.deepcopy(original), copy.copy(original)):
            assert each.tokenize(text) == original.tokenize(text) != []


class TestErrors:
    def test_the_configuration_is_named(self):
        params = Params({"reader": {"tokenizer": {"type": "subword", "model_path": "no.json"}}})
        with pytest.raises(InvalidFileError) as raised:
            Tokenizer.from_params(params["reader"]["tokenizer"])
        message = str(raised.value)
        assert message.startswith("subword tokenizer no.json does not exist (working directory: ")
        assert "Train one as docs/howto/corpus.md shows" in message
        assert "`reader.tokenizer.model_path`" in message

    @pytest.mark.parametrize(
        "text", [b"\xff\xfe\x00", b"", b"words", b"[]", b"null", b"{}", b'{"model": {}}']
    )
    def test_what_is_no_tokenizer(self, text, tmp_path):
        (tmp_path / "it.json").write_bytes(text)
        with pytest.raises(InvalidFileError, match="it.json is damaged, or is not a tok"):
            SubwordTokenizer(tmp_path / "it.json")

    def test_another_tokenizer(self, tmp_path):
        """A tokenizer that does not mark the start of words, as GPT-2's."""
        tokenizer = HuggingFaceTokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        # Without words, the trainer starts no threads.
        tokenizer.train_from_iterator([], trainers.BpeTrainer(initial_alphabet=alphabet))
        tokenizer.save(str(tmp_path / "it.json"))
        with pytest.raises(InvalidFileError, match="it.json lacks subwords for some bytes"):
            SubwordTokenizer(tmp_path / "it.json")
