from typing import Any, Callable, Optional

from allennlp.common import FromParams, Params, Registrable
from allennlp.common.from_params import infer_params

from allennlp_semfit.common.errors import InvalidFileError


class NamesConfigKey(FromParams):
    """
    A base class for components, listed after AllenNLP's own base class. Errors of `from_params`
    name the configuration key: an `InvalidFileError`, if its file is one of the parameters; and a
    `ConfigurationError` for a parameter of neither the constructor nor those of the base classes.
    If a constructor has `**kwargs`, AllenNLP itself accepts any parameter, even a misspelled one.
    """

    @classmethod
    def from_params(
        cls,
        params: Params,
        constructor_to_call: Optional[Callable] = None,
        constructor_to_inspect: Optional[Callable] = None,
        **extras: Any,
    ) -> Any:
        keys = {str(value): params.history + name for name, value in params.params.items()}
        # In a class with a registry, the type, and so the constructor, is not known yet.
        if cls not in Registrable._registry:
            # A constructor other than `__init__` passes its `**kwargs` on to `__init__`.
            known = {**infer_params(cls, constructor_to_inspect), **infer_params(cls, cls.__init__)}
            unknown = {name: value for name, value in params.params.items() if name not in known}
            Params(unknown, params.history).assert_empty(cls.__name__)
        try:
            return super().from_params(
                params, constructor_to_call, constructor_to_inspect, **extras
            )
        except InvalidFileError as error:
            error.key = keys.get(error.file, error.key)
            raise
