"""Markdown tables of the benchmarks' results on a CPU, for `experiments.pages`."""

import json
from typing import Any, Callable, Dict, List, Mapping, Sequence

from benchmarks.reporting import RESULTS
from experiments import paper

__all__ = ["TABLES", "read_benchmarks"]

# Results by the name of the benchmark.
Benchmarks = Mapping[str, Mapping[str, Any]]

_LOADER_INDEXERS = ["fasttext", "single_id", "elmo_characters"]


def read_benchmarks() -> Dict[str, Dict[str, Any]]:
    """The committed results `NAME-cpu.json` by name."""
    return {
        file.name[: -len("-cpu.json")]: json.loads(file.read_text("utf-8"))
        for file in sorted(RESULTS.glob("*-cpu.json"))
    }


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _median(results: Benchmarks, benchmark: str, candidate: str) -> float:
    return results[benchmark]["timings"][candidate]["median_seconds"]


def _ratio(results: Benchmarks, benchmark: str, slower: str, faster: str) -> str:
    ratio = _median(results, benchmark, slower) / _median(results, benchmark, faster)
    return f"{ratio:.1f} ×"


def _summary(results: Benchmarks) -> str:
    ours, products = (
        f"{name}, 4096 cells" for name in ("bidirectional_language_model_lstm", "matrix products")
    )
    head = results["semfit_head"]["timings"]["head alone"]["share_of_step"]
    loaded = results["loader"]["timings"]["fasttext, workers: 1"]["words_per_second"]
    elmo_adaptive, elmo_semfit = (
        paper.TRAINING[name].speed_up for name in ("elmo_adaptive", "elmo_semfit")
    )
    over_products = _median(results, "contextualizer", ours) / _median(
        results, "contextualizer", products
    )
    lookup = _ratio(results, "fasttext_memory", "fasttext", "allennlp_semfit")
    rows = [
        [
            "training ELMo-S vs. ELMo",
            _ratio(results, "models", "elmo", "elmo_semfit"),
            f"{elmo_semfit} ×",
        ],
        [
            "training ELMo-S vs. ELMo with sparse gradients",
            _ratio(results, "models_sparse", "elmo, sparse gradients", "elmo_semfit"),
            "",
        ],
        [
            "training ELMo-S vs. ELMo-A",
            _ratio(results, "models", "elmo_adaptive", "elmo_semfit"),
            f"{elmo_semfit / elmo_adaptive:.1f} ×",
        ],
        [
            "contextualizer vs. AllenNLP's `ElmoLstm`",
            _ratio(results, "contextualizer", "ElmoLstm, 4096 cells", ours),
            "",
        ],
        ["time of the contextualizer / time of its matrix products", f"{over_products:.2f}", ""],
        ["`semfit` head, share of the training step", f"{100 * head:.1f} %", ""],
        [
            "NER training step vs. AllenNLP's ELMo",
            _ratio(results, "ner_step", "elmo", "elmo_semfit"),
            "",
        ],
        ["first fastText vector vs. `fasttext.load_model`", lookup, ""],
        ["data loader, words/s per worker", f"{loaded:,.0f}", ""],
    ]
    return _grid(["measure", "here", "paper"], rows)


def _contextualizer(results: Benchmarks) -> str:
    names = {
        "ElmoLstm": "`ElmoLstm`",
        "torch.nn.LSTM": "`torch.nn.LSTM`",
        "bidirectional_language_model_lstm": "this package",
        "matrix products": "matrix products only",
    }
    rows = [
        [
            f"{cells}, {dim}",
            *(
                f"{_median(results, 'contextualizer', f'{name}, {cells} cells'):.3f}"
                for name in names
            ),
        ]
        for cells, dim in results["contextualizer"]["sizes"]
    ]
    return _grid(["cells, dimensions", *names.values()], rows)


def _output_layers(results: Benchmarks) -> str:
    rows = []
    for name, row in results["heads"]["timings"].items():
        layer, _, vocabulary = name.rpartition(", ")
        rows.append(
            [
                f"`{layer}`" if "sparse" not in layer else "`sampled_softmax`, sparse gradients",
                vocabulary,
                f"{row['parameters'] / 1e6:,.0f} M",
                f"{row['peak_memory_bytes'] / 1e9:.1f} GB",
                f"{row['median_seconds']:.2f} s",
                f"{row['seconds_per_million_words']:,.0f} s",
                f"{row['largest_batch']:,}",
            ]
        )
    order = list(dict.fromkeys(row[0] for row in rows))
    header = ["output layer", "vocabulary", "parameters", "memory", "step", "million words"]
    return _grid(
        [*header, "largest batch in 8 GB"], sorted(rows, key=lambda row: order.index(row[0]))
    )


def _models(results: Benchmarks) -> str:
    names = {
        "elmo": "ELMo: character CNN, `ElmoLstm`, sampled softmax",
        "elmo, our contextualizer": "ELMo with our contextualizer",
        "elmo_adaptive": "ELMo-A: fastText, our contextualizer, adaptive softmax",
        "elmo_semfit": "ELMo-S: fastText, our contextualizer, `semfit`",
    }
    timings = results["models"]["timings"]
    rows: List[List[str]] = []
    for name, description in names.items():
        row = timings[name]
        speedup = timings["elmo"]["median_seconds"] / row["median_seconds"]
        rows.append(
            [
                description,
                f"{row['parameters'] / 1e6:,.0f} M",
                f"{row['peak_memory_bytes'] / 1e9:.1f} GB",
                f"{row['words_per_second']:,.0f}",
                f"{speedup:.1f} ×",
            ]
        )
    return _grid(["model", "parameters", "memory", "words/s", "speed vs. ELMo"], rows)


def _fasttext(results: Benchmarks) -> str:
    names = {
        "allennlp_semfit": "`FastTextModel`",
        "fasttext": "`fasttext.load_model`",
        "gensim": "gensim's `load_facebook_vectors`",
    }
    timings = results["fasttext_memory"]["timings"]
    rows = []
    for name, description in names.items():
        row = timings[name]
        rows.append(
            [
                description,
                f"{row['median_seconds']:.1f} s",
                f"{row['microseconds_per_new_word']:.0f} µs",
                f"{row['resident_file_bytes'] / 1e9:.1f} GB",
                f"{row['forked_worker_bytes'] / 1e6:.0f} MB",
                f"{row['without_imports_bytes'] / 1e6:,.0f} MB"
                if "without_imports_bytes" in row
                else "",
            ]
        )
    header = ["reader", "open + first vector", "another new word", "file in memory"]
    return _grid([*header, "memory per forked worker", "per spawned worker"], rows)


def _loader(results: Benchmarks) -> str:
    timings = results["loader"]["timings"]
    rows = [
        [
            str(workers),
            *(
                f"{timings[f'{name}, workers: {workers}']['words_per_second']:,.0f}"
                for name in _LOADER_INDEXERS
            ),
        ]
        for workers in (0, 1, 2)
    ]
    return _grid(["workers", *(f"`{name}`" for name in _LOADER_INDEXERS)], rows)


def _devices(results: Benchmarks) -> str:
    predicted = results["scaling_devices"]["predicted_on_devices"]
    names = {"elmo": "ELMo", "elmo_adaptive": "ELMo-A", "elmo_semfit": "ELMo-S"}
    rows = []
    for num_devices in ("1", "4", "8", "64"):
        # The lower bound without overlap of all-reduce and computation, the upper bound with it.
        bounds = {
            name: [
                predicted[num_devices][name][f"words_per_second, 100 Gbit/s, {overlap} overlap"]
                for overlap in ("no", "full")
            ]
            for name in names
        }
        ratios = [s / a for s, a in zip(bounds["elmo_semfit"], bounds["elmo_adaptive"])]
        cells = [_range([f"{value / 1000:,.0f}" for value in bounds[name]]) for name in names]
        rows.append([num_devices, *cells, _range([f"{ratio:.1f}" for ratio in sorted(ratios)])])
    return _grid(["GPUs", *names.values(), "ELMo-S / ELMo-A"], rows)


def _range(values: Sequence[str]) -> str:
    return "–".join(dict.fromkeys(values))


def _table(function: Callable[[Benchmarks], str]) -> Callable[[Mapping[str, Any]], str]:
    return lambda results: function(results["benchmarks"])


# By the name in a page's mark, each a function of the results that `experiments.pages` gives.
TABLES: Dict[str, Callable[[Mapping[str, Any]], str]] = {
    "speed": _table(_summary),
    "speed of contextualizers": _table(_contextualizer),
    "speed of output layers": _table(_output_layers),
    "speed of models": _table(_models),
    "speed of fastText readers": _table(_fasttext),
    "speed of the data loader": _table(_loader),
    "predicted speed on several GPUs": _table(_devices),
}
