# SPDX-License-Identifier: Apache-2.0
"""Every error that a docstring of `dltensor.distributed` documents is raised, with the name of the function."""

from types import SimpleNamespace

import pytest
from error_calls import faults, unmatched
from public_names import public

import dltensor as dl

FAR = dl.wrap(4096, (2,), "float32", device="rocm")
SMALL = [dtype for dtype in dl.DTYPES.values() if dtype.kind == "f" and dtype.bits in (8, 16)]


def things(module):
    return {name.removeprefix("distributed."): thing for name, thing in public((module,)).items()}


def without_room(f):
    """A call when mpi4py has as many operations as it takes."""
    mpi = dl.distributed.mpi
    for dtype in SMALL:
        for operation in (mpi.MPI.SUM, mpi.MPI.PROD, mpi.MPI.MAX, mpi.MPI.MIN):
            f(operation, dtype)


def with_an_mpi_that_fails(f):
    """A call in which MPI makes no operation."""
    mpi = dl.distributed.mpi
    true, kept = mpi.MPI, dict(mpi._ops)

    def create(*arguments, **options):
        raise true.Exception(true.ERR_OTHER)

    mpi._ops.clear()
    mpi.MPI = SimpleNamespace(Op=SimpleNamespace(Create=create), Exception=true.Exception)
    try:
        f(true.SUM, "bfloat16")
    finally:
        mpi.MPI = true
        mpi._ops.update(kept)


MPI_ROWS = [
    ("TypeError", lambda f: f("int4"), "mpi.datatype"),
    ("DeviceError", lambda f: f(FAR), "mpi.message"),
    ("ValueError", lambda f: f(dl.zeros((4, 4), dtype="int4").mT), "mpi.message"),
    ("ValueError", lambda f: f(dl.distributed.mpi.MPI.BAND, "float32"), "mpi.op"),
    ("TypeError", lambda f: f(dl.distributed.mpi.MPI.SUM, "int4"), "mpi.op"),
    ("MPI.Exception", with_an_mpi_that_fails, "mpi.op"),
    ("RuntimeError", without_room, "mpi.op"),
]
DASK_ROWS = [
    ("TypeError", lambda f: f(object()), "dask.to_tensor"),
    ("ValueError", lambda f: f(-1), "dask.RandomState"),
]
# Names, and how messages begin that do not begin with the name of the function: those of MPI, of NumPy and of asarray.
BEGINNINGS = [("mpi.op", "MPI_ERR_OTHER"), ("dask.RandomState", "Seed"), ("dask.to_tensor", "asarray")]


@pytest.mark.parametrize(("module", "needed", "rows"), [("mpi", "mpi4py.MPI", MPI_ROWS), ("dask", "dask", DASK_ROWS)])
def test_every_documented_error_is_raised_and_every_call_is_documented(module, needed, rows):
    pytest.importorskip(needed, reason=f"{needed} is not installed", exc_type=ImportError)
    found = things(getattr(dl.distributed, module))
    assert unmatched(found, rows) == []
    for error, call, names in rows:
        assert faults(found, error, call, names, BEGINNINGS) == {}
