# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PT017  these run without pytest
"""A child process that tries cases one after another: ``python -m faults.child CONSUMER`` with case ids on stdin.

It prints ``BEGIN <id>`` before and ``END <json>`` after each, so that the parent knows which case a crash belongs to.
"""

import gc
import importlib
import json
import re
import sys
import traceback
import types

from . import export, protocol  # noqa: F401  they register their behaviours
from .producer import Kit
from .register import CASES
from .structure import Accepted, Refused
from .structure import cases as structure_cases


class Skip(Exception):
    """A package that a case needs is not installed."""


def consumer(name):
    """The package under test: one with `from_dlpack`."""
    module = importlib.import_module(name)
    return module if name == "dltensor" else types.SimpleNamespace(from_dlpack=module.from_dlpack, package=name)


def hand_out(made, path):
    return {"capsule": made.capsule, "object": made.object, "table": made.through_table}[path.split()[-1]]()


def check_accepted(dl, tensor, expect):
    """Compare what was imported with what was promised, by the public names only."""
    own = getattr(dl, "package", "dltensor") == "dltensor"
    if expect.shape is not None:
        assert tuple(tensor.shape) == expect.shape, tensor.shape
    if expect.strides is not None and own:
        assert tensor.strides == expect.strides, tensor.strides
    if expect.dtype is not None and own:
        assert (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes) == expect.dtype, tensor.dtype
    if expect.device is not None:
        assert tuple(tensor.__dlpack_device__()) == expect.device, tensor.__dlpack_device__()
    if expect.readonly is not None and own:
        assert tensor.readonly is expect.readonly
    if expect.contiguous is not None and own:
        assert tensor.is_contiguous() is expect.contiguous
    if expect.values is not None:
        assert tensor.tolist() == expect.values, tensor.tolist()
    if expect.touch is not None and own:
        for touch in (lambda: tensor.tolist(), lambda: tensor.copy().tolist(), lambda: tensor[0, 0].item()):
            try:
                touch()
            except getattr(dl, expect.touch) as error:
                assert str(error)
            else:
                raise AssertionError(f"memory of {expect.device} was read, expected {expect.touch}")
    # Showing values reads them: not where a shape that no memory is behind was taken on trust.
    if own and (expect.values is not None or expect.touch is not None):
        assert repr(tensor)


def try_structure(kit, dl, path, row):
    """One row of section A at one path: refused with the right words or accepted with the right values."""
    made = kit.make(legacy=path.startswith("legacy"), **row.fields)
    once = 0 if made.struct.deleter is None else 1
    source = hand_out(made, path)
    error = None
    try:
        tensor = dl.from_dlpack(source)
    except Exception as caught:
        error = f"{type(caught).__name__}: {caught}"
        assert isinstance(row.expect, Refused), f"refused: {error}"
        if getattr(dl, "package", "dltensor") == "dltensor":
            assert isinstance(caught, BufferError), error
            pattern = row.expect.pattern()
            if row.expect.rule == "version.major":
                pattern = rf"from_dlpack: .*{row.fields['version'][0]}.*\(rule version.major\); ."
            assert re.search(pattern, str(caught)), f"{caught} does not match {pattern}"
        del caught
    else:
        assert isinstance(row.expect, Accepted), f"accepted: {getattr(tensor, 'shape', None)}"
        check_accepted(dl, tensor, row.expect)
        assert made.deleted == 0, "the deleter ran while the tensor lives"
        del tensor
    gc.collect()
    assert made.deleted == once, f"the deleter ran {made.deleted} times, {once} expected ({error})"
    assert made.deleted_with_error == 0, "the deleter ran with an exception pending"
    del source
    gc.collect()
    assert made.deleted == once, f"the deleter ran {made.deleted} times after the producer was gone"
    return error


def all_cases():
    """Every case by id: a function of the kit and the package."""
    made = {}
    for identity, (path, row) in structure_cases().items():
        made[identity] = lambda kit, dl, path=path, row=row: try_structure(kit, dl, path, row)
    for identity, (function, needed, parameters) in CASES.items():
        made[identity] = lambda kit, dl, f=function, n=needed, p=parameters: try_protocol(kit, dl, f, n, p)
    return made


def try_protocol(kit, dl, function, needed, parameters):
    for package in needed:
        try:
            importlib.import_module(package)
        except ModuleNotFoundError as missing:
            raise Skip(f"{missing.name} is not installed") from None
    function(kit, dl, **parameters)


def main():
    kit, dl, cases = Kit(), consumer(sys.argv[1]), all_cases()
    for identity in map(str.strip, sys.stdin):
        print("BEGIN", identity, flush=True)
        try:
            said, outcome = cases[identity](kit, dl), "passed"
        except Skip as skip:
            said, outcome = str(skip), "skipped"
        except BaseException:
            said, outcome = traceback.format_exc(), "failed"
        print("END", json.dumps([outcome, said]), flush=True)


if __name__ == "__main__":
    main()
