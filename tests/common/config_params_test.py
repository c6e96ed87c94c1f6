from inspect import Parameter

import pytest
from allennlp.commands import Subcommand
from allennlp.common import Params, Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.common.from_params import infer_params

import allennlp_semfit
from allennlp_semfit.predictors.tagger import SemfitTagger

COMPONENTS = [
    pytest.param(base, name, id=f"{base.__name__} {name}")
    for base, components in Registrable._registry.items()
    for name, (component, _) in components.items()
    if component.__module__.startswith(allennlp_semfit.__name__)
    and base is not Subcommand
    # Its parameters are those of the tagger that it loads.
    and component is not SemfitTagger
]


@pytest.mark.parametrize(("base", "name"), COMPONENTS)
def test_a_misspelt_parameter_of_a_component_is_named(base, name):
    component, constructor = Registrable._registry[base][name]
    constructor = getattr(component, constructor or "__init__")
    parameters = {}
    if constructor is not object.__init__:
        parameters = infer_params(component, constructor)
    # Without the required ones, AllenNLP would name these first.
    required = {
        name: None
        for name, parameter in parameters.items()
        if parameter.default is Parameter.empty
        and parameter.kind is not Parameter.VAR_KEYWORD
        and name != "self"
    }
    with pytest.raises(ConfigurationError, match=f"^Extra .* {component.__name__}: .*'distanse'"):
        base.from_params(Params({"type": name, "distanse": "cosine"}), **required)
