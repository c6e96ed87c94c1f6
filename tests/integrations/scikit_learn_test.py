import pickle

import numpy
import pandas
import pytest
from allennlp.common.checks import ConfigurationError
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.integrations.scikit_learn import SentenceVectorizer
from tests import FIXTURES
from tests.language_models import write_language_model

SENTENCES = ["The heron stood on the bridge .", "Snow .", "", "zxqv жук .", "Nobody watered it ."]
WORDS = [sentence.split() for sentence in SENTENCES]


# Those whose input is not numbers. It opens its model lazily, so that there need be none.
@pytest.mark.parametrize(
    "check",
    [
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_valid_tag_types",
        "check_mixin_order",
        "check_no_attributes_set_in_init",
        "check_do_not_raise_errors_in_init_or_set_params",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
    ],
)
def test_scikit_learns_checks(check):
    getattr(estimator_checks, check)("SentenceVectorizer", SentenceVectorizer("model.tar.gz"))


@pytest.mark.parametrize("sentences", [SENTENCES, WORDS, numpy.array(SENTENCES), iter(WORDS)])
def test_gives_what_the_embedder_gives(embedder, lm_archive, sentences):
    vectorizer = SentenceVectorizer(lm_archive, pool="max", layers="all", batch_size=2)
    vectors = vectorizer.fit_transform(sentences)
    assert vectors.dtype == numpy.float32
    expected = embedder.sentence_vectors(WORDS, pool="max", layers="all", batch_size=2)
    numpy.testing.assert_array_equal(vectors, expected)
    names = vectorizer.get_feature_names_out()
    assert len(names) == vectors.shape[1] == 36
    assert names[-1] == "sentencevectorizer35"


def test_each_parameter_arrives(tmp_path):
    archive = write_language_model(tmp_path / "lm", "subwords")
    tokenizer = (archive / "tokenizer.json").rename(tmp_path / "moved.json")
    options = {"tokenizer_path": str(tokenizer), "sub_token_mode": "avg", "autocast": True}
    found = SentenceVectorizer(str(archive), **options).transform(SENTENCES)
    expected = SentenceEmbedder(archive, **options).sentence_vectors(WORDS)
    numpy.testing.assert_array_equal(found, expected)


def test_other_parameters_open_another_model(embedder, lm_archive):
    vectorizer = SentenceVectorizer(lm_archive)
    expected = embedder.sentence_vectors(WORDS)
    numpy.testing.assert_array_equal(vectorizer.transform(SENTENCES), expected)
    opened = vectorizer._embedder
    vectorizer.set_params(layers="top").transform(SENTENCES)
    assert vectorizer._embedder is opened
    other = str(FIXTURES / "words_only.bin")
    vectorizer.set_params(layers="average", fasttext_model_path=other)
    assert abs(vectorizer.transform(SENTENCES) - expected).max() > 0.01


def test_clones_and_pickles_are_small(lm_archive):
    vectorizer = SentenceVectorizer(lm_archive, pool="first")
    expected = vectorizer.transform(SENTENCES)
    pickled = pickle.dumps(vectorizer)
    assert len(pickled) < 1000
    for copy in (clone(vectorizer), pickle.loads(pickled)):
        assert copy.get_params() == vectorizer.get_params()
        assert not hasattr(copy, "_embedder")
        numpy.testing.assert_array_equal(copy.transform(SENTENCES), expected)


def test_in_a_pipeline_and_a_search(embedder, lm_archive, tmp_path):
    sentences = [f"The {word} stood on the bridge ." for word in ("heron", "snow", "rose", "cat")]
    sentences += [f"Nobody watered {word} ." for word in ("it", "roses", "snow", "them")]
    labels = [0] * 4 + [1] * 4
    pipeline = make_pipeline(
        SentenceVectorizer(lm_archive), LogisticRegression(), memory=str(tmp_path)
    )
    grid = {"sentencevectorizer__layers": ["top", "all"], "logisticregression__C": [1, 100]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(sentences, labels)
    assert search.best_score_ == 1
    layers = search.best_params_["sentencevectorizer__layers"]
    vectors = embedder.sentence_vectors([each.split() for each in sentences], layers=layers)
    expected = search.best_estimator_[-1].predict_proba(vectors)
    numpy.testing.assert_allclose(search.predict_proba(sentences), expected, rtol=1e-5)


def test_errors(lm_archive):
    vectorizer = SentenceVectorizer(lm_archive)
    with pytest.raises(ConfigurationError, match="X is the string 'Snow .'; give a list"):
        vectorizer.transform("Snow .")
    with pytest.raises(ConfigurationError, match="pool: 'sum'; it takes one of"):
        vectorizer.set_params(pool="sum").transform(SENTENCES)
    with pytest.raises(ConfigurationError, match="no.tar.gz does not exist"):
        SentenceVectorizer("no.tar.gz").fit(SENTENCES).transform(SENTENCES)


def test_a_table_is_refused(lm_archive):
    table = numpy.array([["The captain sleeps ."], ["Snow ."]])
    with pytest.raises(ConfigurationError, match="X has 2 dimensions; give one column"):
        SentenceVectorizer(lm_archive).transform(table)


@pytest.mark.parametrize("found", [None, float("nan"), pandas.NA, b"Snow ."])
def test_a_missing_sentence_is_named(found):
    with pytest.raises(ConfigurationError, match=f"X has {found!r} in row 1, counted from 0; give"):
        SentenceVectorizer("no.tar.gz").transform(["Snow .", found])
