// SPDX-License-Identifier: Apache-2.0
// The complete table of loops of this level.
#include "native/cpu/runtime/kernels/level.h"

#define DLT_TEXT_(x) #x
#define DLT_TEXT(x) DLT_TEXT_(x)

namespace dlt::DLT_LEVEL {

void fill_table(Kernels* kernels, void* (*find)(const char* name)) {
  kernels->name = DLT_TEXT(DLT_LEVEL);
  fill_integers(kernels);
  DLT_LOWEST_LEVEL::fill_unlike(kernels);
  fill_floats(kernels);
  fill_complexes(kernels);
  fill_halves(kernels);
  fill_functions(kernels, find);
  fill_powers(kernels);
  fill_saturating(kernels);
  fill_saturating_real(kernels);
  DLT_LOWEST_LEVEL::fill_saturating_exact(kernels);
  fill_casts(kernels);
  fill_small_casts(kernels);
  DLT_LOWEST_LEVEL::fill_rare_casts(kernels);
  fill_moves(kernels);
  fill_streams(kernels);
  fill_gather(kernels);
  fill_masks(kernels);
  fill_products(kernels);
  fill_vectors(kernels);
  DLT_LOWEST_LEVEL::fill_reduction_states(kernels);
  fill_reductions(kernels);
  fill_exact_sums(kernels);
  fill_terms(kernels);
  fill_scans(kernels);
  fill_sorts(kernels);
  fill_random(kernels);
  fill_small_matrices(kernels);
  fill_factors(kernels);
  fill_wide(kernels);
}

}  // namespace dlt::DLT_LEVEL
