# One GPU, a day or so. The language models read the novels' 18 million words five times.
LM_OVERLAY := experiments/scales/gpu.libsonnet
TASK_CONFIGS := training_config/downstream
TASK_OVERLAY := { sizes+:: { elmo_semfit_dim: 2 * 256, use_subtrees: false, num_epochs: std.min(super.num_epochs, 40), patience: std.min(super.patience, 5) } }
CORPUS := novels

novels_sentences := 842254

CUDA_DEVICE ?= 0
LANGUAGES :=
MINUTES :=
