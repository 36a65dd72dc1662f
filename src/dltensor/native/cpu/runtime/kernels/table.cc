// SPDX-License-Identifier: Apache-2.0
// The complete tables of loops of this level.
#include "native/cpu/copy/kernels.h"
#include "native/cpu/copy/kernels/narrow.h"
#include "native/cpu/elementwise/kernels.h"
#include "native/cpu/index/kernels.h"
#include "native/cpu/linalg/kernels.h"
#include "native/cpu/quantize/kernels.h"
#include "native/cpu/random/kernels.h"
#include "native/cpu/reduce/kernels.h"
#include "native/cpu/runtime/kernels/level.h"
#include "native/cpu/scan/kernels.h"
#include "native/cpu/sort/kernels.h"

#define DLT_TEXT_(x) #x
#define DLT_TEXT(x) DLT_TEXT_(x)

namespace dlt::DLT_LEVEL {

void fill_table(Kernels* kernels) {
  static CopyKernels copy;
  static ElementwiseKernels elementwise;
  static IndexKernels index;
  static LinalgKernels linalg;
  static QuantizeKernels quantize;
  static RandomKernels random;
  static ReduceKernels reduce;
  static ScanKernels scan;
  static SortKernels sort;
  fill_casts(&copy);
  fill_small_casts(&copy);
  fill_narrow_casts(&copy);
  DLT_LOWEST_LEVEL::fill_rare_casts(&copy);
  fill_moves(&copy);
  fill_packed(&copy);
  fill_integers(&elementwise);
  DLT_LOWEST_LEVEL::fill_unlike(&elementwise);
  fill_floats(&elementwise);
  fill_complexes(&elementwise);
  fill_halves(&elementwise);
  fill_single_functions(&elementwise);
  fill_double_functions(&elementwise);
  fill_powers(&elementwise);
  fill_saturating(&elementwise);
  fill_saturating_real(&elementwise);
  DLT_LOWEST_LEVEL::fill_saturating_exact(&elementwise);
  fill_streams(&elementwise);
  fill_comparisons(&elementwise);
  fill_gather(&index);
  fill_masks(&index);
  fill_products(&linalg);
  fill_byte_products(&linalg);
  fill_tiles(&linalg);
  fill_norms(&linalg);
  fill_vectors(&linalg);
  fill_narrow_vectors(&linalg);
  fill_small_matrices(&linalg);
  fill_factors(&linalg);
  fill_scales(&quantize);
  fill_blocks(&quantize);
  fill_codes(&quantize);
  fill_decode(&quantize);
  fill_random(&random);
  fill_samples(&random);
  DLT_LOWEST_LEVEL::fill_reduction_states(&reduce);
  fill_reductions(&reduce);
  fill_exact_sums(&reduce);
  fill_scans(&scan);
  fill_sorts(&sort);
  fill_column_sorts(&sort);
  fill_quicksorts(&sort);
  *kernels = {DLT_TEXT(DLT_LEVEL), &copy, &elementwise, &index, &linalg, &quantize, &random, &reduce, &scan, &sort};
}

}  // namespace dlt::DLT_LEVEL
