"""A tagger, from its training to the tags of a user's sentence."""

import io
import json
import random
import shutil

import allennlp_models.tagging  # noqa: F401 (registers `crf_tagger` and `conll2003`)
import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token
from allennlp.data.dataset_readers.dataset_utils.span_utils import bio_tags_to_spans, to_bioul
from allennlp.models.archival import load_archive
from allennlp.predictors import Predictor
from allennlp.predictors.sentence_tagger import SpacyTokenizer

from allennlp_semfit.corpus.options import CorpusOptions
from allennlp_semfit.corpus.prepare import prepare_corpus
from allennlp_semfit.corpus.sentences import SentenceSplitter
from allennlp_semfit.export.model_folder import export_model
from allennlp_semfit.export.task_folder import export_task
from allennlp_semfit.predictors.tagger import _to_bio
from tests import FIXTURES
from tests.commands.running import run
from tests.language_models import write_language_model

DATA = str(FIXTURES / "downstream" / "ner.conll")
# In English, and in English only, "don't" is two words.
SENTENCES = ["Mrs. Okafor flew to Lisbon.", "I don't  see Anna", "", "The Harbour Trust paid."]


def train_tagger(home, *, model="crf_tagger", tag_label="ner", language="", num_epochs=1):
    """Trains a tagger with a language model, whose text was of the language."""
    language_model = write_language_model(home / "lm", "fasttext")
    if language:
        prepare_corpus(
            [DATA],
            home / "corpus",
            CorpusOptions(language=language, validation_fraction=0.2, lines="paragraphs"),
        )
        config = json.loads((language_model / "config.json").read_text())
        config["train_data_path"] = str(home / "corpus" / "train")
        (language_model / "config.json").write_text(json.dumps(config))
    elmo = {"type": "elmo_semfit", "archive_file": str(language_model)}
    reader = {"type": "conll2003", "tag_label": tag_label, "token_indexers": {"lm": elmo}}
    tagger = {
        "type": model,
        "text_field_embedder": {"token_embedders": {"lm": {**elmo, "dropout": 0.0}}},
        "encoder": {"type": "lstm", "input_size": 12, "hidden_size": 20, "bidirectional": True},
    }
    if tag_label == "ner":
        # The F1 of AllenNLP does not take all that a `simple_tagger` predicts in BIOUL.
        is_crf = model == "crf_tagger"
        reader["convert_to_coding_scheme"] = "BIOUL" if is_crf else None
        tagger["label_encoding"] = "BIOUL" if is_crf else "BIO"
    config = {
        "dataset_reader": reader,
        "train_data_path": DATA,
        "model": tagger,
        "data_loader": {"batch_size": 4},
        "trainer": {"num_epochs": num_epochs, "optimizer": {"type": "adam", "lr": 0.02}},
    }
    train_model(Params(json.loads(json.dumps(config))), str(home / "tagger"))
    return home / "tagger" / "model.tar.gz"


@pytest.fixture
def no_spacy_model(monkeypatch):
    """No model of spaCy, which AllenNLP would download."""

    def load(*args, **kwargs):
        raise AssertionError("loads a spaCy model")

    monkeypatch.setattr(SpacyTokenizer, "__init__", load)


@pytest.fixture
def predict(monkeypatch, capsys, no_spacy_model):
    """`allennlp predict FOLDER -`, with sentences in its standard input."""

    def predict(folder, sentences, *args):
        lines = "".join(json.dumps({"sentence": sentence}) + "\n" for sentence in sentences)
        monkeypatch.setattr("sys.stdin", io.StringIO(lines))
        capsys.readouterr()
        run("predict", folder, "-", *args)
        printed = capsys.readouterr().out.splitlines()
        start = "prediction:  "
        return [json.loads(line.removeprefix(start)) for line in printed if start in line]

    return predict


def check_entities(words, tags, entities):
    """Each has the words and the label of its place, and no other word has a label."""
    with_label = []
    for entity in entities:
        place = range(entity["start"], entity["end"])
        assert entity["text"] == " ".join(words[index] for index in place)
        assert {tags[index].partition("-")[2] for index in place} == {entity["label"]}
        with_label += place
    assert with_label == [index for index, tag in enumerate(tags) if tag != "O"]


@pytest.mark.parametrize(("model", "again"), [("crf_tagger", False), ("simple_tagger", True)])
def test_a_moved_folder_tags_text_as_the_tagger_was_evaluated(model, again, predict, tmp_path):
    home = tmp_path / "home"
    archive_file = train_tagger(home, model=model, language="en", num_epochs=80)
    archive = load_archive(archive_file)
    words = [" ".join(SentenceSplitter("en").split(sentence)).split() for sentence in SENTENCES]
    assert words[1] == ["I", "do", "n't", "see", "Anna"]
    expected = []
    for each in filter(None, words):
        instance = archive.dataset_reader.text_to_instance([Token(word) for word in each])
        archive.dataset_reader.apply_token_indexers(instance)
        expected.append(archive.model.forward_on_instance(instance)["tags"])

    export_task(archive_file, tmp_path / "exported")
    if again:
        export_task(tmp_path / "exported", tmp_path / "again")
        shutil.rmtree(tmp_path / "exported")
        (tmp_path / "again").rename(tmp_path / "exported")
    shutil.rmtree(home)
    folder = (tmp_path / "exported").rename(tmp_path / "my tagger")
    for sentences, batch_size in ((SENTENCES, 3), (words, 1)):
        outputs = predict(folder, sentences, "--batch-size", batch_size)
        assert [output["words"] for output in outputs] == words
        assert [output["tags"] for output in outputs if output["words"]] == expected
        assert outputs[2] == {"words": [], "tags": [], "entities": []}
    assert any(output["entities"] for output in outputs)
    for output in outputs:
        check_entities(**output)

    # A test set as sentences, as its reader reads it, and as it is evaluated.
    instances = [*archive.dataset_reader.read(DATA)]
    sentences = [[token.text for token in instance["tokens"].tokens] for instance in instances]
    predicted = [output["tags"] for output in predict(folder, sentences)]
    out = tmp_path / "predictions.jsonl"
    run("predict", folder, DATA, "--use-dataset-reader", "--silent", "--output-file", out)
    assert [json.loads(line)["tags"] for line in out.read_text().splitlines()] == predicted
    run("evaluate", folder, DATA, "--output-file", tmp_path / "metrics.json")
    pairs = [
        pair
        for instance, tags in zip(instances, predicted)
        for pair in zip(instance["tags"].labels, tags)
    ]
    accuracy = sum(gold == tag for gold, tag in pairs) / len(pairs)
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert metrics["accuracy"] == pytest.approx(accuracy)


def test_a_task_of_no_entities_has_no_entities(predict, tmp_path):
    archive_file = train_tagger(tmp_path, tag_label="pos")
    export_task(archive_file, tmp_path / "exported")
    (output,) = predict(tmp_path / "exported", ["Snow."])
    assert output.keys() == {"words", "tags"}


def words_of(folder, sentence):
    return Predictor.from_path(str(folder)).predict(sentence)["words"]


class TestLanguage:
    SENTENCE = "We don't."
    WORDS = {"en": ["We", "do", "n't", "."], "xx": ["We", "don't", "."]}

    @pytest.fixture
    def home(self, tmp_path):
        train_tagger(tmp_path / "home", language="en")
        return tmp_path / "home"

    def test_a_language_model_knows_it_when_its_corpus_is_gone(
        self, home, no_spacy_model, tmp_path, caplog
    ):
        export_model(home / "lm", tmp_path / "lm")
        summary = json.loads((home / "corpus" / "corpus.json").read_text())["summary"]
        shutil.rmtree(home / "corpus")
        card = (tmp_path / "lm" / "README.md").read_text()
        assert "\nlanguage: en\n" in card
        assert f"| training text | `{home / 'corpus' / 'train'}` |\n" in card
        size = f"{summary['sentences']} sentences, {summary['words']} words"
        assert f"| size of the text | {size} |\n" in card
        export_task(home / "tagger", tmp_path / "task", language_model=str(tmp_path / "lm"))
        assert words_of(tmp_path / "task", self.SENTENCE) == self.WORDS["en"]
        assert "The language of the text" not in caplog.text

    def test_nothing_knows_it(self, home, no_spacy_model, tmp_path, caplog):
        shutil.rmtree(home / "corpus")
        run("export-task", home / "tagger", tmp_path / "task")
        assert "The language of the text is not known" in caplog.text
        assert "--language" in caplog.text
        assert "allennlp predict" in caplog.text
        assert words_of(tmp_path / "task", self.SENTENCE) == self.WORDS["xx"]

    def test_text_that_was_tokenized_elsewhere_is_of_no_known_language(self, home, tmp_path):
        record = json.loads((home / "corpus" / "corpus.json").read_text())
        record["options"]["already_tokenized"] = True
        (home / "corpus" / "corpus.json").write_text(json.dumps(record))
        export_model(home / "lm", tmp_path / "lm")
        assert "\nlanguage:\n" in (tmp_path / "lm" / "README.md").read_text()

    def test_it_is_given(self, home, no_spacy_model, tmp_path):
        run("export-task", home / "tagger", tmp_path / "task", "--language", "xx")
        assert words_of(tmp_path / "task", self.SENTENCE) == self.WORDS["xx"]
        run("export-task", tmp_path / "task", tmp_path / "english", "--language", "en")
        assert words_of(tmp_path / "english", self.SENTENCE) == self.WORDS["en"]
        predictor = Predictor.from_path(str(tmp_path / "english"), language="xx")
        assert predictor.predict(self.SENTENCE)["words"] == self.WORDS["xx"]

    def test_it_is_given_to_a_language_model_that_was_exported_without(
        self, home, tmp_path, caplog
    ):
        shutil.rmtree(home / "corpus")
        export_model(home / "lm", tmp_path / "lm")
        caplog.set_level("INFO")
        run("export-model", tmp_path / "lm", tmp_path / "yoruba", "--language", "yo")
        assert "Next: fill in the license in its README.md" in caplog.text
        assert "\nlanguage: yo\n" in (tmp_path / "yoruba" / "README.md").read_text()
        assert json.loads((tmp_path / "yoruba" / "config.json").read_text())["language"] == "yo"
        # The card of any other language has no code.
        run("export-model", tmp_path / "lm", tmp_path / "any", "--language", "xx")
        assert "Next: fill in the language and the license in its README.md" in caplog.text

    def test_an_archive_that_was_not_exported_can_have_the_predictor(
        self, home, no_spacy_model, predict
    ):
        args = ("--predictor", "semfit_tagger", "--predictor-args", '{"language": "en"}')
        (output,) = predict(home / "tagger", [self.SENTENCE], *args)
        assert output["words"] == self.WORDS["en"]


def test_what_is_no_sentence_is_named(no_spacy_model, tmp_path):
    export_task(train_tagger(tmp_path), tmp_path / "exported", language="en")
    predictor = Predictor.from_path(str(tmp_path / "exported"))
    for line in ({"text": "Snow."}, {"sentence": 3}, {"sentence": ["Snow", 3]}, "Snow."):
        with pytest.raises(ConfigurationError, match='it needs a "sentence", a text or a list'):
            predictor.predict_json(line)
    with pytest.raises(ConfigurationError, match="'Snow fell.' is not JSON: write a line as"):
        predictor.load_line("Snow fell.\n")


def test_the_entities_of_each_coding_scheme():
    randomness = random.Random(1)
    for _ in range(300):
        labels = [randomness.choice(["O", "O", "PER", "LOC"]) for _ in range(8)]
        starts = [randomness.random() < 0.5 for _ in labels]
        bio, iob1 = [], []
        for index, (label, starts_here) in enumerate(zip(labels, starts)):
            before = labels[index - 1] if index else "O"
            is_first = starts_here or label != before
            bio.append("O" if label == "O" else f"{'B' if is_first else 'I'}-{label}")
            needs_b = is_first and label == before
            iob1.append("O" if label == "O" else f"{'B' if needs_b else 'I'}-{label}")
        bioul = to_bioul(bio, encoding="BIO")
        expected = sorted(bio_tags_to_spans(bio))
        bmes = [{"I": "M", "L": "E", "U": "S"}.get(tag[0], tag[0]) + tag[1:] for tag in bioul]
        for tags in (bio, iob1, bioul, bmes):
            assert sorted(bio_tags_to_spans([*map(_to_bio, tags)])) == expected
