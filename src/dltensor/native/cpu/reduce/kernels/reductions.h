// SPDX-License-Identifier: Apache-2.0
// The loops that any body of native/ops/reduce/reductions.h gets: over a run of elements, over rows, and between states.
#pragma once
#include "native/cpu/reduce/kernels.h"
#include "native/cpu/runtime/kernels/elements.h"
#include "native/cpu/runtime/kernels/doubles.h"
#include "native/cpu/runtime/kernels/registers.h"
#include "native/ops/reduce/reductions.h"

namespace dlt::DLT_LEVEL {

// Rows lie in pages of their own, where no processor reads ahead by itself: so many rows ahead are asked for.
constexpr int64_t rows_ahead = 6, line_bytes = 64;
template <int64_t AHEAD = rows_ahead>
DLT_FN void read_ahead(const char* row, int64_t row_bytes, int64_t bytes) {
  if (row_bytes < 2048 && row_bytes > -2048) return;
  for (int64_t at = 0; at < bytes; at += line_bytes) __builtin_prefetch(row + AHEAD * row_bytes + at);
}

// The words of state c, taken out of the arrays and put back.
template <class Body>
struct Words {
  typename Body::word w[Body::members];
  DLT_FN void load(const typename Body::word* states, int64_t capacity, int64_t c) {
    for (int m = 0; m < Body::members; ++m) w[m] = states[m * capacity + c];
  }
  DLT_FN void store(typename Body::word* states, int64_t capacity, int64_t c) const {
    for (int m = 0; m < Body::members; ++m) states[m * capacity + c] = w[m];
  }
};

template <class Body, class T>
void run_plain(void* states, const void* a, int64_t n, int64_t first, const double*) {
  auto* const words = static_cast<typename Body::word*>(states);
  Words<Body> local;
  local.load(words, 1, 0);
  for (int64_t i = 0; i < n; ++i) Body::step(local.w, fetch<T>(a, i), first + i);
  local.store(words, 1, 0);
}

// Four rows at a time, of bodies that may take the last row more than once: as many streams for the processor to read ahead,
// and fewer loads and stores of the states.
template <class Body, class T>
void rows_together(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  auto* const words = static_cast<typename Body::word*>(states);
  constexpr int64_t together = 4;
  for (int64_t r = 0; r < rows; r += together) {
    const char* row[together];
    for (int64_t k = 0; k < together; ++k) {
      row[k] = static_cast<const char*>(a) + (r + k < rows ? r + k : rows - 1) * row_bytes;
      if (r + k + together < rows) read_ahead<together>(row[k], row_bytes, n * int64_t(sizeof(typename stored<T>::type)));
    }
    DLT_EACH {
      Words<Body> local;
      local.load(words, capacity, i);
      Body::step(local.w, fetch<T>(row[0], i), 0);
      Body::step(local.w, fetch<T>(row[1], i), 0);
      Body::step(local.w, fetch<T>(row[2], i), 0);
      Body::step(local.w, fetch<T>(row[3], i), 0);
      local.store(words, capacity, i);
    }
  }
}

template <class Body, class T>
void rows_plain(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n, int64_t first,
                const double*) {
  constexpr bool is_extreme = is_same<Body, reductions::largest<T>>::value || is_same<Body, reductions::smallest<T>>::value;
  if constexpr (is_extreme && sizeof(T) >= 4)
    if (rows > 1) return rows_together<Body, T>(states, capacity, a, row_bytes, rows, n);
  auto* const words = static_cast<typename Body::word*>(states);
  for (int64_t r = 0; r < rows; ++r) {
    const char* const row = static_cast<const char*>(a) + r * row_bytes;
    if (r + rows_ahead < rows) read_ahead(row, row_bytes, n * int64_t(sizeof(typename stored<T>::type)));
    DLT_EACH {
      Words<Body> local;
      local.load(words, capacity, i);
      Body::step(local.w, fetch<T>(row, i), first + r);
      local.store(words, capacity, i);
    }
  }
}

// Calls visit.operator()<Body>(number) with each body of reductions.h that reduces elements of type T.
template <class T, class Visit>
void each_reduction(Visit visit) {
  visit.template operator()<reductions::every<T>>(reduce_every);
  visit.template operator()<reductions::some<T>>(reduce_some);
  visit.template operator()<reductions::nonzero<T>>(reduce_nonzero);
  visit.template operator()<reductions::products<T>>(reduce_products);
  if constexpr (!is_complex<T>::value) {
    visit.template operator()<reductions::largest<T>>(reduce_largest);
    visit.template operator()<reductions::smallest<T>>(reduce_smallest);
    visit.template operator()<reductions::first_largest<T>>(reduce_first_largest);
    visit.template operator()<reductions::first_smallest<T>>(reduce_first_smallest);
    if constexpr (!is_float<T>) {
      visit.template operator()<reductions::sums<T>>(reduce_sums);
      visit.template operator()<reductions::wide_sums<T>>(reduce_wide_sums);
      visit.template operator()<reductions::saturated_products<T>>(reduce_saturated_products);
      if constexpr (sizeof(T) >= 4) visit.template operator()<reductions::wide_moments<T>>(reduce_wide_moments);
    }
  }
}

// The element types of the reductions in reductions.cc. Row: type, name.
// clang-format off
#define DLT_REDUCED_TYPES(X) \
  X(bool, bool) DLT_INTEGER_TYPES(X) X(float, float32) X(double, float64) \
  X(complex64, complex64) X(complex128, complex128)
// clang-format on

}  // namespace dlt::DLT_LEVEL
