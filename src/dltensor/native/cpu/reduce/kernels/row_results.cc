// SPDX-License-Identifier: Apache-2.0
// Sums and extremes of at least 32 bits of rows whose elements follow one another: a register for each row, and the rows of as many
// registers as it has lanes end in one.
#include "native/cpu/reduce/kernels/two_sum_lanes.h"

namespace dlt::DLT_LEVEL {
namespace {

// ---- registers of terms, how two become one, and the elements of a row that fill no register, the last of a whole one

// Sums that wrap, in 64 bits.
template <class T>
struct Sums {
  using Lane = int64_t;
  using V = pack<Lane>::type;
  static constexpr int lanes = pack<Lane>::lanes;
  DLT_FN static V take(const T* from) {
    if constexpr (sizeof(T) == 8) return *reinterpret_cast<const pack<Lane>::loose*>(from);
    else {
      typedef T narrow __attribute__((vector_size(lanes * sizeof(T)), aligned(1), may_alias));
      return __builtin_convertvector(*reinterpret_cast<const narrow*>(from), V);
    }
  }
  DLT_FN static V take_last(const T* end, int64_t n) {
    alignas(64) static constexpr Lane taken[2 * 8] = {0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1};
    return take(end - lanes) & *reinterpret_cast<const pack<Lane>::loose*>(taken + 8 + n - lanes);
  }
  DLT_FN V operator()(V x, V y) const { return x + y; }
  DLT_FN static V ended(V x) { return x; }
};

// Keys as those of native/ops/reduce/reductions.h.
template <class T, bool GREATEST>
struct Best {
  using Ordered = reductions::ordered<T>;
  using Lane = typename Ordered::type;
  using V = typename pack<Lane>::type;
  static constexpr int lanes = pack<Lane>::lanes, sign_at = int(sizeof(T)) * 8 - 1;
  DLT_FN static V take(const T* from) {
    const V bits = *reinterpret_cast<const typename pack<Lane>::loose*>(from);
    if constexpr (!is_float<T>) return bits;
    else {
      const typename pack<T>::type x = reinterpret_cast<typename pack<T>::type>(bits);
      return x == x ? bits ^ ((bits >> sign_at) & Ordered::highest) : V{} + (GREATEST ? Ordered::highest : Ordered::lowest);
    }
  }
  DLT_FN static V take_last(const T* end, int64_t) { return take(end - lanes); }  // some once more
  DLT_FN V operator()(V x, V y) const { return GREATEST ? (x > y ? x : y) : (x < y ? x : y); }
  DLT_FN static V ended(V x) {
    if constexpr (!is_float<T>) return x;
    else {
      const Lane nan = bits_as<Lane>(Ordered::value(Ordered::highest));
      return ((x == Ordered::highest) | (x == Ordered::lowest)) ? V{} + nan : x ^ ((x >> sign_at) & Ordered::highest);
    }
  }
};

template <class Row, class T>
void row_results(void* out, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  using V = typename Row::V;
  constexpr int lanes = Row::lanes, together = 4 < lanes ? 4 : lanes;
  const Row join;
  for (int64_t r = 0; r < rows; r += lanes) {
    const Rows row{static_cast<const char*>(a) + r * row_bytes, row_bytes, rows - r};
    V all[lanes];
    for (int first = 0; first < lanes; first += together) {
      const T* from[together];
      V x[together];
      for (int k = 0; k < together; ++k) {
        from[k] = reinterpret_cast<const T*>(row(first + k));
        x[k] = Row::take(from[k]);
      }
      int64_t c = lanes;
      for (; c + lanes <= n; c += lanes)
        for (int k = 0; k < together; ++k) x[k] = join(x[k], Row::take(from[k] + c));
      for (int k = 0; c < n && k < together; ++k) x[k] = join(x[k], Row::take_last(from[k] + n, n - c));
      for (int k = 0; k < together; ++k) all[first + k] = x[k];
    }
    const V ended = Row::ended(joined<1, lanes>(all, join));
    __builtin_memcpy(static_cast<typename Row::Lane*>(out) + r, &ended,
                     size_t(rows - r < lanes ? rows - r : lanes) * sizeof(typename Row::Lane));
  }
}

template <class T>
void fill(ReduceKernels* kernels, int type) {
  if constexpr (!is_float<T> && sizeof(T) >= 4) kernels->reducers[reduce_sums][type].row_results = row_results<Sums<T>, T>;
  if constexpr (sizeof(T) >= 4) {
    kernels->reducers[reduce_largest][type].row_results = row_results<Best<T, true>, T>;
    kernels->reducers[reduce_smallest][type].row_results = row_results<Best<T, false>, T>;
  }
}

}  // namespace

void fill_row_results(ReduceKernels* kernels) {
#define DLT_FILL(type, name) fill<type>(kernels, type_##name);
  DLT_INTEGER_TYPES(DLT_FILL)
#undef DLT_FILL
  fill<float>(kernels, type_float32);
  fill<double>(kernels, type_float64);
}

}  // namespace dlt::DLT_LEVEL
