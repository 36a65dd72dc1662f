// SPDX-License-Identifier: Apache-2.0
// Loops that read and write at offsets, and by masks.
#pragma once
#include "native/cpu/runtime/dtype.h"
#include "native/cpu/runtime/kernels.h"

namespace dlt {

// Indices of one axis, checked: to[i] = offset of from[i], a negative one counted from the end, in elements; `add` adds it to
// what is there. Returns the first position whose index is out of range, or n. Each index is read once.
typedef int64_t (*check_t)(int64_t* to, const int64_t* from, int64_t n, int64_t size, int64_t stride, bool add);

// to[i] = from[offsets[i]], and to[offsets[i]] = from[i * step] for i = 0, 1, ..., n - 1 in this order; elements.
typedef void (*gather_t)(void* to, const void* from, const int64_t* offsets, int64_t n);
typedef void (*scatter_t)(void* to, const void* from, int64_t step, const int64_t* offsets, int64_t n);
// offsets[i] += first + i * step
typedef void (*add_steps_t)(int64_t* offsets, int64_t first, int64_t step, int64_t n);

// The operations that join elements at equal indices.
#define DLT_JOINS(X) X(add) X(maximum) X(minimum)
#define DLT_NUMBER(name) join_##name,
enum Join : int { DLT_JOINS(DLT_NUMBER) join_count };
#undef DLT_NUMBER

// words: bit i is set where element i has one of `bits`; those past n are 0. Returns how many are set.
typedef int64_t (*pack_t)(uint64_t* words, const void* from, uint64_t bits, int64_t n);
// The `count` elements whose bit is set, one after the other; nothing past them is written.
typedef void (*compress_t)(void* to, const void* from, const uint64_t* words, int64_t n, int64_t count);
// Elements one after the other, or one for all with step 0, to where a bit is set; nothing else is written.
typedef void (*expand_t)(void* to, const void* from, int64_t step, const uint64_t* words, int64_t n, int64_t count);
// first + i for each bit i that is set.
typedef void (*positions_t)(int64_t* to, int64_t first, const uint64_t* words, int64_t n, int64_t count);

struct IndexKernels {
  check_t check;
  gather_t gather[6];  // of elements of 1, 2, 4, 8, 16, 32 bytes
  scatter_t scatter[6];
  add_steps_t add_steps;
  scatter_t joins[join_count][computed_types];  // to[offsets[i]] = op(to[offsets[i]], from[i * step]), one after the other
  loop_t choose[5];  // of up to 16 bytes, as all that follow: a where the condition, of bool, is not 0, else b
  pack_t pack[5];
  compress_t compress[5];
  expand_t expand[5];
  positions_t positions;
};

}  // namespace dlt
