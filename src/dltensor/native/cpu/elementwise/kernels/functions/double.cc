// SPDX-License-Identifier: Apache-2.0
// exp, log, sin and similar functions of float64.
#include "native/cpu/elementwise/kernels/functions/registers.h"

namespace dlt::DLT_LEVEL {

void fill_double_functions(ElementwiseKernels* kernels) { fill_functions_of<double>(kernels, type_float64); }

}  // namespace dlt::DLT_LEVEL
