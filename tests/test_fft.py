# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms by every installed library against NumPy, and what is refused."""

import numpy as np
import pytest
from children import output_of

import dltensor as dl
from dltensor.fft import _backends

COMPLEX, REAL, HERMITIAN = ("fft", "ifft"), ("rfft", "ihfft"), ("irfft", "hfft")
COMPLEX_N, REAL_N, HERMITIAN_N = ("fftn", "ifftn"), ("rfftn",), ("irfftn",)
ONE, MANY = COMPLEX + REAL + HERMITIAN, COMPLEX_N + REAL_N + HERMITIAN_N
NORMS = ("backward", "ortho", "forward")
COMPLEX_OF = {"float32": "complex64", "float64": "complex128", "complex64": "complex64", "complex128": "complex128"}
REAL_OF = {"float32": "float32", "float64": "float64", "complex64": "float32", "complex128": "float64"}
TOLERANCE = {"float32": 2e-5, "complex64": 2e-5, "float64": 1e-12, "complex128": 1e-12}


def choose(monkeypatch, backend):
    """Let a backend compute until the end of the test."""
    monkeypatch.setattr(_backends.find, "result", backend)
    monkeypatch.setattr(_backends.find, "is_done", True)


@pytest.fixture(params=_backends.LIBRARIES)
def library(request, monkeypatch):
    """Every library in turn; one that is not installed is skipped."""
    pytest.importorskip(f"{request.param}.fft", reason=f"{request.param} is not installed")
    choose(monkeypatch, _backends._load(request.param))
    return request.param


def sample(dtype, shape, seed=1):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if dtype.startswith("complex") else values).astype(dtype)


def dtypes_for(name):
    return ("float32", "float64") if name in REAL + REAL_N else tuple(COMPLEX_OF)


def check(name, x, **options):
    """The transform of `x` is NumPy's in float64, in the dtype that the standard names."""
    made = getattr(dl.fft, name)(x, **options)
    x = np.asarray(x)
    true = getattr(np.fft, name)(x.astype("complex128" if x.dtype.kind == "c" else "float64"), **options)
    dtype = (REAL_OF if name in HERMITIAN + HERMITIAN_N else COMPLEX_OF)[x.dtype.name]
    assert type(made) is dl.Tensor
    assert (made.dtype, made.shape) == (dtype, true.shape)
    scale = max(1.0, np.abs(true).max(initial=0))
    np.testing.assert_allclose(made.numpy(), true, rtol=0, atol=scale * TOLERANCE[dtype])
    return made


@pytest.mark.parametrize("name", ONE)
def test_one_axis_is_as_in_numpy(library, name):
    for dtype in dtypes_for(name):
        x = sample(dtype, (3, 7, 4))
        for axis in (-1, 0, 1):
            for norm in NORMS:
                check(name, x, axis=axis, norm=norm)
            for n in (1, 2, 3, 6, 7, 8, 15):
                check(name, x, axis=axis, n=n)


@pytest.mark.parametrize("name", MANY)
def test_several_axes_are_as_in_numpy(library, name):
    for dtype in dtypes_for(name):
        x = sample(dtype, (3, 5, 4))
        for norm in NORMS:
            check(name, x, norm=norm)
        for axes in ((0,), (1, 0), (-1, 0), (2, 1, 0)):
            check(name, x, axes=axes)
        for s in ((2, 6), (5, 4), (8, 3)):
            check(name, x, s=s, axes=(1, 2))
            check(name, x, s=s, axes=(2, 0), norm="ortho")


@pytest.mark.parametrize("name", MANY)
def test_sizes_without_axes_are_of_the_last_axes(library, name):
    x = sample("float32", (3, 5, 4))
    made = getattr(dl.fft, name)(x, s=(3, 6))
    assert made.tolist() == getattr(dl.fft, name)(x, s=(3, 6), axes=(1, 2)).tolist()
    assert getattr(dl.fft, name)(x, s=(-1, -1)).tolist() == getattr(dl.fft, name)(x, axes=(1, 2)).tolist()


def test_strided_readonly_and_broadcast_tensors_are_transformed(library):
    whole = sample("complex64", (6, 8))
    t = dl.asarray(whole)
    for view, array in (
        (t[::2, ::-1], whole[::2, ::-1]),
        (dl.permute_dims(t, (1, 0)), whole.T),
        (dl.broadcast_to(t[0], (3, 8)), np.broadcast_to(whole[0], (3, 8))),
    ):
        made = dl.fft.fft(view)
        np.testing.assert_allclose(made.numpy(), np.fft.fft(array), rtol=0, atol=1e-4)
    assert np.array_equal(t.numpy(), whole)
    assert np.allclose(dl.fft.irfftn(t).numpy(), np.fft.irfftn(whole), atol=1e-5)
    assert np.array_equal(t.numpy(), whole)  # which a library may use as its workspace


def test_large_arrays_use_threads_and_give_the_same_bits(library):
    x = dl.asarray(sample("float32", (64, 2048)))
    before, made = dl.num_threads(), []
    try:
        for threads in (1, 2):
            dl.set_num_threads(threads)
            made.append(dl.fft.rfft(x).tobytes())
    finally:
        dl.set_num_threads(before)
    assert made[0] == made[1]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "int64", "float16", "bfloat16"])
def test_other_dtypes_are_transformed_in_float32(library, dtype):
    x = dl.asarray([1, 0, 1, 1], dtype=dtype)
    true = x.astype("float32")
    for name in ONE:
        made = getattr(dl.fft, name)(x)
        assert made.dtype == ("float32" if name in HERMITIAN else "complex64")
        assert made.tolist() == getattr(dl.fft, name)(true).tolist()


def test_a_result_keeps_the_memory_of_the_library(library, monkeypatch):
    chosen, seen = _backends.find(), []

    def transform(*arguments):
        seen.append((arguments[0], chosen.complex_to_complex(*arguments)))
        return seen[-1][1]

    choose(monkeypatch, chosen._replace(complex_to_complex=transform, small={}))
    t = dl.asarray(sample("complex64", (5,)))
    made = dl.fft.fft(t)
    (given, result), = seen  # fmt: skip
    assert given.ctypes.data == t.data_ptr
    assert result.ctypes.data == made.data_ptr


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "ihfft"])
def test_the_usual_call_keeps_the_memory_of_the_library(library, monkeypatch, name):
    chosen, seen = _backends.find(), []

    def transform(array):
        seen.append((array, chosen.small[name](array)))
        return seen[-1][1]

    choose(monkeypatch, chosen._replace(small={name: transform}))
    t = dl.asarray(sample("float64" if name in REAL else "complex64", (3, 5)))
    made = getattr(dl.fft, name)(t)
    (given, result), = seen  # fmt: skip
    assert given.ctypes.data == t.data_ptr
    assert result.ctypes.data == made.data_ptr
    for other in (dl.ones(4, dtype="float16"), dl.ones(4, dtype="int64"), dl.zeros((0, 5)), dl.ones((256, 257))):
        getattr(dl.fft, name)(other)
    with pytest.raises(IndexError):
        getattr(dl.fft, name)(t[0, 0])
    assert len(seen) == 1  # anything else is checked and converted first


def test_a_result_of_a_library_without_float32_is_converted(monkeypatch):
    chosen = _backends._load("numpy")
    wide = chosen._replace(complex_to_complex=lambda a, *_: np.fft.fft(a.astype("complex128")), small={})
    choose(monkeypatch, wide)
    assert dl.fft.fft(dl.ones(4)).dtype == "complex64"


@pytest.mark.parametrize("name", ONE + MANY)
def test_batches_of_no_element(library, name):
    made = getattr(dl.fft, name)(dl.zeros((0, 6)), **({"axis": 1} if name in ONE else {"axes": (1,)}))
    length = {"rfft": 4, "ihfft": 4, "rfftn": 4, "irfft": 10, "hfft": 10, "irfftn": 10}.get(name, 6)
    assert made.shape == (0, length)
    assert made.dtype == ("float32" if name in HERMITIAN + HERMITIAN_N else "complex64")


def test_an_axis_of_no_element_is_padded(library):
    assert dl.fft.fft(dl.zeros((2, 0)), n=3).tolist() == [[0, 0, 0]] * 2
    assert dl.fft.irfft(dl.zeros((2, 0)), n=3).tolist() == [[0, 0, 0]] * 2


def test_a_transform_over_no_axis_is_a_copy(library):
    t = dl.asarray([1.0, 2.0])
    made = dl.fft.fftn(t, axes=())
    assert (made.dtype, made.tolist()) == ("complex64", [1, 2])
    assert dl.fft.fftn(dl.asarray(2.0)).tolist() == 2
    made[0] = 9
    assert t.tolist() == [1, 2]


@pytest.mark.parametrize("name", [*MANY, "fft2", "ifft2", "rfft2", "irfft2", *ONE])
def test_out_is_overwritten_and_returned(library, name):
    for dtype in ("float32", "float64") if name == "rfft2" else dtypes_for(name):
        x = dl.asarray(sample(dtype, (3, 8)))
        result = getattr(dl.fft, name)(x)
        out = dl.full((2 * result.shape[0], result.shape[1]), 7, dtype=result.dtype)[::2]
        assert getattr(dl.fft, name)(x, out=out) is out
        assert out.tolist() == result.tolist()
        array = np.full(result.shape, 7, dtype=result.dtype.name)
        assert getattr(dl.fft, name)(x, out=array) is array
        assert array.tolist() == result.tolist()


def test_out_may_be_the_operand_and_of_a_wider_dtype(library):
    x = dl.asarray(sample("complex64", (4, 3)))
    true = np.fft.fft(x.numpy().astype("complex128"))
    wide = dl.zeros((4, 3), dtype="complex128")
    assert dl.fft.fft(x, out=wide) is wide
    assert dl.fft.fft(x, out=x) is x
    for result in (wide, x):
        np.testing.assert_allclose(result.numpy(), true, atol=2e-5)


def test_a_refused_out_is_as_it_was(library):
    x = dl.asarray(sample("float32", (3, 8)))
    for out, error, text in [
        (dl.full((3, 8), 7.0), TypeError, "the result is complex64, out is float32; give an out of that dtype"),
        (dl.full((3, 7), 7, dtype="complex64"), ValueError, r"the result has shape \(3, 8\), out has shape \(3, 7\)"),
        (dl.broadcast_to(dl.full(8, 7, dtype="complex64"), (3, 8)), ValueError, "out is read-only"),
    ]:
        for name in ("fft", "fftn"):
            with pytest.raises(error, match=f"{name}: {text}"):
                getattr(dl.fft, name)(x, out=out)
        assert set(np.ravel(out.numpy()).tolist()) == {7}
    out = dl.full((3, 8), 7, dtype="complex64")
    with pytest.raises(ValueError, match="norm must be one of"):
        dl.fft.fft(x, norm="unit", out=out)
    assert set(np.ravel(out.numpy()).tolist()) == {7}


def test_inverses_restore(library):
    x = dl.asarray(sample("float64", (4, 9)))
    for there, back in (("fft", "ifft"), ("rfft", "irfft"), ("ihfft", "hfft")):
        options = {"n": 9} if back in HERMITIAN else {}
        made = getattr(dl.fft, back)(getattr(dl.fft, there)(x), **options)
        assert np.allclose(made.numpy(), x.numpy(), atol=1e-13)
    assert np.allclose(dl.fft.irfftn(dl.fft.rfftn(x), s=x.shape).numpy(), x.numpy(), atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies_are_as_in_numpy(n):
    for name in ("fftfreq", "rfftfreq"):
        for d in (1.0, 0.1, 2, -0.5):
            true = getattr(np.fft, name)(n, d=d)
            made = getattr(dl.fft, name)(n, d=d, dtype="float64", device="cpu")
            np.testing.assert_allclose(made.numpy(), true, rtol=3e-16)
            assert getattr(dl.fft, name)(n, d=d).dtype == "float32"
            assert np.array_equal(getattr(dl.fft, name)(n, d=d).numpy(), made.numpy().astype("float32"))


def test_shifts_are_as_in_numpy():
    x = np.arange(60).reshape(3, 4, 5)
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 0, -1, (0, 2), (1,), ()):
            made = getattr(dl.fft, name)(x, axes=axes)
            assert np.array_equal(made.numpy(), getattr(np.fft, name)(x, axes=axes))
    assert dl.fft.ifftshift(dl.fft.fftshift(dl.asarray([True, False, False]))).tolist() == [True, False, False]


METAL = "nothing here computes on metal:0; move the tensor with its own framework, or to a CUDA device or the CPU"


def on_metal():
    return dl.wrap(4096, (3,), "float32", device="metal", owner=object())


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: dl.fft.fft(on_metal()), dl.DeviceError, f"fft: {METAL}"),
        (lambda: dl.fft.irfftn(on_metal()), dl.DeviceError, f"irfftn: {METAL}"),
        (lambda: dl.fft.fft(dl.ones(4), n=0), ValueError, "fft: n must be at least 1, got 0"),
        (lambda: dl.fft.fft(dl.ones(4), n=2.5), TypeError, "fft: n must be an integer, got 2.5"),
        (lambda: dl.fft.rfft(dl.ones((4, 0))), ValueError, "rfft: x of shape (4, 0) has no element along axis 1"),
        (lambda: dl.fft.irfft(dl.ones(1)), ValueError,
         "irfft: x of shape (1,) has 1 elements along axis 0, which give 0; pass the size of the result as n"),
        (lambda: dl.fft.fft(dl.ones(4), axis=1), IndexError,
         "fft: axis 1 is out of range for 1 dimensions; expected -1 to 0"),
        (lambda: dl.fft.fft(dl.asarray(1.0)), IndexError, "fft: axis -1 is out of range for 0 dimensions"),
        (lambda: dl.fft.ifft(dl.ones(4), norm="unit"), ValueError,
         "ifft: norm must be one of backward, ortho, forward, got 'unit'"),
        (lambda: dl.fft.rfft(dl.ones(4, dtype="complex64")), TypeError,
         "rfft: x must be real, got complex64; take dl.real(x), or a transform of complex elements"),
        (lambda: dl.fft.fft(dl.zeros(4, dtype="float8_e5m2")), TypeError,
         "fft: no transform of float8_e5m2; convert it with astype() to a float or complex dtype"),
        (lambda: dl.fft.fftn(dl.ones((2, 2)), s=(2,), axes=(0, 1)), ValueError, "fftn: s has 1 sizes for 2 axes"),
        (lambda: dl.fft.fftn(dl.ones(2), s=(2, 2)), ValueError, "fftn: s has 2 sizes, but x has 1 dimensions"),
        (lambda: dl.fft.fftn(dl.ones((2, 2)), s=(2, -2)), ValueError, "fftn: s must be at least 1, got -2"),
        (lambda: dl.fft.rfftn(dl.ones(2), axes=()), ValueError, "rfftn: expected at least one axis, got none"),
        (lambda: dl.fft.irfftn(dl.asarray(1.0)), ValueError, "irfftn: expected at least one axis, got none"),
        (lambda: dl.fft.fftfreq(0), ValueError, "fftfreq: n must be at least 1, got 0"),
        (lambda: dl.fft.fftfreq(4, d=0), ValueError, "fftfreq: d must not be 0, got 0"),
        (lambda: dl.fft.rfftfreq(4, d=None), TypeError, "rfftfreq: d must be a number, got None"),
        (lambda: dl.fft.rfftfreq(4, dtype="int32"), TypeError, "rfftfreq: dtype must be real floating, got int32"),
    ],
)  # fmt: skip
def test_errors(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


WITHOUT = "import sys; sys.modules.update(dict.fromkeys({!r})); import dltensor as dl\n"
TELL = """
try:
    print(dl.fft.fft(dl.ones(2)).tolist(), dl.fft.backend())
except (ImportError, ValueError) as error:
    print(type(error).__name__, error)
"""


def test_the_fastest_installed_library_is_taken():
    assert dl.fft.backend() in _backends.LIBRARIES
    assert output_of(WITHOUT.format(("ducc0", "scipy")) + TELL) == "[(2+0j), 0j] numpy"
    pytest.importorskip("scipy", reason="scipy is not installed")
    assert output_of(WITHOUT.format(("ducc0",)) + TELL).endswith(" scipy")


def test_without_a_library_the_error_names_the_extra():
    said = output_of(WITHOUT.format(("ducc0", "scipy", "numpy")) + TELL)
    assert said == (
        "ImportError fft: ducc0, SciPy and NumPy are not installed; install the extra: "
        "pip install 'dltensor[fft]' brings SciPy"
    )
    code = WITHOUT.format(("ducc0", "scipy", "numpy")) + "print(dl.fft.fftshift(dl.fft.fftfreq(2)).tolist())"
    assert output_of(code) == "[-0.5, 0.0]"  # which need none


def test_the_environment_selects_a_library():
    assert output_of("import dltensor as dl" + TELL, DLTENSOR_FFT="numpy") == "[(2+0j), 0j] numpy"
    said = output_of("import dltensor as dl" + TELL, DLTENSOR_FFT="fftw")
    assert said == "ValueError fft: DLTENSOR_FFT must be one of ducc0, scipy, numpy, got 'fftw'"
    said = output_of(WITHOUT.format(("scipy",)) + TELL, DLTENSOR_FFT="scipy")
    assert said.startswith("ImportError fft: DLTENSOR_FFT selects scipy, which is not installed; install the extra")


def test_importing_the_package_loads_no_library():
    code = "import sys, dltensor as dl; dl.fft.fftfreq; print('scipy' in sys.modules, 'numpy' in sys.modules)"
    assert output_of(code) == "False False"


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize("axes", [(0, 0, 1), (1, 0, 1), (0, 0)])
def test_an_axis_that_is_named_twice_is_transformed_twice(name, axes):
    x = np.random.default_rng(0).normal(size=(4, 6))
    x = x if name == "rfftn" else x + 1j
    for s in (None, (4, 5, 6)[: len(axes)]):
        made = getattr(dl.fft, name)(x, s=s, axes=axes)
        np.testing.assert_allclose(made.numpy(), getattr(np.fft, name)(x, s=s, axes=axes), rtol=1e-12, atol=1e-12)


TWO = ("fft2", "ifft2", "rfft2", "irfft2")
OF_TWO = [{}, {"s": (3, 5)}, {"s": (-1, 5)}, {"axes": (0, 1)}, {"axes": (-1, 0)}, {"axes": (1, 1)}, {"norm": "ortho"}]


@pytest.mark.parametrize("options", OF_TWO, ids=str)
@pytest.mark.parametrize("name", TWO)
def test_transforms_along_two_axes_are_numpys(name, options):
    x = sample("float64" if name == "rfft2" else "complex128", (3, 4, 6))
    ours, theirs = getattr(dl.fft, name)(x, **options), getattr(np.fft, name)(x, **options)
    assert ours.dtype == theirs.dtype.name
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("name", TWO)
def test_messages_of_transforms_along_two_axes_begin_with_their_names(name):
    f = getattr(dl.fft, name)
    for call in (lambda: f(dl.ones(3)), lambda: f(dl.ones((2, 2)), axes=(0, 5))):
        with pytest.raises(IndexError, match=f"^{name}: axis"):
            call()
    with pytest.raises(ValueError, match=f"^{name}: norm must be one of"):
        f(dl.ones((2, 2)), norm="unit")
    with pytest.raises(TypeError, match=f"^{name}: "):
        f(dl.zeros((2, 2), dtype="float8_e5m2"))


def test_two_axes_of_one_column_name_the_size_to_give():
    with pytest.raises(ValueError, match=r"irfft2: .* pass the size of the result as s"):
        dl.fft.irfft2(dl.ones((2, 1)))
    assert dl.fft.rfft2(dl.zeros((0, 2, 4))).shape == (0, 2, 3)


@pytest.mark.parametrize("name", ONE + MANY + TWO)
def test_the_norm_none_is_the_default(name):
    x = sample("float64", (4, 6))
    f = getattr(dl.fft, name)
    assert f(x, norm=None).tolist() == f(x).tolist()
