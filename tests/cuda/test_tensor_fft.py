# SPDX-License-Identifier: Apache-2.0
"""dl.fft of CUDA tensors by cuFFT, or the host driver's, against that of the CPU, in every order of streams.

DLTENSOR_TEST_GPU=1 runs them on a card."""

import os
import subprocess
import sys

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
from test_tensor_cuda import Capture, machine_order  # noqa: E402, F401  the fixture is used by name

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []
RNG = np.random.default_rng(53)
NORMS = ("backward", "ortho", "forward")
REAL = ("float32", "float64")
COMPLEX = ("complex64", "complex128")


def drawn(shape, dtype):
    a = RNG.standard_normal(shape)
    if dtype.startswith("complex"):
        a = a + 1j * RNG.standard_normal(shape)
    return dl.asarray(a).astype(dtype)


def near(got, want):
    assert (str(got.device), got.dtype, got.shape) == ("cuda:0", want.dtype, want.shape)
    assert got.is_contiguous
    narrow = want.dtype.name in ("float32", "complex64")
    most = np.abs(want.numpy()).max(initial=0)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=0, atol=most * (2e-6 if narrow else 4e-15))


def check(name, a, **options):
    function, x = getattr(dl.fft, name), a.to("cuda")
    near(function(x, **options), function(a, **options))
    assert x.tolist() == a.tolist(), "the operand was written to"


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX])
@pytest.mark.parametrize("name", ["fft", "ifft", "hfft", "irfft", "rfft", "ihfft"])
def test_transforms_along_an_axis(dtype, name):
    if name in ("rfft", "ihfft") and dtype in COMPLEX:
        pytest.skip("takes real numbers only")
    for shape in ((2,), (7,), (8,), (3, 9), (4, 6, 5)):
        a = drawn(shape, dtype)
        for norm in NORMS:
            check(name, a, norm=norm)
        for axis in range(len(shape)):
            check(name, a, axis=axis)
            for n in (1, 4, 5, 12):
                check(name, a, axis=axis, n=n)


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX])
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_transforms_along_axes(dtype, name):
    if name == "rfftn" and dtype in COMPLEX:
        pytest.skip("takes real numbers only")
    a = drawn((3, 4, 2, 5, 3), dtype)
    check(name, a)  # more axes than cuFFT takes at once
    for axes in ((0,), (1, 0), (-1, 2), (4, 0, 2), (0, 1, 2, 3)):
        for norm in NORMS:
            check(name, a, axes=axes, norm=norm)
    check(name, a, s=(6, 2), axes=(3, 1))
    check(name, a[0, 0], s=(3, 8, 2))


@pytest.mark.usefixtures("machine_order")
def test_views_narrow_dtypes_and_operands_without_elements():
    a = drawn((9, 10), "float32")
    x = a.to("cuda")
    for view in (lambda t: t.mT, lambda t: t[::-2, 1::3], lambda t: t[1:, 1:], lambda t: t.reshape((-1,))[1:]):
        near(dl.fft.fft(view(x)), dl.fft.fft(view(a)))
        near(dl.fft.rfft(view(x), axis=0), dl.fft.rfft(view(a), axis=0))
    for dtype in ("float16", "int32", "bool"):
        near(dl.fft.fft(a.astype(dtype).to("cuda")), dl.fft.fft(a.astype(dtype)))
    for name in ("fft", "rfft", "irfft"):
        check(name, dl.zeros((0, 4)))
    near(dl.fft.fftn(x, axes=()), dl.fft.fftn(a, axes=()))
    for faulty, error in (
        (lambda t: dl.fft.fft(t, norm="no"), ValueError),
        (lambda t: dl.fft.fft(t[:, :0]), ValueError),
        (lambda t: dl.fft.rfft(dl.fft.fft(t)), TypeError),
    ):
        with pytest.raises(error) as want:
            faulty(a)
        with pytest.raises(error) as got:
            faulty(x)
        assert str(got.value) == str(want.value)


@pytest.mark.usefixtures("machine_order")
def test_numbers_that_must_be_real_are_taken_so():
    a = drawn((3, 5), "complex128")  # neither the first nor the last of a line is real
    check("irfft", a, n=8)
    check("irfft", a, n=9)
    check("hfft", a, n=8)


@pytest.mark.usefixtures("machine_order")
def test_a_plan_serves_several_streams_and_many_shapes():
    shapes = [(n,) for n in range(2, 90)]  # more than are kept
    host = [drawn(shape, "complex64") for shape in shapes]
    with cuda.Stream() as one:
        made = [dl.fft.fft(a.to("cuda")) for a in host]
    with cuda.Stream() as two:
        again = [dl.fft.fft(a.to("cuda")) for a in host]
        both = [a + b for a, b in zip(made, again, strict=True)]
    for got, a in zip(both, host, strict=True):
        near(got, dl.fft.fft(a) * 2)
    assert one != two


@pytest.mark.skipif(setup.ON_CARD, reason="captures through the host driver's own functions")
def test_a_captured_transform_is_run_again_when_its_plan_is_no_longer_kept(eager_machine):
    a = drawn((6, 11), "complex128")
    with cuda.Stream() as stream:
        x = a.to("cuda")
        stream.synchronize()
        capture = Capture(eager_machine.library, stream)
        with capture:
            made = dl.fft.fft(x)
    for n in range(200, 290):
        dl.fft.fft(dl.zeros(n, device="cuda"))
    capture.run()
    near(made, dl.fft.fft(a))
    capture.end()


@pytest.mark.skipif(setup.ON_CARD, reason="reads what the host driver's cuFFT answers")
def test_without_cufft_the_message_says_what_was_tried():
    script = """
import dltensor as dl
from dltensor.testing import hostcuda
hostcuda.load()
try:
    dl.fft.rfft(dl.zeros(4, device="cuda"))
except dl.DeviceError as error:
    print(error)
"""
    environment = {**os.environ, "DLTENSOR_CUDA_CUFFT": "off"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert "cuFFT cannot be loaded. Tried: DLTENSOR_CUDA_CUFFT=off disables it." in done.stdout
    assert 'compute on the host with .to("cpu")' in done.stdout
