# SPDX-License-Identifier: Apache-2.0
"""NVRTC: every kernel family compiles for every architecture; the cache on disk; the libraries that are not there.

Each test runs in a process of its own, because libraries are looked for once a process. No GPU is needed."""

import hashlib
import os
import shutil
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest
from engine import scratch

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src/dltensor"


def run(script, cache, **environment):
    """Run a script with the engine at hand as `cuda`, the machine as `machine`; return what it printed."""
    head = f"""
        import ctypes, os, sys
        import numpy as np
        sys.path.insert(0, {str(HERE)!r})
        import conftest
        engine = conftest.module("cuda_engine_under_test", {str(HERE / "engine.py")!r})
        hostcuda = conftest.module("hostcuda_under_test", {str(HERE.parents[1] / "src/dltensor/testing/hostcuda.py")!r})
        cuda = engine.Engine(engine.build(engine.scratch() / "engine"))
        cuda.c.shim_kernel_cache({str(cache)!r}.encode())
    """
    env = {**os.environ, "DLTENSOR_CACHE_DIR": str(scratch()), **environment}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(script)],
        env=env,
        capture_output=True,
        text=True,
        timeout=540,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def nvrtc():
    for folder in sys.path:
        for found in sorted(Path(folder or ".").glob("nvidia/*/lib/libnvrtc.so.*[0-9]"), reverse=True):
            return str(found)
    pytest.skip("NVRTC is not installed (pip install nvidia-cuda-nvrtc)")


FAMILIES = """
    K = "dlt::kernels::"
    E, T, P, G = (f"native/cuda/kernels/{name}.cuh" for name in
                  ("elementwise/element", "elementwise/tile", "linalg/product", "index/gather"))
    ops = [cuda.c.shim_op_name(i).decode() for i in range(cuda.c.shim_op_count())]
    kinds = [cuda.c.shim_op_kinds(i) for i in range(len(ops))]
    counts = [cuda.c.shim_op_operands(i) for i in range(len(ops))]
    def compile(arch, header, expression):
        size = ctypes.c_size_t()
        cuda("compile_for", arch // 10, arch % 10, header.encode(), expression.encode(), ctypes.byref(size))
        assert size.value > 1000
        return size.value
"""


ARCHITECTURES = [75, 80, 90, 100, 120]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_family_compiles(arch, tmp_path):
    script = (
        FAMILIES
        + f"""
    arch = {arch}
    done = 0
    def all_of(t):
        return ", ".join([t] * 5)
    for t, vec in (("uint8_t", 16), ("int64_t", 2), ("dlt::float16", 8), ("float", 4)):
        done += compile(arch, E, f"{{K}}element::contiguous<{{K}}op_multiply, 2, {{all_of(t)}}, {{vec}}, 0>") > 0
    for end in ("6, uint32_t", "64, uint64_t"):
        done += compile(arch, E, f"{{K}}element::rows<{{K}}op_add, 2, {{all_of('float')}}, 4, 16, {{end}}>") > 0
        done += compile(arch, T, f"{{K}}tile::permute<{{K}}keep, 1, {{all_of('uint16_t')}}, {{end}}>") > 0
    whole = ("int8_t, uint32_t, int8_t", "uint64_t, uint64_t, uint64_t", ", ".join(["dlt::complex128"] * 3))
    for types in ("float, float, float", "double, double, double", "dlt::bfloat16, float, float", *whole):
        element = types.partition(",")[0]
        order = "true, 8, 4" if "bfloat16" in element else "false, 4, 4"
        done += compile(arch, P, f"{{K}}product::tiled<{{element}}, {{element}}, {{types}}, {{order}}>") > 0
        done += compile(arch, P, f"{{K}}product::vectors<{{element}}, {{element}}, {{types}}>") > 0
        done += compile(arch, P, f"{{K}}product::joined<{{types}}>") > 0
    done += compile(arch, P, f"{{K}}product::tiled<int8_t, uint8_t, int32_t, uint32_t, int32_t, false, 8, 8>") > 0
    cast = "cast<dlt::float8_e4m3fn, true, true>, 1, float, float, float, float, dlt::float8_e4m3fn"
    done += compile(arch, E, f"{{K}}element::contiguous<{{K}}{{cast}}, 4, 0>") > 0
    for kernel in ("check<int64_t>", "words<uint8_t>", "words<dlt::kernels::wide_word>"):
        done += compile(arch, G, f"{{K}}gather::{{kernel}}") > 0
    for kernel in ("totals<uint64_t>", "within<uint64_t, true>", "within<uint64_t, false>"):
        done += compile(arch, "native/cuda/kernels/index/counts.cuh", f"{{K}}counts::{{kernel}}") > 0
    for kernel in ("pack<uint8_t>", "pack<dlt::kernels::wide_word>", "positions<int64_t>"):
        done += compile(arch, "native/cuda/kernels/index/mask.cuh", f"{{K}}mask::{{kernel}}") > 0
    join = "join<dlt::kernels::op_"
    for kernel in (
        "places<uint64_t>", "places<uint32_t>", "words<uint8_t>",
        "words<dlt::kernels::wide_word>", join + "add, dlt::bfloat16, false>",
        join + "add, dlt::complex128, true>", join + "maximum, dlt::float16, true>", join + "minimum, uint64_t, false>",
    ):
        done += compile(arch, "native/cuda/kernels/index/scatter.cuh", f"{{K}}scatter::{{kernel}}") > 0
    forms = {{"uint8_t": "int8_t", "uint16_t": "int16_t", "uint64_t": "int64_t"}}
    counted = ("uint16_t", 0), ("uint64_t", 1), ("uint8_t", 2)
    sorts = [f"count<{{key}}, {{forms[key]}}, {{keys}}>" for key, keys in counted]
    moves = (("uint16_t", "uint32_t", 0), ("uint16_t", "uint16_t", 1), ("uint64_t", "uint64_t", 1))
    moves += (("uint8_t", "uint32_t", 2), ("uint8_t", "uint64_t", 2))
    sorts += [f"move<{{key}}, {{forms[key]}}, {{carried}}, {{keys}}>" for key, carried, keys in moves]
    sorts += ["lines<uint8_t, int8_t>", "lines<uint64_t, int64_t>"]
    sorts += ["indices<int64_t>", "elements<uint32_t>"]
    for kernel in sorts:
        done += compile(arch, "native/cuda/kernels/sort/sorts.cuh", f"{{K}}sorts::{{kernel}}") > 0
    widths = "uint8_t, int8_t", "uint64_t, int64_t"
    selections = [f"{{name}}<{{types}}>" for name in ("upper", "lower") for types in widths]
    selections += ["keep<uint16_t, int16_t, uint32_t>", "keep<uint64_t, int64_t, uint64_t>", "chosen<uint32_t>"]
    for kernel in selections:
        done += compile(arch, "native/cuda/kernels/sort/select.cuh", f"{{K}}select::{{kernel}}") > 0
    for types in ("uint8_t, int8_t", "uint64_t, int64_t"):
        done += compile(arch, "native/cuda/kernels/sort/search.cuh", f"{{K}}search::places<{{types}}>") > 0
    for kernel in ("tally<uint64_t, true>", "tally<uint64_t, false>"):
        done += compile(arch, "native/cuda/kernels/sort/search.cuh", f"{{K}}search::{{kernel}}") > 0
    for kernel in (
        "solve<float, 1, 4>", "inverse<double, 1, 0>", "determinant<float, 2, 0>", "cholesky<double, 1, 3>",
        "qr<float, 1, 0>", "eigh<float, 1, 0>", "svd<float, 1, 0>", "determinant_of<float, 1, 0>",
    ):
        done += compile(arch, "native/cuda/kernels/linalg/matrices.cuh", f"{{K}}matrices::{{kernel}}") > 0
    for header, kernels in (
        ("elimination", ("solve_team<float, 2, 32>", "determinant_team<double, 1, 0>", "cholesky_team<double, 2, 16>")),
        ("reflections", ("qr_team<double, 2, 32>", "upper_of<float, 1, 0>")),
        ("rotations", ("eigh_team<double, 2, 32>", "svd_team<double, 2, 32>", "svd_team<double, 2, 0>")),
    ):
        for kernel in kernels:
            done += compile(arch, f"native/cuda/kernels/linalg/{{header}}.cuh", f"{{K}}matrices::{{kernel}}") > 0
    print(done)
    """
    )
    assert run(script, tmp_path, DLTENSOR_CUDA_NVRTC=nvrtc()).strip() == "84"


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_row_compiles_in_every_kind_it_takes(arch, tmp_path):
    script = (
        FAMILIES
        + f"""
    arch = {arch}"""
        + """
    results = [cuda.c.shim_op_result(i).decode() for i in range(len(ops))]
    done = 0
    for op, kind, count, result in zip(ops, kinds, counts, results):
        for bit, t in ((1, "dlt::boolean"), (2, "int64_t"), (4, "double"), (8, "dlt::complex64")):
            if not kind & bit:
                continue
            part = "float" if bit == 8 else t
            out = "dlt::boolean" if result == "mask" else part if result == "part" else t
            compile(arch, E, f"{K}element::contiguous<{K}op_{op}, {count}, {', '.join([t] * 4)}, {out}, 1, 0>")
            done += 1
    print(done)
    """
    )
    assert int(run(script, tmp_path, DLTENSOR_CUDA_NVRTC=nvrtc())) > 150


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_reduction_compiles(arch, tmp_path):
    script = (
        FAMILIES
        + f"""
    arch = {arch}"""
        + """
    F, H = "dlt::kernels::reduce::", "native/cuda/kernels/reduce/reduce.cuh"
    done = 0
    def reduce(kernel, body, t, result, end="6, false"):
        global done
        compile(arch, H, f"{F}{kernel}<{F}{body}<{t}>, {t}, {result}, {end}>")
        done += 1
    for kernel in ("partial", "joined"):
        for body in ("exact_sum", "exact_mean"):
            for t in ("dlt::float16", "dlt::bfloat16", "float", "double", "dlt::complex64", "dlt::complex128"):
                reduce(kernel, body, t, t)
        for body in ("largest", "smallest"):
            for t in ("dlt::boolean", "int8_t", "uint64_t", "dlt::float16", "dlt::bfloat16", "float", "double"):
                reduce(kernel, body, t, t)
        for body in ("first_largest", "first_smallest", "nonzero"):
            for t in ("dlt::boolean", "uint64_t", "dlt::float16", "double"):
                reduce(kernel, body, t, "int64_t", "64, true")
        for body in ("every", "some"):
            for t in ("dlt::boolean", "int32_t", "dlt::bfloat16", "dlt::complex128"):
                reduce(kernel, body, t, "dlt::boolean")
        for t in ("dlt::boolean", "int16_t", "uint64_t"):
            for body in ("sums", "products"):
                reduce(kernel, body, t, "int64_t")
            for body in ("clamped_sums", "saturated_products"):
                reduce(kernel, body, t, t)
            reduce(kernel, "integer_means", t, "float")
        for t, result in (("float", "float"), ("dlt::float16", "dlt::float16"), ("dlt::complex64", "float")):
            reduce(kernel, "exact_moments", t, result)
        for t, result in (("double", "double"), ("dlt::complex128", "double")):
            reduce(kernel, "exact_deviations", t, result)
    for kernel in ("partial", "joined_in_order"):
        for t in ("dlt::float16", "float", "double", "dlt::complex64", "dlt::complex128"):
            reduce(kernel, "ordered_products", t, t)
    print(done)
    """
    )
    assert int(run(script, tmp_path, DLTENSOR_CUDA_NVRTC=nvrtc())) == 2 * (12 + 14 + 12 + 8 + 15 + 3 + 2 + 5)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_scan_compiles(arch, tmp_path):
    script = (
        FAMILIES
        + f"""
    arch = {arch}"""
        + """
    S, F, H = "dlt::kernels::scan::", "dlt::kernels::reduce::", "native/cuda/kernels/scan/scan.cuh"
    done = 0
    def scan(body, t, result=None):
        global done
        for kernel, write in (("pieces", "false"), ("prefixes", "true"), ("pieces", "true")):
            compile(arch, H, f"{S}{kernel}<{body}<{t}>{'>' * body.count('<')}, {t}, {result or t}, 6, {write}>")
            done += 1
        if body.startswith(S + "reduced"):
            at_once = H.replace("scan.cuh", "at_once.cuh")
            compile(arch, at_once, f"{S}at_once<{body}<{t}>{'>' * body.count('<')}, {t}, {result or t}, 6>")
            done += 1
    for t in ("dlt::float16", "dlt::bfloat16", "float", "double", "dlt::complex64", "dlt::complex128"):
        scan(S + "float_sums", t)
        scan(S + "serial_products", t)
    for t, result in (("dlt::boolean", "int64_t"), ("int16_t", "int64_t"), ("uint64_t", "uint64_t")):
        for body in ("sums", "products"):
            scan(f"{S}reduced<{F}{body}", t, result)
        for body in ("clamped_sums", "saturated_products"):
            scan(f"{S}reduced<{F}{body}", t)
    for t in ("dlt::boolean", "int8_t", "uint64_t", "dlt::bfloat16", "float", "double"):
        for body in ("largest", "smallest"):
            scan(f"{S}reduced<{F}{body}", t)
    print(done)
    """
    )
    assert int(run(script, tmp_path, DLTENSOR_CUDA_NVRTC=nvrtc())) == 3 * (12 + 12 + 12) + 24


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_distribution_compiles(arch, tmp_path):
    script = (
        FAMILIES
        + f"""
    arch = {arch}"""
        + """
    D, H = "dlt::kernels::random::values", "native/cuda/kernels/random/random.cuh"
    done = 0
    for distribution in range(4):
        for t, words in (("dlt::float16", 1), ("dlt::bfloat16", 1), ("float", 1), ("double", 2)):
            compile(arch, H, f"{D}<{distribution}, {t}, {words}>")
            done += 1
    for t, words in (("int8_t", 1), ("uint16_t", 1), ("int32_t", 1), ("int64_t", 1), ("int64_t", 2), ("uint64_t", 2)):
        compile(arch, H, f"{D}<4, {t}, {words}>")
        done += 1
    D, H = "dlt::kernels::random::samples", "native/cuda/kernels/random/samples.cuh"
    counts = (6, 9, 14, 16)
    for distribution in range(5, 19):
        for t in ("int64_t",) if distribution in counts else ("float", "double"):
            compile(arch, H, f"{D}<{distribution}, {t}>")
            done += 1
    print(done)
    """
    )
    assert int(run(script, tmp_path, DLTENSOR_CUDA_NVRTC=nvrtc())) == 46


@pytest.mark.parametrize("arch", [75, 80, 89, *ARCHITECTURES[2:]])
def test_casts_of_float8_ramps_and_orders_compile(arch, tmp_path):
    script = (
        FAMILIES
        + f"""
    arch = {arch}"""
        + """
    done = 0
    wide = "dlt::float16", "dlt::bfloat16", "float", "uint8_t"
    for narrow in ("dlt::float8_e4m3fn", "dlt::float8_e5m2"):
        for t in wide:
            for types in (f"{narrow}, {t}, false", f"{narrow}, {t}, true", f"{t}, {narrow}, false"):
                done += compile(arch, "native/cuda/kernels/elementwise/float8.cuh", f"{K}float8::run<{types}>") > 0
    for t in ("int8_t", "uint16_t", "int32_t", "uint64_t", "dlt::float16", "dlt::bfloat16", "float", "double"):
        done += compile(arch, "native/cuda/kernels/random/ramps.cuh", f"{K}random::ramp<{t}>") > 0
    for t, words in (("uint32_t", 1), ("uint64_t", 2)):
        for kernel in (f"partners<{t}, {words}>", f"links<{t}>", f"orders<{t}>"):
            done += compile(arch, "native/cuda/kernels/random/shuffles.cuh", f"{K}random::{kernel}") > 0
    print(done)
    """
    )
    assert int(run(script, tmp_path, DLTENSOR_CUDA_NVRTC=nvrtc())) == 38


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_kernel_of_quantization_compiles(arch, tmp_path):
    script = (
        FAMILIES
        + f"""
    arch = {arch}"""
        + """
    Q, D, H = "dlt::kernels::quantize::", "dlt::kernels::dequantize::values<", "native/cuda/kernels/quantize/"
    done = 0
    def of(header, expression):
        global done
        compile(arch, f"{H}{header}.cuh", expression)
        done += 1
    for dims in (6, 64):
        of("quantize", f"{Q}largest<{dims}>")
    narrow = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e3m4", "float6_e2m3fn", "float6_e3m2fn",
              "float4_e2m1fn", "int4", "int2")
    for t in ("int8_t", *(f"dlt::{name}" for name in narrow)):
        of("quantize", f"{Q}codes<{t}, 6>")
        of("quantize", f"{Q}blocks<{t}, 6>")
        for result in ("float", "dlt::bfloat16"):
            of("dequantize", f"{D}{t}, {result}, 6, 4>")
    for t in ("dlt::uint4", "dlt::uint2", "uint8_t", "int32_t", "uint64_t", "dlt::float16", "float", "double",
              "dlt::float8_e8m0fnu"):
        of("dequantize", f"{D}{t}, double, 6, 4>")
        of("dequantize", f"{D}{t}, dlt::float16, 64, 1>")
    print(done)
    """
    )
    assert int(run(script, tmp_path, DLTENSOR_CUDA_NVRTC=nvrtc())) == 2 + 10 * 4 + 9 * 2


@pytest.fixture(params=["NVRTC", "fake"])
def compiler(request):
    return nvrtc() if request.param == "NVRTC" else request.getfixturevalue("fake_nvrtc")


def test_code_from_nvrtc_runs_and_comes_from_disk_the_second_time(tmp_path, compiler):
    script = """
    machine = hostcuda.load()
    a = np.arange(1000, dtype="f4")
    print(int((cuda.run("add", [cuda.upload(a), 1.0], "float32").get() == a + 1).all()))
    out = (ctypes.c_int64 * 3)()
    cuda.c.shim_compiler_statistics(out)
    print(*out)
    """
    environment, cache = {"DLTENSOR_CUDA_NVRTC": str(compiler)}, tmp_path / "cache"
    assert run(script, cache, **environment).split() == ["1", "1", "0", "0"]
    assert run(script, cache, **environment).split() == ["1", "0", "1", "0"]
    assert cache.stat().st_mode & 0o777 == 0o700
    for ending in ("kernel", "code"):
        (file,) = cache.glob(f"*.{ending}")
        whole = file.read_bytes()
        for damaged in (whole[:-1] + b"\xff", whole[:-1], whole[: len(whole) // 2], b""):
            file.write_bytes(damaged)
            assert run(script, cache, **environment).split() == ["1", "1", "0", "1"], (
                "a changed file must not be loaded"
            )
            assert file.read_bytes() == whole, "it is written again"
        file.chmod(0o622)
        assert run(script, cache, **environment).split() == ["1", "1", "0", "1"], "nor one that others may write to"
        file.unlink()
        assert run(script, cache, **environment).split() == ["1", "1", "0", str(int(ending == "code"))]


class Cache:
    """A folder of compiled kernels, to which processes of their own add what they call."""

    def __init__(self, folder, compiler):
        self.folder, self.compiler = folder, compiler

    def call(self, *operations, limit=None, sources=SOURCE):
        """Run operations in a process with a limit; return how many kernels it compiled and how many it read."""
        script = f"""
        machine = hostcuda.load()
        cuda.c.shim_sources({str(sources)!r}.encode())
        x = cuda.upload(np.arange(1, 100, dtype="f4"))
        for name in {operations}:
            cuda.run(name, [x, x], "float32")
        out = (ctypes.c_int64 * 3)()
        cuda.c.shim_compiler_statistics(out)
        print(*out)
        """
        limited = {} if limit is None else {"DLTENSOR_CUDA_CACHE_BYTES": str(limit)}
        done = run(textwrap.dedent(script), self.folder, DLTENSOR_CUDA_NVRTC=str(self.compiler), **limited)
        compiled, from_disk, _ = map(int, done.split())
        return compiled, from_disk

    def files(self):
        return {file for ending in ("kernel", "code") for file in self.folder.glob(f"*.{ending}")}

    def bytes(self):
        return sum(file.stat().st_size for file in self.files())


@pytest.fixture
def kernel_cache(tmp_path, fake_nvrtc):
    """A cache with two kernels that were used long ago, the second one after the first."""
    cache, before = Cache(tmp_path / "cache", fake_nvrtc), set()
    for number, name in enumerate(["add", "subtract"]):
        cache.call(name)
        for file in cache.files() - before:
            os.utime(file, (1000 + number, 1000 + number))
        before = cache.files()
    assert len(before) == 4
    return cache


def test_kernels_used_longest_ago_are_removed_beyond_the_limit(kernel_cache):
    kernel_cache.call("multiply", limit=kernel_cache.bytes() + 100)
    assert len(kernel_cache.files()) == 4
    assert kernel_cache.call("subtract", "multiply") == (0, 2)
    assert kernel_cache.call("add") == (1, 0)


def test_a_kernel_from_disk_counts_as_used(kernel_cache):
    limit = kernel_cache.bytes() + 100
    assert kernel_cache.call("add", "multiply", limit=limit) == (1, 1)
    assert kernel_cache.call("add", "multiply") == (0, 2)
    assert kernel_cache.call("subtract") == (1, 0)


def test_the_files_have_the_sha_256_of_their_content(kernel_cache):
    """Code in its name, a kernel in its first line."""
    files = kernel_cache.files()
    assert files
    for file in files:
        content = file.read_bytes()
        if file.suffix == ".code":
            assert file.stem == hashlib.sha256(content).hexdigest()
        else:
            header, _, rest = content.partition(b"\n")
            assert header.decode() == f"dltensor kernel 2 {hashlib.sha256(rest).hexdigest()}"


def test_all_kernels_stay_below_the_limit(kernel_cache):
    before = kernel_cache.files()
    kernel_cache.call("multiply", "divide", limit=10 * kernel_cache.bytes())
    assert before < kernel_cache.files()
    assert len(kernel_cache.files()) == 8


def test_the_cache_stays_within_the_limit_while_a_process_compiles(kernel_cache):
    limit = 3 * kernel_cache.bytes() // 2
    for operations in (("multiply", "divide", "pow"), ("maximum", "minimum", "hypot", "copysign")):
        assert kernel_cache.call(*operations, limit=limit) == (len(operations), 0)
        assert 0 < kernel_cache.bytes() <= limit


def test_other_files_of_the_folder_are_never_removed(kernel_cache):
    code = "0123456789abcdef" * 4
    others = [".code", ".kernel", "notes.txt", code, f"{code}.codes", f"{code[:-1]}.code", f"{code.upper()}.code",
              f"{code[:40]}-13.kernels", f"x{code[:40]}-13.0.kernel", f"{code[:40]}-new.kernel"]  # fmt: skip
    for name in others:
        (kernel_cache.folder / name).write_bytes(bytes(10000))
        os.utime(kernel_cache.folder / name, (1, 1))
    (kernel_cache.folder / f"{code}.code").mkdir()
    (kernel_cache.folder / f"{code[:40]}-13.0.kernel").symlink_to(kernel_cache.folder)
    before = set(kernel_cache.folder.iterdir()) - kernel_cache.files()
    kernel_cache.call("multiply", limit=600)
    assert before <= set(kernel_cache.folder.iterdir())
    assert {"nvrtc.version", *others} <= {file.name for file in kernel_cache.folder.iterdir()}


def test_what_a_writer_left_that_died_is_removed_in_its_turn(kernel_cache):
    names = [f"{'0123456789abcdef' * 4}.code.4242", f"{'01234567' * 5}-13.0.kernel.4242"]
    for name in names:
        (kernel_cache.folder / name).touch(mode=0o600)
        (kernel_cache.folder / name).write_bytes(bytes(1000))
        os.utime(kernel_cache.folder / name, (1, 1))
    assert kernel_cache.call("multiply", limit=kernel_cache.bytes() + 1000) == (1, 0)
    assert not any((kernel_cache.folder / name).exists() for name in names)
    assert kernel_cache.call("add", "subtract", "multiply") == (0, 3)


def test_kernels_larger_than_the_limit_are_not_written(kernel_cache):
    before = kernel_cache.files()
    assert kernel_cache.call("multiply", limit=0) == (1, 0)
    assert kernel_cache.files() == before


TEXTS = [path for part in ("native/cuda/kernels/**/*.cuh", "native/ops/**/*.h") for path in sorted(SOURCE.glob(part))]
FOLDERS = {str(path.parent.relative_to(SOURCE)): path for path in TEXTS}


@pytest.mark.parametrize("folder", FOLDERS)
def test_an_edit_of_the_text_of_kernels_compiles_them_again(tmp_path, fake_nvrtc, folder):
    assert len(FOLDERS) > 5
    for path in TEXTS:
        copy = tmp_path / path.relative_to(SOURCE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    kernels = Cache(tmp_path / "cache", fake_nvrtc)
    assert kernels.call("add", sources=tmp_path) == (1, 0)
    assert kernels.call("add", sources=tmp_path) == (0, 1)
    with (tmp_path / FOLDERS[folder].relative_to(SOURCE)).open("a") as text:
        text.write("// edited")
    assert kernels.call("add", sources=tmp_path) == (1, 0)


@pytest.mark.parametrize(
    ("call", "kernels"),
    [
        ("dl.sort(x)", 4),
        ("dl.argsort(x)", 5),
        ("dl.sort(x[:4000])", 1),
        ("dl.sum(x)", 2),
        ("dl.cumulative_sum(x)", 3),
        ("dl.sum(x[:8])", 1),
    ],
)
def test_kernels_of_one_call_are_one_program(tmp_path, call, kernels):
    """Each has a file of its own beside that of the code, which later processes find without NVRTC."""
    script = f"""
    import dltensor as dl
    from dltensor.cuda import _driver
    machine = hostcuda.load()
    x = dl.asarray(np.arange(20000, dtype="f4")[::-1].copy()).to("cuda")
    made = {call}
    print(*_driver.compiled()[:3], "libnvrtc.so" in open("/proc/self/maps").read(), made.tolist() == {call}.tolist())
    x = x.to("cpu")
    print(made.tolist() == {call}.tolist())
    """
    environment = {"DLTENSOR_CUDA_NVRTC": nvrtc(), "DLTENSOR_CACHE_DIR": str(tmp_path)}
    compiled, from_disk, refused, loaded, again, right = run(script, tmp_path / "engine", **environment).split()
    assert (compiled, from_disk, refused, loaded, again, right) == ("1", "0", "0", "True", "True", "True")
    assert (len(list(tmp_path.glob("cuda/*.kernel"))), len(list(tmp_path.glob("cuda/*.code")))) == (kernels, 1)
    compiled, from_disk, refused, loaded, again, right = run(script, tmp_path / "engine", **environment).split()
    assert (compiled, from_disk, refused, loaded, again, right) == ("0", str(kernels), "0", "False", "True", "True")


def test_a_kernel_from_disk_is_loaded_without_nvrtc(tmp_path):
    """Unless NVRTC is another one than that which compiled it."""
    library = tmp_path / Path(nvrtc()).name
    shutil.copy2(nvrtc(), library)
    for companion in Path(nvrtc()).parent.glob("libnvrtc-builtins.so*"):
        (tmp_path / companion.name).symlink_to(companion)
    script = """
    machine = hostcuda.load()
    machine.configure(launches=False)
    x = cuda.empty((100,), "float32")
    cuda.run("add", [x, 1.0], "float32")
    out = (ctypes.c_int64 * 3)()
    cuda.c.shim_compiler_statistics(out)
    print(*out, "libnvrtc.so" in open("/proc/self/maps").read())
    """
    cache = tmp_path / "cache"
    assert run(script, cache, DLTENSOR_CUDA_NVRTC=library).split() == ["1", "0", "0", "True"]
    assert run(script, cache, DLTENSOR_CUDA_NVRTC=library).split() == ["0", "1", "0", "False"]
    os.utime(library, (1, 1))
    assert run(script, cache, DLTENSOR_CUDA_NVRTC=library).split() == ["0", "1", "0", "True"]
    assert run(script, cache, DLTENSOR_CUDA_NVRTC=library).split() == ["0", "1", "0", "False"]
    remembered = cache / "nvrtc.version"
    remembered.write_text(remembered.read_text().replace("13.", "12.", 1))
    assert run(script, cache, DLTENSOR_CUDA_NVRTC=library).split() == ["0", "1", "0", "True"], (
        "it has none of that version"
    )
    remembered.chmod(0o622)
    assert run(script, cache, DLTENSOR_CUDA_NVRTC=library).split() == ["0", "1", "0", "True"], "others may write to it"


def test_kernels_compiled_beforehand_are_taken_by_hash(tmp_path):
    """Those of the compute capability, or of an older one of the same major version; once changed they are refused."""
    compiled, environment = tmp_path / "compiled", {"DLTENSOR_CUDA_NVRTC": nvrtc()}
    script = """
    cuda.c.shim_compiled_kernels({folder!r}.encode())
    machine = hostcuda.load(capability={capability})
    a = np.arange(1000, dtype="f4")
    x = cuda.upload(a)
    print(int((cuda.run("add", [x, x], "float32").get() == a + a).all()))
    print(int((cuda.run("less", [x, 7.0], "float32", out_dtype="bool").get() == (a < 7)).all()))
    out = (ctypes.c_int64 * 3)()
    cuda.c.shim_compiler_statistics(out)
    print(*out)
    """

    def counts(cache, folder, capability):
        text = script.format(folder=str(folder), capability=capability)
        first, second, *compiled_from_disk_refused = run(text, tmp_path / cache, **environment).split()
        assert first == second == "1"
        return [int(n) for n in compiled_from_disk_refused]

    assert counts("first", "", 80) == [2, 0, 0]
    for made in (tmp_path / "first").glob("*.kernel"):
        key, maker = made.stem.split("-")
        (compiled / maker.split(".")[0]).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made, compiled / maker.split(".")[0] / f"{key}.kernel")
        for code in made.parent.glob("*.code"):
            shutil.copyfile(code, compiled / maker.split(".")[0] / code.name)
    assert counts("second", compiled, 80) == [0, 2, 0]
    assert counts("second", compiled, 86) == [0, 2, 0]
    assert counts("second", compiled, 90) == [2, 0, 0]
    assert counts("second", compiled, 75) == [2, 0, 0]
    for cache, ending in (("third", "code"), ("fourth", "kernel")):
        whole = {made: made.read_bytes() for made in compiled.glob(f"1*/*.{ending}")}
        for made, contents in whole.items():
            made.write_bytes(contents[:-1] + b"\xff")
        assert counts(cache, compiled, 80) == [2, 0, 2]
        for made, contents in whole.items():
            made.write_bytes(contents)
    assert counts("fifth", compiled, 80) == [0, 2, 0]


def test_the_wheel_of_kernels_saves_the_compiler(tmp_path):
    """Built for one architecture and installed, it has what common calls need: they run without NVRTC's library."""
    tool = HERE.parents[1] / "tools" / "cuda_kernels.py"
    pytest.importorskip("wheel", reason="needs the package wheel")
    made = subprocess.run(
        [sys.executable, str(tool), "build", "--folder", str(tmp_path), "--parts", "reductions", "--", "90"],
        env=os.environ | {"DLTENSOR_CUDA_NVRTC": nvrtc()},
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    (wheel,) = tmp_path.glob("dltensor_cuda_kernels-*.whl")
    with zipfile.ZipFile(wheel) as contents:
        contents.extractall(tmp_path / "site")
        kernels, codes = (sum(name.endswith(end) for name in contents.namelist()) for end in (".kernel", ".code"))
        assert kernels > 100
        assert 0 < codes < kernels, "kernels of one program share its code"
    script = """
    from dltensor.testing import hostcuda
    hostcuda.load(launches={launches})
    import dltensor as dl
    from dltensor.cuda import _driver
    x = dl.ones((64, 32), device="cuda")
    x.sum(), dl.max(x, axis=1), dl.mean(x, axis=0), dl.sort(dl.reshape(x, (-1,)))
    dl.sort(dl.ones((5000,), device="cuda"))
    {more}
    print(*_driver.compiled()[:2])
    """

    def counts(launches, more=""):
        environment = {"PYTHONPATH": str(tmp_path / "site"), "DLTENSOR_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script.format(launches=launches, more=more))],
            env=os.environ | environment | {"DLTENSOR_CUDA_NVRTC": "off"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return [int(n) for n in done.stdout.split()]

    without_launches = counts(False)
    with_launches = counts(True, "assert [float(x.sum()), float(dl.max(x))] == [2048, 1]")
    for compiled, from_disk in (without_launches, with_launches):
        assert compiled == 0
        assert from_disk >= 8


def test_without_a_driver_the_message_says_what_was_tried_and_what_to_do(tmp_path):
    script = """
    try:
        cuda.stream(0)
    except engine.Fault as error:
        print(error)
    """
    words = run(script, tmp_path, DLTENSOR_CUDA_DRIVER="/nowhere/libcuda.so.1")
    assert words.startswith("device: the CUDA driver cannot be loaded. Tried: /nowhere/libcuda.so.1")
    assert "Remedy: install the NVIDIA driver" in words
    assert 'device="cpu"' in words


def test_without_a_device_the_message_says_so(tmp_path):
    script = """
    machine = hostcuda.load(devices=0)
    try:
        cuda.stream(0)
    except engine.Fault as error:
        print(error)
    """
    words = run(script, tmp_path)
    assert "cuInit gives CUDA_ERROR_NO_DEVICE (100)" in words
    assert "CUDA_VISIBLE_DEVICES" in words


def test_the_host_cost_of_a_small_addition(tmp_path):
    """Prints the numbers, and checks the way there: no driver allocation, nothing but the launch is called."""
    script = """
    machine = hostcuda.load()
    stream = cuda.stream()
    cuda.c.shim_add_cost(stream, 10)
    machine.configure(launches=False)
    lonely = cuda.c.shim_add_cost(stream, 20000)
    context = ctypes.c_void_p()
    machine.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    machine.library.cuCtxSetCurrent(context)
    before, calls = cuda.usage().driver_allocations, machine.statistics()
    cost = cuda.c.shim_add_cost(stream, 20000)
    after = machine.statistics()
    print(cuda.usage().driver_allocations - before, after.calls - calls.calls, round(cost, 1), round(lonely, 1))
    """
    allocations, calls, cost, lonely = run(script, tmp_path, DLTENSOR_CUDA_NVRTC="off").split()
    assert (allocations, calls) == ("0", "0")
    print(f"host cost of a + b with launches off: {cost} ns; {lonely} ns when no context is current")
