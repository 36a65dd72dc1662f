// SPDX-License-Identifier: Apache-2.0
// The instruction set that the loops run on. Decided once, by the processor and DLTENSOR_CPU.
#pragma once
#include <atomic>

#include "native/cpu/runtime/kernels.h"
#include "native/export.h"

namespace dlt {

// The table in use. The first call fills it; safe from any thread.
DLT_API extern std::atomic<const Kernels*> kernels_in_use;  // null before
DLT_API const Kernels& first_kernels() noexcept;
inline const Kernels& kernels() noexcept {
  const Kernels* table = kernels_in_use.load(std::memory_order_acquire);
  return table != nullptr ? *table : first_kernels();
}

// Levels that were compiled in, lowest first, ended by a null; which of them this processor has; which one is used.
DLT_API const char* const* cpu_levels() noexcept;
DLT_API bool cpu_supports(const char* level) noexcept;
DLT_API const char* cpu_level() noexcept;

// Bytes of the last-level cache as the system reports them; 0 when it does not.
DLT_API int64_t last_cache_bytes() noexcept;

// Settings for outputs that are stored past the caches: the bytes between two series of such stores, how many of these
// strips operands are prefetched ahead, and whether that helps where two of them are read from memory: in no loop, in those
// that do more than an addition for each element, whose strips are of half that length then, or in all. Whether fills do
// not gain by such stores. Whether results that go to memory from registers (kernels/streams.cc) are faster than strips of
// them. From how many bytes on a repeated row has no room in the first cache beside a strip.
enum class Pairs { none, heavy, all };
struct StripTuning {
  int64_t bytes, ahead;
  Pairs pairs;
  bool cached_fill, from_registers;
  int64_t crowded_row;
};
const StripTuning& strip_tuning() noexcept;

// Switches to a level by name. False when there is no such level here. For tests and tools, while no op is running.
DLT_API bool set_cpu_level(const char* level) noexcept;

}  // namespace dlt
