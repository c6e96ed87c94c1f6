import json
import logging
from collections import Counter
from functools import partial

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.corpus.vocabulary import count_vocabulary
from allennlp_semfit.data.language_modeling import LanguageModelingReader
from tests.commands import running

run = partial(running.run, "count-vocabulary")

TEXT = "the river and the sea\n\nthe boat and a ferry\n  \na boat and the @@UNKNOWN@@\n"
SPECIAL = ["@@PADDING@@", "@@UNKNOWN@@"]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text(TEXT)
    return path


def words_in(directory, namespace="tokens"):
    vocab = Vocabulary.from_files(directory)
    words = list(vocab.get_index_to_token_vocabulary(namespace).items())
    assert words[:2] == list(enumerate(SPECIAL))
    assert [index for index, _ in words] == list(range(len(words)))
    return [word for _, word in words[2:]]


# Few words, so that many have the same frequency; and white space that is not ASCII.
sentences = st.lists(st.text("abcä三\u2028\u3000 ", max_size=12), min_size=1, max_size=8)


@given(
    sentences.filter(lambda lines: any(line.strip() for line in lines)),
    st.integers(1, 3),
    st.one_of(st.none(), st.integers(1, 6)),
    st.sampled_from([None, [], ["<s>"], ["a", "b"]]),
    st.sampled_from([None, [], ["</s>"]]),
)
def test_it_is_the_vocabulary_of_what_the_reader_reads(
    tmp_path_factory, lines, min_count, max_size, start_tokens, end_tokens
):
    directory = tmp_path_factory.mktemp("corpus")
    (directory / "in.txt").write_text("\n".join(lines), "utf-8")
    reader = LanguageModelingReader(start_tokens=start_tokens, end_tokens=end_tokens)
    instances = [instance["source"].tokens for instance in reader.read(directory / "in.txt")]
    counts = Counter(token.text for tokens in instances for token in tokens)
    expected = [word for word in sorted(counts) if counts[word] >= min_count]
    expected = sorted(expected, key=lambda word: -counts[word])[:max_size]

    def make():
        return count_vocabulary(
            [directory / "in.txt"],
            directory / "out",
            min_count=min_count,
            max_size=max_size,
            start_tokens=start_tokens,
            end_tokens=end_tokens,
            num_workers=1,
        )

    if not expected:
        with pytest.raises(ConfigurationError, match=f"no word occurs {min_count} times or more"):
            make()
        assert not (directory / "out").exists()
        return
    summary = make()
    assert words_in(directory / "out") == expected
    words = [word for line in lines for word in line.split()]
    assert summary[:4] == (len(instances), len(words), len(set(words)), len(expected))
    kept = sum(word in expected for word in words)
    assert summary.kept_share == pytest.approx(kept / len(words))


def test_the_vocabulary_that_is_replaced_is_no_corpus(text, tmp_path):
    (tmp_path / "out").mkdir()
    for force in (False, True):
        count_vocabulary([tmp_path / "**/*.txt"], tmp_path / "out", num_workers=1, force=force)
        assert words_in(tmp_path / "out")[:2] == ["</s>", "the"]
        assert "non_padded_namespaces" not in words_in(tmp_path / "out")
        assert "*tags" not in words_in(tmp_path / "out")


class TestCountVocabulary:
    def test_it_makes_a_vocabulary_and_says_what_comes_next(self, caplog, text, tmp_path):
        caplog.set_level(logging.INFO, logger="allennlp_semfit")
        out = tmp_path / "the vocabulary"
        run(text, text, out, "--min-count", 4, "--num-workers", 2)
        assert words_in(out) == ["</s>", "the", "and", "a", "boat"]
        assert sorted(path.name for path in out.iterdir()) == [
            *[".lock", "non_padded_namespaces.txt", "tokens.txt"]
        ]
        assert (
            f"{out}: 6 sentences read, 30 words of 8 types; 5 words kept, boundaries included, "
            "which are 73.33% of the corpus: the rest are read as @@UNKNOWN@@; "
        ) in caplog.text
        shown = caplog.text.split('Next: "vocabulary": ')[1].split(" in the config")[0]
        params = json.loads(shown)
        assert params == {"type": "from_files", "directory": str(out)}

    def test_every_option_arrives(self, text, tmp_path):
        out = tmp_path / "out"
        options = ["--namespace", "words", "--max-size", 3, "--end-tokens"]
        run(text, out, "--start-tokens", "<a>", "<b>", *options)
        assert words_in(out, "words") == ["the", "<a>", "<b>"]
        run(text, out, *options, "--force", "--min-count", 4)
        assert words_in(out, "words") == ["the"]
