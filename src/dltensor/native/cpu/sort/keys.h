// SPDX-License-Identifier: Apache-2.0
// The loops that sort the keys of a dtype. Nothing is sorted here.
#pragma once
#include <stdint.h>

#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/sort/key_form.h"
#include "native/cpu/sort/kernels.h"

namespace dlt {

inline const SortLoops& sort_loops(int64_t width) { return kernels().sort->sorts[width_index(width)]; }

}  // namespace dlt
