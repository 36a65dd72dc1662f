// SPDX-License-Identifier: Apache-2.0
// The keys of a dtype: which sort loops take its elements, and how they are read. Nothing is sorted here.
#pragma once
#include <stdint.h>

#include "native/cpu/dtype.h"
#include "native/cpu/features.h"
#include "native/cpu/kernels.h"

namespace dlt {

// Whether the elements of a dtype have one order: bool, integers and floats.
inline bool has_order(int type) { return type >= 0 && type < computed_types && type_table[type].kind != Kind::complex; }

inline int width_index(int64_t width) { return width == 1 ? 0 : width == 2 ? 1 : width == 4 ? 2 : 3; }

inline KeyForm key_form(int type, bool descending, bool one_zero) {
  const TypeRow& row = type_table[type];
  const uint64_t sign = uint64_t(1) << (row.bytes * 8 - 1);
  KeyForm form{row.kind == Kind::signed_integer || row.kind == Kind::real ? sign : 0, 0, descending, one_zero};
  if (row.kind == Kind::real)
    form.infinity = type == type_float16    ? 0x7c00
                    : type == type_bfloat16 ? 0x7f80
                    : type == type_float32  ? 0x7f800000
                                            : 0x7ff0000000000000;
  return form;
}

inline const SortLoops& sort_loops(int64_t width) { return kernels().sorts[width_index(width)]; }

}  // namespace dlt
