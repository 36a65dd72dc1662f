# SPDX-License-Identifier: Apache-2.0
"""Functions of values beyond the array API give what NumPy gives: percentiles, sets, curves, windows and others."""

import itertools

import numpy as np
import pytest
from numpy_twins import HERE, IN_NUMPY, same

import dltensor as dl

CALLS = """
unique(none,axis=0) unique(none) unique(none,True,True,True) fmod(i,3) fmod(2.5,x) fmax(0.0,special) heaviside(0.5,x)
exp2(x) exp2(i) cbrt(x) cbrt(i) cbrt(special) cbrt(-0.0) sinc(x) sinc(i) sinc(0.0) angle(x) angle(z) angle(special)
heaviside(x,0.5) heaviside([-1,0,2],[1,2,3]) heaviside(special,1.0) fmax(x,y) fmax(special,1.0) fmin(special,0.5)
fmin(i,i2) fmod(x,y) fmod([-7,7,5],[3,-3,2]) fmod(special,2.0) fmod(5.5,-2) modf(x) modf(special) modf(-0.5) modf(i)
nan_to_num(special) nan_to_num(special,nan=1,posinf=2,neginf=3) nan_to_num(i) nan_to_num(special*1j) percentile(x,30)
percentile(x,[10,50],axis=1) percentile(i,25,0) percentile(x,75,axis=0,keepdims=True) percentile(v,40,method="lower")
nanquantile(special,0.5) nanquantile(x,0.3,axis=1) nanquantile(holes,0.3,axis=1) nanquantile(holes,[0.1,0.9],axis=0)
nanquantile(holes,0.5,axis=1,keepdims=True) nanquantile(holes,0.5) nanpercentile(holes,30,axis=1)
quantile(x,0.3,weights=i,method="inverted_cdf") quantile(x,[0,0.5,1],1,weights=i,method="inverted_cdf")
quantile(x,0.6,axis=0,weights=[2,1,3],method="inverted_cdf",keepdims=True)
quantile(v,0.5,weights=[0,0,1,0,0],method="inverted_cdf")
quantile(special,0.5,weights=[1,2,3,4,5],method="inverted_cdf")
percentile(x,[[25,75]],1,weights=[1,2,0,1],method="inverted_cdf")
quantile(cube,0.4,axis=1,weights=[1,0,2,1],method="inverted_cdf")
quantile(v,0,weights=[0,1,0,3,1],method="inverted_cdf")
nanquantile(holes[0],0.5,weights=[1,2,3,4],method="inverted_cdf")
nanpercentile(special,[0,60],weights=[1,2,3,4,5],method="inverted_cdf")
nanpercentile(holes,[5,70]) nanmedian(holes) nanmedian(holes,axis=0) nanmedian(holes,1,keepdims=True) nanargmax(holes)
nanargmax(holes,1) nanargmin(holes,1) nanargmin(i,0) nanargmax(holes,axis=1,keepdims=True) nanprod(holes)
nanprod(holes,0) nanprod(i,1) nancumsum(holes) nancumsum(holes,1) cov(x) cov(x,y) cov(v) cov(v,[1,2,3,4,9])
cov(x,fweights=[1,2,0,3]) cov(x,aweights=[1.0,0.5,2.0,0.25]) cov(x,y,fweights=[1,2,0,3],aweights=four*four)
cov(x,rowvar=False,fweights=[1,0,2]) cov(z,aweights=[1,2,3]) cov(v,fweights=[1,1,2,1,1])
cov(x,rowvar=False) cov(i) cov([[1j,2,3],[4,5j,6]]) corrcoef(x) corrcoef(x,y) corrcoef(v) corrcoef(x,rowvar=False)
corrcoef(v,[1,2,3,4,9]) trace(x) trace(x,1) trace(cube,0,1,2) trace(i) trace(square,-2) unique(i) unique(special)
unique([[1,2],[1,2],[0,5]],axis=0) unique([[1,2,1],[3,0,3]],axis=1) unique(i,True) unique(i,False,True)
unique(i,return_counts=True) unique(i,True,True,True) unique([3,1,3],return_inverse=True) unique([]) unique(5)
unique(mask) unique([1.5,nan,nan,0.0],return_counts=True) unique([[1,2],[1,2]],True,True,True,axis=0)
intersect1d([3,1,2,2],[2,3,5]) intersect1d(i,i2) union1d(i,i2) union1d([1],[2.5]) setdiff1d(i,i2) setxor1d(i,i2)
setdiff1d([],[1]) lexsort((i[0],i2[0])) lexsort(i) lexsort(([1,1,0],[2,2,2])) lexsort((i,i2),axis=0)
digitize(x,[-1.0,0.0,1.0]) digitize(v,[0.0,0.5],right=True) digitize(v,[1.0,0.0,-1.0]) digitize(v,[1.0,0.0],True)
digitize([1,2],[1,2]) digitize([2.0,1.0,0.5,0.0],[2.0,1.0,0.0]) digitize([2.0,1.0,0.5,0.0],[2.0,1.0,0.0],True) cov([])
fmod(low,3) fmod(low,-3) fmod(low,-1) gradient(special) gradient([1.0,2.0]) gradient([1.0,2.0],3.0)
select([x>0,x<-1],[x,-x],9) select([i>3],[i]) select([x>0,x>-1],[1,2])
interp(v,[0.0,1.0],[10.0,20.0]) interp(x,ascending,v) interp(0.5,[0,1],[3,4]) interp(v,[0.0],[5.0])
interp(v,ascending,v,-9,9) interp([0.0,1.0,nan],[0.0,1.0],[2.0,3.0]) interp([1.0,2.0],[1.0,1.0,2.0],[5.0,6.0,7.0])
trapezoid(v) trapezoid(x) trapezoid(x,axis=0) trapezoid(x,dx=0.5) trapezoid(x,four) trapezoid(x,y,axis=0)
trapezoid(v,ascending) trapezoid(i) gradient(v) gradient(v,edge_order=2) gradient(v,ascending,edge_order=2)
gradient(x,edge_order=2) gradient(x) gradient(x,axis=0) gradient(v,2.0) gradient(v,ascending)
gradient(x,1.0,2.0) gradient(x,0.5,axis=1) gradient(i*1.0) gradient(x,axis=(1,0)) convolve(v,four)
convolve(v,[1,2],"same") convolve(v,[1,2,3],"same") convolve([1,2],v,"same") convolve(v,[1,2],"valid")
convolve([1,2],v,"valid") convolve(i[0],i2[0]) convolve(zv,z) correlate(v,four) correlate(v,[1,2,3],"same")
correlate(v,[1,2],"full") correlate([1,2],v) correlate([1,2],v,"same") correlate([1,2,3],v,"full")
correlate([1,2,3,4],[1,2],"same") correlate(zv,z,"full") correlate(z[:2],zv,"full") logspace(0,3)
logspace(-1,2,5,endpoint=False) logspace(0,4,3,base=2) logspace(0,3,4,dtype=int) geomspace(1,1000,4)
geomspace(-1,-8,4) geomspace(1,8,3,endpoint=False) geomspace(8,1,4) hanning(0) hanning(1) hanning(12) hamming(12)
blackman(12) bartlett(12) bartlett(1)
gcd(i,i2) gcd(i,6) gcd(12,18) gcd(low,low[::-1]) gcd(low,-128) gcd(none,none) gcd(i[:,::2],4)
gcd(unsigned,unsigned[::-1]) lcm(i,i2) lcm(low,3) lcm(6,[-4,0]) lcm(low,low[::-1]) bitwise_count(i) bitwise_count(low)
bitwise_count(unsigned) bitwise_count(-7) bitwise_count(none) bitwise_count(i[:,::2]) packbits(mask) packbits(i)
packbits(i,axis=1) packbits(i,0,"little") packbits(i,-1,bitorder="little") packbits(none,axis=0) packbits(mask[:0])
packbits(mask[:,::3]) unpackbits(bytes) unpackbits(bytes,axis=1) unpackbits(bytes,0,bitorder="little")
unpackbits(bytes,count=5) unpackbits(bytes,axis=1,count=20) unpackbits(bytes,axis=0,count=-3) unpackbits(bytes[:0])
unpackbits(bytes[:,::2],1) unpackbits(bytes,1,count=0) frexp(x) frexp(special) frexp(extreme) frexp(i) frexp(0.75)
frexp([]) frexp(x[:,::2]) ldexp(x,i) ldexp(x,3) ldexp(special,2) ldexp(1.5,i) ldexp(extreme,-1070)
ldexp(extreme,[[1023],[-52],[2100],[-3000]]) ldexp(i,i2) ldexp(x,low[:4]) logaddexp2(x,y) logaddexp2(special,special)
logaddexp2(special,1.0) logaddexp2(i,i2) logaddexp2([-1.0,2000.0,0.0],[-1.0,1999.0,-60.0]) real_if_close(z)
real_if_close(z.real+1e-15j) real_if_close(z.real+1e-3j,tol=0.01) real_if_close(x) unwrap(v*20) unwrap(x*9)
unwrap(x*9,axis=0) unwrap(x*9,discont=5.0) unwrap([0,1,2,-1,0],period=4) unwrap(i,period=3) unwrap(i,period=4)
unwrap([]) unwrap(x*9,period=2.5) ediff1d(i) ediff1d(x,to_end=1.0) ediff1d(v,to_begin=[3.0,4.0]) ediff1d([])
ediff1d([5]) histogram_bin_edges(x) histogram_bin_edges(i,4,(0,8)) histogram_bin_edges(x,[-1.0,0.0,2.0])
histogram_bin_edges([]) histogram_bin_edges([3,3],2) histogram2d(x[0],y[0]) histogram2d(x[0],y[0],3,density=True)
histogram2d(v,v[::-1],[2,3],[[-2,2],[-1,1]]) histogram2d(v,v,[-1.0,0.0,1.0]) histogram2d(v,v,[[-1.0,0.0,1.0],3])
histogram2d(v,v,2,weights=v) histogramdd(x) histogramdd(x.T,2) histogramdd((v,v[::-1],v*2),(2,3,2))
histogramdd(x,2,density=True) histogramdd(v[:,None],[3]) histogramdd(square[:,:2],[[-9.0,0.0,9.0],2],weights=four)
histogramdd(special[:,None],[[0.0,1.0,2.0]]) compress([0,1],x) compress([0,1,1],x,axis=0)
compress([True,False,True],x,1) compress([],v) extract(x>0,x) extract(mask,i) extract([0,0],[1,2])
choose([0,1,1],[[1,2,3],[10,20,30]]) choose(index,(x[:,:2],y[:,2:]),mode="clip") choose([0,-1,2],[10,20],mode="wrap")
choose([-1,0,7],[10,20],mode="clip") choose(1,(x,y)) choose([[1,0]],(x[:,:1],y[:,:2]))
piecewise(x,[x<0,x>1],[-1,abs,0.5]) piecewise(v,[v>0,v>-1],[1,2,3]) piecewise(2.0,[True],[7]) piecewise(i,[i>2],[9])
indices((2,3)) indices((2,),dtype=float) indices((2,3),sparse=True) indices((0,2)) indices(())
fromfunction(add_up,(2,3)) fromfunction(add_up,(2,3),dtype=int) fromiter([1,2,3],int)
fromiter(iter([1.5,2.5,3.5]),float,2) min_scalar_type(255) min_scalar_type(-129) min_scalar_type(1.5)
min_scalar_type(1e30) min_scalar_type(1e300) min_scalar_type(True) divmod(i,3) min_scalar_type(2j) min_scalar_type(0)
min_scalar_type(2**64-1) min_scalar_type(-2**63) min_scalar_type(x) divmod(x,-2) min_scalar_type(70000.0)
min_scalar_type(inf) common_type(i) common_type(i,z) common_type(x,i) common_type(z) may_share_memory(x,x[1:])
may_share_memory(x,y) may_share_memory(x[:1],x[1:]) may_share_memory(x[:,::2],x[:,1::2]) may_share_memory(x[::-1],x)
may_share_memory(x[:0],x) may_share_memory([1],[1]) piecewise(v,v>0,[abs,5]) nanprod([1j,nan,2,nan*1j])
nanprod([[nan*1j,nan*1j],[2j,3]],axis=1) nancumsum([1j,nan*1j,2]) nancumsum([[nan*1j],[1]],0) array_equiv([1,2],[1,2,3])
array_equiv([1,2],[[1,2],[1,2]]) array_equiv([1,2],[[1,2],[1,3]]) array_equiv([],[1]) array_equiv(x,y) float_power(z,z)
float_power(z,2) float_power(2,z) float_power([1,4],0.5) float_power(v,z[0]) blackman(13) hanning(7) hamming(2)
sort(x,axis=None) sort(i[:0],axis=None) argsort([[3,1],[2,0]],axis=None) interp(0.5,[-inf,1.0],[0.0,10.0])
interp(0.5,[0.0,inf],[0.0,10.0]) interp([0.5,2.0],[0.0,1.0,inf],[-inf,10.0,11.0]) interp(0.5,[0.0,1.0],[3.0,inf])
interp(0.5,[0.0,inf],[0.0,inf]) interp(0.5,[-inf,inf],[7.0,7.0]) cov([[1.0,2.0,3.0]],rowvar=False)
cov([[1.0],[2.0],[4.0]],rowvar=False) polyfit([0.0,1.0,2.0],[1.0,3.0,5.0],deg=1) ravel(x,"f") ravel(x.T,"a")
reshape(x,(4,3),order="c") arange(0.0,2.2e-16,1.7e308) arange(0.0,2.2e-16,-1.7e308) arange(0.0,-5e-324,-2.0)
"""
HOLES = np.array([[1.0, np.nan, 3.0, 2.5], [4.0, 5.0, -6.0, 0.5], [np.nan, np.nan, 7.0, 1.0]])


def add_up(first, second):
    return first + 10 * second


def evaluated(call, module, names):
    more = {"holes": HOLES, "none": np.zeros((0, 3), int), "low": np.array([-128, -127, 127, 0, 5, -5], np.int8)}
    more["unsigned"] = np.array([2**64 - 1, 2**63, 6, 0], np.uint64)
    more["bytes"] = np.array([[1, 200, 255], [0, 3, 128]], np.uint8)
    more["extreme"] = np.array([5e-324, -2.5e-310, 1.7e308, 3 * 2.0**-1073])
    more = {name: dl.asarray(array) for name, array in more.items()} if module is dl else more
    more |= {"module": module, "nan": float("nan"), "inf": float("inf"), "add_up": add_up}
    return eval(f"module.{call}", {**names, **more})


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("call", CALLS.split())
def test_a_call_gives_what_numpy_gives(call):
    same(evaluated(call, dl, HERE), evaluated(call, np, IN_NUMPY))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["cbrt", "sinc", "sigmoid", "softplus", "exp2", "relu", "hanning"])
def test_a_float_dtype_stays(name, dtype):
    if name == "hanning":
        assert dl.hanning(3).dtype == dl.float32
    else:
        assert getattr(dl, name)(dl.ones(3, dtype=dtype)).dtype == dtype


@pytest.mark.parametrize("name", ["fmax", "fmin", "fmod", "heaviside"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8"])
def test_a_number_beside_a_tensor_does_not_widen_it(name, dtype):
    x = dl.ones(2, dtype=dtype)
    wanted = "float32" if name == "heaviside" and dtype == "int8" else dtype
    assert getattr(dl, name)(x, 2).dtype == getattr(dl, name)(2, x).dtype == wanted


def test_a_cube_root_is_the_nearest_number():
    whole = np.arange(-1000, 1001, dtype=np.float64)
    assert dl.cbrt(dl.asarray(whole**3)).tolist() == whole.tolist()


def test_partition_without_an_axis_is_of_all_elements():
    assert dl.partition([[3, 1], [2, 0]], 3, axis=None).tolist() == [0, 1, 2, 3]
    assert dl.argpartition([[3, 1], [2, 0]], [0, -1], axis=None).tolist() == [3, 1, 2, 0]
    with pytest.raises(ValueError, match="partition: kth must be a place of 4 elements, got 4"):
        dl.partition([[3, 1], [2, 0]], 4, axis=None)
    out = dl.zeros(4, dtype="int64")
    assert dl.sort([[3, 1], [2, 0]], axis=None, out=out) is out
    assert out.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("number", [1j, np.complex64(1 + 1j), np.complex128(1 + 1j)])
def test_geomspace_refuses_complex_numbers(number):
    for arguments in ((number, 8.0), (1.0, number)):
        with pytest.raises(TypeError, match="geomspace: start and stop must be real numbers, got"):
            dl.geomspace(*arguments)


@pytest.mark.parametrize("name", ["hanning", "hamming", "blackman", "bartlett"])
def test_a_window_is_symmetric(name):
    with dl.default_dtype("float64"):
        for m in (2, 3, 10, 11, 64, 1001):
            window = getattr(dl, name)(m).tolist()
            assert window == window[::-1]


@pytest.mark.parametrize(
    "p", [[1, 0, 0], [0, 1, -1], [0, 0, 2, -3, 0, 0], [1, -3, 2, 0], [0, 0], [5], [0, 5, 0], [0, 2j, 4, 0]]
)
def test_coefficients_of_0_at_the_ends_add_roots_of_0_or_none(p):
    expected = np.roots(p)
    np.testing.assert_allclose(dl.roots(np.array(p, dtype="complex128")).numpy(), expected, atol=1e-15)
    assert dl.roots(p).shape == expected.shape


def test_put_along_axis_writes_as_numpy_does():
    for indices, values, axis in (
        ([[1], [0], [2]], 5.0, 1),
        ([[0, 1, 2, 0]], [[7.0, 8.0, 9.0, 1.0]], 0),
        ([3, 5], 2.0, None),
    ):
        ours, theirs = dl.asarray(IN_NUMPY["x"], copy=True), IN_NUMPY["x"].copy()
        dl.put_along_axis(ours, indices, values, axis)
        np.put_along_axis(theirs, np.asarray(indices), values, axis)
        same(ours, theirs)


@pytest.mark.parametrize("axis", [0, -1])
def test_partitions_have_their_places(axis):
    t, places = dl.asarray(IN_NUMPY["x"]), [1, 2]
    same(dl.partition(t, places, axis), np.sort(IN_NUMPY["x"], axis))
    same(dl.argpartition(t, 1, axis), np.argsort(IN_NUMPY["x"], axis))


def test_one_hot_makes_vectors():
    assert dl.one_hot([[1], [0]]).tolist() == [[[0, 1]], [[1, 0]]]
    assert dl.one_hot([0, 2], 4).tolist() == [[1, 0, 0, 0], [0, 0, 1, 0]]
    assert dl.one_hot(dl.zeros(0, dtype="int64"), 3).shape == (0, 3)


@pytest.mark.peers
@pytest.mark.parametrize("name", ["sigmoid", "relu"])
def test_activations_are_torchs(name):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    special = np.array([-1000, -2.5, -0.0, 3, 1000, np.inf, -np.inf, np.nan])
    same(getattr(dl, name)(special), getattr(torch, name)(torch.from_numpy(special)))
    same(dl.softplus(special), torch.nn.functional.softplus(torch.from_numpy(special)))


@pytest.mark.parametrize("axis", range(-4, 4))
@pytest.mark.parametrize("function", [dl.partition, dl.argpartition])
def test_no_element_is_partitioned_at_any_place(function, axis):
    made = function(dl.zeros((3, 2, 1, 0)), 0, axis=axis)
    assert made.shape == (3, 2, 1, 0)
    with pytest.raises(ValueError, match="kth must be a place of 3 elements, got 3"):
        function(dl.zeros(3), 3)


@pytest.mark.parametrize(
    "choices",
    [(np.array([1, 2, 3], np.uint8), 1000), (np.array([3], np.float32), 1.5), (1, 2.5), ([1, 2, 3], 2)],
    ids=str,
)
def test_a_python_number_among_choices_takes_the_dtype_of_the_arrays(choices):
    if choices[-1] == 1000:
        choices = (choices[0], 100)
    made = dl.choose(dl.asarray([1, 0, 1]), [dl.asarray(x) if isinstance(x, np.ndarray) else x for x in choices])
    expected = np.choose(np.array([1, 0, 1]), choices)
    assert made.tolist() == expected.tolist()
    if isinstance(choices[0], np.ndarray):
        assert str(made.dtype) == expected.dtype.name
    with pytest.raises(OverflowError, match="1000 is outside uint8"):
        dl.choose([1], [dl.asarray([1], dtype="uint8"), 1000])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((1, 1e6, 7), [10.0**k for k in range(7)]), ((1, 2**20, 21), [2.0**k for k in range(21)]),
        ((1e-3, 1e3, 7), [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]),
        ((-3, -48, 5), [-3.0, -6.0, -12.0, -24.0, -48.0]),
        ((5, 5, 3), [5.0, 5.0, 5.0]), ((2, 9, 1), [2.0]), ((2, 9, 0), []),
    ],
)  # fmt: skip
def test_geometric_sequences_of_exact_ratios_are_exact(arguments, expected):
    assert dl.geomspace(*arguments, dtype="float64").tolist() == pytest.approx(expected, rel=3e-16, abs=0)


@pytest.mark.parametrize(
    "arguments", [(1e-308, 1e308, 5), (-1e308, -1e-308, 5), (5, 1e-320, 4), (1e-200, 1e-190, 3), (1, 1e305, 4)], ids=str
)
def test_geometric_sequences_over_the_whole_range_are_finite(arguments):
    np.testing.assert_allclose(dl.geomspace(*arguments, dtype="float64").numpy(), np.geomspace(*arguments), rtol=1e-12)


@pytest.mark.parametrize("function", [dl.partition, dl.argpartition])
def test_the_name_of_numpys_selection_is_taken(function):
    assert function([3, 1, 2], 1, kind="introselect").tolist() == function([3, 1, 2], 1).tolist()
    with pytest.raises(ValueError, match="partition: kind must be 'introselect', got 'quick'"):
        function([3, 1, 2], 1, kind="quick")


def test_digitize_of_a_number_as_bins_is_refused():
    with pytest.raises(ValueError, match=r"^digitize: bins must have one dimension, got shape \(\)"):
        dl.digitize([1.0, 2.0], 3)
    assert dl.digitize(1.5, [1, 2]).item() == np.digitize(1.5, [1, 2])


@pytest.mark.parametrize("weights", [{"aweights": [1.0]}, {"aweights": [-1.0, 1.0]}, {"fweights": [[1, 1]]}])
def test_weights_of_a_covariance_are_one_for_each_observation(weights):
    with pytest.raises(ValueError, match=r"^cov: .weights must be a number from 0 for each of 2 observations"):
        dl.cov([1.0, 2.0], **weights)
    with pytest.raises(TypeError, match=r"^cov: fweights must be integers"):
        dl.cov([1.0, 2.0], fweights=[1.5, 1.0])


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([-1, 2], "must be at least 0"),
        ([0, 0], "must have a finite sum above 0"),
        ([np.inf, 1], "must have a finite sum above 0"),
        ([1, 2, 3], "have shape"),
    ],
)
def test_weights_of_a_quantile_are_shares_of_a_sum(weights, words):
    with pytest.raises(ValueError, match=f"^quantile: weights {words}"):
        dl.quantile([1.0, 2.0], 0.5, 0, weights=weights, method="inverted_cdf")
    with pytest.raises(ValueError, match=r"^nanpercentile: weights need method='inverted_cdf', got 'linear'"):
        dl.nanpercentile([1.0, 2.0], 50, weights=[1, 2])


def test_elements_that_are_nan_have_no_weight_and_a_line_of_them_is_nan():
    x = np.array([[np.nan, 5.0, 1.0], [np.nan, np.nan, np.nan]])
    found = dl.nanquantile(x, [0.0, 0.5, 1.0], 1, weights=np.array([9, 1, 2], np.uint64), method="inverted_cdf")
    assert found[:, 0].tolist() == [1.0, 1.0, 5.0]
    assert bool(dl.all(dl.isnan(found[:, 1])))


def nearest_multiples(elements, period, discont):
    """The elements of `unwrap` as integers without limits."""
    result, added = elements[:1], 0
    for before, after in itertools.pairwise(elements):
        step = after - before
        turned = (step + period // 2) % period - period // 2
        if 2 * turned == -period and step > 0:
            turned = -turned
        added += 0 if abs(step) < discont else turned - step
        result.append(after + added)
    return result


@pytest.mark.parametrize("discont", [None, 6.5, 100])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_unwrap_of_integers_takes_steps_beyond_their_dtype(dtype, discont):
    limits = np.iinfo(dtype)
    modulus = int(limits.max) - int(limits.min) + 1
    ends = np.array([limits.max, limits.min, 3, 1, limits.min, limits.max, limits.max // 2 + 2, 0, 5], dtype)
    assert dl.unwrap(np.array([3, 0], dtype), period=5).tolist() == [3, 5]
    for period in (1, 2, 3, 4, 5, 100, 127):
        wanted = nearest_multiples(ends.tolist(), period, discont or 0)
        wanted = [(x - int(limits.min)) % modulus + int(limits.min) for x in wanted]
        result = dl.unwrap(ends, discont, period=period)
        assert (result.tolist(), result.dtype.name) == (wanted, dtype)
        assert dl.unwrap(ends, discont, period=np.int64(period)).tolist() == wanted
