# The laptop scale with task models that train for up to three times as many epochs, until their scores on the
# development set no longer improve: two CPU cores, two hours for each seed.
PAGES := docs/results-long-tasks.md
include scales/laptop.mk
TASK_OVERLAY := { sizes+:: { num_epochs: 3 * super.num_epochs, patience: 2 * super.patience } }

MODELS := elmo_semfit elmo_semfit_contrastive elmo_adaptive
PEERS := bert
MINUTES := 5
LANGUAGES := wol
LANGUAGE_MODELS := elmo_semfit
