// SPDX-License-Identifier: Apache-2.0
// One element-wise kernel call before a kernel is chosen: addresses, strides and types of the operands.
//  For element.cc and move.cc.
#pragma once
#include <string>

#include "native/cuda/compile/compiler.h"
#include "native/cuda/runtime/engine.h"
#include "native/cuda/kernels/parameters.cuh"
#include "native/layout/layout.h"

namespace dlt::cuda {

inline constexpr int most_operands = kernels::max_operands + 1;  // with the output, which is number 0

// The function of a kernel: a body of bodies.cuh. `code` is unique among all of them.
struct BodyName {
  uint32_t code;
  std::string (*name)(uint32_t code);  // called only when the kernel has to be compiled
};

// Code of a row of an element-wise operation: the row's number, for plain ones.
std::string body_name(uint32_t code);

inline constexpr uint32_t copy_code = 0xF00;  // of the body that keeps its operand
// Of casts, with the target row in bits 2 to 7, whether they saturate in bit 1, and whether they round to the nearest in bit 0; and
// likewise of casts with a scale.
inline constexpr uint32_t cast_code = 0x800, scaled_code = 0xA00;

// A launch of runs at 16-byte addresses, which any operands of one form can use.
struct RunLaunch {
  CUfunction function;
  Geometry geometry;
};

struct Plan {
  BodyName body;
  int operands = 1;  // inputs
  int type = 0;  // computed in
  int types[most_operands] = {};  // in memory
  void* pointers[most_operands] = {};
  bool immediate[most_operands] = {};
  int64_t strides[most_operands][max_dims];
  int64_t shape[max_dims];
  int dims = 0;
  kernels::Immediate values[kernels::max_operands];
  RunLaunch* chosen = nullptr;  // where the launch of one run is kept
};

// Row of a tensor's dtype; fails for what kernels cannot take, naming `function`.
Status type_of(const char* function, const DLTensor& tensor, int* type) noexcept;

// The C++ type of a row, as a name that both NVRTC and g++ accept.
DLT_API const char* type_name(int type) noexcept;

// Plain copies look at bytes only: an unsigned row of that many bytes, or 16 for wide_word.
inline constexpr int wide_type = type_count;
int word_type(int64_t bytes) noexcept;
inline int type_bytes(int type) noexcept { return type == wide_type ? 16 : type_table[type].bytes; }
extern const int type_alignments[];
inline int type_alignment(int type) noexcept { return type_alignments[type]; }

// Adds an operand at place k, broadcast to the plan's shape (set before).
Status add_operand(const char* function, Plan& plan, int k, const Operand& operand) noexcept;

// Chooses the kernel and launches it.
Status execute(Plan& plan, Device& device, const LaunchContext& context) noexcept;

// Kernels that were used before, by number: no lock, no text.
struct KernelKey {
  uint64_t word = 0;
  int bits = 0;
  void add(uint64_t value, int width) noexcept {
    word |= value << bits;
    bits += width;
  }
};
bool find_kernel(const Device& device, uint64_t key, Kernel* out) noexcept;
void keep_kernel(const Device& device, uint64_t key, const Kernel& kernel) noexcept;

inline Status launch_function(Device& device, CUfunction function, const Geometry& geometry, Stream& stream,
                              void* parameters) noexcept {
  Current current(device);
  void* arguments[] = {parameters};
  const CUresult result = driver.cuLaunchKernel(function, geometry.blocks, 1, 1, geometry.threads, 1, 1, 0, stream.handle,
                                                arguments, nullptr);
  stream.count_work();
  return check(result, "cuLaunchKernel");
}
inline Status launch_kernel(Device& device, const Kernel& kernel, const Geometry& geometry, Stream& stream,
                            void* parameters) noexcept {
  return launch_function(device, kernel.function, geometry, stream, parameters);
}

// Kernels whose number no dtype begins; a number is unique in its family.
enum class Family : uint64_t { mask, index, sort, search, select, matrices, quantize, steps, ramps, shuffle };
inline KernelKey family_key(Family family, uint64_t number) noexcept {
  KernelKey key;
  key.add(3, 2);
  key.add(61, 6);
  key.add(static_cast<uint64_t>(family), 6);
  key.add(number, 50);
  return key;
}
// The kernel of a key; name() returns its expression, see get_kernel(), and is called only for one that was not used before.
template <class Name>
Status kernel_of(Device& device, const KernelKey& key, const char* header, const Name& name, Kernel* out) noexcept {
  if (find_kernel(device, key.word, out)) return success;
  DLT_TRY(guarded("compile", [&] { return get_kernel(device, header, name(), out); }));
  keep_kernel(device, key.word, *out);
  return success;
}
template <class Name>
Status family_kernel(Device& device, Family family, uint64_t number, const char* header, const Name& name,
                     Kernel* out) noexcept {
  return kernel_of(device, family_key(family, number), header, name, out);
}

// A grid of blocks of `threads` threads that take `items` pieces of work: as many as run at once, unless fewer do.
Geometry blocks_for(const Device& device, const Kernel& kernel, uint64_t items, unsigned threads) noexcept;

// Memory of one operation.
struct Scratch {
  Block* block = nullptr;
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (block) release(block);
  }
  Status make(uint64_t bytes, Stream& stream) noexcept { return allocate(stream, static_cast<size_t>(bytes), &block); }
  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(block->data);
  }
};

// For outputs that overlap an input, and operands whose address no kernel can read: a temporary of C order.
struct Temporary {
  DLTensor tensor{};
  int64_t shape[max_dims], strides[max_dims];
  Block* block = nullptr;
  Temporary() = default;
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (block) release(block);
  }
  Status make(const DLTensor& like, Stream& stream) noexcept;
  Operand operand() const noexcept { return {&tensor, block}; }
};

// Address of the first element.
inline CUdeviceptr address(const DLTensor& t) noexcept { return reinterpret_cast<CUdeviceptr>(t.data) + t.byte_offset; }
bool is_misaligned(const DLTensor& tensor) noexcept;
// Element by element as bytes, whatever the alignment.
Status copy_bytes(const Operand& from, const Operand& to, const LaunchContext& context) noexcept;
// Calls `next` with an aligned copy of an input.
template <class Next>
[[gnu::noinline]] Status with_aligned(const Operand& from, const LaunchContext& context, const Next& next) noexcept {
  Temporary aligned;
  DLT_TRY(aligned.make(*from.tensor, *context.stream));
  DLT_TRY(copy_bytes(from, aligned.operand(), context));
  return next(aligned.operand());
}
// Calls `next` with aligned memory in place of an output, which its results are copied to.
template <class Next>
[[gnu::noinline]] Status through_aligned(const Operand& to, const LaunchContext& context, const Next& next) noexcept {
  Temporary aligned;
  DLT_TRY(aligned.make(*to.tensor, *context.stream));
  DLT_TRY(next(aligned.operand()));
  return copy_bytes(aligned.operand(), to, context);
}

// Makes strides of the output, operand 0, positive, sorts dimensions by them, largest first, and joins those that all operands
// in memory continue: then writes along the last one are adjacent.
struct Dimensions {
  int operands;  // with the output
  const bool* immediate;
  int64_t* shape;
  int64_t (*strides)[max_dims];
};
int order_dimensions(const Dimensions& d, int dims, void** pointers, const int* bytes) noexcept;

// The context with the launch settings of the thread, unless it has some.
inline LaunchContext with_launch(const LaunchContext& context) noexcept {
  return {context.stream, context.launch ? context.launch : thread_launch()};
}

}  // namespace dlt::cuda
