import argparse
import json
import os
import shlex
import shutil
import sys
from contextlib import suppress
from itertools import count, takewhile
from typing import Any, Dict, List, NamedTuple

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import CONFIG_NAME

from allennlp_semfit.commands.options import Command
from allennlp_semfit.common.errors import first_line
from allennlp_semfit.modules.lm_heads.vector_head_base import HIGH_BASELINE


class _Table(NamedTuple):
    """`columns` has the title of each metric of `metrics_epoch_N.json`."""

    heading: str
    columns: Dict[str, str]
    number_format: str
    note: str


_COSINE = _Table(
    "Mean cosine between the predicted and the true vector of a word:",
    {
        "training_cosine": "training",
        "validation_cosine": "validation",
        "validation_baseline_cosine": "baseline",
    },
    "15.4f",
    "The baseline predicts the same vector for every word, the best for the validation text.",
)
_PERPLEXITY = _Table(
    "Perplexity (lower is better):",
    {"training_perplexity": "training", "validation_perplexity": "validation"},
    "15,.2f",
    "Compare it only with that of models of the same vocabulary on the same text.",
)
# The contrastive head has both metrics.
_PERPLEXITY_IN_BATCH = _PERPLEXITY._replace(
    heading="Perplexity among the words of a batch (lower is better):",
    note="Compare it only with that of models of the same batch size on the same text.",
)


def describe_training(serialization_dir: str) -> str:
    """
    Shows a language model's metrics for each epoch, the path of its archive, and commands that use
    it.

    # Parameters

    serialization_dir : `str`
        The directory that `allennlp train -s` was given.
    """
    epochs = _read_epochs(serialization_dir)
    config: Dict[str, Any] = {}
    with suppress(FileNotFoundError):
        config = _read_json(os.path.join(serialization_dir, CONFIG_NAME))
    lines = []
    for table in _tables(epochs):
        titles = "  ".join(f"{title:>15}" for title in table.columns.values())
        lines += [table.heading, "", f"  epoch  {titles}"]
        for epoch in epochs:
            cells = (
                format(epoch[key], table.number_format) if key in epoch else " " * 15
                for key in table.columns
            )
            lines.append(f"  {epoch['epoch']:5}  " + "  ".join(cells))
        margin = _describe_margin(epochs) if table is _COSINE else []
        lines += ["", table.note, *margin, ""]
    archive = os.path.join(serialization_dir, "model.tar.gz")
    has_archive = os.path.exists(archive)
    # When training is interrupted, AllenNLP also makes an archive, but no metrics.json.
    if not (has_archive and os.path.exists(os.path.join(serialization_dir, "metrics.json"))):
        lines += [
            "The training is incomplete. To resume it from the last checkpoint, repeat the command",
            "that started it with --recover.",
            "",
        ]
    if has_archive:
        lines += _next_commands(config, archive)
    return "\n".join(lines).rstrip("\n") + "\n"


@Subcommand.register("show-training")
class ShowTraining(Command):
    help = "Show the metrics of a language model for each epoch, and what to do next."
    function = staticmethod(describe_training)

    def run(self, args: argparse.Namespace) -> None:
        sys.stdout.write(describe_training(args.serialization_dir))


def _describe_margin(epochs: List[Dict[str, Any]]) -> List[str]:
    best = next(
        (epoch for epoch in epochs if epoch["epoch"] == epochs[-1].get("best_epoch")), epochs[-1]
    )
    cosine, baseline = (best.get(f"validation_{key}") for key in ("cosine", "baseline_cosine"))
    if cosine is None or baseline is None:
        return []
    if baseline > HIGH_BASELINE:
        return [
            f"WARNING: a baseline above {HIGH_BASELINE} means that the targets hardly differ. If",
            "fastText trained them, it has read too little text: give it a higher --epoch.",
        ]
    if cosine <= baseline:
        return ["The model is no better than the baseline: it has learned nothing from context."]
    return [f"The margin over the baseline, {cosine - baseline:.3f}, was learned from context."]


def _next_commands(config: Dict[str, Any], archive: str) -> List[str]:
    # The path is shown if the command is not on PATH, so that the commands can be pasted.
    program = "allennlp"
    if not shutil.which(program) and os.path.basename(sys.argv[0]) == program:
        program = os.path.relpath(sys.argv[0])
    # AllenNLP's own commands need this where no `.allennlp_plugins` names the plugin, and where the
    # plugin's commands do not exist.
    plugin = "--include-package allennlp_semfit"
    text = config.get("validation_data_path")
    text = shlex.quote(text) if isinstance(text, str) and os.path.isfile(text) else "TEXT"
    model = shlex.quote(archive)
    folder = os.path.join(os.path.dirname(archive), "model")
    export = [
        "As one folder, which you can move and share:",
        f"  {program} export-model {model} {shlex.quote(folder)}",
    ]
    embedder = {"type": "elmo_semfit", "archive_file": archive, "do_layer_norm": True}
    return [
        f"The model of the best epoch: {archive}",
        "",
        # `make train` has exported it.
        *([] if os.path.exists(folder) else export),
        "Its metrics on any text with one tokenized sentence per line:",
        f"  {program} evaluate {model} {text} --output-file metrics.json {plugin}",
        "The vectors of a sentence's words, all layers, as JSON:",
        '  echo \'{"sentence": "The cat sat on the mat ."}\' | '
        f"{program} predict {model} - --silent --output-file vectors.json {plugin}",
        "The vectors of all sentences of a file, as HDF5:",
        f"  {program} embed {model} {text} vectors.h5",
        "As a token embedder, in a task's config:",
        f"  {json.dumps(embedder, ensure_ascii=False)}",
    ]


def _read_epochs(serialization_dir: str) -> List[Dict[str, Any]]:
    paths = (os.path.join(serialization_dir, f"metrics_epoch_{n}.json") for n in count())
    epochs = [_read_json(path) for path in takewhile(os.path.exists, paths)]
    if not epochs:
        raise ConfigurationError(
            f"{serialization_dir} holds no completed epoch of a language model. Give the directory "
            "that `allennlp train -s` was given."
        )
    if not _tables(epochs):
        raise ConfigurationError(
            f"{serialization_dir}: its metrics have no cosine and no perplexity. Give the "
            "directory of a language model whose head reports one of them."
        )
    return epochs


def _read_json(path: str) -> Dict[str, Any]:
    with open(path, "rb") as file:
        try:
            return json.load(file)
        except ValueError as error:
            raise ConfigurationError(
                f"{path}: it is not JSON ({first_line(error)}). If the training is running, repeat "
                "the command; if it was killed, resume it with --recover"
            ) from error


def _tables(epochs: List[Dict[str, Any]]) -> List[_Table]:
    # An epoch that was resumed partway has no training metrics.
    keys = set().union(*epochs)
    tables = [table for table in (_COSINE, _PERPLEXITY) if keys.intersection(table.columns)]
    return [_COSINE, _PERPLEXITY_IN_BATCH] if len(tables) == 2 else tables
