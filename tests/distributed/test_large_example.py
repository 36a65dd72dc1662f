# SPDX-License-Identifier: Apache-2.0
"""The program in examples/large on a small model: statistics of tensors, by Dask on two processes and without it."""

import base64
import importlib.util
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import dltensor as dl

pytest.importorskip("distributed", reason="distributed is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")
PROGRAM = Path(__file__).parent.parent.parent / "examples" / "large" / "model_statistics.py"


@pytest.fixture(scope="module")
def program():
    spec = importlib.util.spec_from_file_location("model_statistics", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore")
def test_the_program_finds_the_same_bits_on_two_processes_and_writes_a_report(tmp_path):
    command = [sys.executable, str(PROGRAM), "--size", "3000000", "--folder", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "results came from 2 of them" in ended.stdout
    counted = int(re.search(r"^(\d+) tensors", ended.stdout, re.M)[1])
    assert f"all {7 * counted} statistics have the same bits" in ended.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    text = (tmp_path / "report.html").read_text("utf-8")
    assert text.count("<td><code>") == counted
    image = base64.b64decode(re.search(r"data:image/png;base64,([^\"]+)", text)[1])
    assert image.startswith(b"\x89PNG")
    assert len(image) <= 300_000


def test_parts_of_a_sum_add_up_to_it_exactly(program):
    x = dl.random.Generator(1).normal(0, 1, 10_000, dtype="float64") * dl.asarray(
        [1e-20, 1e20] * 5_000, dtype="float64"
    )
    parts = program.exact_parts(x)
    assert len(parts) > 1
    assert sum(map(Fraction, parts)) == sum(map(Fraction, x.tolist()))


def test_a_bit_that_differs_is_reported(program):
    one = {"a": {"sum": 1.0, "zeros": 3}}
    assert program.differences(one, {"a": {"sum": 1.0, "zeros": 3}}) == []
    assert len(program.differences(one, {"a": {"sum": 1.0 + 2**-52, "zeros": 4}})) == 2
    assert len(program.differences({"a": {"min": 0.0}}, {"a": {"min": -0.0}})) == 1


@pytest.mark.parametrize("chunk", [1, 100, 4096, 1 << 20])
def test_statistics_do_not_depend_on_the_chunks(program, tmp_path, chunk):
    path = str(tmp_path / "a.safetensors")
    t = dl.random.Generator(2).normal(3, 1, 2_000 if chunk == 1 else 100_000, dtype="float32")
    dl.save(path, {"a": t})
    parts = [program.summarize(path, "a", at, min(at + chunk, t.size)) for at in range(0, t.size, chunk)]
    assert program.differences(program.on_one_process(path, ["a"]), {"a": program.combine(parts)}) == []
