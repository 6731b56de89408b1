# The single door: every task of the project is a target here, and each does its own set-up.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SCALE ?= small

.PHONY: help demo test lint format bench java chromium screenshot services archive clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(STAMP) java ## match generated posts against a hundred thousand subscriptions
	$(BIN)/tidegate demo

test: $(STAMP) java chromium services archive ## run the whole test suite
	$(BIN)/pytest -n 2 --dist loadscope --no-loadscope-reorder -q

lint: $(STAMP) ## ruff, mypy (strict), and the one-way rooms
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP) ## rewrite the sources in the house format
	$(BIN)/ruff check --fix src tests
	$(BIN)/ruff format src tests

bench: $(STAMP) java ## every benchmark at SCALE (small, paper or max); JSON and plots go to out/
	mkdir -p out
	$(BIN)/tidegate bench text --scale $(SCALE) --json out/text-$(SCALE).json
	$(BIN)/tidegate bench index --scale $(SCALE) --json out/index-$(SCALE).json --plot out/index-$(SCALE).png
	$(BIN)/tidegate bench pipeline --scale $(SCALE) --json out/pipeline-$(SCALE).json
	$(BIN)/tidegate bench route --scale $(SCALE) --json out/route-$(SCALE).json --plot out/route-$(SCALE).png
	$(BIN)/tidegate bench drift --scale $(SCALE) --json out/drift-$(SCALE).json --plot out/drift-$(SCALE).png
	$(BIN)/tidegate bench shed --scale $(SCALE) --json out/shed-$(SCALE).json --plot out/shed-$(SCALE).png
	$(BIN)/tidegate bench spatial --scale $(SCALE) --json out/spatial-$(SCALE).json --plot out/spatial-$(SCALE).png
	$(BIN)/tidegate bench adjust --scale $(SCALE) --json out/adjust-$(SCALE).json --plot out/adjust-$(SCALE).png
	$(BIN)/tidegate bench rank --scale $(SCALE) --json out/rank-$(SCALE).json --plot out/rank-$(SCALE).png
	$(BIN)/tidegate bench workload --scale $(SCALE) --json out/workload-$(SCALE).json --plot out/workload-$(SCALE).png
	$(BIN)/tidegate bench satisfaction --scale $(SCALE) --json out/satisfaction-$(SCALE).json --plot out/satisfaction-$(SCALE).png
	$(BIN)/tidegate bench provision --scale $(SCALE) --json out/provision-$(SCALE).json --plot out/provision-$(SCALE).png
	$(BIN)/tidegate bench overlay --scale $(SCALE) --json out/overlay-$(SCALE).json --plot out/overlay-$(SCALE).png
	$(BIN)/tidegate bench delivery --scale $(SCALE) --json out/delivery-$(SCALE).json

screenshot: $(STAMP) chromium ## take the picture of the page that is in the README
	$(BIN)/python -m tests.browser.screenshot docs/images/page.png

services: ## fetch Spark's Kafka connector, and Maven for it
	@scripts/kafka jars > /dev/null

archive: $(STAMP) java ## lay out Spark's classes, so that it starts sooner in tests
	@scripts/spark-archive .services/spark.jsa $(BIN)

chromium: ## make sure that a browser is here, for the tests of the page
	@scripts/ensure-chromium

java: ## make sure that Java 17 or newer is here
	@scripts/ensure-java

$(STAMP): pyproject.toml constraints.txt scripts/make-venv
	scripts/make-venv $(VENV)
	touch $@

clean: ## remove the virtual environment and everything generated
	rm -rf $(VENV) .services tidegate-demo build dist out src/*.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
