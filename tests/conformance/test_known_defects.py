# SPDX-License-Identifier: Apache-2.0
"""The suite finds the known defects of released frameworks: a row per defect; other versions are not checked."""

import re
from functools import cache

import pytest

import dltensor as dl

pytestmark = pytest.mark.peers

VERSIONS = {
    "numpy": "2.4.6",
    "torch": "2.13.0",
    "jax": "0.10.2",
    "tvm_ffi": "0.1.15.post2",
    "pyarrow": "26.0.1",
    "pyarrow_tensor": "26.0.1",
    "ctypes_dlpack": "0.1.1",
    "array_api_strict": "2.6.1",
}

DEFECTS = [
    ("numpy", "missing-shape", "SIGSEGV"),
    ("numpy", "null-data", "accepted"),
    ("numpy", "strides-out-of-this-world", "accepted"),
    ("numpy", "absurd-byte-offset", "accepted"),
    ("numpy", "unknown-device-raises-buffer-error", "RuntimeError"),
    ("numpy", "empty-data-is-null", "expected NULL"),
    ("torch", "values-lie-where-described", "lazily negated"),
    ("torch", "copy-is-marked", "flags 0x0"),
    ("torch", "unknown-device-is-refused", "NotImplementedError"),
    ("torch", "read-only-is-kept", "writable"),
    ("torch", "absurd-ndim", "SIGSEGV"),
    ("torch", "missing-shape", "SIGSEGV"),
    ("torch", "too-many-elements", "shape"),
    ("torch", "strides-out-of-this-world", "SIGABRT"),
    ("torch", "negative-strides", "SIGABRT"),
    ("torch", "null-data", "accepted"),
    ("jax", "null-deleter-is-legal", "SIGABRT"),
    ("jax", "copy-true-copies", "shares the producer's memory"),
    ("jax", "known-version-is-given", "legacy"),
    ("jax", "version-is-asked-for", "without max_version"),
    ("jax", "read-only-is-marked", "legacy struct, which cannot say so"),
    ("jax", "contradicting-devices", r"on device \(1, 0\)"),
    ("jax", "absurd-ndim", "ndim 2147483647"),
    ("jax", "missing-shape", "SIGSEGV"),
    ("tvm_ffi", "old-version-is-given-or-refused", "AttributeError"),
    ("tvm_ffi", "copy-copies", "shares the array's memory"),
    ("tvm_ffi", "cpu-takes-no-stream", "stream=1"),
    ("tvm_ffi", "other-table-is-left-alone", "version 2.0 was used"),
    ("tvm_ffi", "broken-tables", "SIGSEGV"),
    ("tvm_ffi", "missing-shape", "SIGSEGV"),
    ("tvm_ffi", "negative-extents", "accepted"),
    ("pyarrow_tensor", "bool-is-bool", r"\(1, 8, 1\)"),
    ("pyarrow_tensor", "values-lie-where-described", "strides between elements"),
    ("ctypes_dlpack", "other-major-is-refused", "version 2.0 is accepted"),
    ("ctypes_dlpack", "deleter-runs-after-the-end", "SIGSEGV"),
    ("array_api_strict", "missing-shape", "SIGSEGV"),
]


@cache
def result(framework):
    return dl.conformance.check(framework)


def ours(framework):
    try:
        found = result(framework)
    except dl.conformance.Missing as missing:
        pytest.skip(str(missing))
    if found.version.partition("+")[0] != VERSIONS[framework]:
        pytest.skip(f"{framework} {found.version} is installed, the defects were measured on {VERSIONS[framework]}")
    return found


@pytest.mark.parametrize(("framework", "check", "words"), DEFECTS)
def test_a_known_defect_is_found(framework, check, words):

    found = {one.check: one for one in ours(framework).broken()}
    assert check in found
    assert re.search(words, found[check].words), found[check].words


def test_enough_is_known():
    assert len(DEFECTS) >= 25
