"""The input of a language model, according to its configuration."""

from typing import Any, List, Mapping, Optional

from allennlp_semfit.common.text_files import DEFAULT_BOUNDARY_TOKEN


def type_of(component: Any) -> Optional[str]:
    """The type of a component, whose configuration may abbreviate `{"type": "x"}` to "x"."""
    return component.get("type") if hasattr(component, "get") else component


def input_names(indexers: Mapping[str, Any], embedders: Mapping[str, Any]) -> List[str]:
    """The names of the indexers that the model reads: their embedders are not `empty`."""
    return sorted(
        name
        for name, indexer in indexers.items()
        if indexer is not None and type_of(embedders.get(name)) != "empty"
    )


def boundary_tokens(reader: Mapping[str, Any]) -> List[List[str]]:
    """The start tokens and the end tokens that a `language_modeling` reader adds to a sentence."""
    tokens = (reader.get(key) for key in ("start_tokens", "end_tokens"))
    return [[DEFAULT_BOUNDARY_TOKEN] if each is None else list(map(str, each)) for each in tokens]
