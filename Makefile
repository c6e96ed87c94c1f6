# The first Python among these that is 3.11, 3.12 or 3.13.
PYTHON ?= $(firstword $(foreach python,python3 python3.13 python3.12 python3.11,$(shell \
	$(python) -c 'import sys; print("$(python)") if (3, 11) <= sys.version_info < (3, 14) else None' 2>/dev/null)))
BIN := .venv/bin
UV := uv==0.13.8
# AllenNLP declares bounds that exclude every PyTorch for these Pythons; `pyproject.toml` has bounds that hold.
ALLENNLP := allennlp==2.10.1 allennlp-models==2.10.1
SAMPLE := data/sample
OUTPUT := output/elmo_semfit

# `make train` has two threads, one for each direction of the contextualizer. Elsewhere, threads would
# wait for each other most of the time, and spin meanwhile.
TRAINING_THREADS := $(or $(OMP_NUM_THREADS),2)
export OMP_NUM_THREADS ?= 1
# AllenNLP uses deprecated interfaces of other libraries.
export PYTHONWARNINGS ?= ignore

.PHONY: train data test stress lint format typecheck reference docs requirements clean

# Products in bfloat16 are twice as fast on a CPU with instructions for them, and far slower on another. On a GPU, this
# small model does not need them.
# A run that resumes keeps what it had.
HAS_BFLOAT16 := $(if $(wildcard /dev/nvidia*),,$(shell grep -Ewom 1 'avx512_bf16|amx_bf16|bf16' /proc/cpuinfo 2>/dev/null))
RESUMED_BF16 := $(shell sed -n 's/^ *"bf16": \([a-z]*\).*/\1/p' $(OUTPUT)/config.json 2>/dev/null)
BF16 := $(or $(RESUMED_BF16),$(if $(HAS_BFLOAT16),true,false))

# Trains ELMo-S on a sample of Wikipedia. If it was interrupted, it resumes. AllenNLP writes the progress bars and errors to
# stderr; its log goes to stdout, and also to a file.
train: data
	@if [ -e $(OUTPUT)/metrics.json ] && tar -tzf $(OUTPUT)/model.tar.gz > /dev/null 2>&1; then \
		echo "$(OUTPUT) is trained already; remove it to train again."; \
	else \
		echo "Training the language model, with its log in $(OUTPUT)/out.log …"; \
		OMP_NUM_THREADS=$(TRAINING_THREADS) OMP_WAIT_POLICY=PASSIVE \
		$(BIN)/allennlp train training_config/elmo_semfit.jsonnet -s $(OUTPUT) \
			-o '{"trainer.bf16": $(BF16)}' $$([ -e $(OUTPUT)/config.json ] && echo --recover) > /dev/null; \
	fi
	@[ -e $(OUTPUT)/model/config.json ] || $(BIN)/allennlp export-model $(OUTPUT)/model.tar.gz $(OUTPUT)/model
	@$(BIN)/allennlp show-training $(OUTPUT)

data: $(SAMPLE)/vectors.bin

$(SAMPLE)/corpus.json: | .venv/synced
	@echo "Preparing the text …"
	@$(BIN)/allennlp prepare-corpus "$$($(BIN)/python -c 'import gensim, pathlib; print(*(pathlib.Path(gensim.__path__[0]) / "test" / "test_data").glob("enwiki-*shortened.bz2"))')" $(SAMPLE)

$(SAMPLE)/vectors.bin: $(SAMPLE)/corpus.json
	@echo "Training the fastText vectors …"
	@$(BIN)/allennlp train-fasttext $(SAMPLE)/train $@ --dim 100 --whiten --force

test: .venv/synced
	$(BIN)/pytest -n 2

# More random damage, kills and full disks than `make test` has, for ten minutes or more.
STRESS ?= 10
stress: .venv/synced
	STRESS=$(STRESS) $(BIN)/pytest tests/reliability

lint: .venv/synced
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: .venv/synced
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

typecheck: .venv/synced
	$(BIN)/mypy

# Writes the docstrings and the commands' --help into docs/reference/.
reference: .venv/synced
	$(BIN)/python docs/hooks/reference.py

# Builds the website in site/, in an environment of its own.
docs: .venv/synced .venv-docs/synced
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build

# Recompiles the pinned versions. A release candidate may lack an upper bound that the release has, and
# uv would take it for the sake of another package's latest version.
requirements: .venv/synced
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --prerelease disallow --upgrade --extra train --extra corpus \
		pyproject.toml requirements/dev.in -o requirements/requirements.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --prerelease disallow --upgrade \
		requirements/docs.in -o requirements/docs.txt

.venv/synced: $(filter-out requirements/docs.%,$(wildcard requirements/*)) pyproject.toml setup.py allennlp_semfit/modules/kernels/native_kernels.cpp
	@if [ -z "$(PYTHON)" ]; then \
		echo "No Python 3.11, 3.12 or 3.13 found, so uv downloads Python 3.12 …"; \
		python3 -m venv .venv && $(BIN)/python -m pip install --quiet --disable-pip-version-check $(UV) && $(BIN)/uv python install 3.12 || \
			{ echo "This failed. Install one, or name it: make PYTHON=/path/to/python3.12"; exit 1; }; \
	fi
	@echo "Installing the pinned packages into .venv, which takes a minute or more …"
	@$(or $(PYTHON),$$($(BIN)/uv python find 3.12)) -m venv --clear .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(UV)
	@$(BIN)/uv pip sync --compile-bytecode --python $(BIN)/python requirements/requirements.txt
	@$(BIN)/uv pip install --python $(BIN)/python --quiet --no-deps --compile-bytecode $(ALLENNLP) --editable .
	@# allennlp-models looks for this directory on import, and downloads what nothing here uses.
	@mkdir -p .venv/nltk_data/tokenizers/punkt
	@touch $@

.venv-docs/synced: requirements/docs.txt | .venv/synced
	@echo "Installing the packages of the documentation into .venv-docs …"
	@$(BIN)/python -m venv .venv-docs
	@$(BIN)/uv pip sync --quiet --python .venv-docs/bin/python requirements/docs.txt
	@touch $@

# Not data/ and output/, whose models may have taken hours.
clean:
	rm -rf .venv .venv-docs site build dist *.egg-info allennlp_semfit/modules/kernels/*.so .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
