# SPDX-License-Identifier: Apache-2.0
"""Every quirk of a framework that is installed, measured again: a source that meets its condition goes in, in a child
process, and what comes of it must be the outcome of the row, or not be, as its versions say. The same source adapted
must then be read."""

import importlib.util
import json
import signal
import subprocess
import sys

import pytest

from dltensor.inspection.quirks import load

pytestmark = pytest.mark.peers

BEGIN = """
import json, os, sys, warnings
sys.path.insert(0, sys.argv[1])
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["SCIPY_ARRAY_API"] = "1"
warnings.simplefilter("ignore")
import numpy, dltensor as dl
if sys.argv[2] == "jax":
    import jax.dlpack
else:
    exec(f"import {sys.argv[2]}")
def readonly(n=6):
    array = numpy.arange(float(n)); array.flags.writeable = False
    return array
def typed(name):
    return dl.asarray([1, 2, 3, 4], dtype="float32").astype(name)
class Hostile:
    def __init__(self, **fields): self.fields = fields
    def __dlpack_device__(self): return (1, 0)
    def __dlpack__(self, **arguments):
        from faults.producer import Kit
        return Kit().make(**self.fields).capsule()  # a fresh struct for every call
class Plain:
    def __init__(self, t): self.t = t
    def __dlpack__(self, **arguments): return self.t.__dlpack__(**arguments)
x = eval(sys.argv[3])
facts = dl.inspect(x).facts
"""
CONSUME = """
from dltensor.inspection.quirks import load
row, = [row for row in load().rows if row.id == sys.argv[4]]
result = {"applies": row.applies(facts)}
if sys.argv[5] == "adapted":
    x = dl.adapt(x, to=row.framework.name)
print(json.dumps(result), flush=True)
try:
    y = eval(row.framework.take.replace("from_dlpack(x)", "from_dlpack(x, copy=True)") if row.outcome == "shares"
             else row.framework.take)
except Exception as error:
    result["refused"] = f"{type(error).__name__}: {error}"
else:
    if type(y).__module__.startswith("array_api_strict"):
        y = y._array
    if not facts["data_null"]:  # the result cannot be read
        seen = dl.asarray(y)
        result["readonly"] = seen.readonly
        if facts["host"] and facts["size"]:
            try:
                result["same"] = seen.data_ptr == dl.asarray(x).data_ptr
            except BufferError:
                pass
print(json.dumps(result), flush=True)
y = seen = None  # the deleter runs now
"""
# Sources that meet the conditions, as expressions.
SOURCES = {
    "numpy.dtype": "typed('bfloat16')",
    "numpy.lanes": "dl.adapt(dl.arange(6), lanes=2)",
    "numpy.legacy": "dl.adapt(dl.arange(6), legacy=True)",
    "numpy.null": "Hostile(data=0)",
    "numpy.device": "dl.wrap(1 << 30, (4,), 'float32', device='cuda:0')",
    "torch.negative_strides": "numpy.arange(6.0)[::-1]",
    "torch.negative_strides_refused": "numpy.arange(6.0)[::-1]",
    "torch.null": "Hostile(data=0)",
    "torch.readonly": "readonly()",
    "torch.byte_offset": "dl.adapt(dl.arange(6, dtype='float32'), byte_offset=3)",
    "torch.float4": "typed('float4_e2m1fn')",
    "torch.lanes": "dl.adapt(dl.arange(6), lanes=2)",
    "torch.dtype": "typed('float6_e2m3fn')",
    "torch.no_device_method": "Plain(dl.arange(6))",
    "jax.versioned": "dl.adapt(dl.arange(6), legacy=False)",
    "jax.readonly": "readonly()",
    "jax.strides": "numpy.arange(6.0)[::2]",
    "jax.alignment": "dl.arange(9)[1:]",
    "jax.deleter_null": "Hostile(legacy=True, deleter=None)",
    "jax.dtype": "typed('int4')",
    "jax.lanes": "dl.adapt(dl.arange(6), lanes=2)",
    "jax.copy": "dl.arange(6, dtype='float32')",
    "tvm_ffi.versioned": "dl.adapt(dl.arange(6), legacy=False, table=False)",
    "tvm_ffi.readonly": "readonly()",
    "tvm_ffi.readonly_table": "dl.adapt(readonly())",
    "pyarrow.legacy": "dl.adapt(dl.arange(6), legacy=True)",
    "pyarrow.negative_strides": "numpy.arange(6.0)[::-1]",
    "pyarrow.dtype": "typed('bfloat16')",
    "pyarrow.complex": "numpy.arange(3) * 1j",
    "pyarrow.lanes": "dl.adapt(dl.arange(6), lanes=2)",
    "array_api_strict.dtype": "typed('float16')",
    "array_api_strict.legacy": "dl.adapt(dl.arange(6), legacy=True)",
}
# Producers show it by themselves: a source, and a statement that is true when the row is.
PRODUCERS = {
    "torch.negated": (
        "torch.tensor([1 + 2j, 3 - 4j]).conj().imag",
        "numpy.from_dlpack(x).tolist() == [2.0, -4.0] and x.tolist() == [-2.0, 4.0]",
    ),
    "torch.asarray": ("dl.asarray([[1, 2], [3, 4]])", "torch.asarray(x).shape == (8,)"),
    "torch.copy_unmarked": (
        "torch.arange(6.0)",
        "[c.struct['flags'] for c in dl.inspect(x).calls if 'copy=True' in c.call] == [0]",
    ),
    "jax.unversioned": (
        "jax.numpy.arange(6.0)",
        "{c.struct['layout'] for c in dl.inspect(x).calls if c.struct} == {'DLManagedTensor'}",
    ),
    "tvm_ffi.old_version": ("tvm_ffi.from_dlpack(numpy.arange(6.0))", "raises(AttributeError, max_version=(0, 8))"),
    "ctypes_dlpack.readonly": (
        "ctypes_dlpack.DLPackArray(ctypes_dlpack.array_as_dlpack(readonly(), max_version=(1, 0)))",
        "not dl.inspect(x).calls and dl.inspect(x.__dlpack__()).struct['layout'] == 'DLManagedTensor'",
    ),
}
ROWS = {row.id: row for row in load().rows}


def child(row, source, *rest, script=BEGIN + CONSUME):
    if importlib.util.find_spec(row.framework.module) is None:
        pytest.skip(f"{row.framework.distribution} is not installed")
    folder = __file__.rpartition("/")[0]
    return subprocess.run(
        [sys.executable, "-c", script, folder, row.framework.module, source, row.id, *rest],
        capture_output=True,
        text=True,
        timeout=180,
    )


@pytest.mark.parametrize("name", SOURCES)
def test_a_consumer_does_what_the_row_says_of_its_version(name):
    row = ROWS[name]
    done = child(row, SOURCES[name], "as it is")
    assert done.stdout, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["applies"], f"{row.when.text} is false of {SOURCES[name]}"
    dies = done.returncode in (-signal.SIGABRT, -signal.SIGSEGV)
    assert dies or done.returncode == 0, done.stderr
    happened = {
        "aborts": dies,
        "refused": "refused" in result,
        "readonly": result.get("readonly") is True,
        "ignored": result.get("readonly") is False,
        "copied": result.get("same") is False,
        "shares": result.get("same") is True,
        "accepted": not dies and "refused" not in result,
    }
    # Rows whose last version is older than the installed one are tried too: it must be free of them.
    assert happened[row.outcome] == (row.concerns(row.framework.installed) is not False), result


@pytest.mark.parametrize("name", [name for name in SOURCES if ROWS[name].adapt])
def test_the_adapted_source_is_read(name):
    row = ROWS[name]
    done = child(row, SOURCES[name], "adapted")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert "refused" not in result, result


PRODUCE = """
def raises(kind, **arguments):
    try:
        x.__dlpack__(**arguments)
    except kind:
        return True
from dltensor.inspection.quirks import load
from dltensor.inspection.reading import NEUTRAL
row, = [row for row in load().rows if row.id == sys.argv[4]]
# Nothing can be asked of an object that exports once: what was put into it is known.
facts = facts or NEUTRAL | {"producer": row.framework.name, "readonly": True}
print(json.dumps([row.applies(facts), bool(eval(sys.argv[5]))]))
"""


@pytest.mark.parametrize("name", PRODUCERS)
def test_a_producer_still_does_what_the_row_says(name):
    source, statement = PRODUCERS[name]
    done = child(ROWS[name], source, statement, script=BEGIN + PRODUCE)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [True, True]


def test_every_row_of_an_installed_framework_is_measured_here():
    here = [
        row.id
        for row in load().rows
        if row.framework.name in ("numpy", "torch", "jax", "tvm_ffi", "pyarrow", "array_api_strict", "ctypes_dlpack")
    ]
    assert sorted(here) == sorted([*SOURCES, *PRODUCERS])
