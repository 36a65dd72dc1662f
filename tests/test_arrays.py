# SPDX-License-Identifier: Apache-2.0
"""Joining, splitting, padding and views of arrays beyond the array API give what NumPy gives."""

import numpy as np
import pytest
from numpy.lib import stride_tricks
from numpy_twins import HERE, IN_NUMPY, same

import dltensor as dl

CALLS = """
atleast_1d(3.0) atleast_1d(v) atleast_1d(1,v) atleast_2d(v) atleast_2d(3) atleast_2d(x,cube) atleast_3d(v)
atleast_3d(x) atleast_3d(2.0) atleast_3d(cube) swapaxes(cube,0,-1) swapaxes(x,1,1) rot90(x) rot90(x,2) rot90(x,-1)
rot90(x,5) rot90(cube,3,(1,2)) rot90(x,0) vstack((v,v)) vstack((x,square)) vstack([x,four]) hstack((v,four))
hstack((x,five)) hstack([1,2]) dstack((v,v)) dstack((x,y)) column_stack((v,v,v)) column_stack((four,square))
vstack(cube) block([[x,five],[five,x]]) block([v,four]) block([[1,2],[3,4]]) block(x) block([[cube],[cube]])
append(v,[1,2]) append(x,y) append(x,y,0) append(x,y,axis=1) append(i,2.5) delete(v,1) delete(v,[0,-1]) delete(x,1,0)
delete(x,[0,2],axis=1) delete(x,5) delete(v,slice(1,4,2)) delete(four,[True,False,True,False]) delete(v,[])
insert(v,1,9.5) insert(v,-1,9.5) insert(v,5,1) insert(v,[1,3],[7,8]) insert(v,[3,1],[7,8]) insert(v,[1,1],[7,8])
insert(x,1,0,axis=1) insert(x,1,four,axis=0) insert(x,1,[1,2,3],axis=1) insert(x,[1],[[1],[2],[3]],axis=1)
insert(v,1,[5,6,7]) insert(x,0,4) insert(v,slice(1,3),[1,2]) split(four,2) split(x,2,axis=1) split(x,[1],0)
split(v,[1,3]) split(v,[1,3,9]) split(v,[3,1]) array_split(v,3) array_split(x,3,1) array_split(v,7)
array_split(x,[1,2]) vsplit(square,2) vsplit(x,[1]) hsplit(x,2) hsplit(four,2) dsplit(cube,4) diagonal(x)
diagonal(x,1) diagonal(x,-2) diagonal(x,9) diagonal(cube,0,1,2) diagonal(cube,-1,2,0) diag(v) diag(v,1) diag(v,-2)
diag(x) diag(x,-1) diag(square,3) diagflat(x) diagflat(v,2) diagflat(3) tri(3) tri(3,5,1) tri(4,2,-1) tri(3,dtype=int)
tri(0) tril_indices(4) tril_indices(3,1) tril_indices(3,-1,5) triu_indices(4) triu_indices(3,1) triu_indices(3,-1,5)
pad(v,2) pad(v,(1,3)) pad(x,((1,2),(0,3))) pad(x,1,constant_values=5.5)
pad(x,((1,2),(3,1)),constant_values=((1,2),(3,4))) pad(x,1,"edge") pad(x,((1,2),(0,3)),"edge") pad(v,3,"reflect")
pad(v,11,"reflect") pad(v,3,"symmetric") pad(v,12,"symmetric") pad(v,12,"wrap") pad(x,((2,3),(4,1)),"reflect")
pad(x,((2,3),(4,1)),"symmetric") pad(x,((2,3),(4,1)),"wrap") pad(v[:1],3,"reflect") pad(x,[[2],[1]]) pad(x,0,"edge")
pad(x,((2,0),(5,3)),"mean") pad(i,(1,2),"mean") pad(i,2,"mean",stat_length=((1,2),(3,9))) pad(z,2,"mean")
pad(x,((1,2),(0,3)),"median") pad(i,3,"median",stat_length=2) pad(x,2,"maximum")
pad(i,(1,3),"minimum",stat_length=(2,1)) pad(mask,2,"maximum") pad(mask,2,"mean") pad(v,4,"linear_ramp")
pad(x,((1,2),(0,3)),"linear_ramp",end_values=((1,2),(-3,0.5))) pad(i,5,"linear_ramp",end_values=-4)
pad(i,(0,7),"linear_ramp",end_values=(1,3)) pad(z,3,"linear_ramp",end_values=1j) pad(v,2,"reflect",reflect_type="odd")
pad(i,((1,4),(9,20)),"reflect",reflect_type="odd") pad(i,((8,0),(9,20)),"symmetric",reflect_type="odd")
pad(v[:1],3,"reflect",reflect_type="odd") pad(v[:1],3,"symmetric",reflect_type="odd") pad(i,{-1:(1,2)})
pad(i,{0:3},"mean") pad(i,{},"edge") pad(x[:,:0],((1,1),(0,0)),"mean") pad(x[:,:0],((0,0),(1,1))) trim_zeros(i)
trim_zeros(i*0) trim_zeros(mask,axis=1) trim_zeros(i[1:,:1],"f") trim_zeros(i[1:,:1],"b",axis=0)
trim_zeros(i[:2,1:2],axis=(0,1)) trim_zeros(i[:2,:1],"b",-2) trim_zeros(cube*0,axis=1) trim_zeros(5)
pad(i,1,constant_values=-1) pad(z,(0,2)) pad(mask,1) trim_zeros(i[0]) trim_zeros([0,0,1,2,0,3,0])
trim_zeros([0,0,1,0],"f") trim_zeros([0,0,1,0],"b") trim_zeros([0,0]) argwhere(i) argwhere(mask) argwhere(i[0])
argwhere(3) argwhere(0) flatnonzero(i) flatnonzero(mask) ix_([0,2],[1,3]) ix_([0,2],mask[0]) unravel_index(5,(2,3))
unravel_index([[5,1],[0,3]],(2,3)) unravel_index([3],4) ravel_multi_index(([0,1],[2,2]),(2,3))
ravel_multi_index((1,[0,2]),(2,3)) frombuffer(b"abcdefgh","int16") frombuffer(b"abcdefgh","int16",2)
frombuffer(b"abcdefgh","u1",-1,3)
"""


def evaluated(call, module, names):
    return eval(f"module.{call}", {**names, "module": module})


@pytest.mark.parametrize("call", CALLS.split())
def test_a_call_gives_what_numpy_gives(call):
    same(evaluated(call, dl, HERE), evaluated(call, np, IN_NUMPY))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64", "complex64"])
@pytest.mark.parametrize(
    "call", ["pad(a, 1)", "diag(a)", "insert(a, 1, 1)", "vstack((a, a))", "append(a, a)", "rot90(a[None])"]
)
def test_the_dtype_stays(dtype, call):
    a = np.ones(3, dtype=dtype)
    assert evaluated(call, dl, {"a": dl.asarray(a)}).dtype == evaluated(call, np, {"a": a}).dtype


@pytest.mark.parametrize("call", ["pad(a, 2, 'edge')", "pad(a, 2)", "delete(a, 1)", "split(a, 1)[0]", "rot90(a[None])"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2"])
def test_a_dtype_without_arithmetic_in_numpy_is_moved(dtype, call):
    a = np.asarray([1.0, 2.0, 4.0])
    expected = evaluated(call, np, {"a": a}).tolist()
    assert evaluated(call, dl, {"a": dl.asarray(a).astype(dtype)}).tolist() == expected


def test_splits_diagonals_and_windows_are_views():
    t = dl.arange(12).reshape(3, 4)
    dl.split(t, 2, axis=1)[1][0, 0] = 90
    dl.diagonal(t)[1] = 91
    dl.rot90(t)[0, 0] = 92
    dl.sliding_window_view(t, (2, 2), writeable=True)[1, 0, 1, 0] = 93
    assert t.tolist() == [[0, 1, 90, 92], [4, 91, 6, 7], [93, 9, 10, 11]]


@pytest.mark.parametrize(("shape", "axis"), [((2, 3), None), (2, 1), ((2, 2), (0, 1)), ((3,), (-1,)), ((1, 2), (1, 1))])
def test_windows_are_numpys(shape, axis):
    x = IN_NUMPY["x"]
    windows = dl.sliding_window_view(dl.asarray(x), shape, axis)
    same(windows, stride_tricks.sliding_window_view(x, shape, axis))
    assert windows.readonly


def test_as_strided_counts_elements_and_stays_inside():
    t = dl.arange(6)
    assert dl.as_strided(t, (2, 2), (3, 1), offset=1).tolist() == [[1, 2], [4, 5]]
    with pytest.raises(ValueError, match=r"^as_strided: shape \(4,\) with strides \(2,\) from element 0 leaves the"):
        dl.as_strided(t, (4,), (2,))


def test_frombuffer_shares_the_memory():
    buffer = bytearray(4)
    dl.frombuffer(buffer, "uint8")[1] = 7
    assert buffer == b"\0\7\0\0"
    assert dl.frombuffer(b"ab", "uint8").readonly


@pytest.mark.peers
def test_chunk_is_torchs():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    for size in (1, 5, 6, 7):
        for chunks in (1, 2, 3, 4, 9):
            same(dl.chunk(dl.arange(size), chunks), torch.chunk(torch.arange(size), chunks))


@pytest.mark.parametrize(
    "call", [lambda x, n: dl.array_split(x, n), lambda x, n: dl.split(x[:0], n), lambda x, n: dl.hsplit(x[:0], n)]
)
def test_parts_that_would_fill_memory_are_refused(call):
    with pytest.raises(ValueError, match="at most 65536 parts may be empty"):
        call(dl.ones(3), 1 << 40)
    assert len(call(dl.ones(3), 8)) == 8


@pytest.mark.parametrize("value", [2, [1, 2], ...])
def test_from_numpy_shares_memory_or_refuses(value):
    with pytest.raises((TypeError, ValueError)):
        dl.from_numpy(value)
    array = np.zeros(2)
    dl.from_numpy(array)[0] = 5
    assert array[0] == 5


def test_the_dtype_of_a_foreign_array_is_read_through_its_protocol():
    assert dl.ones(2).type_as(memoryview(bytes(4)).cast("h")).dtype == dl.int16


@pytest.mark.parametrize("mode", ["constant", "edge"])
def test_values_around_a_tensor_are_not_masked(mode):
    with pytest.raises(BufferError, match="has masked elements"):
        dl.pad(dl.ones(3), 1, mode, constant_values=np.ma.masked_array([1, 2], [False, True]))


def test_elements_added_for_no_values_leave_those_of_the_array():
    padded = dl.pad(dl.arange(6).reshape(2, 3), ((1, 2), (0, 3)), "empty")
    assert padded.shape == (5, 6)
    assert padded[1:3, :3].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert dl.pad(dl.ones((0, 2)), 1, "empty").shape == (2, 4)


def test_the_mean_of_no_elements_is_nan():
    assert np.isnan(dl.pad([1.0, 2.0], 1, "mean", stat_length=(0, 1)).tolist()).tolist() == [True, False, False, False]
    with pytest.raises(ValueError, match=r"^pad: stat_length must be at least 1 for mode='maximum', got 0"):
        dl.pad([1.0, 2.0], 1, "maximum", stat_length=(0, 1))


def test_means_around_16_bit_floats_are_rounded_once():
    around = dl.pad(dl.asarray([1.0, 1.0, 1.01], dtype="bfloat16"), 1, "mean")
    assert around.dtype == dl.bfloat16
    assert around[0].item() == dl.mean(dl.asarray([1.0, 1.0, 1.01], dtype="bfloat16")).item()


def test_an_odd_reflection_of_infinity_has_no_nan():
    assert dl.pad([1.0, 2.0, float("inf")], (2, 0), "reflect", reflect_type="odd").tolist()[1:3] == [0.0, 1.0]


@pytest.mark.parametrize("mode", ["constant", "edge", "wrap", "empty", "mean"])
def test_a_padded_array_without_room_is_refused_at_once(mode):
    with pytest.raises((MemoryError, ValueError), match=r"elements|bytes"):
        dl.pad(dl.ones((1,) * 64), 2, mode)


def test_distances_of_no_dimension_are_not_masked():
    with pytest.raises(BufferError, match="has masked elements"):
        dl.gradient(5.0, np.ma.masked_array([1, 2], [False, True]))


def test_bytes_of_masked_elements_are_refused():
    array = np.ma.masked_array([1, 2], [False, True])
    with pytest.raises(BufferError, match="has masked elements"):
        dl.frombuffer(array)
    assert dl.frombuffer(array.filled(0), "int64").tolist() == [1, 0]


@pytest.mark.parametrize("name", ["view_as", "reshape_as", "expand_as"])
def test_a_shape_of_a_foreign_array_is_read_through_its_protocol(name):
    assert getattr(dl.ones((1, 3)), name)(memoryview(bytes(3)).cast("B", (1, 3))).shape == (1, 3)
