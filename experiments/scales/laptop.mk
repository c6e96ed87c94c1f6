# Two CPU cores, a few hours. The language models read 5 million words once.
LM_CONFIGS := training_config/laptop
TASK_CONFIGS := training_config/downstream/laptop

# Of the language models' training text, and of their held-out text.
SENTENCES := 235008
HELD_OUT := 1500

# The vectors see all of the text.
FASTTEXT := --dim 100 --bucket 500000 --epoch 3
MIN_COUNT := 3
MERGES := 8000
