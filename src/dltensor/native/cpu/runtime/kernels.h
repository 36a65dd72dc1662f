// SPDX-License-Identifier: Apache-2.0
// The kernels of one instruction set: a table for each noun, in a header of its own, cpu/<noun>/kernels.h. The set in use is
// chosen in features.cc; strided_loop.cc splits tensors into runs.
#pragma once
#include <stdint.h>

namespace dlt {

// Before a loop: no iteration needs what another has written. Clang has this promise only together with forced
// vectorization, so there the loops compare addresses first.
#if defined(__clang__)
#define DLT_IVDEP
#else
#define DLT_IVDEP _Pragma("GCC ivdep")
#endif

// out[i] = op(a[i], b[i], c[i]) for i < n, all contiguous, in one dtype each, at any alignment. Bit k of `scalars`:
// operand k is a single element. `out` may be an operand itself but must not overlap one otherwise.
typedef void (*loop_t)(void* out, const void* a, const void* b, const void* c, int64_t n, unsigned scalars);

// A loop with a number that the dtype need not hold in place of `b`.
typedef void (*real_loop_t)(void* out, const void* a, double scalar, const void* c, int64_t n, unsigned scalars);

struct CopyKernels;
struct ElementwiseKernels;
struct IndexKernels;
struct LinalgKernels;
struct QuantizeKernels;
struct RandomKernels;
struct ReduceKernels;
struct ScanKernels;
struct SortKernels;

struct Kernels {
  const char* name;
  const CopyKernels* copy;
  const ElementwiseKernels* elementwise;
  const IndexKernels* index;
  const LinalgKernels* linalg;
  const QuantizeKernels* quantize;
  const RandomKernels* random;
  const ReduceKernels* reduce;
  const ScanKernels* scan;
  const SortKernels* sort;
};

}  // namespace dlt
