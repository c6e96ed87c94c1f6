"""The README's table of training speed, from what `benchmarks.models` measured."""

import json
from pathlib import Path

__all__ = ["speed_table"]

_RESULTS = Path(__file__).parent.parent / "benchmarks" / "results"

# File of results, candidate, and what a reader calls it.
_ROWS = [
    ("models-cpu.json", "elmo", "ELMo: character CNN, sampled softmax"),
    (
        "models_sparse-cpu.json",
        "elmo, sparse gradients",
        "ELMo with sparse gradients, on one device",
    ),
    ("models-cpu.json", "elmo_adaptive", "ELMo-A: fastText, adaptive softmax"),
    ("models-cpu.json", "elmo_semfit", "ELMo-S: fastText, Semfit"),
]


def speed_table(results_dir: Path = _RESULTS) -> str:
    """
    # Parameters

    results_dir : `Path`, optional
        Holds the JSON files of `benchmarks.models`.

    # Returns

    `str`
        A Markdown table. The ratio is that of ELMo-S to the row, both from the same run.
    """
    lines = [
        "| model | parameters | memory of a step | words per second | ELMo-S is faster by |",
        "| --- | --- | --- | --- | --- |",
    ]
    for file, candidate, title in _ROWS:
        timings = json.loads((results_dir / file).read_text("utf-8"))["timings"]
        row = timings[candidate]
        ratio = timings["elmo_semfit"]["words_per_second"] / row["words_per_second"]
        cells = [
            title,
            f"{row['parameters'] / 1e6:.0f} M",
            f"{row['peak_memory_bytes'] / 1e9:.1f} GB",
            f"{row['words_per_second']:.0f}",
            "" if candidate == "elmo_semfit" else f"{ratio:.1f}×",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
