// SPDX-License-Identifier: Apache-2.0
// The CPU's side of the table.
#include "native/cpu/engine_table.h"

#include "native/cpu/mask.h"
#include "native/cpu/random.h"
#include "native/cpu/scan.h"
#include "native/cpu/search.h"
#include "native/cpu/sort.h"

namespace dlt {

const EngineTable cpu_engine = {
    cpu::element,        cpu::real,  cpu::cast,   cpu::choose, cpu::fill,    cpu::gemm,
    cpu::reduce,         cpu::scan,  cpu::sort,   cpu::gather, cpu::scatter, cpu::pack_mask,
    cpu::mask_positions, mask_chunk, cpu::factor, cpu::draw,   cpu::search,  cpu::tally,
};

}  // namespace dlt
