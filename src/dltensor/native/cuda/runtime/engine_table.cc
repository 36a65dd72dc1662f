// SPDX-License-Identifier: Apache-2.0
// CUDA's side of the table.
#include "native/cuda/random/random.h"
#include "native/cuda/kernels/parameters.cuh"
#include "native/cuda/linalg/matrices.h"
#include "native/cuda/quantize/quantize.h"
#include "native/cuda/reduce/reduce.h"
#include "native/cuda/scan/scan.h"

namespace dlt::cuda {

static_assert(sizeof(Launch) <= sizeof(LaunchContext::settings) && alignof(Launch) <= 8);

const EngineTable cuda_engine = {
    element,    real,       cast,           choose,        fill,
    gemm,       reduce,     scan,           sort_along,    gather,
    scatter,    pack_mask,  mask_positions, mask_elements, kernels::mask_tile,
    factor,     draw,       searchsorted,   tally,         quantize,
    dequantize, fill_steps, fill_ramp,      shuffle,
};

}  // namespace dlt::cuda
