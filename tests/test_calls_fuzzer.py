# SPDX-License-Identifier: Apache-2.0
"""The fuzzer of all public calls: it finds every public call and every planted defect, and no other."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from native_tools import require

import dltensor as dl

ROOT = Path(__file__).parent.parent
FUZZ = ROOT / "fuzz"

# What is done to the package before the calls, and what the fuzzer then says.
DEFECTS = {
    "an undocumented exception": (
        "def square(a, /): raise SystemError('error return without exception set')",
        r"FOUND square: raised SystemError",
    ),
    "an empty message": ("def square(a, /): raise ValueError", r"FOUND square: ValueError says nothing"),
    "an operand that is written": (
        "def square(a, /): dl.fill(7, a) if dl.as_dtype(a.dtype) else None; return real(a)",
        r"FOUND square: memory of an argument changed although it is no output",
    ),
    "an output that is half written": (
        "def square(a, /, out): dl.fill(1, out); raise ValueError('too late')",
        r"FOUND square: memory of an argument changed after an error",
    ),
    "a write beside the output": (
        "def square(a, /, out):\n"
        "    ctypes.memset(out.data_ptr - 3, 1 ^ ctypes.string_at(out.data_ptr - 3, 1)[0], 1)\n"
        "    return out",
        r"FOUND square: memory beside the output was written",
    ),
    "a wrong value": ("def square(a, /): return dl.add(real(a), 1)", r"FOUND square: NumPy gives another value"),
    "memory that is never given back": (
        "kept = []\ndef square(a, /): kept.append(dl.ones(3)); return kept[-1].copy()",
        r"FOUND round: left behind: [1-9]\d* blocks",
    ),
    "a crash": (
        "def square(a, /): ctypes.string_at(16)",
        r"FOUND square: died by SIG(SEGV|ABRT)\n  call \d+: square\(",
    ),
    "an exit": ("def square(a, /): os._exit(0)", r"FOUND square: exited with 0"),
    "a file where the process runs": (
        "def square(a, /):\n    open('made', 'w').close()\n    return real(a)",
        r"FOUND process: wrote files\n  made\n",
    ),
    "a call that never ends": (
        "def square(a, /): time.sleep(1000)",
        r"FOUND square: hung for 2.0 s\n  call \d+: square\(",
    ),
}
# Nothing but the function itself is called, so that a few rounds are enough.
PLANT = """
import ctypes, os, time
import dltensor as dl
import numpy as np
from calls import surface

real = dl.square
{source}
square.__module__, square.__doc__ = "dltensor._ops.elementwise", "Raises\\n------\\nTypeError"
dl.square = square
found = surface.entries
surface.entries = lambda: [entry for entry in found() if entry.name == "square"]
"""


def run(*arguments):
    command = [sys.executable, FUZZ / "calls_fuzzer.py", *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=1800)


@pytest.mark.parametrize("defect", DEFECTS)
def test_every_planted_defect_is_found(defect, tmp_path):
    source, words = DEFECTS[defect]
    plant = tmp_path / "plant.py"
    plant.write_text(PLANT.format(source=source))
    # Eight rounds draw a call that shows the defect; every call hangs, and each time costs the watch's patience.
    # Where the process ends, each finding starts another one.
    enough = 1 if re.search("died|exited|hung", words) else 99
    done = run("--rounds", 1 if "time.sleep" in source else 8, "--patience", 2, "--enough", enough, "--before", plant)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(words, done.stdout), done.stdout
    assert re.search(r"python fuzz/calls_fuzzer.py --seed 0 --round \d", done.stdout)


def test_a_slow_start_is_not_taken_for_a_call_that_hangs(tmp_path):
    slow = tmp_path / "slow.py"
    slow.write_text("import time\ntime.sleep(4)\n")
    done = run("--rounds", 1, "--patience", 2, "--before", slow)
    assert done.returncode == 0, done.stdout + done.stderr


# Defects that show only when operands work together: the trick that finds them, the function, its source, the finding.
TRICKS = {
    "an operand is read after another freed it": (
        "change operand",
        "square",
        "def square(a, /, out=None):\n"
        "    at, size = (a.ctypes.data, a.nbytes) if type(a) is np.ndarray else (0, 0)\n"
        "    if hasattr(out, '__dlpack__'): out.__dlpack__()\n"
        "    if size: ctypes.string_at(at, size)\n"
        "    return dl.ones(3)",
        r"FOUND square: died by SIG(SEGV|ABRT)\n  call \d+: square\(.*\[change operand: resize",
    ),
    "a value of a state that the operand never had": (
        "change operand",
        "maximum",
        "def maximum(a, b, /): return dl.multiply(real(a, b), 0)",
        r"FOUND maximum: NumPy gives another value",
    ),
    "a view whose memory is freed": (
        "change storage",
        "from_dlpack",
        "def from_dlpack(x, /, *, device=None, copy=None):\n"
        "    if type(x) is not np.ndarray: return real(x)\n"
        "    strides = tuple(s // x.itemsize for s in x.strides)\n"
        "    return dl.wrap(x.ctypes.data, x.shape, str(x.dtype), strides=strides, owner=x.tolist())",
        r"FOUND from_dlpack: (died by SIG(SEGV|ABRT)|a view changed when its owner was told to resize)",
    ),
    "a length that is asked twice": (
        "two answers",
        "square",
        "def square(a, /):\n"
        "    shape = getattr(a, '__array_interface__', {}).get('shape', ())\n"
        "    if len(shape) != len(shape): os.abort()\n"
        "    return dl.ones(3)",
        r"FOUND square: died by SIGABRT\n  call \d+: square\(<Unsteady",
    ),
    "an object that gives itself": (
        "itself",
        "square",
        "def square(a, /):\n"
        "    for _ in range(1000): a = a.__array__() if hasattr(a, '__array__') else 1\n"
        "    if type(a) is not int and type(a) is not np.ndarray: os.abort()\n"
        "    return dl.ones(3)",
        r"FOUND square: died by SIGABRT\n  call \d+: square\(<Itself",
    ),
    "a type that is known by its name": (
        "stolen name",
        "square",
        "def square(a, /):\n"
        "    if type(a).__name__ == 'ndarray' and type(a) is not np.ndarray: return dl.ones(3)\n"
        "    raise TypeError('square: no tensor')",
        r"FOUND square: took an object that has only a name",
    ),
    "typed numbers that become the default dtype": (
        "typed numbers",
        "asarray",
        "def asarray(obj, /, *, dtype=None, device=None, copy=None):\n"
        "    if type(obj[0]) is list:\n        return real(obj)\n"
        "    return real([x.item() if hasattr(x, 'item') else x for x in obj])",
        r"FOUND asarray: gives \w+ for typed numbers of",
    ),
    "a mask that is dropped": (
        "masked",
        "square",
        "def square(a, /): return dl.ones(3)",
        r"FOUND square: dropped the mask of",
    ),
    "axes that are read on and on": (
        "endless",
        "flip",
        "def flip(x, /, axis=None): return real(x, tuple(axis) if isinstance(axis, list) else axis)",
        r"FOUND flip: reads on in axis after 65 of its items",
    ),
    "more memory than there is": (
        "too large",
        "empty",
        "def empty(shape, *, dtype=None, device=None): return None",
        r"FOUND empty: gave \d+ bytes, more than the machine has",
    ),
    "an old signature that is refused": (
        "old signature",
        "square",
        "def square(a, /):\n"
        "    if type(a).__name__ == 'OldSignature': a.__dlpack__(max_version=(1, 3))\n"
        "    return real(a)",
        r"FOUND square: refused a producer of an old signature: .*max_version",
    ),
    "elements that are compared in a dtype that does not hold them": (
        "two dtypes",
        "isin",
        "def isin(x1, x2, /): return real(*[dl.astype(x, dl.result_type(x1, x2)) for x in (x1, x2)])",
        r"FOUND isin: not the order of exact values",
    ),
}


@pytest.mark.parametrize("defect", TRICKS)
def test_a_defect_that_takes_several_operands_is_found(tmp_path, defect):
    trick, name, source, words = TRICKS[defect]
    plant = tmp_path / "plant.py"
    plant.write_text(PLANT.format(source=source).replace("square", name))
    done = run("--rounds", 60, "--enough", 1, "--trick", trick, "--before", plant)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(words, done.stdout), done.stdout
    assert f'--trick "{trick}"' in done.stdout


@pytest.mark.parametrize("trick", ["odd address", "consumer stream", "graph output"])
def test_tricks_of_devices_find_nothing_where_nothing_is_planted(trick):
    require("g++")  # which builds the host driver
    done = run("--device", "cuda", "--rounds", 1, "--patience", 200, "--trick", trick)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) made in", done.stdout)[1]) > 10


def test_an_operand_at_an_odd_address_is_found(tmp_path):
    require("g++")
    plant = tmp_path / "plant.py"
    plant.write_text(
        "import os\nimport dltensor as dl\nreal = dl.sort\n"
        "def sort(x, /, **keywords):\n"
        "    if x.data_ptr % x.itemsize: os.abort()\n"
        "    return real(x, **keywords)\n"
        "sort.__module__ = real.__module__\n"
        "dl.sort = sort\n"
        "from calls import surface\n"
        "found = surface.entries\n"
        "surface.entries = lambda: [entry for entry in found() if entry.name == 'sort']\n"
    )
    command = ["--device", "cuda", "--rounds", 4, "--enough", 1, "--patience", 200, "--trick", "odd address"]
    done = run(*command, "--before", plant)
    assert "FOUND sort: died by SIGABRT" in done.stdout, done.stdout + done.stderr


@pytest.mark.peers
def test_a_tensor_of_pytorch_that_requires_grad_is_found_where_it_is_taken(tmp_path):
    pytest.importorskip("torch")
    plant = tmp_path / "plant.py"
    plant.write_text(PLANT.format(source="def square(a, /): return dl.ones(3)"))
    done = run("--rounds", 5, "--trick", "refused tensor", "--torch", "--before", plant)
    assert "FOUND square: took a tensor that PyTorch does not export" in done.stdout, done.stdout + done.stderr


def test_the_interpreter_of_the_calls_is_chosen():
    done = run("--rounds", 1, "--python", "/bin/false")
    assert "FOUND process: exited with 1" in done.stdout
    assert done.returncode == 1


def stress(*arguments):
    command = [sys.executable, str(FUZZ / "stress.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_calls_by_threads_survive_a_thread_that_changes_shapes():
    done = stress("--rounds", 4)
    assert done.returncode == 0, done.stdout + done.stderr
    calls, right = map(int, re.search(r"stress: (\d+) calls .* (\d+) right", done.stdout).groups())
    assert calls == 4 * 4 * 50
    assert right > calls / 2


@pytest.mark.parametrize(
    ("defect", "words"),
    [
        (
            "dl.add = lambda *a, **k: (_ for _ in ()).throw(MemoryError('no memory left'))",
            "add: MemoryError: no memory",
        ),
        ("dl.cos = lambda a: dl.zeros(1)", "cos: a result of shape|cos: not all elements of the result are 1"),
        ("dl.where = lambda *a: ctypes.string_at(16)", "died by SIG(SEGV|ABRT)"),
        ("import calls.stress as s; s.CALLS = 0", "stress: 0 calls"),
    ],
)
def test_the_stress_test_finds_a_planted_defect(defect, words):
    done = stress("--rounds", 2, "--before", f"import ctypes, dltensor as dl; {defect}")
    assert done.returncode == (2 if "0 calls" in words else 1), done.stdout + done.stderr
    assert re.search(words, done.stdout), done.stdout


def test_a_finding_is_seen_again_by_what_is_printed(tmp_path):
    plant = tmp_path / "plant.py"
    plant.write_text(PLANT.format(source=DEFECTS["an undocumented exception"][0]))
    words = run("--rounds", 8, "--before", plant).stdout
    again = run("--round", re.search(r"--round (\d+)", words)[1], "--before", plant)
    assert again.returncode == 1
    assert "FOUND square: raised SystemError" in again.stdout


def test_nothing_is_found_where_nothing_is_planted():
    done = run("--rounds", 30)
    assert done.returncode == 0, done.stdout + done.stderr
    calls, succeeded, compared = map(
        int, re.search(r"(\d+) made in .* (\d+) % succ.* (\d+) comp", done.stdout).groups()
    )
    assert calls > 300
    assert succeeded > 30
    assert compared > 0


def test_several_threads_share_the_tensors():
    done = run("--rounds", 10, "--threads", 4)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) made", done.stdout)[1]) > 300


def test_every_public_callable_is_called(monkeypatch):
    monkeypatch.syspath_prepend(FUZZ)
    from calls.surface import entries, excluded

    found = {entry.name for entry in entries()}
    things = {getattr(dl, name) for name in dl.__all__ if callable(getattr(dl, name))}  # a spelling is the same one
    functions = {thing for thing in things if not isinstance(thing, dl.DType)}
    wanted = {one.__name__ for one in functions if hasattr(dl, one.__name__) and not excluded(one.__name__)}
    wanted -= {name for name in wanted if isinstance(getattr(dl, name), type)}
    wanted |= {f"layout.{name}" for name in dl.layout.__all__} | {f"checks.{name}" for name in dl.checks.__all__}
    wanted -= {"layout.broadcast_shapes"} if dl.broadcast_shapes is dl.layout.broadcast_shapes else set()
    wanted |= {f"Tensor.{name}" for name in dir(dl.Tensor) if not name.startswith("_") and hasattr(dl.Tensor, name)}
    assert wanted - found == set()
    assert len(found) > 500
