# SPDX-License-Identifier: Apache-2.0
"""The extension module, with the flags that dltensor prints. In the build of a wheel they have a relative run path."""

import shlex
import subprocess
import sys

from setuptools import Extension, setup

INFO = [sys.executable, "-m", "dltensor", "info"]


def flags(*names):
    return shlex.split(subprocess.run([*INFO, *names], check=True, capture_output=True, text=True).stdout)


setup(
    ext_modules=[
        Extension(
            "dlsum_c._native",
            ["dlsum_c/_native.c"],
            depends=["dlsum_c/take.h"],
            extra_compile_args=["-std=c99", *flags("--cflags")],
            extra_link_args=flags("--libs"),
        )
    ]
)
