// SPDX-License-Identifier: Apache-2.0
// Dtypes that have an order, and how their elements become keys, on the host and on devices.
#pragma once
#include "native/cpu/runtime/dtype.h"
#include "native/ops/keys.h"

namespace dlt {

// Returns whether the elements of a dtype have one order: bool, integers and floats.
inline bool has_order(int type) { return type >= 0 && type < computed_types && type_table[type].kind != Kind::complex; }

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

}  // namespace dlt
