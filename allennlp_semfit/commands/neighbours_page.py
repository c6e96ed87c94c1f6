"""The web page of the `show-neighbours` subcommand: one file, which refers to no other."""

from html import escape
from string import Template
from typing import Dict, Iterable, List, Mapping, NamedTuple, Sequence, Tuple

import numpy

from allennlp_semfit.analysis.neighbours import Neighbour, Neighbourhood, Occurrence

__all__ = ["WordMap", "render_page"]

# Words of context on each side of a word.
_CONTEXT_WORDS = 12
# The size of a map and of its margins, in units of which a telephone's screen has about as many
# pixels.
_WIDTH, _HEIGHT, _MARGIN = 400, 280, 14
# Vectors have length 1. Smaller differences are rounding errors, and are not magnified.
_SMALLEST_EXTENT = 0.02


class WordMap(NamedTuple):
    """
    The occurrences of a word with their neighbours, and `points`, a plane's coordinates for each of
    both.
    """

    word: str
    neighbourhoods: List[Neighbourhood]
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
    options = "".join(
        f'<option value="{index}"{" selected" if name == shown else ""}>{escape(name)}</option>'
        for index, name in enumerate(maps)
    )
    sections = "".join(
        f'<section class="layers" data-layers="{index}"{"" if name == shown else " hidden"}>'
        f"<h2>{_capitalised(name)}</h2>"
        + "".join(
            _render_word(f"{index}-{number}", word_map, sentences)
            for number, word_map in enumerate(word_maps)
        )
        + "</section>"
        for index, (name, word_maps) in enumerate(maps.items())
    )
    return _PAGE.substitute(
        archive=escape(archive),
        text=escape(text),
        num_sentences=f"{len(sentences):,}",
        options=options,
        sections=sections,
    )


def _render_word(key: str, word_map: WordMap, sentences: Mapping[int, Sequence[str]]) -> str:
    word = f'<span dir="auto" lang="">{escape(word_map.word)}</span>'
    items = []
    for number, neighbourhood in enumerate(word_map.neighbourhoods, 1):
        line = neighbourhood.occurrence.line + 1
        near = _keys(
            neighbour.occurrence
            for neighbour in (*neighbourhood.same_word, *neighbourhood.other_words)
        )
        items.append(
            f"<li><details><summary>{_in_context(neighbourhood.occurrence, sentences)} "
            f'<small>line {line}</small></summary><p><button type="button" hidden '
            f'aria-pressed="false" data-at="{_keys([neighbourhood.occurrence])}" '
            f'data-near="{near}" data-number="{number}">Highlight occurrence {number} and its '
            "neighbours on the map</button></p>"
            + _render_table("The same word", neighbourhood.same_word, sentences)
            + _render_table("Other words", neighbourhood.other_words, sentences)
            + "</details></li>"
        )
    return (
        f'<section class="word" aria-labelledby="word-{key}"><h3 id="word-{key}">{word}</h3>'
        + _render_map(key, word_map, sentences)
        + f'<p class="status" role="status"></p><ol>{"".join(items)}</ol></section>'
    )


def _render_table(
    caption: str, neighbours: Sequence[Neighbour], sentences: Mapping[int, Sequence[str]]
) -> str:
    if not neighbours:
        return f"<p>{caption}: the text has none.</p>"
    rows = "".join(
        f"<tr><td>{cosine:.2f}</td><td>{_in_context(occurrence, sentences)}</td>"
        f"<td>{occurrence.line + 1}</td></tr>"
        for occurrence, cosine in neighbours
    )
    return (
        f'<table><caption>{caption}</caption><thead><tr><th scope="col">Cosine</th>'
        '<th scope="col">Context</th><th scope="col">Line</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _render_map(key: str, word_map: WordMap, sentences: Mapping[int, Sequence[str]]) -> str:
    numbers = {each.occurrence: number for number, each in enumerate(word_map.neighbourhoods, 1)}
    same = {
        neighbour.occurrence for each in word_map.neighbourhoods for neighbour in each.same_word
    }
    places = _scaled(word_map.points)
    marks = []
    # The numbered occurrences last, so that they are on top.
    for occurrence in sorted(places, key=numbers.__contains__):
        x, y = places[occurrence]
        title = f"<title>{escape(' '.join(_context(occurrence, sentences)))}</title>"
        at = f'data-at="{_keys([occurrence])}"'
        if occurrence in numbers:
            marks.append(
                f'<g class="shown" {at}>{title}<circle cx="{x:.1f}" cy="{y:.1f}" r="8"/><text '
                f'x="{x:.1f}" y="{y + 3.5:.1f}">{numbers[occurrence]}</text></g>'
            )
        elif occurrence in same:
            marks.append(
                f'<circle class="same" {at} cx="{x:.1f}" cy="{y:.1f}" r="4">{title}</circle>'
            )
        else:
            marks.append(
                f'<rect class="other" {at} x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6">'
                f"{title}</rect>"
            )
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-labelledby="title-{key} description-{key}"><title id="title-{key}">Map of '
        f'{escape(word_map.word)}</title><desc id="description-{key}">{len(numbers)} occurrences '
        f"and {len(places) - len(numbers)} neighbours; similar ones are close to each other. The "
        f"list that follows has the same occurrences and neighbours.</desc>{''.join(marks)}</svg>"
        "<figcaption>Numbered circles: the occurrences below. Small circles: the same word. "
        "Squares: other words. The axes are the first two principal components.</figcaption>"
        "</figure>"
    )


def _scaled(points: Mapping[Occurrence, numpy.ndarray]) -> Dict[Occurrence, Tuple[float, float]]:
    """Scales coordinates to the size of a map, both axes alike."""
    coordinates = numpy.array(list(points.values()))
    lowest, highest = coordinates.min(axis=0), coordinates.max(axis=0)
    extent = (highest - lowest).clip(min=_SMALLEST_EXTENT)
    size = numpy.array([_WIDTH, _HEIGHT])
    scaled = (coordinates - (lowest + highest) / 2) * ((size - 2 * _MARGIN) / extent).min()
    return {occurrence: (x, y) for occurrence, (x, y) in zip(points, (scaled + size / 2).tolist())}


def _context(
    occurrence: Occurrence, sentences: Mapping[int, Sequence[str]]
) -> Tuple[str, str, str]:
    words, position = sentences[occurrence.line], occurrence.position
    start, end = max(0, position - _CONTEXT_WORDS), position + 1 + _CONTEXT_WORDS
    left = [*(["…"] if start else []), *words[start:position]]
    right = [*words[position + 1 : end], *(["…"] if end < len(words) else [])]
    return " ".join(left), words[position], " ".join(right)


def _in_context(occurrence: Occurrence, sentences: Mapping[int, Sequence[str]]) -> str:
    left, word, right = map(escape, _context(occurrence, sentences))
    return f'<span dir="auto" lang="">{left} <mark>{word}</mark> {right}</span>'


def _keys(occurrences: Iterable[Occurrence]) -> str:
    return " ".join(f"{line}-{position}" for line, position in occurrences)


def _capitalised(name: str) -> str:
    return escape(name[:1].upper() + name[1:])


_PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>Nearest neighbours in context</title>
<style>
:root { --text: #1b1b1b; --paper: #ffffff; --quiet: #595959; --line: #c4c4c4; --same: #0b57d0;
 --other: #8a4b00; --chosen: #a3004f; --on: #ffffff; }
@media (prefers-color-scheme: dark) {
 :root { --text: #e8e8e8; --paper: #16181c; --quiet: #b4b4b4; --line: #54585f; --same: #8ab4f8;
  --other: #f0a860; --chosen: #ff9ecb; --on: #16181c; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 50rem; padding: 1rem; color: var(--text);
 background: var(--paper); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; } h3 { font-size: 1.15rem; }
small, figcaption, caption, .status { color: var(--quiet); font-size: .875rem; }
select, button { font: inherit; min-height: 2.75rem; max-width: 100%; padding: .25rem .75rem; }
button[aria-pressed="true"] { color: var(--on); background: var(--chosen); }
:focus-visible { outline: 3px solid var(--same); outline-offset: 2px; }
summary { cursor: pointer; padding: .5rem 0; }
ol { padding-left: 2rem; } li { border-top: 1px solid var(--line); }
mark { color: #1b1b1b; background: #ffe08a; padding: 0 .15em; }
figure { margin: 0; max-width: 40rem; }
svg { display: block; width: 100%; border: 1px solid var(--line); }
svg text { font-size: 10px; font-weight: bold; text-anchor: middle; fill: var(--on);
 pointer-events: none; }
.shown { cursor: pointer; } .shown circle { fill: var(--text); stroke: var(--paper); }
.shown text { fill: var(--paper); }
.same { fill: var(--same); } .other { fill: var(--other); }
svg.selecting [data-at] { opacity: .2; }
svg.selecting .near, svg.selecting .chosen { opacity: 1; stroke: var(--text); stroke-width: 1; }
svg.selecting .chosen circle { fill: var(--chosen); stroke: var(--text); stroke-width: 3; }
svg.selecting .near text, svg.selecting .chosen text { stroke: none; }
table { border-collapse: collapse; width: 100%; margin: 0 0 1rem; }
caption { text-align: left; padding: .25rem 0; font-weight: bold; }
th, td { border-top: 1px solid var(--line); padding: .25rem .5rem .25rem 0; text-align: left;
 vertical-align: top; }
td:nth-child(2) { width: 100%; } th, td:first-child, td:last-child { white-space: nowrap; }
</style>
</head>
<body>
<header>
<h1>Nearest neighbours in context</h1>
<p>The language model <span dir="auto">$archive</span> gives each word a vector that depends on its
sentence. Below are occurrences of words in <span dir="auto">$text</span>
($num_sentences sentences), each with the most similar occurrences of the same word and of other
words. A score is the cosine between the vectors, from which the mean of all vectors is subtracted:
1 means the same direction, 0 as similar as any two words.</p>
<p id="choice" hidden><label for="layers">Layers: </label><select id="layers">$options</select></p>
</header>
<main>
$sections
</main>
<script>
"use strict";
const choice = document.getElementById("layers");
document.getElementById("choice").hidden = false;
function show() {
  for (const section of document.querySelectorAll("section.layers")) {
    section.hidden = section.dataset.layers !== choice.value;
  }
}
choice.addEventListener("change", show);
// A browser may restore the choice of an earlier visit.
show();
for (const word of document.querySelectorAll("section.word")) {
  const map = word.querySelector("svg");
  const buttons = [...word.querySelectorAll("button")];
  for (const button of buttons) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const selects = button.getAttribute("aria-pressed") === "false";
      for (const other of buttons) {
        other.setAttribute("aria-pressed", String(selects && other === button));
      }
      const near = new Set(button.dataset.near.split(" "));
      map.classList.toggle("selecting", selects);
      for (const mark of map.querySelectorAll("[data-at]")) {
        mark.classList.toggle("near", selects && near.has(mark.dataset.at));
        mark.classList.toggle("chosen", selects && mark.dataset.at === button.dataset.at);
      }
      word.querySelector(".status").textContent = selects
        ? "On the map: occurrence " + button.dataset.number + " and its neighbours." : "";
    });
  }
  for (const mark of map.querySelectorAll(".shown")) {
    mark.addEventListener("click", () => {
      const button = buttons.find((each) => each.dataset.at === mark.dataset.at);
      button.closest("details").open = true;
      button.click();
    });
  }
}
</script>
</body>
</html>
""")
