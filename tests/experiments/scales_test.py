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


def is_training(line):
    return ".venv/bin/allennlp train " in line


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
        assert "run_record" in config["trainer"]["callbacks"]
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
        one["trainer"]["callbacks"].remove("run_record")
        one["trainer"] = {key: value for key, value in one["trainer"].items() if value != []}
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
        i for i, line in enumerate(lines) if is_training(line) and "/models/elmo_adaptive " in line
    )
    (run,) = (
        i
        for i, line in enumerate(lines)
        if is_training(line) and f"-s {tmp_path}/tasks/{task}.1.elmo_adaptive" in line
    )
    (vocabulary,) = (i for i, line in enumerate(lines) if "count-vocabulary" in line)
    assert vocabulary < training < run


def test_all_makes_everything_that_the_tables_have(tmp_path):
    lines = lines_of(tmp_path, "laptop", "MINUTES=15", "TIMED=elmo elmo_semfit")
    # Fourteen models of novels, three of them twice, and five of abstracts, three of them twice;
    # seven representations with five tasks, three of them thrice and the others twice; nine
    # ablations once; six with the entities in abstracts, thrice; two models of two languages, and
    # entities in these with four representations, thrice; two models for so many minutes, after
    # one of each for its speed, four peers and fastText, with four tasks.
    english = (14 + 3 + 5 + 3) + 7 * (3 * 3 + 2 * 2) + 9 * 5 + 6 * 3
    assert sum(map(is_training, lines)) == english + 2 * (2 + 4 * 3) + 2 * (2 + 4) + 5 * 4
    # Four of them with normalised layers, and four with layers side by side, too.
    assert sum("allennlp senteval" in line for line in lines) == 1 + 14 + 4 + 4


def test_an_even_seed_has_the_second_training(tmp_path):
    for seed, model in ((1, "elmo_semfit"), (2, "elmo_semfit.2"), (3, "elmo_semfit")):
        lines = lines_of(tmp_path, "laptop", f"{tmp_path}/tasks/ner.{seed}.elmo_semfit/done")
        training, run = filter(is_training, lines)
        number = 1 + (seed == 2)
        assert f'-s {tmp_path}/novels/models/{model} -o \'{{ "random_seed": {number},' in training
        assert f"LM_ARCHIVE_PATH={tmp_path}/novels/models/{model}/model.tar.gz" in run
    lines = lines_of(tmp_path, "laptop", f"{tmp_path}/tasks/ner.2.elmo/done")
    assert any("novels/models/elmo/model.tar.gz" in line for line in lines)


def test_minutes_become_updates_at_the_measured_speed(tmp_path):
    goal = str(tmp_path / "tasks/bc5cdr.1.elmo_semfit-15min/done")
    speed, training, run = filter(is_training, lines_of(tmp_path, "laptop", goal))
    assert f"-s {tmp_path}/novels/speed/elmo_semfit " in speed
    assert f"-s {tmp_path}/novels/minutes/elmo_semfit.15 " in training
    # The same text for all tasks, and vectors of it.
    assert f"FASTTEXT_MODEL_PATH={tmp_path}/novels/own_vectors.bin" in training
    assert f"LM_ARCHIVE_PATH={tmp_path}/novels/minutes/elmo_semfit.15/model.tar.gz" in run
    done = tmp_path / "novels" / "speed" / "elmo_semfit"
    done.mkdir(parents=True)
    (done / "done").touch()
    (done / "record.json").write_text('{"updates": 300, "seconds": 90.0}')
    (tmp_path / "novels" / "own_vectors.seconds").write_text("60.5\n")
    config = tmp_path / "configs/minutes/elmo_semfit.15.jsonnet"
    process = make("SCALE=laptop", f"OUT={tmp_path}", str(config))
    assert process.returncode == 0, process.stderr
    built = json.loads(_jsonnet.evaluate_file(str(config), ext_vars=VARIABLES))
    updates = int((15 * 60 - 60.5) / 90 * 300)
    assert built["data_loader"]["batches_per_epoch"] == updates
    assert built["trainer"]["learning_rate_scheduler"]["decay_end"] == 4 * updates


def test_a_peer_is_trained_for_so_many_minutes(tmp_path):
    lines = lines_of(tmp_path, "laptop", f"{tmp_path}/tasks/snli.1.bert-5min/done")
    (peer,) = (line for line in lines if "experiments.peers.train bert" in line)
    assert peer.endswith(f"{tmp_path}/novels/train {tmp_path}/novels/peers/bert.5 --minutes 5")
    (run,) = filter(is_training, lines)
    assert (
        f"WORD_REPRESENTATION=bert LM_ARCHIVE_PATH= PEER_PATH={tmp_path}/novels/peers/bert.5 "
        in run
    )
    lines = lines_of(tmp_path, "laptop", f"{tmp_path}/tasks/snli.1.flair-5min/done")
    assert any(".venv-peers/bin/python -m experiments.peers.train flair" in line for line in lines)


def test_claims_are_tested_on_the_runs_there_are(tmp_path):
    for run in ("ner.1.fasttext", "coref.1.fasttext", "bc5cdr.1.elmo_semfit"):
        (tmp_path / "tasks" / run).mkdir(parents=True)
        (tmp_path / "tasks" / run / "done").touch()
    (tmp_path / "pubmed" / "vocabulary").mkdir(parents=True)
    lines = lines_of(tmp_path, "laptop", "claims")
    counted = [line for line in lines if "experiments.sentence_scores" in line]
    assert [("--vocabulary" in line) for line in sorted(counted)] == [True, False]
    assert any("experiments.claims" in line for line in lines)


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
    assert any(map(is_training, lines_of(tmp_path, "laptop", str(goal))))
    goal.parent.mkdir(parents=True)
    goal.touch()
    assert not any(map(is_training, lines_of(tmp_path, "laptop", str(goal))))


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
