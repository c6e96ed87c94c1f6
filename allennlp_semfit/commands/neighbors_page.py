"""The web page of the `show-neighbors` subcommand: one file, which refers to no other."""

from pathlib import Path
from typing import Dict, List, Mapping, NamedTuple, Sequence, Tuple

import numpy
from jinja2 import StrictUndefined, Template

from allennlp_semfit.analysis.neighbors import Neighborhood, Occurrence

# Words of context on each side of a word.
_CONTEXT_WORDS = 12
# The size of a map and of its margins, in units of which a telephone's screen has about as many
# pixels.
_WIDTH, _HEIGHT, _MARGIN = 400, 280, 14
# Vectors have length 1. Smaller differences are rounding errors, and are not magnified.
_SMALLEST_EXTENT = 0.02


class WordMap(NamedTuple):
    """
    The occurrences of a word with their neighbors, and `points`, a plane's coordinates for each of
    both.
    """

    word: str
    neighborhoods: List[Neighborhood]
    points: Dict[Occurrence, numpy.ndarray]


def render_page(
    archive: str,
    text: str,
    sentences: Mapping[int, Sequence[str]],
    maps: Mapping[str, Sequence[WordMap]],
    shown: str,
) -> str:
    """
    # Parameters

    archive : `str`
    text : `str`
        The names of the language model and of the text.
    sentences : `Mapping[int, Sequence[str]]`
        The words of each sentence by the index of its line.
    maps : `Mapping[str, Sequence[WordMap]]`
        For each choice of layers, a map for each word. The key is its name for humans.
    shown : `str`
        The choice that the page shows first, and without JavaScript.

    # Returns

    `str`
        HTML.
    """

    def context(occurrence: Occurrence) -> Tuple[str, str, str]:
        words, position = sentences[occurrence.line], occurrence.position
        start, end = max(0, position - _CONTEXT_WORDS), position + 1 + _CONTEXT_WORDS
        left = [*(["…"] if start else []), *words[start:position]]
        right = [*words[position + 1 : end], *(["…"] if end < len(words) else [])]
        return " ".join(left), words[position], " ".join(right)

    template = Template(
        Path(__file__).with_suffix(".html").read_text("utf-8"),
        autoescape=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    return template.render(
        archive=archive,
        text=text,
        sentences=sentences,
        maps=maps,
        shown=shown,
        context=context,
        scale=_scale,
        width=_WIDTH,
        height=_HEIGHT,
    )


def _scale(points: Mapping[Occurrence, numpy.ndarray]) -> Dict[Occurrence, Tuple[float, float]]:
    """Scales coordinates to the size of a map, both axes alike."""
    coordinates = numpy.array(list(points.values()))
    lowest, highest = coordinates.min(axis=0), coordinates.max(axis=0)
    extent = (highest - lowest).clip(min=_SMALLEST_EXTENT)
    size = numpy.array([_WIDTH, _HEIGHT])
    scaled = (coordinates - (lowest + highest) / 2) * ((size - 2 * _MARGIN) / extent).min()
    return dict(zip(points, (scaled + size / 2).round(1).tolist()))
