// SPDX-License-Identifier: Apache-2.0
// Masks: read once, as one bit per element, and then used without being read again, since others may write to them.
#pragma once
#include <stdint.h>

#include "native/export.h"

namespace dlt {

// Elements of one chunk. `before[k]` is how many are set ahead of chunk k, and before[number of chunks] is all.
inline constexpr int64_t mask_chunk = 65536;
inline int64_t mask_words(int64_t n) { return (n + 63) / 64; }
inline int64_t mask_chunks(int64_t n) { return (n + mask_chunk - 1) / mask_chunk; }

// An element is set where it has one of `bits`; the two halves of one of 16 bytes are looked at together. Elements lie in
// C order. Returns how many are set.
DLT_API int64_t pack_mask(const void* from, int64_t width, uint64_t bits, int64_t n, uint64_t* words, int64_t* before) noexcept;

// Elements of 1, 2, 4, 8 or 16 bytes: those that are set, one after the other.
DLT_API void compress(void* to, const void* from, int64_t width, int64_t n, const uint64_t* words,
                      const int64_t* before) noexcept;
// Elements one after the other, or one for all with step 0, to where the mask is set.
DLT_API void expand(void* to, const void* from, int64_t step, int64_t width, int64_t n, const uint64_t* words,
                    const int64_t* before) noexcept;

// The indices of what is set, in C order: to[d] along dimension d; with one array for several dimensions, the index in C
// order.
DLT_API void mask_positions(int64_t* const* to, int ndim, const int64_t* shape, int64_t n, const uint64_t* words,
                            const int64_t* before) noexcept;

}  // namespace dlt
