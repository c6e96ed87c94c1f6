"""Refuses unknown parameters in a config."""

from typing import Any, Callable, Optional

from allennlp.common import FromParams, Params, Registrable
from allennlp.common.from_params import infer_params

__all__ = ["KnownParams"]


class KnownParams(FromParams):
    """
    A base class for components whose constructor passes `**kwargs` to that of its base. AllenNLP
    lets such a constructor have any parameter, also a misspelt one. It must come after AllenNLP's
    own base class.

    # Raises

    `ConfigurationError`
        By `from_params`, if neither the constructor nor those of the base classes have a parameter.
    """

    @classmethod
    def from_params(
        cls,
        params: Params,
        constructor_to_call: Optional[Callable] = None,
        constructor_to_inspect: Optional[Callable] = None,
        **extras: Any,
    ) -> Any:
        # Otherwise the class is the one that has the registry, and the type is not known yet.
        if cls not in Registrable._registry:
            known = infer_params(cls, constructor_to_inspect or cls.__init__)
            unknown = {name: value for name, value in params.params.items() if name not in known}
            Params(unknown, params.history).assert_empty(cls.__name__)
        return super().from_params(params, constructor_to_call, constructor_to_inspect, **extras)
