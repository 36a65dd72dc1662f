// SPDX-License-Identifier: Apache-2.0
// Conversion of elements to unsigned keys with the same order, one at a time; read by g++ and by NVRTC.
#pragma once
#include "native/ops/floats.h"

namespace dlt {

// Parameters of the conversion of elements to unsigned keys of their width with the same order.
struct KeyForm {
  uint64_t sign = 0;        // the sign bit, 0 for unsigned integers
  uint64_t infinity = 0;    // of floats: the pattern of infinity; a NaN takes the highest key, whatever the order
  bool descending = false;  // the order is reversed
  bool one_zero = false;    // -0 takes the key of +0
};

// The key of a float. S is the signed twin of U; `down` has all bits for a descending order; `minus_zero` is the pattern that
// takes the key of +0: a pattern of a NaN, and so of no effect, where both zeros have their own keys.
template <class U, class S>
DLT_FN U float_key(U u, U sign, U infinity, U down, U minus_zero) {
  const U one = u == minus_zero ? U(0) : u;
  const U key = U(one ^ (U(S(one) >> int(sizeof(U) * 8 - 1)) | sign) ^ down);
  return U(u & U(~sign)) > infinity ? U(~U(0)) : key;
}
template <class U>
DLT_FN U minus_zero_of(const KeyForm& form) {
  return form.one_zero ? U(form.sign) : U(~U(0));
}

template <class U, class S>
DLT_FN U key_of(U u, const KeyForm& form) {
  const U down = form.descending ? U(~U(0)) : U(0);
  if (form.infinity == 0) return U(u ^ U(U(form.sign) ^ down));
  return float_key<U, S>(u, U(form.sign), U(form.infinity), down, minus_zero_of<U>(form));
}

}  // namespace dlt
