// SPDX-License-Identifier: Apache-2.0
// Opens the namespace of the instruction set that a file of this folder is being compiled for. The same sources are
// compiled once per level; no symbol may have the same name at two levels, or the linker would keep only one.
#pragma once
#include "native/cpu/runtime/kernels.h"
#include "native/ops/floats.h"

#ifndef DLT_LEVEL
#error "compile with -DDLT_LEVEL=v2, v3, v4 or base"
#endif

// The level of which there is always a table.
#if defined(__x86_64__)
#define DLT_LOWEST_LEVEL v2
#else
#define DLT_LOWEST_LEVEL base
#endif
namespace dlt::DLT_LOWEST_LEVEL {
void fill_rare_casts(CopyKernels* kernels);
void fill_reduction_states(ReduceKernels* kernels);
void fill_saturating_exact(ElementwiseKernels* kernels);
void fill_unlike(ElementwiseKernels* kernels);
}  // namespace dlt::DLT_LOWEST_LEVEL

namespace dlt::DLT_LEVEL {

// An element at any address. Loads and stores through it need no alignment. `auto*` would drop the attribute.
template <class T>
struct loose {
  typedef T type __attribute__((aligned(1)));
};
template <class T>
using loose_t = typename loose<T>::type;

void fill_integers(ElementwiseKernels* kernels);
void fill_floats(ElementwiseKernels* kernels);
void fill_complexes(ElementwiseKernels* kernels);
void fill_powers(ElementwiseKernels* kernels);  // over what fill_single_functions and fill_double_functions have filled
void fill_saturating(ElementwiseKernels* kernels);
void fill_saturating_real(ElementwiseKernels* kernels);
void fill_casts(CopyKernels* kernels);
void fill_small_casts(CopyKernels* kernels);
void fill_halves(ElementwiseKernels* kernels);
void fill_moves(CopyKernels* kernels);
void fill_packed(CopyKernels* kernels);
void fill_scales(QuantizeKernels* kernels);
void fill_blocks(QuantizeKernels* kernels);
void fill_codes(QuantizeKernels* kernels);
void fill_streams(ElementwiseKernels* kernels);  // after the loops that it has in another form
void fill_gather(IndexKernels* kernels);
void fill_masks(IndexKernels* kernels);
void fill_products(LinalgKernels* kernels);
void fill_byte_products(LinalgKernels* kernels);
void fill_tiles(LinalgKernels* kernels);
void fill_norms(LinalgKernels* kernels);
void fill_vectors(LinalgKernels* kernels);
void fill_reductions(ReduceKernels* kernels);
void fill_exact_sums(ReduceKernels* kernels);  // over what fill_reductions has filled
void fill_scans(ScanKernels* kernels);
void fill_sorts(SortKernels* kernels);
void fill_column_sorts(SortKernels* kernels);
void fill_quicksorts(SortKernels* kernels);
void fill_random(RandomKernels* kernels);
void fill_samples(RandomKernels* kernels);
void fill_small_matrices(LinalgKernels* kernels);
void fill_factors(LinalgKernels* kernels);
void fill_comparisons(ElementwiseKernels* kernels);  // over what others have filled
void fill_single_functions(ElementwiseKernels* kernels);
void fill_double_functions(ElementwiseKernels* kernels);

#define DLT_EACH \
  DLT_IVDEP      \
  for (int64_t i = 0; i < n; ++i)

}  // namespace dlt::DLT_LEVEL
