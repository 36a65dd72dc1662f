# SPDX-License-Identifier: Apache-2.0
"""DType accepts exactly the code, bits and lanes that validation accepts for a tensor."""

import subprocess

import pytest
from native_tools import compile_program

import dltensor as dl

PROGRAM = """
#include <stdio.h>
#include "dltensor/dlpack.h"
#include "dltensor/validate.h"
int main(void) {
  static char memory[64];
  int64_t shape[1] = {1}, strides[1] = {1};
  for (int code = 0; code < 256; code++)
    for (int bits = 0; bits < 256; bits++) {
      DLTensor t = {memory, {kDLCPU, 0}, 1, {(uint8_t)code, (uint8_t)bits, 1}, shape, strides, 0};
      putchar(dlt_check_tensor(&t) == 0 ? '1' : '0');
    }
  return 0;
}
"""


def is_made(code, bits):
    try:
        return dl.DType(code, bits).bits == bits
    except ValueError:
        return False


def test_a_dtype_has_the_bits_that_validation_accepts(tmp_path):
    source = tmp_path / "widths.c"
    source.write_text(PROGRAM)
    said = subprocess.run([compile_program(tmp_path, source, "c99")], capture_output=True, text=True, check=True).stdout
    assert len(said) == 256 * 256
    wrong = [divmod(i, 256) for i, legal in enumerate(said) if is_made(*divmod(i, 256)) != (legal == "1")]
    assert wrong == []


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((6, 1), r"DType: bits must be 8 for code 6 \(bool\), got 1"),
        ((2, 128), r"DType: bits must be 16, 32 or 64 for code 2 \(float\), got 128"),
        ((0, 24), r"DType: bits must be 1, 2, 4, 8, 16, 32, 64 or 128 for code 0 \(int\), got 24"),
        ((5, 16), r"DType: bits must be 32, 64 or 128 for code 5 \(complex\), got 16"),
    ],
)
def test_bits_that_no_such_type_has_are_refused_with_those_it_has(numbers, message):
    with pytest.raises(ValueError, match=message):
        dl.DType(*numbers)

    class Says:
        def __dlpack_data_type__(self):
            return (*numbers, 1)

    with pytest.raises(ValueError, match=message):
        dl.empty((2,), dtype=Says())


def test_every_named_dtype_can_be_made_of_its_numbers():
    assert [dl.DType(*dtype.__dlpack_data_type__()) for dtype in dl.DTYPES.values()] == list(dl.DTYPES.values())


def test_reports_name_a_type_that_cannot_be_made():
    from dltensor.inspection.describe import dtype_words

    assert dtype_words((6, 1, 1)) == "dtype(6, 1) (kDLBool = 6, 1 bit, 1 lane)"
