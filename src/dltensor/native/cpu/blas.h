// SPDX-License-Identifier: Apache-2.0
// A BLAS that was found at run time, as four pointers. Nothing is linked.
#pragma once
#include <atomic>

namespace dlt {

struct Blas {
  enum : int { row_major = 101, as_is = 111, transposed = 112 };
  void (*sgemm)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
  void (*dgemm)(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
  void (*cgemm)(int, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
  void (*zgemm)(int, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
};

// Null until set_blas().
const Blas* blas() noexcept;

}  // namespace dlt
