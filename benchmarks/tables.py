"""Markdown tables of the benchmarks' results on a CPU, for `experiments.pages`."""

from typing import Any, Callable, Dict, List, Mapping, Sequence

from benchmarks.reporting import RESULTS
from experiments.json_files import read_json

__all__ = ["TABLES", "read_benchmarks"]

# Results by the name of the benchmark.
Benchmarks = Mapping[str, Mapping[str, Any]]

# Relative to ELMo, in Table 2 of Li et al. 2019.
_PAPER_SPEED_UPS = {"elmo_adaptive": 1.8, "elmo_semfit": 4.2}


def read_benchmarks() -> Dict[str, Dict[str, Any]]:
    """The committed results `NAME-cpu.json` by name."""
    return {
        file.name[: -len("-cpu.json")]: read_json(file)
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
    of_contextualizer = "bidirectional_language_model_lstm, {}, 4096 cells"
    ours, fast = (of_contextualizer.format(dtype) for dtype in ("float32", "bfloat16"))
    head = results["semfit_head"]["timings"]["head alone"]["share_of_step"]
    loaded = results["loader"]["timings"]["fasttext, workers: 1"]["words_per_second"]
    lookup = _ratio(results, "fasttext_memory", "fasttext", "allennlp_semfit")
    rows = [
        [
            "training ELMo-S vs. ELMo",
            _ratio(results, "models", "elmo", "elmo_semfit"),
            f"{_PAPER_SPEED_UPS['elmo_semfit']} ×",
        ],
        [
            "… both in bfloat16, with a fused Adam",
            _ratio(results, "models", "elmo, bfloat16", "elmo_semfit, bfloat16"),
            "",
        ],
        [
            "training ELMo-S vs. ELMo with sparse gradients",
            _ratio(results, "models_sparse", "elmo, sparse gradients", "elmo_semfit"),
            "",
        ],
        [
            "… both in bfloat16, ELMo-S with a fused Adam",
            _ratio(
                results,
                "models_sparse",
                "elmo, sparse gradients, bfloat16",
                "elmo_semfit, bfloat16",
            ),
            "",
        ],
        [
            "training ELMo-S vs. ELMo-A",
            _ratio(results, "models", "elmo_adaptive", "elmo_semfit"),
            f"{_PAPER_SPEED_UPS['elmo_semfit'] / _PAPER_SPEED_UPS['elmo_adaptive']:.1f} ×",
        ],
        [
            "contextualizer vs. AllenNLP's `ElmoLstm`",
            _ratio(results, "contextualizer", "ElmoLstm, float32, 4096 cells", ours),
            "",
        ],
        [
            "… both in bfloat16",
            _ratio(results, "contextualizer", "ElmoLstm, bfloat16, 4096 cells", fast),
            "",
        ],
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


def _output_layers(results: Benchmarks) -> str:
    rows = []
    for name, row in results["heads"]["timings"].items():
        layer, _, vocabulary = name.rpartition(", ")
        if vocabulary not in ("40,000", "800,000"):
            continue
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


def _contextualizers(results: Benchmarks) -> str:
    sizes = {"contextualizer_16": 512, "contextualizer_64": 512, "contextualizer": 4096}
    header = ["contextualizer"]
    for benchmark, cells in sizes.items():
        sentences = results[benchmark]["batch_size"]
        header += [f"{cells} cells, {sentences} sentences, {t}" for t in ("float32", "bfloat16")]
    names = {
        "ElmoLstm": "AllenNLP's `ElmoLstm`",
        "torch.nn.LSTM": "`torch.nn.LSTM`",
        "bidirectional_language_model_lstm, PyTorch operations": '`…_lstm`, `"torch"`',
        "bidirectional_language_model_lstm": '`…_lstm`, `"native"`',
        "bidirectional_language_model_qrnn": "`…_qrnn`",
        "bidirectional_language_model_sru": "`…_sru`",
        "matrix products": "matrix products of `…_lstm`",
    }

    def timing(benchmark: str, name: str, dtype: str, cells: int) -> Mapping[str, float]:
        found: Mapping[str, float] = results[benchmark]["timings"][
            f"{name}, {dtype}, {cells} cells"
        ]
        return found

    rows = [
        [
            title,
            *(
                f"{timing(benchmark, name, dtype, cells)['words_per_second']:,.0f}"
                for benchmark, cells in sizes.items()
                for dtype in ("float32", "bfloat16")
            ),
        ]
        for name, title in names.items()
    ]
    return _grid(header, rows)


def _models(results: Benchmarks) -> str:
    names = {
        "elmo": "ELMo: character CNN, `ElmoLstm`, sampled softmax",
        "elmo_adaptive": "ELMo-A: fastText, our contextualizer, adaptive softmax",
        "elmo_semfit": "ELMo-S: fastText, our contextualizer, `semfit`",
        "elmo_semfit_sru": "ELMo-S with SRUs",
    }
    timings = results["models"]["timings"]
    rows: List[List[str]] = []
    for name, description in names.items():
        # In single precision, and in bfloat16 with a fused Adam.
        both = [timings.get(name + suffix) for suffix in ("", ", bfloat16")]
        row = next(filter(None, both))
        cells = [description, f"{row['parameters'] / 1e6:,.0f} M"]
        cells.append(f"{row['peak_memory_bytes'] / 1e9:.1f} GB")
        for row in both:
            speed_up = row and timings["elmo"]["median_seconds"] / row["median_seconds"]
            cells += [f"{row['words_per_second']:,.0f}", f"{speed_up:.1f} ×"] if row else ["", ""]
        rows.append(cells)
    header = ["model", "parameters", "memory", "words/s", "speed vs. ELMo"]
    return _grid([*header, "bfloat16, fused Adam: words/s", "speed vs. ELMo in float32"], rows)


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


def _table(function: Callable[[Benchmarks], str]) -> Callable[[Mapping[str, Any]], str]:
    return lambda results: function(results["benchmarks"])


# By the name in a page's mark, each a function of the results that `experiments.pages` gives.
TABLES: Dict[str, Callable[[Mapping[str, Any]], str]] = {
    "speed": _table(_summary),
    "speed of output layers": _table(_output_layers),
    "speed of contextualizers": _table(_contextualizers),
    "speed of models": _table(_models),
    "speed of fastText readers": _table(_fasttext),
}
