"""What the parts of the stress test found, as text and as JSON."""

import os
import platform
import re
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Sequence, Tuple

__all__ = ["GOOD", "RESULTS", "Outcome", "as_text", "location", "summarize"]

GOOD = ("ok", "clear error", "missed")
"""
The verdicts that are not findings. `"missed"`: it was to be interrupted before our code began, or
after it had ended.
"""

RESULTS = Path(__file__).parent / "results" / "stress.json"
"""The committed report, of a full run."""

_EXAMPLES = 5


class Outcome(NamedTuple):
    """
    The outcome of one case.

    # Parameters

    subject : `str`
        The file format or the command.
    case : `str`
        What was done, in words that let it be repeated.
    verdict : `str`
        One of `GOOD`, or the kind of finding.
    detail : `str`, optional (default = `""`)
        What was found. Findings with the same verdict and detail are counted as one.
    """

    subject: str
    case: str
    verdict: str
    detail: str = ""


def summarize(parts: Mapping[str, Tuple[float, Sequence[Outcome]]], **facts: Any) -> Dict[str, Any]:
    """
    # Parameters

    parts : `Mapping[str, Tuple[float, Sequence[Outcome]]]`
        The seconds and the outcomes of each part.
    **facts
        More entries for the JSON file.
    """
    findings: Dict[Tuple[str, ...], List[str]] = {}
    for part, (_, outcomes) in parts.items():
        for outcome in outcomes:
            if outcome.verdict not in GOOD:
                key = (part, outcome.subject, outcome.verdict, outcome.detail)
                findings.setdefault(key, []).append(outcome.case)
    return {
        "platform": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        **facts,
        "parts": {
            part: {"seconds": round(seconds, 1), "subjects": _count(outcomes)}
            for part, (seconds, outcomes) in parts.items()
        },
        "findings": [
            {
                **dict(zip(("part", "subject", "verdict", "detail"), key)),
                "count": len(cases),
                "cases": cases[:_EXAMPLES],
            }
            for key, cases in findings.items()
        ],
    }


def _count(outcomes: Iterable[Outcome]) -> Dict[str, Dict[str, int]]:
    counts: Dict[str, Counter] = {}
    for outcome in outcomes:
        counts.setdefault(outcome.subject, Counter())[outcome.verdict] += 1
    return {subject: dict(verdicts) for subject, verdicts in counts.items()}


def as_text(report: Mapping[str, Any]) -> str:
    """The report for a terminal."""
    lines = []
    for part, found in report["parts"].items():
        lines.append(f"{part} ({found['seconds']:,.0f} s)")
        for subject, verdicts in found["subjects"].items():
            numbers = ", ".join(f"{number:,} {verdict}" for verdict, number in verdicts.items())
            lines.append(f"  {subject}: {numbers}")
    lines += ["", f"{len(report['findings'])} findings"]
    for finding in report["findings"]:
        place = f"{finding['part']} {finding['subject']}"
        lines.append(f"{place}: {finding['verdict']}, {finding['count']:,} ×: {finding['detail']}")
        lines.append(f"    {'; '.join(finding['cases'])}")
    return "\n".join(lines)


def location(output: str) -> str:
    """Summarises a traceback: where it ends in the package, or else at all, and the error."""
    frames = re.findall(r'File ".*?([^"]*)", line \d+, in (\w+)', output)
    ours = [frame for frame in frames if "allennlp_semfit/" in frame[0]] or frames
    path, function = ours[-1] if ours else ("", "")
    place = re.sub(r".*/(site-packages|python3\.\d+)/|.*/(?=(allennlp_semfit|stress)/)", "", path)
    error = (output.strip().splitlines() or [""])[-1]
    # Numbers and names differ from case to case.
    error = re.sub(r"""0x[0-9a-f]+|\d+|'[^']*'|"[^"]*"|/\S+""", "…", error)
    return f"{place} {function}: {error}"[:200].lstrip(" :")
