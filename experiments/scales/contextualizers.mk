# ELMo-S with each contextualizer, at the size of the laptop scale, in bfloat16: four hours on one CPU core
# with instructions for it.
PAGES := docs/contextualizers.md
IMAGE :=
include scales/laptop.mk
LM_OVERLAY := experiments/scales/contextualizers.libsonnet

MODELS := elmo_semfit elmo_semfit_sru elmo_semfit_qrnn elmo_semfit_gated_cnn elmo_semfit_transformer elmo_semfit_torch_lstm
TASKS := ner snli srl
MINUTES :=
LANGUAGES :=
