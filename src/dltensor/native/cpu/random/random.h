// SPDX-License-Identifier: Apache-2.0
// Random values on the host: which words a value takes and how many threads share the work. What values are is in
// native/ops/random/philox.h; positions are counted by the caller.
#pragma once
#include <stdint.h>

#include "native/cpu/runtime/dtype.h"
#include "native/cpu/runtime/engine_table.h"
#include "native/export.h"

namespace dlt {

// Returns whether the distribution has values of that dtype, a row of dtypes.h.
DLT_API bool draws(Distribution distribution, int type) noexcept;
// Words that one value takes: 2 of float64, and of integers among more than 2^32; else 1; of rows.h a block or several. `count` is
// that of Draw.
DLT_API uint64_t words_per_value(Distribution distribution, int type, uint64_t count) noexcept;

// The rows of ops/random/rows.h, whose first one is `first_sample`: the domain of each parameter, and the dtype of values.
enum class Domain : int { finite, at_least_0, positive, probability, positive_probability, whole, no_parameter };
DLT_API bool contains(Domain domain, double value) noexcept;
struct SampleParameter {
  const char* name;
  Domain domain;
  const char* domain_name;
};
struct SampleRow {
  const char* name;
  bool counts;  // int64
  int blocks;  // of a value
  SampleParameter parameters[2];
};
DLT_API extern const SampleRow sample_rows[];

// n values to contiguous memory, on several threads from 1 MiB. The words of value i begin at position + i * words_per_value,
// so that neither threads nor calls can be seen in the values. A position is even where values take two words, and that of a block
// where they take more. A value of multinomial is a row of `out`.
DLT_API void draw(Distribution distribution, int type, const Draw& how, uint64_t position, int64_t n, void* out) noexcept;
namespace cpu {  // the slots
Status draw(Distribution distribution, int type, int words, const Draw& how, uint64_t position, int64_t n,
            const EngineOperand& out, const LaunchContext& launch) noexcept;
Status shuffle(const Shuffle& shuffle, const EngineOperand& out, const LaunchContext& launch) noexcept;
}  // namespace cpu

// The words of one counter and key.
DLT_API void philox_block(uint32_t* out, const uint32_t* counter, const uint32_t* key) noexcept;

// out[i] = the first index whose running sum is above part[i] * last, of n increasing sums.
DLT_API void choose_weighted(const double* sums, int64_t n, const double* part, int64_t count, int64_t* out) noexcept;
// The indices of the `count` smallest of n keys, smallest first, of equal keys the lower index first. False: out of memory.
DLT_API bool smallest(const double* keys, int64_t n, int64_t count, int64_t* out) noexcept;

}  // namespace dlt
