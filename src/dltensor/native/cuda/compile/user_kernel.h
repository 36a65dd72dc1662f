// SPDX-License-Identifier: Apache-2.0
// Kernels whose text a user wrote: elements of broadcast operands, and launches as they are. The text is made by
// cuda/_kernels.py.
#pragma once
#include <string>
#include <vector>

#include "native/cuda/runtime/engine.h"

namespace dlt::cuda {

// The text defines dlt::user::contiguous<VEC, NUMBERS>(UserRun) and dlt::user::rows<I, NUMBERS>(UserRows<I>) for operands of
// the dtypes of `in` and `out`, of which those in NUMBERS are numbers. Broadcasts to out's shape; any strides; overlap is
// as if through a temporary.
DLT_API Status user_elementwise(const char* text, const Operand* in, int count, const Operand& out,
                                const LaunchContext& context) noexcept;

struct RawLaunch {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
};
// A block that a raw kernel uses; null: nothing to order.
struct RawUse {
  Block* block;
  bool write;
};
// Launches a kernel of the text. `arguments` point to the values of its parameters, as cuLaunchKernel takes them.
DLT_API Status raw_launch(const std::string& text, const std::string& name, const std::vector<std::string>& options,
                          const RawLaunch& launch, void** arguments, const RawUse* uses, int use_count,
                          Stream& stream) noexcept;
// Only compiles and loads it; the registers of a thread, the largest block, and static shared memory.
struct RawAttributes {
  int registers, most_threads, shared_bytes, local_bytes;
};
DLT_API Status raw_prepare(const std::string& text, const std::string& name, const std::vector<std::string>& options,
                           Stream& stream, RawAttributes* out) noexcept;

}  // namespace dlt::cuda
