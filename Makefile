# Two commands do everything on a fresh machine: `make demo` and `make test`. Each builds .venv first, once.
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: help demo test install lint bench accuracy browser clean

help:
	@echo 'make demo     record a made-up conversation through the proxy and show what it weighs (no key, no network)'
	@echo 'make test     run the tests'
	@echo 'make install  build .venv; then .venv/bin/weighbridge --help'
	@echo 'make lint     ruff and mypy'
	@echo 'make bench    measure speed and size against plain mitmproxy'
	@echo 'make accuracy  hold estimates of tokens against counts of the API (fetches them with pip)'
	@echo 'make browser  install what the tests of the report page need: playwright and a Chromium'
	@echo 'make clean    remove .venv and everything the tools left behind'

demo: $(INSTALLED)
	@$(BIN)/weighbridge demo

test: $(INSTALLED)
	@$(BIN)/python -m pytest -q -n auto --dist loadfile

install: $(INSTALLED)

lint: $(INSTALLED)
	@$(BIN)/ruff check .
	@$(BIN)/mypy

bench: $(INSTALLED)
	@$(BIN)/python -m benchmarks

accuracy: $(INSTALLED)
	@$(BIN)/python -m benchmarks.accuracy --check

browser: $(INSTALLED)
	@sh .ci/browser $(VENV)

clean:
	rm -rf $(VENV) build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml constraints.txt .ci/venv
	@sh .ci/venv $(VENV)
	@touch $@
