// SPDX-License-Identifier: Apache-2.0
// Casts of 64-bit integers to storage-only floats of one byte. Few programs have them, and their loops are long: they are
// compiled for the lowest level alone.
#include "native/cpu/copy/kernels/convert.h"

namespace dlt::DLT_LEVEL {
namespace {

template <class Small>
void fill_partners(CopyKernels* kernels, int small) {
  if constexpr (!is_small_int<Small> && !is_complex<Small>::value) {
    fill_cast<Small, int64_t>(kernels, type_int64, small);
    fill_cast<Small, uint64_t>(kernels, type_uint64, small);
  }
}

}  // namespace

void fill_rare_casts(CopyKernels* kernels) {
#define DLT_FILL(name, type, code, bits, format) fill_partners<type>(kernels, type_##name);
  DLT_STORAGE_DTYPES(DLT_FILL)
#undef DLT_FILL
}

}  // namespace dlt::DLT_LEVEL
