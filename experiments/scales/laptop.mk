# Two CPU cores, one night. The language models read 5 million words once.
LM_OVERLAY := training_config/laptop/override.libsonnet
TASK_CONFIGS := training_config/downstream/laptop
TASK_OVERLAY := {}
CORPUS := novels

# Of the language models' training text, and of their held-out text.
novels_sentences := 235008
# A third as many, so that the schedule ends sooner.
pubmed_sentences := 78336
pubmed_options := -o '{"data_loader.batches_per_epoch": 1224, "trainer.learning_rate_scheduler.decay_start": 2448, "trainer.learning_rate_scheduler.decay_end": 4896}'
HELD_OUT := 1500

FASTTEXT := --dim 100 --bucket 500000 --epoch 3
MERGES := 8000

DEV_SENTENCES := 400
FOLDS := 5

# Of what is not among REPRESENTATIONS.
OTHER_SEEDS ?= 1

PAGE ?= docs/results.md
IMAGES ?= docs/images/results
