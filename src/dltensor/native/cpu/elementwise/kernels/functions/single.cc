// SPDX-License-Identifier: Apache-2.0
// exp, log, sin and similar functions of float32.
#include "native/cpu/elementwise/kernels/functions/registers.h"

namespace dlt::DLT_LEVEL {

void fill_single_functions(ElementwiseKernels* kernels) { fill_functions_of<float>(kernels, type_float32); }

}  // namespace dlt::DLT_LEVEL
