// SPDX-License-Identifier: Apache-2.0
// Networks that sort the columns of rows of keys, all at once and a register of them at a time.
#include <type_traits>

#include "native/cpu/sort/kernels.h"
#include "native/cpu/sort/kernels/networks.h"

namespace dlt::DLT_LEVEL {
namespace {

template <class V>
using lanes_t = typename pack<V>::type;

// Keys of 64 bits are compared as signed ones where there is no instruction for others.
constexpr bool flips_signs = register_bytes < 64;
template <class U>
using compared = std::conditional_t<sizeof(U) == 8 && flips_signs, int64_t, U>;

template <class U>
struct KeyRows {
  using C = compared<U>;
  using value = lanes_t<C>;
  static constexpr int in_registers = registers / 2;  // rows
  C* at;
  int64_t stride;
  DLT_FN value load(int64_t r) const { return *reinterpret_cast<const typename pack<C>::loose*>(at + r * stride); }
  DLT_FN void store(int64_t r, value v) const { *reinterpret_cast<typename pack<C>::loose*>(at + r * stride) = v; }
  DLT_FN static value last() { return value{} + C(flips_signs && sizeof(U) == 8 ? ~uint64_t(0) >> 1 : ~uint64_t(0)); }
  DLT_FN static void exchange(value* a, value* b) {
    const value x = *a, y = *b;
    *a = y < x ? y : x;
    *b = y < x ? x : y;
  }
};
// With their indices, whose order is that of equal keys.
struct PairRows {
  using C = compared<uint64_t>;
  using V = lanes_t<C>;
  struct value {
    V key, index;
  };
  static constexpr int in_registers = registers / 4;
  KeyRows<uint64_t> keys, indices;
  DLT_FN value load(int64_t r) const { return {keys.load(r), indices.load(r)}; }
  DLT_FN void store(int64_t r, const value& v) const {
    keys.store(r, v.key);
    indices.store(r, v.index);
  }
  DLT_FN static value last() { return {KeyRows<uint64_t>::last(), KeyRows<uint64_t>::last()}; }
  DLT_FN static void exchange(value* a, value* b) {
    const value x = *a, y = *b;
    const auto swap = (y.key < x.key) | ((x.key == y.key) & (y.index < x.index));
    *a = {swap ? y.key : x.key, swap ? y.index : x.index};
    *b = {swap ? x.key : y.key, swap ? x.index : y.index};
  }
};

// N rows in registers, of which those from n on come after all others.
template <int N, class Rows>
DLT_FN void sort_few_rows(const Rows& rows, int64_t n) {
  typename Rows::value v[N];
  each<N>([&](int r) __attribute__((always_inline)) { v[r] = r < n ? rows.load(r) : Rows::last(); });
  sort_values<Rows, 0, N>(v);
  each<N>([&](int r) __attribute__((always_inline)) {
    if (r < n) rows.store(r, v[r]);
  });
}
template <bool SORTED, class Rows>
DLT_FN void sort_block(const Rows& rows, int64_t first) {
  constexpr int N = Rows::in_registers;
  typename Rows::value v[N];
  each<N>([&](int r) __attribute__((always_inline)) { v[r] = rows.load(first + r); });
  if constexpr (SORTED) clean_values<Rows, 0, N>(v);
  else sort_values<Rows, 0, N>(v);
  each<N>([&](int r) __attribute__((always_inline)) { rows.store(first + r, v[r]); });
}
template <class Rows>
DLT_FN void exchange_rows(const Rows& rows, int64_t i, int64_t j) {
  typename Rows::value a = rows.load(i), b = rows.load(j);
  Rows::exchange(&a, &b);
  rows.store(i, a);
  rows.store(j, b);
}
// Rows from n to the next power of two are written.
template <class Rows>
DLT_FN void sort_column_run(const Rows& rows, int64_t n) {
  constexpr int64_t block = Rows::in_registers;
  if (n <= 2) return sort_few_rows<2>(rows, n);
  if (n <= 4) return sort_few_rows<4>(rows, n);
  if constexpr (block >= 8)
    if (n <= 8) return sort_few_rows<8>(rows, n);
  if constexpr (block >= 16)
    if (n <= 16) return sort_few_rows<16>(rows, n);
  int64_t padded = 2 * block;
  while (padded < n) padded *= 2;
  for (int64_t r = n; r < padded; ++r) rows.store(r, Rows::last());
  for (int64_t r = 0; r < padded; r += block) sort_block<false>(rows, r);
  for (int64_t size = 2 * block; size <= padded; size *= 2) {
    for (int64_t first = 0; first < padded; first += size)
      for (int64_t i = 0; i < size / 2; ++i) exchange_rows(rows, first + i, first + size - 1 - i);
    for (int64_t apart = size / 4; apart >= block; apart /= 2)
      for (int64_t first = 0; first < padded; first += 2 * apart)
        for (int64_t i = first; i < first + apart; ++i) exchange_rows(rows, i, i + apart);
    for (int64_t r = 0; r < padded; r += block) sort_block<true>(rows, r);
  }
}

template <class U>
DLT_FN void flip_signs(U* keys, int64_t n) {
  if constexpr (sizeof(U) == 8 && flips_signs) DLT_EACH keys[i] ^= U(1) << 63;
}
template <class U>
void sort_columns(void* all, int64_t n, int64_t row_bytes) {
  using C = compared<U>;
  U* const keys = static_cast<U*>(all);
  const int64_t width = row_bytes / int64_t(sizeof(U));
  flip_signs(keys, n * width);
  for (int64_t c = 0; c < width; c += pack<U>::lanes) sort_column_run(KeyRows<U>{reinterpret_cast<C*>(keys) + c, width}, n);
  flip_signs(keys, n * width);
}
void sort_column_pairs(uint64_t* keys, int64_t* indices, int64_t n, int64_t row_bytes) {
  using C = PairRows::C;
  const int64_t width = row_bytes / 8;
  flip_signs(keys, n * width);
  for (int64_t c = 0; c < width; c += pack<C>::lanes)
    sort_column_run(PairRows{{reinterpret_cast<C*>(keys) + c, width}, {reinterpret_cast<C*>(indices) + c, width}}, n);
}

}  // namespace

void fill_column_sorts(SortKernels* kernels) {
  kernels->sorts[0].columns = sort_columns<uint8_t>;
  kernels->sorts[1].columns = sort_columns<uint16_t>;
  kernels->sorts[2].columns = sort_columns<uint32_t>;
  kernels->sorts[3].columns = sort_columns<uint64_t>;
  kernels->column_pairs = sort_column_pairs;
}

}  // namespace dlt::DLT_LEVEL
