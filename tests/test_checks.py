# SPDX-License-Identifier: Apache-2.0
"""dl.checks: passing checks are silent, failing ones name both values."""

import numpy as np
import pytest

import dltensor as dl
from dltensor import checks

ROW = dl.asarray([1.0, 2.0, 3.0])


def test_a_tensor_that_is_large_enough_and_contiguous_passes():
    checks.check_tensor(ROW, min_size=3, contiguous=True)


def test_any_dlpack_object_passes_for_a_tensor():
    checks.check_tensor(np.zeros(4), min_size=4, contiguous=True)
    checks.check_same_dtype_device_shape(np.zeros(4), dl.from_dlpack(np.ones(4)))


def test_none_is_refused():
    with pytest.raises(ValueError, match="check_tensor: expected a tensor, got None"):
        checks.check_tensor(None)


def test_what_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match="check_tensor: expected a tensor with DLPack, got list"):
        checks.check_tensor([1, 2])
    with pytest.raises(TypeError, match="check_same_device: argument 1: expected a tensor with DLPack, got str"):
        checks.check_same_device(ROW, "cpu")


def test_too_few_elements_are_refused_with_both_numbers():
    with pytest.raises(ValueError, match=r"expected at least 4 elements, got 3 in shape \(3,\)"):
        checks.check_tensor(ROW, min_size=4)


def test_gaps_between_elements_are_refused_only_when_asked():
    gaps = ROW[::2]
    checks.check_tensor(gaps)
    with pytest.raises(ValueError, match=r"shape \(2,\) with strides \(2,\); copy\(\) first"):
        checks.check_tensor(gaps, contiguous=True)


def test_devices_are_compared_by_type_and_number():
    elsewhere = dl.wrap(0x1000, (3,), "float32", device="cuda:1", owner=ROW)
    with pytest.raises(ValueError, match=r"check_same_device: .* argument 0, cpu, but argument 1 has cuda:1"):
        checks.check_same_device(ROW, elsewhere)


def test_dtypes_are_compared_by_code_and_width():
    checks.check_same_device(ROW, ROW.view("int32"))
    with pytest.raises(ValueError, match="argument 0, float32, but argument 2 has int32"):
        checks.check_same_dtype_device(ROW, ROW, ROW.view("int32"))


def test_shapes_are_compared():
    checks.check_same_dtype_device(ROW, ROW[:2])
    with pytest.raises(ValueError, match=r"argument 0, \(3,\), but argument 1 has \(2,\)"):
        checks.check_same_dtype_device_shape(ROW, ROW[:2])


@pytest.mark.parametrize(
    "check", [checks.check_same_device, checks.check_same_dtype_device, checks.check_same_dtype_device_shape]
)
def test_none_or_one_tensor_is_the_same_as_itself(check):
    check()
    check(ROW)
