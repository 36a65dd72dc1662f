// SPDX-License-Identifier: Apache-2.0
// The CPU's side of the table.
#include "native/cpu/runtime/engine_table.h"

#include "native/cpu/index/mask.h"
#include "native/cpu/quantize/quantize.h"
#include "native/cpu/random/arange.h"
#include "native/cpu/random/random.h"
#include "native/cpu/scan/scan.h"
#include "native/cpu/sort/search.h"
#include "native/cpu/sort/sort.h"

namespace dlt {

const EngineTable cpu_engine = {
    cpu::element,        cpu::real,          cpu::cast,       cpu::choose,     cpu::fill,      cpu::gemm,
    cpu::reduce,         cpu::scan,          cpu::sort,       cpu::gather,     cpu::scatter,   cpu::pack_mask,
    cpu::mask_positions, cpu::mask_elements, mask_chunk,      cpu::factor,     cpu::draw,      cpu::search,
    cpu::tally,          cpu::quantize,      cpu::dequantize, cpu::fill_steps, cpu::fill_ramp, cpu::shuffle,
};

}  // namespace dlt
