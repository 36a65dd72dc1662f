# SPDX-License-Identifier: Apache-2.0
"""The namespace of dltensor, whose new tensors are on a CUDA device: for the array API suite.

It is the host driver unless DLTENSOR_TEST_GPU is set. `make test-array-api DEVICE=cuda` passes this module on."""

import functools
import os

import dltensor as _dl

if not os.environ.get("DLTENSOR_TEST_GPU"):
    from dltensor.testing import hostcuda

    os.environ.setdefault("DLTENSOR_CUDA_NVRTC", "off")  # g++ compiles the kernels, also where NVRTC is installed
    hostcuda.load()


def __getattr__(name):
    return getattr(_dl, name)


def _on_cuda(make):
    @functools.wraps(make)
    def made(*args, **options):
        # Other tensors stay where they are, as the standard says.
        if options.get("device") is not None or (args and isinstance(args[0], _dl.Tensor)):
            return make(*args, **options)
        out = make(*args, **{**options, "device": "cuda"})
        assert str(out.device).startswith("cuda"), f"{make.__name__} made a tensor on {out.device}"
        return out

    return made


arange, asarray, empty, eye, full, linspace, ones, zeros = (
    _on_cuda(getattr(_dl, name)) for name in ("arange", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros")
)
