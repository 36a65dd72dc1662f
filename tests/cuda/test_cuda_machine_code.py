# SPDX-License-Identifier: Apache-2.0
"""The machine code of kernels, as NVRTC makes it for four architectures: what a card has to do for each byte it moves.

A kernel that should wait for memory alone is limited in three ways that can be read off its code: instructions in the
loop for the bytes that it moves, registers (over 32, fewer threads are resident than fit), and the width of accesses.
The limits below are what the code has now, rounded up; no GPU is needed, and none is used.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from engine import scratch
from test_cuda_nvrtc import FAMILIES, nvrtc, run

ARCHITECTURES = (75, 80, 90, 100)
K = "dlt::kernels::"


def tool(name):
    found = shutil.which(name)
    for folder in sys.path:
        for path in Path(folder or ".").glob(f"nvidia/*/bin/{name}"):
            found = found or str(path)
    if found is None:
        pytest.skip(f"{name} is not installed (pip install nvidia-cuda-{name})")
    return found


def contiguous(body, count, type, vector, out=None, computed=None):
    parts = [body, str(count), computed or type, type, type, type, out or type, str(vector), "0"]
    return "element", f"{K}element::contiguous<{', '.join(parts)}>"


class Row(NamedTuple):
    """One kernel, and what its loop may cost."""

    name: str
    family: str
    expression: str
    loads: int  # of 16 bytes, for each store of 16 bytes
    instructions: int  # at most, for each store of 16 bytes
    newer: int  # the same on sm_100, whose code has more of them for the same work
    registers: int  # on sm_80 and sm_90


def row(name, made, loads, instructions, newer, registers=32):
    return Row(name, *made, loads, instructions, newer, registers)


HALF, BRAIN = "dlt::float16", "dlt::bfloat16"
ROWS = [
    row("add float32", contiguous(f"{K}op_add", 2, "float", 4), 2, 28, 36),
    row("add float64", contiguous(f"{K}op_add", 2, "double", 2), 2, 24, 32),
    row("add int32", contiguous(f"{K}op_add", 2, "int32_t", 4), 2, 28, 36),
    row("add float16", contiguous(f"{K}op_add", 2, HALF, 8), 2, 56, 58),
    row("multiply float16", contiguous(f"{K}op_multiply", 2, HALF, 8), 2, 56, 58),
    row("negative float16", contiguous(f"{K}op_negative", 1, HALF, 8), 1, 38, 58),
    row("add bfloat16", contiguous(f"{K}op_add", 2, BRAIN, 8), 2, 62, 70),
    row("add uint8", contiguous(f"{K}op_add", 2, "uint8_t", 16), 2, 100, 110),
    row("copy complex128", contiguous(f"{K}keep", 1, f"{K}wide_word", 2), 1, 12, 16),
    row("add complex128", contiguous(f"{K}op_add", 2, "dlt::complex128", 2), 2, 14, 24),
    row("transpose of 1 byte", ("tile", f"{K}tile::words<1, 6, uint32_t>"), 1, 115, 148, 48),
    row("transpose of 2 bytes", ("tile", f"{K}tile::words<2, 6, uint32_t>"), 1, 115, 140, 44),
    row("transpose of 4 bytes", ("tile", f"{K}tile::words<4, 6, uint32_t>"), 1, 115, 140, 40),
]


class Code(NamedTuple):
    instructions: int  # in the loop
    loads: list  # widths in bits
    stores: list
    spills: int
    registers: int


def loop_of(listing):
    """The instructions of the loop that stores most: from a label to the branch back to it."""
    lines, labels, best = [], {}, []
    for line in listing.splitlines():
        if label := re.match(r"\s*(\.L_\w+):", line):
            labels[label[1]] = len(lines)
        elif code := re.match(r"\s*/\*[0-9a-f]+\*/\s+(.*?)\s*;", line):
            lines.append(code[1])
            back = re.search(r"BRA\w*\b.*`\((\.L_\w+)\)", code[1])
            if back and labels.get(back[1], len(lines)) < len(lines) - 1:
                body = lines[labels[back[1]] :]
                if wide_stores(body) > wide_stores(best) or (
                    wide_stores(body) == wide_stores(best) and len(body) < len(best)
                ):
                    best = body
    return best


def wide_stores(body):
    return sum("STG" in line and ".128" in line for line in body)


def widths(body, kind):
    return [
        int(found[1]) if (found := re.search(r"\.(\d+)\b", line)) and int(found[1]) > 16 else 32
        for line in body
        if kind in line
    ]


@pytest.fixture(scope="module")
def codes(tmp_path_factory):
    """Every row for every architecture."""
    disassembler, dumper, folder = tool("nvdisasm"), tool("cuobjdump"), tmp_path_factory.mktemp("codes")
    jobs = [(arch, f"{i}", r.family, r.expression) for arch in ARCHITECTURES for i, r in enumerate(ROWS)]
    script = (
        FAMILIES
        + f"""
    for arch, name, family, expression in {jobs!r}:
        header = f"native/cuda/kernels/{{family}}.cuh".encode()
        path = f"{folder}/{{arch}}-{{name}}.cubin".encode()
        cuda("compile_to", arch // 10, arch % 10, header, expression.encode(), path)
    """
    )
    run(script, scratch() / "unused", DLTENSOR_CUDA_NVRTC=nvrtc())
    found = {}
    for arch, name, *_ in jobs:
        path = str(folder / f"{arch}-{name}.cubin")
        listing = subprocess.run([disassembler, path], capture_output=True, text=True, check=True).stdout
        usage = subprocess.run([dumper, "-res-usage", path], capture_output=True, text=True, check=True).stdout
        body = loop_of(listing)
        loads, stores = widths(body, "LDG"), widths(body, "STG")
        spills = len(re.findall(r"\b(LDL|STL)\b", listing))
        registers = int(re.search(r"REG:(\d+)", usage)[1])
        found[arch, ROWS[int(name)].name] = Code(len(body), loads, stores, spills, registers)
    return found


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_kernel_costs_no_more_than_its_limits(codes, row, arch):
    code = codes[arch, row.name]
    print(f"{row.name}, sm_{arch}: {code}")
    stores = sum(width >= 128 for width in code.stores)
    assert stores == len(code.stores) > 0, code
    assert sum(width >= 128 for width in code.loads) == row.loads * stores, code
    assert code.spills == 0
    # Without an instruction that rounds to bfloat16 it takes eight times as many.
    limit = row.newer if arch == 100 else 150 if arch == 75 and "bfloat16" in row.name else row.instructions
    assert code.instructions <= limit * stores, code
    # On sm_75 no more than 1,024 threads are resident, which may have 64 each. For sm_100 the compiler takes more
    # than it needs: a limit of 32 makes it spill.
    assert code.registers <= {75: 64, 100: 50}.get(arch, row.registers), code


def test_a_loop_is_found_in_a_listing():
    listing = """
.L_x_0:
        /*0010*/                   LDG.E.128 R4, [R2] ;
        /*0020*/                   FADD R4, R4, R5 ;
        /*0030*/                   STG.E.128 [R2], R4 ;
        /*0040*/              @!P0 BRA `(.L_x_0) ;
        /*0050*/                   EXIT ;
.L_x_1:
        /*0060*/                   BRA `(.L_x_1) ;
"""
    body = loop_of(listing)
    assert len(body) == 4
    assert widths(body, "LDG") == widths(body, "STG") == [128]
