"""What the Makefile of the experiments runs, at each scale."""

import json
import os
import subprocess

import _jsonnet
import pytest

from tests import FIXTURES

EXPERIMENTS = FIXTURES.parent / "experiments"
SCALES = sorted(file.stem for file in (EXPERIMENTS / "scales").glob("*.mk"))
TASKS = ["coref", "ner", "snli", "srl", "sst5"]

VARIABLES = {
    name: f"/{name}"
    for name in (
        "LM_TRAIN_DATA_PATH",
        "LM_DEV_DATA_PATH",
        "FASTTEXT_MODEL_PATH",
        "VOCABULARY_PATH",
        "SUBWORDS_PATH",
        "SVD_PATH",
        "ELMO_OPTIONS_PATH",
        "ELMO_WEIGHTS_PATH",
        "LM_ARCHIVE_PATH",
        # Those that a config replaces are looked up all the same.
        "ONE_BILLION_WORD",
        *(
            f"{task}_{part}_DATA_PATH"
            for task in ("COREF", "NER", "SNLI", "SRL", "SST")
            for part in ("TRAIN", "DEV", "TEST")
        ),
    )
}


def make(*arguments, **environment):
    return subprocess.run(
        ["make", "-C", EXPERIMENTS, *arguments],
        env={
            **os.environ,
            "SEMFIT_DATA": "/data",
            "ONE_BILLION_WORD": "/1b",
            "CC_VECTORS": "/cc.bin",
            **environment,
        },
        capture_output=True,
        text=True,
    )


def lines_of(tmp_path, scale, *goals):
    process = make("--dry-run", f"SCALE={scale}", f"OUT={tmp_path}", *goals)
    assert process.returncode == 0, process.stderr
    return process.stdout.splitlines()


@pytest.fixture(scope="module", params=SCALES)
def configs(request, tmp_path_factory):
    out = tmp_path_factory.mktemp(request.param)
    process = make("configs", f"SCALE={request.param}", f"OUT={out}")
    assert process.returncode == 0, process.stderr

    def config_of(name, **variables):
        path = str(out / "configs" / f"{name}.jsonnet")
        return json.loads(_jsonnet.evaluate_file(path, ext_vars={**VARIABLES, **variables}))

    config_of.models = sorted(file.stem for file in (out / "configs").glob("*.jsonnet"))
    return config_of


def test_the_language_models_have_one_text_and_as_many_updates_as_the_schedule(configs):
    batches = set()
    assert "elmo_semfit" in configs.models
    assert len(configs.models) >= 6
    for name in configs.models:
        config = configs(name)
        assert config["train_data_path"] == "/LM_TRAIN_DATA_PATH"
        assert config["validation_data_path"] == "/LM_DEV_DATA_PATH"
        updates = config["data_loader"]["batches_per_epoch"]
        assert updates == int(updates)
        schedule = config["trainer"]["learning_rate_scheduler"]
        num_epochs = config["trainer"]["num_epochs"]
        assert schedule["decay_end"] == schedule["num_replicas"] * updates * num_epochs
        batches.add((updates, num_epochs, json.dumps(config["data_loader"], sort_keys=True)))
    assert len(batches) == 1


def test_a_laptop_trains_the_laptop_configs(tmp_path):
    process = make("configs", "SCALE=laptop", f"OUT={tmp_path}")
    assert process.returncode == 0, process.stderr
    configs = sorted((tmp_path / "configs").glob("*.jsonnet"))
    assert configs
    for config in configs:
        shipped = EXPERIMENTS.parent / "training_config" / "laptop" / config.name
        one, other = (
            json.loads(_jsonnet.evaluate_file(str(path), ext_vars=VARIABLES))
            for path in (config, shipped)
        )
        assert one == other


@pytest.mark.parametrize("task", TASKS)
def test_the_tasks_read_vectors_as_wide_as_the_language_models(task, configs):
    contextualizer = configs("elmo_semfit")["model"]["contextualizer"]
    config = configs(f"tasks/{task}", WORD_REPRESENTATION="elmo_semfit")
    text_field_embedder = config["model"]["text_field_embedder"]["token_embedders"]
    assert text_field_embedder["elmo_semfit"]["archive_file"] == "/LM_ARCHIVE_PATH"
    other = configs(f"tasks/{task}", WORD_REPRESENTATION="none")
    width = sum(_widths(config)) - sum(_widths(other))
    projection = text_field_embedder["elmo_semfit"].get("projection_dim")
    if task in ("ner", "sst5", "coref"):
        assert width == (projection or 2 * contextualizer["hidden_dim"])
    fasttext = configs(f"tasks/{task}", WORD_REPRESENTATION="fasttext")
    embedder = fasttext["model"]["text_field_embedder"]["token_embedders"]["fasttext"]
    assert embedder["embedding_dim"] == contextualizer["input_dim"]


def _widths(config):
    """Where the words' vectors enter the task's model."""
    model = config["model"]
    for encoder in ("encoder", "context_layer"):
        if "input_size" in model.get(encoder, {}) and "pre_encode_feedforward" not in model:
            yield model[encoder]["input_size"]
    if "pre_encode_feedforward" in model:
        yield model["pre_encode_feedforward"]["input_dim"]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("task", TASKS)
def test_a_task_comes_after_its_language_model(task, scale, tmp_path):
    goal = tmp_path / "tasks" / f"{task}.1.elmo_adaptive" / "done"
    lines = lines_of(tmp_path, scale, str(goal))
    (training,) = (
        i for i, line in enumerate(lines) if "/models/elmo_adaptive" in line and "./train" in line
    )
    (run,) = (
        i
        for i, line in enumerate(lines)
        if line.startswith("./train") and f"{task}.1.elmo_adaptive" in line
    )
    (vocabulary,) = (i for i, line in enumerate(lines) if "count-vocabulary" in line)
    assert vocabulary < training < run


def test_all_makes_everything_that_the_tables_have(tmp_path):
    lines = lines_of(tmp_path, "laptop")
    trainings = [line for line in lines if "./train" in line.split()]
    # Fourteen on novels and five on abstracts; seven representations with five tasks, three of
    # them thrice; nine ablations and two others once; six with the entities in abstracts, thrice;
    # two models of two languages, and entities in these with four representations, thrice.
    english = (14 + 5) + 7 * (2 + 3 * 3) + (9 + 2) * 5 + 6 * 3
    assert len(trainings) == english + 2 * (2 + 4 * 3)
    # Four of them with normalised layers, and three with layers side by side, too.
    assert sum("allennlp senteval" in line for line in lines) == 1 + 14 + 4 + 3
    assert sum("experiments.oov_entities" in line for line in lines) == 6 * 3


def test_a_language_is_prepared_from_raw_text(tmp_path):
    lines = lines_of(tmp_path, "laptop", str(tmp_path / "tasks/yor.2.elmo_semfit/done"))
    steps = ("prepare-corpus /data/lm/yor/raw.txt", "train-fasttext", "yor/models", "tasks/yor.2")
    places = [next(i for i, line in enumerate(lines) if step in line) for step in steps]
    assert places == sorted(places)
    assert any(f"NER_TEST_DATA_PATH={tmp_path}/data/yor_test.conll" in line for line in lines)


@pytest.mark.parametrize(("options", "keeps"), [((), False), (("KEEP=yes",), True)])
def test_results_keep_those_of_elsewhere_if_that_is_asked_for(options, keeps, tmp_path):
    lines = lines_of(tmp_path, "laptop", "results", *options)
    (line,) = (line for line in lines if "experiments.collect_results" in line)
    assert ("--keep" in line.split()) == keeps


def test_what_is_done_is_not_done_again(tmp_path):
    goal = tmp_path / "tasks" / "ner.2.elmo" / "done"
    assert any("./train" in line for line in lines_of(tmp_path, "laptop", str(goal)))
    goal.parent.mkdir(parents=True)
    goal.touch()
    assert not any("./train" in line for line in lines_of(tmp_path, "laptop", str(goal)))


@pytest.mark.parametrize("name", ["SEMFIT_DATA", "ONE_BILLION_WORD", "CC_VECTORS"])
def test_without_data_it_says_what_to_set(name):
    process = make("--dry-run", "SCALE=paper", **{name: ""})
    assert process.returncode != 0
    assert f"{name} is not set" in process.stderr


def test_a_scale_that_is_none_is_named_with_those_that_are():
    process = make("--dry-run", "SCALE=huge")
    assert process.returncode != 0
    assert "SCALE is huge. Set it to one of" in process.stderr
    assert all(scale in process.stderr for scale in SCALES)


def test_a_probe_trains_briefly_and_measures_all(tmp_path):
    lines = lines_of(
        tmp_path, "laptop", "probe", "PROBED=elmo_adaptive", "VARIATIONS=", "PROBE_SEEDS=7"
    )
    run = tmp_path / "pubmed" / "probes" / "elmo_adaptive.7"
    (training,) = [line for line in lines if "./train" in line]
    assert str(tmp_path / "configs" / "probes" / "elmo_adaptive.jsonnet") in training
    assert "num_updates: 600" in "".join(lines)
    assert f"VOCABULARY_PATH={tmp_path}/pubmed/vocabulary" in training
    assert any("count-vocabulary" in line for line in lines)
    for kind in ("cloze", "bc5cdr", "wnut17", "sst2"):
        assert any(line.endswith(f"{run}.{kind}.json") for line in lines), kind
    assert any('"pytorch_seed": 7' in line for line in lines)


def test_a_probe_of_a_variation_changes_the_config_of_its_model(tmp_path):
    config = tmp_path / "configs" / "probes" / "elmo_semfit_contrastive-16_sentences.jsonnet"
    (line,) = [line for line in lines_of(tmp_path, "laptop", str(config)) if "echo" in line]
    text = line.partition('"')[2].rpartition('"')[0]
    variables = dict.fromkeys(("LM_TRAIN_DATA_PATH", "LM_DEV_DATA_PATH", "FASTTEXT_MODEL_PATH"), "")
    built = json.loads(_jsonnet.evaluate_snippet("probe", text, ext_vars=variables))
    assert built["data_loader"]["batch_sampler"]["batch_size"] == 16
    assert built["data_loader"]["batches_per_epoch"] == 2400
    assert built["model"]["head"]["type"] == "contrastive"
