// SPDX-License-Identifier: Apache-2.0
// Sums of squares in eight lanes of two float64 each, a sum and its error.
#include "native/cpu/linalg/norms.h"

#include <math.h>

#include "native/cpu/runtime/dtype.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"

namespace dlt {
namespace {

constexpr int lanes = 8;
constexpr int64_t shared_elements = 1 << 16;

struct Sums {
  double high[lanes] = {}, low[lanes] = {};

  // `error` is what the rounding of `square` lost.
  void add(int k, double square, double error) {
    const double sum = high[k] + square, part = sum - high[k];
    low[k] += ((high[k] - (sum - part)) + (square - part)) + error;
    high[k] = sum;
  }
  double total() {
    for (int step = lanes / 2; step > 0; step /= 2)
      for (int k = 0; k < step; ++k) add(k, high[k + step], low[k + step]);
    return high[0] + low[0];
  }
};

// Products of float32 are exact in float64.
inline void add_square(Sums& sums, int k, float x) { sums.add(k, double(x) * double(x), 0); }
// Veltkamp's halves: their products are exact.
inline void add_square(Sums& sums, int k, double x) {
  const double split = x * 134217729.0, high = split - (split - x), low = x - high, square = x * x;
  sums.add(k, square, ((high * high - square) + 2 * high * low) + low * low);
}

template <class F>
double sum_of_squares(const F* a, int64_t n, F by) {
  Sums sums;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int k = 0; k < lanes; ++k) add_square(sums, k, a[i + k] * by);
  for (; i < n; ++i) add_square(sums, int(i % lanes), a[i] * by);
  return sums.total();
}

template <class F>
F norm(const F* a, int64_t n) {
  double most[lanes] = {}, odd[lanes] = {};  // `odd` becomes NaN where an element is infinite or NaN
  for (int64_t i = 0; i + lanes <= n; i += lanes)
    for (int k = 0; k < lanes; ++k) {
      const double x = fabs(double(a[i + k]));
      most[k] = x > most[k] ? x : most[k];
      odd[k] += x * 0;
    }
  for (int64_t i = n / lanes * lanes; i < n; ++i) {
    const double x = fabs(double(a[i]));
    most[0] = x > most[0] ? x : most[0];
    odd[0] += x * 0;
  }
  for (int k = 1; k < lanes; ++k) {
    most[0] = most[k] > most[0] ? most[k] : most[0];
    odd[0] += odd[k];
  }
  if (odd[0] != 0) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += double(a[i]) * double(a[i]);
    return F(sqrt(sum));
  }
  if (sizeof(F) == 4 || most[0] == 0 || (most[0] > 0x1p-400 && most[0] < 0x1p400)) return F(sqrt(sum_of_squares(a, n, F(1))));
  int exponent;
  (void)frexp(most[0], &exponent);
  // In two steps: the inverse of the smallest numbers is no number.
  const int first = exponent < -1000 ? -1000 : exponent;
  const double sum = sum_of_squares(a, n, F(ldexp(1, -first)));
  return F(ldexp(sqrt(sum), first));
}

template <class F>
void norms_of(const void* a, int64_t rows, int64_t numbers, bool shared, void* out) {
  parallel_if(shared, rows,
              [=](int64_t r) { static_cast<F*>(out)[r] = norm(static_cast<const F*>(a) + r * numbers, numbers); });
}

}  // namespace

void norm_rows(int type, int64_t rows, int64_t n, const void* a, void* out) noexcept {
  const int64_t numbers = n * (type == type_complex64 || type == type_complex128 ? 2 : 1);
  const bool shared = rows > 1 && rows * n >= shared_elements;
  if (type == type_float32 || type == type_complex64) norms_of<float>(a, rows, numbers, shared, out);
  else norms_of<double>(a, rows, numbers, shared, out);
}

}  // namespace dlt
