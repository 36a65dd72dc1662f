# SPDX-License-Identifier: Apache-2.0
# Each target installs what it needs: a dependency group of pyproject.toml into .venv, and the package.
# `make` lists the main targets, `make help-all` all of them. Programs with options of their own: `python -m tools`.
PYTHON ?= python3
VENV ?= .venv
BUILD ?= build/release
RUN := $(VENV)/bin/python
TEST := $(RUN) -m pytest -m "not peers and not gpu"
DEV := .venv-dev

help:
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / {printf "make %-10s %s\n", $$1, $$2}' Makefile
help-all:  ## all targets
	@awk -F ':.*  ##? ' '/^[a-z0-9-]+:.*  ##? / {printf "make %-20s %s\n", $$1, $$2}' Makefile

# -- environments
$(VENV)/tools: pyproject.toml tools/environment.sh
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install -q --disable-pip-version-check --upgrade "pip>=25.1"  # the first that knows groups
	tools/environment.sh $(VENV) tools
	touch $@
$(VENV)/%: $(VENV)/tools
	tools/environment.sh $(VENV) $*
	touch $@
install: $(VENV)/tools  # the package in .venv; the build finds out what has changed. INSTALLED=1 leaves it as it is
	$(if $(INSTALLED),@true,$(RUN) -m tools install $(BUILD))
$(DEV)/installed: pyproject.toml
	$(MAKE) VENV=$(DEV) $(DEV)/light
	$(DEV)/bin/python -m tools install --editable build/dev
	touch $@

# -- the main targets
demo: $(VENV)/pictures install  ## a photograph travels between frameworks without a copy; pictures and a report
	$(RUN) -m dltensor demo
NOT_LIGHT := tests/cuda tests/conformance tests/extensions tests/distributed tests/clients
test: $(VENV)/light install  ## the tests that need light packages only
	$(TEST) tests $(addprefix --ignore ,$(NOT_LIGHT))
dev: $(DEV)/installed  ## an editable installation in .venv-dev: an import compiles what has changed
t: $(DEV)/installed  ## compile what has changed there and run tests: T=tests/test_sorting.py K=stable
	@$(DEV)/bin/ninja -C build/dev all tests/engine/engine_binding.so
	BUILD=build/dev $(DEV)/bin/python -m pytest -m "not peers and not gpu" $(or $(T),tests) $(if $(K),-k "$(K)")
test-cuda: test-cuda-engine test-cuda-package test-cuda-sanitized  ## CUDA on the bundled emulator; make -j2 uses two cores
check: $(VENV)/lint $(VENV)/light install  ## style, types, stubs, docstrings, links, metadata of the package
	tools/check.sh $(VENV)
bench: $(VENV)/peers install  ## benchmarks next to other libraries; ratios are appended to results. BENCH="bench_wide.py --quick 200"
	$(RUN) benchmarks/$(or $(BENCH),all.py)
fuzz: $(VENV)/light install  ## the validator under libFuzzer, every public call, fused programs, layouts; RUNS=100000000 CALLS=20000 for long
	tools/fuzz.sh $(RUNS)
	$(RUN) fuzz/calls_fuzzer.py --rounds $(or $(CALLS),120) && $(RUN) fuzz/calls_fuzzer.py --rounds 40 --threads 4
	$(RUN) fuzz/programs.py --programs $(or $(PROGRAMS),400) && $(RUN) fuzz/layouts.py --cases $(or $(LAYOUTS),20000)
docs: $(VENV)/docs $(VENV)/light install  ## the documentation site in build/site, offline, warnings as errors
	$(RUN) tools/website build/site
clean:  # remove build, .venv and .venv-dev
	rm -rf build .venv $(DEV)

# -- tests on older processors, with other packages, on other systems
test-levels: $(VENV)/light install  # the tests with the instructions of older processors; LEVELS="v2 v3" PART=1/3
	$(RUN) -m tools levels $(LEVELS) $(if $(PART),--part $(PART))
test-peers: $(VENV)/peers install  # tests that need torch, torchao, gguf, jax, tvm-ffi, metatensor, pyarrow, zarr, matplotlib or OpenBLAS
	$(RUN) -m pytest -m "peers and not gpu" $$(grep -rl "pytest.mark.peers" tests --include="test_*.py")
	$(TEST) tests/engine/test_gemm.py $(addprefix tests/test_,demo.py docs.py site.py docstrings.py abi.py validate.py)
PUBLIC := dlpack.py foreign_operands.py operand_lifetime.py torch_ownership.py protocols.py numpy_functions.py peers.py
test-public: $(VENV)/peers install  # tests of the exchange without fields of other libraries' structs
	DLTENSOR_TORCH=public DLTENSOR_NUMPY=public $(RUN) -m pytest $(addprefix tests/test_,$(PUBLIC))
test-clients: $(VENV)/clients $(VENV)/light install  # SciPy, scikit-learn and einops with tensors of dltensor
	SCIPY_ARRAY_API=1 $(RUN) -m pytest tests/clients
outside: $(VENV)/clients $(VENV)/light install  # other projects' own tests; SUITE=scipy,sklearn CHECKOUT=folder SHORT=1 RECORD=1
	$(RUN) -m tools outside $(SUITE) $(if $(CHECKOUT),--checkout $(CHECKOUT)) $(if $(SHORT),--short) $(if $(RECORD),--record)
test-conformance: $(VENV)/light install  # every check of the conformance suite on a defect planted for it
	$(TEST) tests/conformance
test-distributed: $(VENV)/distributed $(VENV)/light install  # Dask, xarray, Cubed, MPI on 2 and 4 ranks, Ray, joblib, pyarrow
	$(RUN) -m pytest tests/distributed && $(RUN) -m pytest tests/test_arrow.py
test-extensions: $(VENV)/extensions $(VENV)/light install  # packages that link the library, as wheels
	rm -f build/wheels/dltensor-*.whl
	PATH="$(abspath $(VENV))/bin:$$PATH" $(RUN) -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps \
	  -Cbuild-dir=$(BUILD) -w build/wheels .
	$(RUN) -m pytest tests/extensions
test-wheel: $(VENV)/tools  # the wheel in an empty environment: no compiler, no NumPy; then README's first program
	tools/wheel.sh $(VENV) $(BUILD)
test-array-api: $(VENV)/suite $(VENV)/light install  # array-api-tests in a checkout; SUITE=folder EXAMPLES=20 DEVICE=cuda
	$(RUN) -m tools array_api_suite --examples $(or $(EXAMPLES),20) --device $(or $(DEVICE),cpu) $(SUITE) $(SUITE_TESTS)
test-free-threading:  # the tests without the GIL, 4 threads each; FREE_THREADED=python3.14t TESTS="tests/test_dlpack.py"
	tools/free_threading.sh "$(FREE_THREADED)" $(TESTS)
test-aarch64: $(VENV)/light  # the tests on aarch64, cross compiled and run by QEMU
	tools/aarch64.sh $(VENV)
test-compilers: $(VENV)/tools  # the tests with builds of the newest g++ of Debian and of clang; root
	for step in make source tests; do $(RUN) -m tools chroots $$step sid || exit 1; done
	CC=clang-$(or $(CLANG),19) CXX=clang++-$(or $(CLANG),19) $(MAKE) VENV=build/clang/venv BUILD=build/clang/release test
test-chroots: $(VENV)/tools  # the wheels and the source distribution in empty systems of Debian; root; SUITES="bookworm sid"
	for step in make wheel source; do $(RUN) -m tools chroots $$step $(SUITES) || exit 1; done
	$(RUN) -m tools chroots others
check-systems: $(VENV)/systems  # every file of the engine through compilers for Windows and macOS, without linking
	tools/check_systems.sh $(VENV)

# -- CUDA on the emulator
CUDA_ENGINE := $(addprefix tests/cuda/test_cuda_,elements.py moves.py memory.py captures.py lifetimes.py launch.py)
SANITIZED := tests/cuda/test_cuda_sanitizer.py
test-cuda-engine: $(VENV)/light install  # the engine alone
	$(TEST) $(CUDA_ENGINE)
test-cuda-package: $(VENV)/light install  # tensors; PART=1/2
	$(TEST) tests/cuda $(addprefix --ignore ,$(CUDA_ENGINE) $(SANITIZED)) $(if $(PART),--part $(PART))
test-cuda-sanitized: $(VENV)/light install  # the engine and the emulator under sanitizers
	$(TEST) $(SANITIZED)
test-cuda-peers: $(VENV)/cuda-peers $(VENV)/light install  # tests that need NVRTC, CUDA's headers, cuda.core, numba or nccl4py
	$(RUN) -m pytest $(addprefix tests/cuda/test_cuda_,abi.py nvrtc.py peers.py nccl.py machine_code.py)
test-cuda-device: $(VENV)/light install  # the CPU's tests with CUDA tensors, in every order of streams
	for x in eager lazy random:1; do HOSTCUDA_ORDER=$$x $(TEST) --device cuda tests/cases tests/test_special_cases.py || exit 1; done
fuzz-cuda: $(VENV)/light install  # every public call with CUDA tensors; CUDA_CALLS=1000 (rounds) for long
	$(RUN) fuzz/calls_fuzzer.py --device cuda --rounds $(or $(CUDA_CALLS),12) --patience 300  # kernels are compiled meanwhile

# -- sanitizers, fuzzers and stress tests
sanitize: $(VENV)/light  # the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	tools/sanitize.sh $(VENV)
stress-sanitized: $(VENV)/light  # the stress test and the fuzzer of calls under the same sanitizers
	STRESS_ROUNDS=$(STRESS_ROUNDS) CALLS=$(or $(CALLS),120) tools/sanitize.sh $(VENV) stress
tsan: $(VENV)/light  # shared state of the engine under ThreadSanitizer; TSAN_ROUNDS=200000 for long
	DLTENSOR_TSAN_ROUNDS=$(or $(TSAN_ROUNDS),20000) $(RUN) -m pytest tests/engine/test_threads.py tests/engine/test_pool.py
	$(RUN) -m pytest tests/opaque/test_opaque_native.py -k threads
STRESS = $(RUN) fuzz/stress.py $(if $(STRESS_ROUNDS),--rounds $(STRESS_ROUNDS),--seconds $(or $(SECONDS),60))
stress: $(VENV)/light install  # calls by 4 threads while one changes shapes of arrays; SECONDS=600 or STRESS_ROUNDS=40
	$(STRESS)
stress-peers: $(VENV)/peers install  # the same with tensors of PyTorch
	$(STRESS) --torch
fuzz-peers: $(VENV)/peers install  # the calls with tensors of PyTorch too
	$(RUN) fuzz/calls_fuzzer.py --torch --rounds $(or $(CALLS),120)
fuzz-files: $(VENV)/peers install  # fuzzed files, read by dltensor, safetensors and NumPy; FILES_CASES=20000
	$(RUN) fuzz/files.py --cases $(or $(FILES_CASES),5000)
soak: $(VENV)/peers install  # a million exchanges per pair, counting leaked memory and references; ROUNDS=1000
	$(RUN) tools/soak.py $(ROUNDS)
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' Makefile)
