// SPDX-License-Identifier: Apache-2.0
// Running sums, products, maxima and minima: rows are shared among threads, a row is one thread's.
#include "native/cpu/scan.h"

#include "native/cpu/dtype.h"
#include "native/cpu/sizes.h"
#include "native/cpu/thread_pool.h"
#include "native/ops/ops.h"
#include "native/ops/reductions.h"

namespace dlt {
namespace {

constexpr int64_t block = 4096;
constexpr int64_t share_from = 1 << 17, chunk = 1 << 13;  // elements

void sum_integers(uint64_t* a, int64_t n) {
  for (int64_t i = 1; i < n; ++i) a[i] += a[i - 1];
}
void multiply_integers(uint64_t* a, int64_t n) {
  for (int64_t i = 1; i < n; ++i) a[i] *= a[i - 1];
}

// Every STEP-th of n elements. What lies before a block is `above` + `below`.
template <int STEP>
void sum_floats(double* a, int64_t n) {
  double above = 0, below = 0;
  for (int64_t first = 0; first < n; first += block) {
    const int64_t end = smaller(first + block, n);
    double local = a[first * STEP];
    if (first > 0) a[first * STEP] = above + (below + local);
    for (int64_t i = first + 1; i < end; ++i) {
      local += a[i * STEP];
      a[i * STEP] = first > 0 ? above + (below + local) : local;
    }
    const Pair sum = exact_sum(above, local);
    above = sum.high;
    below = ops::isfinite(above) ? below + sum.low : 0;
  }
}

template <class T>
void multiply_floats(T* a, int64_t n) {
  T before{};
  for (int64_t first = 0; first < n; first += block) {
    const int64_t end = smaller(first + block, n);
    T local = a[first];
    if (first > 0) a[first] = ops::multiply(before, local);
    for (int64_t i = first + 1; i < end; ++i) {
      local = ops::multiply(local, a[i]);
      a[i] = first > 0 ? ops::multiply(before, local) : local;
    }
    before = a[end - 1];
  }
}

// Running results of a reduction whose bits do not depend on the order of its elements.
template <class BODY, class T>
void reduce_along(T* a, int64_t n) {
  typename BODY::word state[BODY::members];
  BODY::start(state);
  for (int64_t i = 0; i < n; ++i) {
    BODY::step(state, a[i], i);
    a[i] = BODY::end(state);
  }
}
template <class T>
void extremes(Scan op, T* a, int64_t n) {
  if (op == Scan::maximum) reduce_along<reductions::largest<T>>(a, n);
  else reduce_along<reductions::smallest<T>>(a, n);
}

struct Work {
  Scan op;
  int type;
  char* data;
  int64_t rows, n, pitch_bytes, rows_per_task;
};

void scan_row(const Work& work, char* row) {
  if (work.op == Scan::maximum || work.op == Scan::minimum) {
    switch (work.type) {
      case type_float64: return extremes(work.op, reinterpret_cast<double*>(row), work.n);
      case type_uint64: return extremes(work.op, reinterpret_cast<uint64_t*>(row), work.n);
      default: return extremes(work.op, reinterpret_cast<int64_t*>(row), work.n);
    }
  }
  const bool sum = work.op == Scan::sum;
  auto* const integers = reinterpret_cast<uint64_t*>(row);
  auto* const floats = reinterpret_cast<double*>(row);
  switch (work.type) {
    case type_float64: return sum ? sum_floats<1>(floats, work.n) : multiply_floats(floats, work.n);
    case type_complex128:
      if (!sum) return multiply_floats(reinterpret_cast<complex128*>(row), work.n);
      sum_floats<2>(floats, work.n);
      return sum_floats<2>(floats + 1, work.n);
    default: return sum ? sum_integers(integers, work.n) : multiply_integers(integers, work.n);
  }
}

void scan_task(void* context, int64_t number) {
  const Work& work = *static_cast<const Work*>(context);
  const int64_t last = smaller((number + 1) * work.rows_per_task, work.rows);
  for (int64_t r = number * work.rows_per_task; r < last; ++r) scan_row(work, work.data + r * work.pitch_bytes);
}

}  // namespace

void scan_rows(Scan op, int type, void* data, int64_t rows, int64_t n, int64_t pitch) noexcept {
  if (rows == 0 || n == 0) return;
  Work work{op, type, static_cast<char*>(data), rows, n, pitch * type_table[type].bytes, rows};
  if (rows > 1 && rows * n >= share_from) work.rows_per_task = ceil_divide(chunk, n);
  parallel(ceil_divide(rows, work.rows_per_task), scan_task, &work);
}

}  // namespace dlt
