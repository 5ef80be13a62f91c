# One command file, the same for people and CI. `make help` lists the targets.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
TRAIN_VENV  ?= .venv-train
TRAIN_BIN   := $(TRAIN_VENV)/bin
TRAIN_STAMP := $(TRAIN_VENV)/.installed
TORCH       := torch==2.13.0
DATA   ?= $(EVIMEM_DATA)
MODEL  ?= smollm2

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-llm llm-server test test-train check format bench bench-smoke doctor docs build clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(STAMP): pyproject.toml constraints.txt
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(STAMP)

# torch comes first and by its own name, so that pip takes the build that fits the machine; with it
# come the CUDA packages where there are any. All else is pinned.
$(TRAIN_STAMP): pyproject.toml constraints-train.txt
	test -d $(TRAIN_VENV) || $(PYTHON) -m venv $(TRAIN_VENV)
	$(TRAIN_BIN)/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	$(TRAIN_BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r constraints-train.txt
	$(TRAIN_BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(TRAIN_STAMP)

setup: $(STAMP)  ## make the local environment (.venv) from the pinned constraints

demo: $(STAMP)  ## import a small conversation and ask about it: no key, no server
	$(BIN)/evimem demo

demo-llm: $(STAMP)  ## the same path with a real, very small model on the CPU (98 MB, once)
	$(BIN)/python dev/fetch_model.py smollm2 --server
	$(BIN)/python dev/demo_llm.py $(ARGS)

llm-server: $(STAMP)  ## serve a small model until Ctrl-C; MODEL=smollm2, qwen-0.5b or qwen-1.5b
	$(BIN)/python dev/fetch_model.py $(MODEL) --server
	$(BIN)/python dev/serve_model.py --model $(MODEL) $(ARGS)

test: $(STAMP)  ## the whole test suite
	$(BIN)/python -m pytest -n 2 --dist loadfile $(ARGS)

# The import stands before the tests, which would skip without these packages. These open files of
# their own without an encoding, so the warning of it is off here.
test-train: $(TRAIN_STAMP)  ## the tests of training, in an environment of its own (.venv-train)
	$(TRAIN_BIN)/python -W ignore -c "import torch, transformers, trl, peft, accelerate, datasets, tensorboard"
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE PYTHONWARNDEFAULTENCODING= \
	$(TRAIN_BIN)/python -m pytest -n 2 tests/training_torch $(ARGS)

check: $(STAMP)  ## format, lint, types, import arrows, docs
	$(BIN)/ruff format --check src tests dev
	$(BIN)/ruff check src tests dev
	$(BIN)/python -m mypy
	$(BIN)/lint-imports
	$(BIN)/python dev/make_docs.py --check

format: $(STAMP)  ## format and fix what can be fixed
	$(BIN)/ruff format src tests dev
	$(BIN)/ruff check --fix src tests dev

bench: $(STAMP)  ## retrieval and speed benchmarks; DATA=folder with the benchmark files
	@test -n "$(DATA)" || { echo "set DATA (or EVIMEM_DATA) to the folder with locomo10.json"; exit 2; }
	$(BIN)/evimem bench retrieval --data $(DATA)
	$(BIN)/evimem bench qemem --data $(DATA) --dataset locomo --part report
	$(BIN)/evimem bench stored --data $(DATA) --dataset locomo --part report
	$(BIN)/evimem bench answers --data $(DATA)
	$(BIN)/evimem bench speed

bench-smoke: $(STAMP)  ## a benchmark of seconds
	$(BIN)/evimem bench speed --smoke

doctor: $(STAMP)  ## end-to-end check of this installation and the default bank
	$(BIN)/evimem doctor

docs: $(STAMP)  ## write the generated parts of docs/ (CLI reference)
	$(BIN)/python dev/make_docs.py

build: $(STAMP)  ## build the wheel into dist/
	$(BIN)/python -m hatchling build -t wheel

clean:  ## remove the local environment and caches
	rm -rf $(VENV) $(TRAIN_VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
