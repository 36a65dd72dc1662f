// SPDX-License-Identifier: Apache-2.0
// The casts from and to storage-only dtypes, one byte per element: each has a few direct partners from which
// cast_pipeline.h reaches all other dtypes without a second rounding.
#include "native/cpu/copy/kernels/convert.h"

namespace dlt::DLT_LEVEL {
namespace {

template <class Small>
void fill_partners(CopyKernels* kernels, int small) {
  if constexpr (is_small_int<Small>) {
    fill_cast<int8_t, Small>(kernels, small, type_int8);
    fill_cast<Small, int8_t>(kernels, type_int8, small);
  } else if constexpr (is_complex<Small>::value) {
    fill_cast<complex64, Small>(kernels, small, type_complex64);
    fill_cast<Small, complex64>(kernels, type_complex64, small);
    fill_cast<Small, complex128>(kernels, type_complex128, small);
    fill_cast<Small, float>(kernels, type_float32, small);
    fill_cast<Small, double>(kernels, type_float64, small);
  } else {
    fill_cast<float, Small>(kernels, small, type_float32);
    fill_cast<Small, float>(kernels, type_float32, small);
    fill_cast<Small, double>(kernels, type_float64, small);
  }
}

}  // namespace

void fill_small_casts(CopyKernels* kernels) {
#define DLT_FILL(name, type, code, bits, format) fill_partners<type>(kernels, type_##name);
  DLT_STORAGE_DTYPES(DLT_FILL)
#undef DLT_FILL
}

}  // namespace dlt::DLT_LEVEL
