from allennlp_semfit.archives.archive import ArchiveKind

LANGUAGE_MODEL = ArchiveKind(
    "Language model",
    ("bidirectional_lm", "masked_lm"),
    "language_modeling",
    "`allennlp train` makes it with a config such as training_config/elmo_semfit.jsonnet.",
)
"""The archives of language models."""
