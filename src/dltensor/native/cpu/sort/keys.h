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

// Calls visit(U()) with the unsigned type of so many bytes, of which keys are.
template <class Visit>
auto with_key_type(int64_t width, const Visit& visit) {
  switch (width) {
    case 1: return visit(uint8_t());
    case 2: return visit(uint16_t());
    case 4: return visit(uint32_t());
    default: return visit(uint64_t());
  }
}

}  // namespace dlt
