"""
Registers the components and commands of the plugin, for `import allennlp_semfit`. For a plugin that
`.allennlp_plugins` lists, AllenNLP imports the package alone: what this module does not import
stays unregistered, and no config can name it. `--include-package` imports every module.
"""

from importlib import import_module
from importlib.util import find_spec

from allennlp_semfit.patches import apply_patches

if not find_spec("allennlp_models"):
    raise ImportError(
        "allennlp_semfit needs allennlp-models, which declares bounds that no installer can meet. "
        "All that it imports is installed already. Install it by itself:\n"
        "  pip install --no-deps allennlp-models==2.10.1"
    )

_MODULES = [
    "commands.copy_configs",
    "commands.embed",
    "commands.export",
    "commands.nearest_words",
    "commands.prepare_corpus",
    "commands.show_neighbors",
    "commands.show_training",
    "commands.train",
    "data.fasttext_indexer",
    "data.language_modeling",
    "data.subword_tokenizer",
    "data.watched_data_loader",
    "mimick.indexer",
    "mimick.model",
    "mimick.reader",
    "models.bidirectional_lm",
    "models.masked_lm",
    "modules.contextualizers.bidirectional_language_model_adapter",
    "modules.contextualizers.bidirectional_language_model_lstm",
    "modules.contextualizers.bidirectional_language_model_sru_qrnn",
    "modules.contextualizers.bidirectional_language_model_torch_lstm",
    "modules.contextualizers.hugging_face_encoder",
    "modules.lm_heads.adaptive_softmax_head",
    "modules.lm_heads.contrastive_head",
    "modules.lm_heads.distances",
    "modules.lm_heads.lm_head",
    "modules.lm_heads.sampled_softmax_head",
    "modules.lm_heads.semfit_head",
    "modules.lm_heads.softmax_head",
    "modules.token_embedders.cached_embedder",
    "modules.token_embedders.elmo_character_cnn_embedder",
    "modules.token_embedders.fasttext_embedder",
    "pretrained.embedder",
    "pretrained.indexer",
    "predictors.language_model_vectors",
    "predictors.tagger",
    "training.fused_adam",
    "training.large_batch",
    "training.resumable",
    "training.token_averages",
]

# Registers the encoder of the shipped Transformer config. Otherwise only the command line does so.
import_module("allennlp_models.lm")
for _module in _MODULES:
    import_module(f"allennlp_semfit.{_module}")
apply_patches()
