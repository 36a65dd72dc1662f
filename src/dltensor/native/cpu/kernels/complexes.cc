// SPDX-License-Identifier: Apache-2.0
// The loops over complex64 and complex128.
#include "native/cpu/kernels/loops.h"

namespace dlt::DLT_LEVEL {

void fill_complexes(Kernels* kernels) {
  fill_column<complex64>(kernels, type_complex64);
  fill_column<complex128>(kernels, type_complex128);
}

}  // namespace dlt::DLT_LEVEL
