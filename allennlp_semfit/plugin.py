"""
Imports all modules, which registers the components and commands of the plugin. For a plugin that
`.allennlp_plugins` lists, AllenNLP imports the package alone.
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages

from allennlp_semfit.patches import apply_patches

if not find_spec("allennlp_models"):
    raise ImportError(
        "allennlp_semfit needs allennlp-models, which declares bounds that no installer can meet. "
        "Its dependencies are already installed. Install it without them:\n"
        "  pip install --no-deps allennlp-models==2.10.1"
    )

# Registers the encoder of the shipped Transformer config. Otherwise only the command line does so.
import_module("allennlp_models.lm")
for _module in walk_packages([str(Path(__file__).parent)], "allennlp_semfit."):
    # The integrations need other libraries, and the kernels are not a Python module.
    if not {"integrations", "_native_kernels"} & {*_module.name.split(".")}:
        import_module(_module.name)
apply_patches()
