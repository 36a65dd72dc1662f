# SPDX-License-Identifier: Apache-2.0
"""Tensors in messages of MPI, on 2 and 4 ranks: reductions of small floats, strided tensors, windows, errors."""

import pytest
from native_tools import absence

import dltensor as dl

pytest.importorskip("mpi4py", reason="mpi4py is not installed")
if absence("mpirun"):
    pytest.skip(f"{absence('mpirun')} (Debian: openmpi-bin)", allow_module_level=True)

HEAD = """
import dltensor as dl, numpy as np
from mpi4py import MPI
mpi, comm = dl.distributed.mpi, MPI.COMM_WORLD
rank, size = comm.rank, comm.size
"""


def counted(printed, words):
    """How many ranks printed some words; their lines may be mixed."""
    return printed.count(words)


# float8_e3m4 and its relatives; 8 dtypes with two operations each are all that mpi4py has room for.
SMALL = [name for name, dtype in dl.DTYPES.items() if dtype.kind == "f" and dtype.bits in (8, 16)]


@pytest.mark.parametrize("count", [2, 4])
def test_reductions_of_small_floats_are_right(ranks, count):
    code = (
        HEAD
        + f"""
for name in {[n for n in SMALL if n != "float8_e8m0fnu"]}:
    x = dl.asarray([rank + 1.0, -0.5 * rank, 0.25, 2.0]).astype(name)
    every = [dl.asarray([r + 1.0, -0.5 * r, 0.25, 2.0]).astype(name).astype("float64") for r in range(size)]
    for op, function in ((MPI.SUM, dl.add), (MPI.MAX, dl.maximum), (MPI.MIN, dl.minimum), (MPI.PROD, dl.multiply)):
        wanted = every[0]
        for other in every[1:]:
            wanted = function(wanted, other)
        # All of these numbers are exact in every dtype but the widest products.
        wanted = wanted.astype(name).astype("float64").tolist()
        made = dl.zeros(4, dtype="float32").astype(name)
        try:
            reduction = mpi.op(op, name)
        except RuntimeError as error:
            assert len(mpi._ops) >= 12 and "has no room" in str(error), error
            continue
        comm.Allreduce(mpi.message(x), mpi.message(made), reduction)
        assert made.astype("float64").tolist() == wanted, (name, op, made, wanted)
        again = x.copy()
        comm.Allreduce(MPI.IN_PLACE, mpi.message(again), reduction)
        assert again.astype("float64").tolist() == wanted
print("right;")
"""
    )
    assert counted(ranks(code, count), "right;") == count


@pytest.mark.parametrize("count", [2, 4])
def test_large_reductions_are_right_whatever_mpi_divides_them_into(ranks, count):
    code = (
        HEAD
        + """
for n in (1, 3, 1001, 100_003, 1 << 21):
    x = (dl.arange(n) % 7 + rank).astype("bfloat16")
    made = dl.empty(n, dtype="bfloat16")
    comm.Allreduce(mpi.message(x), mpi.message(made), mpi.op(MPI.SUM, "bfloat16"))
    wanted = (dl.arange(n) % 7) * size + size * (size - 1) // 2
    assert dl.array_equal(made.astype("int64"), wanted), n
    part = dl.empty(n, dtype="bfloat16")
    memory, _, kind = mpi.message(dl.concat([x] * size))
    comm.Reduce_scatter_block([memory, n, kind], mpi.message(part), mpi.op(MPI.SUM, "bfloat16"))
    assert dl.array_equal(part.astype("int64"), wanted), n
    same = dl.empty(n, dtype="bfloat16")
    comm.Allreduce(x.view("uint16"), same.view("uint16"), mpi.op(MPI.SUM, "bfloat16"))
    assert dl.array_equal(same, made)
print("right")
"""
    )
    assert counted(ranks(code, count), "right") == count


def test_mpi_refuses_its_own_reductions_of_these_datatypes(ranks):
    code = (
        HEAD
        + """
x = dl.ones(2, dtype="bfloat16")
try:
    comm.Allreduce(mpi.message(x), mpi.message(x.copy()))
except MPI.Exception as error:
    print(error)
"""
    )
    assert counted(ranks(code, 2), "MPI_ERR_OP: invalid reduce operation") == 2


def test_a_reduction_of_single_bytes_ends_the_program_with_the_remedy(ranks):
    code = (
        HEAD
        + """
x = dl.ones(2, dtype="bfloat16")
comm.Allreduce(x, x.copy(), mpi.op(MPI.SUM, "bfloat16"))
"""
    )
    with pytest.raises(
        AssertionError, match=r"a reduction of bfloat16 was called with elements of 1 bytes; pass message\(x"
    ):
        ranks(code, 2)


@pytest.mark.parametrize("count", [2, 4])
def test_every_dtype_and_layout_is_sent_and_received_in_place(ranks, count):
    code = (
        HEAD
        + """
peer = rank ^ 1
def exchange(x, y):
    comm.Sendrecv(mpi.message(x), peer, recvbuf=mpi.message(y), source=peer)
for name, dtype in dl.DTYPES.items():
    if dtype.bits * dtype.lanes % 8:
        x = (dl.arange(10) % 2).astype(dtype)
        y = dl.zeros(10, dtype="int8").astype(dtype)
    else:
        x = (dl.arange(80 * dtype.itemsize) + rank * 3).astype("uint8").view(dtype).reshape(-1)
        y = dl.zeros(x.size * dtype.itemsize, dtype="uint8").view(dtype)
    exchange(x, y)
    wanted = x if dtype.bits % 8 else (dl.arange(80 * dtype.itemsize) + peer * 3).astype("uint8").view(dtype)
    assert y.tobytes() == wanted.tobytes(), name
base = dl.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5) + 1000 * rank
other = dl.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5) + 1000 * peer
keys = [(slice(None, None, -1),), (..., slice(1, 4, 2)), (slice(None), slice(None, None, 2), 1),
        (1, slice(None), ..., 3), (..., slice(None, None, -2)), (slice(0, 1),), (slice(0, 0),)]
for key in keys:
    for order in ((0, 1, 2, 3), (3, 1, 0, 2)):
        x = dl.permute_dims(base, order)[key]
        target = dl.zeros(base.shape, dtype="int64")
        y = dl.permute_dims(target, order)[key]
        exchange(x, y)
        assert dl.array_equal(y, dl.permute_dims(other, order)[key]), (key, order)
        assert int((target != 0).sum()) == y.size - int((y == 0).sum())
row = dl.zeros(12, dtype="int64")
exchange(base[0, :, :, 2], row)
assert row.tolist() == other[0, :, :, 2].reshape(-1).tolist()
ones = dl.broadcast_to(dl.asarray([rank + 1]), (4,))
four = dl.zeros(4, dtype="int64")
exchange(ones, four)
assert four.tolist() == [peer + 1] * 4
print("right")
"""
    )
    assert counted(ranks(code, count), "right") == count


def test_tensors_as_they_are_in_other_calls(ranks):
    code = (
        HEAD
        + """
x = dl.arange(4.0) + rank
total = dl.zeros(4)
comm.Allreduce(x, total)
assert total.tolist() == [sum(i + r for r in range(size)) for i in range(4)]
every = dl.zeros((size, 4))
comm.Allgather(x, every)
assert every.tolist() == [[i + r for i in range(4)] for r in range(size)]
comm.Bcast(mpi.message(whole := dl.full((3, 3), 5.0 * (rank == 0), dtype="float16").T), 0)
assert whole.tolist() == [[5.0] * 3] * 3
window = MPI.Win.Create(memory := dl.zeros(4), comm=comm)
window.Fence()
window.Put(x, (rank + 1) % size)
window.Fence()
assert memory.tolist() == [i + (rank - 1) % size for i in range(4)]
window.Free()
request = comm.Isend(mpi.message(x[::2]), (rank + 1) % size)
y = dl.zeros(6)
comm.Recv(mpi.message(y[::3]), (rank - 1) % size)
request.Wait()
assert y.tolist() == [(rank - 1) % size, 0, 0, 2 + (rank - 1) % size, 0, 0]
try:
    comm.Bcast(mpi.message(dl.asarray(b"ab")), 0)
except (BufferError, ValueError) as error:
    assert rank == 0 or "read" in str(error) or "writ" in str(error)
print("right")
"""
    )
    assert counted(ranks(code, 2), "right") == 2


def test_errors_name_the_argument(ranks):
    code = (
        HEAD
        + """
def told(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
print(told(lambda: mpi.op(MPI.LAND, "bfloat16")))
print(told(lambda: mpi.op(MPI.SUM, "int4")))
print(told(lambda: mpi.op(MPI.SUM, "nonsense"))[:9])
print(told(lambda: mpi.datatype("float4_e2m1fn")))
print(told(lambda: mpi.message(dl.zeros(9, dtype="int4")[::2])))
assert mpi.op(MPI.SUM, "float32") == MPI.SUM
assert mpi.op(MPI.SUM, "bfloat16") is mpi.op(MPI.SUM, "bfloat16")
assert mpi.datatype("int32") == MPI.INT32_T
"""
    )
    lines = ranks(code, 1).splitlines()
    assert lines[0].startswith("ValueError: op: expected MPI.SUM, MPI.PROD, MPI.MAX or MPI.MIN, got <mpi4py.MPI.Op")
    assert lines[1] == "TypeError: op: int4 has no arithmetic; convert to another dtype"
    assert lines[2] == "TypeError"
    assert lines[3].startswith("TypeError: datatype: elements of float4_e2m1fn are not of whole bytes; send them with")
    assert lines[4].startswith("ValueError: message: packed elements of int4 must be contiguous to be sent")


def test_only_a_full_table_of_operations_is_called_so(ranks):
    code = (
        HEAD
        + """
from types import SimpleNamespace
real = mpi.MPI
for error, words in ((RuntimeError("cannot create too many"), "has no room for SUM of float8_e5m2"),
                     (MPI.Exception(MPI.ERR_INTERN), "MPI_ERR_INTERN"), (NotImplementedError("no Op"), "no Op")):
    def create(*_, error=error, **__):
        raise error
    mpi.MPI = SimpleNamespace(Op=SimpleNamespace(Create=create), Exception=real.Exception)
    try:
        mpi.op(MPI.SUM, "float8_e5m2")
    except RuntimeError as raised:
        assert type(raised) is type(error), raised
        assert words in str(raised), raised
    else:
        raise AssertionError(words)
mpi.MPI = real
print("right;")
"""
    )
    assert counted(ranks(code, 1), "right;") == 1
