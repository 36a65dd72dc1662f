# SPDX-License-Identifier: Apache-2.0
"""A consumer with every vice, chosen by DLTENSOR_VICE: proof that the harness sees what it is there to see."""

import ctypes
import os
import signal
import time

from .producer import Legacy, Versioned, take_struct

VICE = os.environ.get("DLTENSOR_VICE", "")


def call_deleter(address, legacy):
    deleter = (Legacy if legacy else Versioned).from_address(address).deleter
    if deleter:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(address)


class Held:
    """Holds a struct and calls its deleter as often as its vice wants."""

    def __init__(self, address, legacy):
        self.address, self.legacy = address, legacy
        self.shape = (2, 3)

    def __dlpack_device__(self):
        return (1, 0)

    def tolist(self):
        return [[9.0] * 3] * 2 if VICE == "wrong values" else [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]

    def __del__(self):
        for _ in range({"never deletes": 0, "deletes twice": 2, "deletes early": 0}.get(VICE, 1)):
            call_deleter(self.address, self.legacy)


def from_dlpack(x):
    address, legacy = take_struct(x.__dlpack__(max_version=(1, 3)) if hasattr(x, "__dlpack__") else x)
    tensor = (Legacy if legacy else Versioned).from_address(address).tensor
    if VICE == "crashes" and tensor.ndim == -1:
        os.kill(os.getpid(), signal.SIGSEGV)
    if VICE == "hangs" and tensor.ndim == -1:
        time.sleep(1000)
    if VICE == "deletes early":
        call_deleter(address, legacy)
    if tensor.ndim == -1 and VICE != "accepts everything":
        call_deleter(address, legacy)
        raise BufferError("ndim is negative")
    return Held(address, legacy)
