// SPDX-License-Identifier: Apache-2.0
// One element of any dtype as a tagged value, and back: for item(), repr, indexing and Python scalars. No arrays.
#pragma once
#include <stdint.h>

#include "dltensor/dlpack.h"
#include "native/cpu/runtime/dtype.h"
#include "native/export.h"

namespace dlt {

// Only the members that `kind` names count: boolean and unsigned_integer `u`, signed_integer `i`, real `re`,
// complex both `re` and `im`.
struct Scalar {
  Kind kind;
  int64_t i;
  uint64_t u;
  double re, im;
};

enum class Rounding : uint8_t {
  truncate,  // toward zero, as C and NumPy do
  nearest,   // half to even
};

// Element number `index` counted from `base`, which may be misaligned; packed types count in their own bits.
// `padded`: elements of fewer than 8 bits have a byte each. False for dtypes without a row in dtypes.h.
DLT_API bool load_scalar(const void* base, int64_t index, DLDataType dtype, bool padded, Scalar* out);

// float to integer clamps and takes NaN to 0; integer to integer keeps the low bits unless `saturate`; to a float of
// any width there is one rounding, half to even; a complex value converts to a real type by its real part.
// `saturate` also keeps floats of 8 bits and fewer finite. False for dtypes without a row in dtypes.h.
DLT_API bool store_scalar(void* base, int64_t index, DLDataType dtype, bool padded, const Scalar& value, Rounding rounding,
                          bool saturate);

// -1, 0 or 1 as a is less than, equal to or greater than b by exact value; 2 when a NaN takes part. Complex values are
// compared only for equality: 0 or 2.
DLT_API int compare_scalars(const Scalar& a, const Scalar& b);

}  // namespace dlt
