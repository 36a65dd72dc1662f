// SPDX-License-Identifier: Apache-2.0
// Euclidean norms: by loops that sum with a bound on the error, where it leaves one value; else by sums of squares in eight lanes
// of two float64 each, a sum and its error, scaled by the largest element.
#include "native/cpu/linalg/norms.h"

#include <math.h>

#include "native/cpu/copy/kernels.h"
#include "native/cpu/linalg/kernels.h"
#include "native/cpu/runtime/dtype.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/layout/layout.h"

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

// Elements of a vector, `step` elements apart.
template <class F>
struct Elements {
  const F* first;
  int64_t step;
  F operator[](int64_t i) const { return first[i * step]; }
};

template <class F>
double sum_of_squares(Elements<F> a, int64_t n, F by) {
  Sums sums;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int k = 0; k < lanes; ++k) add_square(sums, k, a[i + k] * by);
  for (; i < n; ++i) add_square(sums, int(i % lanes), a[i] * by);
  return sums.total();
}

template <class F>
F norm(Elements<F> a, int64_t n) {
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

// Vectors of n elements: `row` bytes from one to the next, `step` bytes from an element to the next.
struct Vectors {
  const char* data;
  int64_t count, row, n, step;
};

// Shorter rows are transposed, so that the lanes of registers are vectors. As many are computed at a time.
constexpr int64_t short_row = 8, together = 64;

// Norms of `count` vectors, at most `together`. Writes whether each is certain.
template <class F>
void bounded_norms(const Vectors& v, const NormLoops& loops, const char* from, int64_t count, F* out, bool* certain) {
  if (v.row == sizeof(F)) return loops.columns(from, v.step, v.n, count, out, certain);
  if (v.n > NormLoops::most_in_rows) {
    for (int64_t k = 0; k < count; ++k) certain[k] = loops.run(from + k * v.row, v.n, out + k);
  } else if (v.n >= short_row) {
    loops.rows(from, v.row, v.n, count, out, certain);
  } else {
    F columns[short_row * together];
    const int64_t row = count * int64_t(sizeof(F));
    kernels().copy->moves[width_index(sizeof(F))](reinterpret_cast<char*>(columns), row, sizeof(F), from, v.step, v.row, v.n,
                                                  count);
    loops.columns(columns, row, v.n, count, out, certain);
  }
}

template <class F>
void all_norms(const Vectors& v, const NormLoops& loops, F* out) {
  const bool is_long = v.row != sizeof(F) && v.n > NormLoops::most_in_rows;
  const int64_t each = is_long ? 1 : together, tasks = ceil_divide(v.count, each);
  parallel_if(tasks > 1 && v.count * v.n >= shared_elements, tasks, [&](int64_t i) {
    const int64_t first = i * each, count = smaller(each, v.count - first);
    const char* const from = v.data + first * v.row;
    bool certain[together];
    bounded_norms(v, loops, from, count, out + first, certain);
    for (int64_t k = 0; k < count; ++k)
      if (!certain[k])
        out[first + k] = norm(Elements<F>{reinterpret_cast<const F*>(from + k * v.row), v.step / int64_t(sizeof(F))}, v.n);
  });
}

}  // namespace

bool find_norms(int type, int64_t count, int64_t row, int64_t n, int64_t step, const void* a, void* out) noexcept {
  const bool is_complex = type == type_complex64 || type == type_complex128;
  const int64_t parts = is_complex ? 2 : 1, width = type_table[type].bytes / parts;
  Vectors v{static_cast<const char*>(a), count, byte_stride(row, parts * width), n * parts, byte_stride(step, width)};
  if (n <= 1 || (is_complex && step == 1)) v.step = width;
  if (count <= 1) v.row = v.n * width;
  if (v.step != width && (is_complex || v.row != width)) return false;
  const NormLoops& loops = kernels().linalg->norms[width == 8];
  if (width == 4) all_norms(v, loops, static_cast<float*>(out));
  else all_norms(v, loops, static_cast<double*>(out));
  return true;
}

}  // namespace dlt
