# SPDX-License-Identifier: Apache-2.0
"""The machine code of kernels, as NVRTC makes it for four architectures: what a card has to do for each byte it moves.

A kernel that should wait for memory alone is limited in three ways that can be read off its code: instructions in the
loop for the bytes that it moves, registers (over 32, fewer threads are resident than fit), and the width of accesses.
Kernels and limits are those of tools/gpu_model.py; no GPU is needed, and none is used.
"""

import re
from collections import Counter
from pathlib import Path

import conftest as setup
import pytest

ROOT = Path(__file__).resolve().parents[2]
model = setup.module("gpu_model_under_test", ROOT / "tools" / "gpu_model.py")
KERNELS = {kernel.name: kernel for kernel in model.KERNELS}


@pytest.fixture(scope="module")
def compiler():
    try:
        model.tool("nvdisasm"), model.tool("cuobjdump")
        return model.Compiler()
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("arch", model.ARCHITECTURES)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=lambda kernel: kernel.name)
def test_a_kernel_costs_no_more_than_its_limits(compiler, kernel, arch):
    code, limit = model.code_of(compiler, kernel, arch), model.LIMITS[kernel.name]
    print(f"{kernel.name}, sm_{arch}: {code}")
    place = model.ARCHITECTURES.index(arch)
    assert code.spills <= limit.spills
    assert code.registers <= limit.registers[place]
    if kernel.how:
        assert code.narrowest >= kernel.width
        assert code.per_byte <= limit.instructions[place]


CUBLAS = 51.1  # TFLOP/s of float32 without TF32 on an H200, from docs/cuda.md


@pytest.mark.parametrize(
    ("name", "least"),
    [("float32", 0.6 * CUBLAS), ("float16", 0.6 * CUBLAS), ("float64", 25), ("complex64", 0.6 * CUBLAS)],
)
def test_products_are_multiply_adds_for_the_most_part(compiler, name, least):
    """In the order of the CPU, which tensor cores do not have: those have 62.8 TFLOP/s of float64."""
    listing, _ = model.disassembled(compiler, KERNELS[f"products: {name}"], 90)
    print(name, model.multiply_adds(listing), model.teraflops(listing))
    assert model.teraflops(listing) >= least


SIGNS = [("abs", 1), ("copysign", 2), ("negative", 1), ("positive", 1), ("signbit", 1)]
ARITHMETIC = {"F2F", "F2FP", "FADD", "FMUL", "FFMA", "FMNMX", "HADD2", "HMUL2", "HFMA2", "DADD", "DMUL", "DFMA"}
FLOATS = ["dlt::float16", "dlt::bfloat16", "float", "double"]


@pytest.mark.parametrize("arch", [75, 90])
@pytest.mark.parametrize(
    ("name", "count", "type"),
    [(*row, type) for row in SIGNS for type in FLOATS] + [(name, 1, "dlt::complex64") for name in ("negative", "conj")],
)
def test_signs_change_without_arithmetic_of_floats(compiler, name, count, type, arch):
    """Such instructions, conversions included, give a NaN of their own."""
    out = "dlt::boolean" if name == "signbit" else None
    kernel = model.Kernel(name, *model.element(f"op_{name}", count, type, 2, out))
    listing, _ = model.disassembled(compiler, kernel, arch)
    codes = {model.opcode(line)[0] for line in model.lines_of(listing)[0]}
    assert len(codes) > 10
    assert not codes & ARITHMETIC


def test_every_kernel_is_in_the_table():
    listed = Counter(
        (kernel.family, re.match(r"dlt::kernels::\w+::(\w+)<", kernel.expression)[1]) for kernel in model.KERNELS
    )
    found = {
        (path.stem, name)
        for path in (model.SOURCE / "native/cuda/kernels").rglob("*.cuh")
        if path.stem != "program"  # whose kernels have the text of a program
        for name in re.findall(r"__global__ void __launch_bounds__\([^()]+\)\s+(\w+)\(", path.read_text())
    }
    assert len(found) > 30
    assert found == set(listed)
    assert set(model.LIMITS) == set(KERNELS)
    assert len(KERNELS) == len(model.KERNELS), "two rows of one name"


def test_the_table_has_a_row_for_every_kernel():
    code = model.Code(60.0, Counter(issue=60, alu=30, memory=3), 48.0, 128, 32, 0, 4.0)
    lines = list(model.table((kernel, code) for kernel in model.KERNELS))
    assert len(lines) == len(model.KERNELS) + 2
    assert lines[2].startswith("| add float32 | 1.25 | 32 | 20 | issue | 0.95 | 0.95 |")


def test_the_table_of_the_documentation_is_of_these_kernels():
    text = (ROOT / "docs" / "cuda.md").read_text()
    rows = re.findall(
        r"^\| ([^|]+?) \| [\d.-]+ \| \d+ \| [\d.-]+ \| (?:issue|alu|fp64|special|memory|not memory) \|", text, re.M
    )
    assert rows == list(KERNELS)


def test_a_bound_is_that_of_the_slowest_pipe():
    """132 multiprocessors at 1.755 GHz: 16 conversions a clock each make 3.7e12 a second."""
    code = model.Code(10.0, Counter(issue=10, special=4), 16.0, 128, 32, 0, 4.0)
    tbps, pipe = model.bound(code)
    assert pipe == "special"
    assert tbps == pytest.approx(132 * 1.755e9 * 16 / 4 * 16 / 1e12)
    assert model.expected(1.8, "H100") == pytest.approx(0.5)
    assert model.expected(100, "H200") == 0.95


LISTING = """
.L_x_0:
        /*0010*/                   S2R R0, SR_TID.X ;
.L_x_1:
        /*0020*/                   LDG.E.U8 R4, desc[UR4][R2.64] ;
        /*0030*/                   STG.E.U8 desc[UR4][R2.64], R4 ;
        /*0040*/               @P0 BRA `(.L_x_1) ;
.L_x_2:
        /*0050*/              @!P1 LDG.E R4, desc[UR4][R2.64] ;
        /*0060*/                   LDG.E.64 R6, desc[UR4][R2.64] ;
.L_x_3:
        /*0062*/                   IADD3 R6, R6, 0x1, RZ ;
        /*0064*/               @P0 BRA `(.L_x_3) ;
        /*0070*/                   STG.E desc[UR4][R2.64], R4 ;
        /*0080*/               @P0 BRA `(.L_x_2) ;
        /*0090*/              @!P0 BRA `(.L_x_0) ;
        /*00a0*/                   EXIT ;
.L_x_4:
        /*00b0*/                   BRA `(.L_x_4) ;
"""


def test_multiply_adds_are_counted_without_the_loops_inside():
    body = "".join(f"        /*{i:04x}*/                   FFMA R{i}, R1, R2, R{i} ;\n" for i in range(4))
    inside = ".L_x_1:\n        /*0018*/  FFMA R1, R1, R2, R3 ;\n        /*0020*/  @P0 BRA `(.L_x_1) ;\n"
    one = f".L_x_0:\n{body}{inside}        /*0030*/  @P1 BRA `(.L_x_0) ;\n"
    assert model.multiply_adds(one) == (5, 4)
    # 4 of 5 instructions are multiply-adds, and 0.85 of the turns of 128 lanes are used.
    assert model.teraflops(one) == pytest.approx(2 * 0.8 * 0.85 * 128 * 132 * 1.755e9 / 1e12)
    assert model.teraflops(one.replace("FFMA", "DFMA")) == pytest.approx(2 * 64 * 132 * 1.755e9 / 1e12)


def counted(how, **more):
    total, pipes, moved, narrowest = model.count(LISTING, model.Kernel("", "", "", 32, how, **more))
    return total, pipes["alu"], moved, narrowest


def test_loops_are_found_in_a_listing():
    lines, loops = model.lines_of(LISTING)
    assert len(lines) == 13
    assert [(loop.first, loop.past) for loop in loops] == [(0, 11), (1, 4), (4, 10), (6, 8)]
    assert model.moved(lines) == [8, 8, 32, 64, 32]


def test_a_loop_is_counted_as_the_kernel_says():
    assert counted("loop") == (6, 1, 16, 32), "the loop that moves words, and the loop in it once"
    assert counted("one axis") == (4, 0, 16, 32), "without the loop in it"
    assert counted("nested") == (6, 1, 16, 32), "the shortest that moves as many words"
    # Two lines once; those that move 12 bytes in and 4 out twice for 24 bytes; those that move single bytes not at all.
    assert counted("tile", each=24) == (2 + 2 * 4, 0, 32, 32)
    assert counted("") == (0, 0, 0, 0)
