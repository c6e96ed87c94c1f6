# The paper's scale: four GPUs and days for each language model, on the One Billion Word Benchmark. Requires,
# besides SEMFIT_DATA,
#
#   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
#   export CC_VECTORS=…/cc.en.300.bin
ifndef ONE_BILLION_WORD
$(error ONE_BILLION_WORD is not set. Set it to the directory of the One Billion Word Benchmark)
endif
ifndef CC_VECTORS
$(error CC_VECTORS is not set. Set it to the fastText model of Common Crawl, cc.en.300.bin)
endif

LM_OVERLAY := experiments/scales/paper.libsonnet
TASK_CONFIGS := training_config/downstream
TASK_OVERLAY := {}
CORPUS := one_billion_word

one_billion_word_vectors := $(CC_VECTORS)
one_billion_word_text := $(ONE_BILLION_WORD)/training-monolingual.tokenized.shuffled
one_billion_word_heldout := $(ONE_BILLION_WORD)/heldout-monolingual.tokenized.shuffled/news.en.heldout-00000-of-00050

# Ten epochs over all abstracts with the same batch size.
pubmed_sentences := 273803
pubmed_overrides := "data_loader.batches_per_epoch": 89, "trainer.learning_rate_scheduler.decay_start": 1780, "trainer.learning_rate_scheduler.decay_end": 3560,

CUDA_DEVICE ?= 0
LANGUAGES :=
MINUTES :=
