// SPDX-License-Identifier: Apache-2.0
// The loops that sort the keys of a dtype. Nothing is sorted here.
#pragma once
#include <stdint.h>

#include "native/cpu/runtime/features.h"
#include "native/cpu/sort/key_form.h"
#include "native/cpu/runtime/kernels.h"

namespace dlt {

inline int width_index(int64_t width) { return width == 1 ? 0 : width == 2 ? 1 : width == 4 ? 2 : 3; }

inline const SortLoops& sort_loops(int64_t width) { return kernels().sorts[width_index(width)]; }

}  // namespace dlt
