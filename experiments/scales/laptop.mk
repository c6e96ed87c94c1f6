# Two CPU cores, a night for each seed.
LM_OVERLAY := training_config/laptop/override.libsonnet
TASK_CONFIGS := training_config/downstream/laptop
TASK_OVERLAY := {}
CORPUS := novels

# The sentences to sample for training.
novels_sentences := 235008
# Five epochs of 38,300 Yoruba sentences, twenty of 4,462 Wolof ones.
yor_fasttext := --epoch 10
yor_overrides := "trainer.num_epochs": 5, "data_loader.batches_per_epoch": 598, "trainer.learning_rate_scheduler.decay_start": 5980, "trainer.learning_rate_scheduler.decay_end": 11960,
wol_fasttext := --epoch 30
wol_overrides := "trainer.num_epochs": 20, "data_loader.batches_per_epoch": 70, "trainer.learning_rate_scheduler.decay_start": 2800, "trainer.learning_rate_scheduler.decay_end": 5600,
# About as long as the language models and their vectors.
yor_peers := bert-15min
wol_peers := bert-5min
HELD_OUT := 1500

DIM := 100
FASTTEXT := --bucket 500000 --epoch 3
# About so many minutes.
FASTTEXT_5min := --bucket 500000 --epoch 10
FASTTEXT_15min := --bucket 500000 --epoch 30

DEV_SENTENCES := 400
FOLDS := 5

# Where `results` writes tables and the plot.
PAGES ?= README.md docs/results.md docs/performance.md
IMAGE ?= docs/images/results/minutes.png
