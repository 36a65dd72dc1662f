# SPDX-License-Identifier: Apache-2.0
"""tf.experimental.dlpack.from_dlpack ignores lanes: of three float32x2 it takes three float32 and drops the rest."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from by_hand import Source, report

x = Source((3,), legacy=True, dtype=(2, 32, 2))
try:
    got = tf.experimental.dlpack.from_dlpack(x.__dlpack__()).numpy().tolist()
except Exception as error:
    got = type(error).__name__
report("tensorflow-cpu", "an exception, or all six numbers", got, got == [1, 2, 3])
