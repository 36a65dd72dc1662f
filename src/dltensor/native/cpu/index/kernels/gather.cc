// SPDX-License-Identifier: Apache-2.0
// Indices checked and turned into offsets; elements moved from and to the places that offsets name.
#include <type_traits>

#include "native/cpu/index/kernels.h"
#include "native/cpu/runtime/kernels/elements.h"
#include "native/ops/elementwise/bodies.h"

namespace dlt::DLT_LEVEL {
namespace {

int64_t first_outside(const int64_t* from, int64_t n, int64_t size) {
  for (int64_t i = 0; i < n; ++i)
    if (from[i] < -size || from[i] >= size) return i;
  return n;
}

// Branch-free, so that it vectorizes: bit 63 of `bad` is set by any index that is negative or above size - 1 afterwards.
template <bool add>
uint64_t offsets_of(int64_t* to, const int64_t* from, int64_t n, int64_t size, int64_t stride) {
  uint64_t bad = 0;
  const uint64_t extent = uint64_t(size), step = uint64_t(stride);
  if (stride == 1) {
    DLT_EACH {
      uint64_t v = uint64_t(from[i]);
      v += v >> 63 != 0 ? extent : 0;
      bad |= v | (extent - 1 - v);
      to[i] = int64_t(add ? uint64_t(to[i]) + v : v);
    }
    return bad;
  }
  DLT_EACH {
    uint64_t v = uint64_t(from[i]);
    v += v >> 63 != 0 ? extent : 0;
    bad |= v | (extent - 1 - v);
    to[i] = int64_t((add ? uint64_t(to[i]) : 0) + v * step);
  }
  return bad;
}

int64_t check(int64_t* to, const int64_t* from, int64_t n, int64_t size, int64_t stride, bool add) {
  // Memory of others may change while it is read: the copy of each index is checked, and the copy is used.
  constexpr int64_t part = 256;
  int64_t own[part];
  for (int64_t first = 0; first < n; first += part) {
    const int64_t count = n - first < part ? n - first : part;
    for (int64_t i = 0; i < count; ++i) own[i] = from[first + i];
    asm volatile("" : : "r"(own) : "memory");  // no index is loaded a second time
    const uint64_t bad = add ? offsets_of<true>(to + first, own, count, size, stride)
                             : offsets_of<false>(to + first, own, count, size, stride);
    if (bad >> 63 != 0) return first + first_outside(own, count, size);
  }
  return n;
}

template <int W>
void gather(void* to, const void* from, const int64_t* offsets, int64_t n) {
  using U = typename unit<W>::type;
  loose_t<U>* out = static_cast<loose_t<U>*>(to);
  const loose_t<U>* in = static_cast<const loose_t<U>*>(from);
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const U a = in[offsets[i]], b = in[offsets[i + 1]], c = in[offsets[i + 2]], d = in[offsets[i + 3]];
    out[i] = a;
    out[i + 1] = b;
    out[i + 2] = c;
    out[i + 3] = d;
  }
  for (; i < n; ++i) out[i] = in[offsets[i]];
}

template <int W>
void scatter(void* to, const void* from, int64_t step, const int64_t* offsets, int64_t n) {
  using U = typename unit<W>::type;
  loose_t<U>* out = static_cast<loose_t<U>*>(to);
  const loose_t<U>* in = static_cast<const loose_t<U>*>(from);
  if (step == 0) {
    const U value = in[0];
    for (int64_t i = 0; i < n; ++i) out[offsets[i]] = value;
    return;
  }
  // Stores wait for their lines in order: ask for those of later ones.
  constexpr int64_t ahead = 32;
  int64_t i = 0;
  for (; i + ahead < n; ++i) {
    __builtin_prefetch(out + offsets[i + ahead], 1);
    out[offsets[i]] = in[i * step];
  }
  for (; i < n; ++i) out[offsets[i]] = in[i * step];
}

void add_steps(int64_t* offsets, int64_t first, int64_t step, int64_t n) {
  if (step == 0) {
    DLT_EACH offsets[i] += first;
  } else {
    DLT_EACH offsets[i] += first + i * step;
  }
}

template <int... I>
void fill_widths(IndexKernels* kernels) {
  ((kernels->gather[I] = gather<1 << I>, kernels->scatter[I] = scatter<1 << I>), ...);
}

template <class T, T Op(T, T)>
void join_at(void* to, const void* from, int64_t step, const int64_t* offsets, int64_t n) {
  for (int64_t i = 0; i < n; ++i) keep(to, offsets[i], Op(fetch<T>(to, offsets[i]), fetch<T>(from, i * step)));
}

// Sums of signed and unsigned integers have the same bits.
template <class T>
void fill_joins(IndexKernels* kernels, int type) {
  using Sum = typename std::conditional_t<std::is_integral_v<T>, unit<sizeof(T)>, std::type_identity<T>>::type;
  kernels->joins[join_add][type] = join_at<Sum, ops::add<Sum>>;
  kernels->joins[join_maximum][type] = join_at<T, ops::maximum<T>>;
  kernels->joins[join_minimum][type] = join_at<T, ops::minimum<T>>;
}

}  // namespace

void fill_gather(IndexKernels* kernels) {
  kernels->check = check;
  kernels->add_steps = add_steps;
  fill_widths<0, 1, 2, 3, 4, 5>(kernels);
#define DLT_FILL(type, name) fill_joins<type>(kernels, type_##name);
  DLT_INTEGER_TYPES(DLT_FILL)
#undef DLT_FILL
  fill_joins<float>(kernels, type_float32);
  fill_joins<double>(kernels, type_float64);
}

}  // namespace dlt::DLT_LEVEL
