// SPDX-License-Identifier: Apache-2.0
// The interface of the CUDA engine: operations on validated tensors in device memory, enqueued on a stream. Nothing
// here waits for the device, except to_host() into pageable memory and functions documented to wait. Dtypes are decided
// by the caller; shapes broadcast here.
//
//   Stream* stream;                       current_stream(0, &stream);
//   Block* memory;                        allocate(*stream, bytes, &memory);
//   Operand in[2] = {{&a, a_block}, Operand::scalar(type_float32, &two)};
//   elementwise({op_add, OpVariant::plain, type_float32}, in, 2, {&out, memory}, {stream});
//   to_host(buffer, {&out, memory}, *stream);
//   release(memory);
//
// Every function returns a Status; when it is not ok, nothing was enqueued that writes to an output, and message() has
// the reason and the remedy. The streams of earlier users of a block are waited for on the device, see memory.h.
#pragma once
#include "dltensor/dlpack.h"
#include "native/cpu/runtime/dtype.h"
#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/engine_table.h"
#include "native/cpu/index/gather.h"
#include "native/cuda/runtime/launch.h"
#include "native/cuda/memory/memory.h"
#include "native/memory/run.h"

namespace dlt::cuda {

using Operand = EngineOperand;

enum class OpVariant : int {
  plain,       // a row of DLT_OPS
  saturating,  // a row of DLT_SATURATING_OPS
  real,        // a row of DLT_CUDA_REAL_OPS: an integer, a float64 scalar as second operand, fma's third
  twin,        // a row of DLT_CUDA_TWIN_OPS: the last operand and out are the unsigned twin of the others
  unlike,      // a row of DLT_COMPARISONS, by value: 64-bit integers with numbers that have no dtype in common with them
};

// An integer op any real number, exactly rounded and clamped; see saturating.h. Of real and twin operations the
// operands have `Operation::type` exactly, and fma's third has out's. Row: name, operands.
#define DLT_CUDA_REAL_OPS(X) X(add, 2) X(rsub, 2) X(multiply, 2) X(divide, 2) X(rdivide, 2) X(fma, 3)
#define DLT_CUDA_TWIN_OPS(X) X(fma, 3)

struct Operation {
  int op;          // number of the row in the variant's table
  OpVariant variant;
  int type;        // the dtype that operands are converted to and computed in; a row of DLT_DTYPES with arithmetic
};

// out = op(in[0], ...), broadcast to out's shape. Operands and out may be of any dtype of dtypes.h with whole bytes:
// they are converted on the way, as cast() does. Overlap is as if through a temporary.
DLT_API Status elementwise(const Operation& operation, const Operand* in, int count, const Operand& out,
                           const LaunchContext& context) noexcept;

// The slot of EngineTable, which finds the variant.
DLT_API Status element(const ElementCall& call, const Operand* in, int count, const Operand& out,
                       const LaunchContext& context) noexcept;

// An integer op any real number, see DLT_CUDA_REAL_OPS.
DLT_API Status real(Real form, double number, const Operand& x, const Operand* c, const Operand& out,
                    const LaunchContext& context) noexcept;

// The fast path for the most common case: a plain operation on contiguous runs of `count` elements, or scalars, of one
// dtype, on the thread's current stream. `to` is the dtype of the result as a row; the caller has checked everything but
// overlap. Into new memory, which the caller owns even if this fails, where `fresh`.
DLT_API Status runs_here(int device, int op, int type, int to, int64_t count, const Run* in, int operands, bool fresh,
                         Run* out) noexcept;

// Broadcasts and copies elements of one dtype, across devices too.
DLT_API Status copy(const Operand& from, const Operand& to, const LaunchContext& context) noexcept;
// Broadcasts and converts, with `scaled` a * scale + offset first; the options are the CPU's. The input may lie in
// another order of dimensions than the output: the permutation is part of the same pass.
DLT_API Status cast(const Operand& from, const Operand& to, const CastOptions& options, const LaunchContext& context) noexcept;
// out = condition ? a : b, broadcast; condition is bool, the others share a dtype.
DLT_API Status choose(const Operand& condition, const Operand& a, const Operand& b, const Operand& out,
                      const LaunchContext& context) noexcept;
// `element` is one of out's dtype.
DLT_API Status fill(const void* element, const Operand& to, const LaunchContext& context) noexcept;

// c = alpha * a @ b + beta * c over the last two dimensions, the others broadcast; any strides. One dtype: an integer,
// a float or a complex one. With beta 0 c is not read. Integers wrap, and take the integer part of alpha and beta: the
// CPU's bits. By cuBLAS where it is installed and supports the dtype, else, or where the context is reproducible, by our own kernels,
// which have the CPU's bits. These also take bfloat16 into float32.
DLT_API Status gemm(const Operand& a, const Operand& b, const Operand& c, const Scalar& alpha, const Scalar& beta,
                    const LaunchContext& context) noexcept;

// out = scale * x @ values^T of matrices in C order, x and values of float8, scale one float32, out of float16, bfloat16 or float32.
// False in `done` where no tensor core takes them: nothing was enqueued.
DLT_API Status multiply_scaled_float8(const Operand& x, const Operand& values, const Operand& scale, const Operand& out,
                                      bool* done, const LaunchContext& context) noexcept;

// To x.dense, which is `to` in C order, from the places of `from` that index arrays on the device name: `blocks` own their
// memory. Waits for the check of all indices: `bad` is the first that is out of range; null for those in range.
DLT_API Status gather(Indexed& x, const Operand& from, const Operand& to, Block* const* blocks, BadIndex* bad,
                      const LaunchContext& context) noexcept;

// The other way: from x.dense, of any strides, which `from` owns, to the places of `to`. Where several positions name one element,
// the last one is kept; with `op` >= 0, of two operands of dtype `type`, each is joined to what is there, in their order.
// Waits as gather() does; with `bad` null, indices are good and positions name different elements.
DLT_API Status scatter(Indexed& x, int op, int type, const Operand& from, const Operand& to, Block* const* blocks,
                       BadIndex* bad, const LaunchContext& context) noexcept;

// elements = those of `from`, indices = their places in their line, int64, in the stable order of each line; either may be null.
// All in C order, of lines of `line` elements of a dtype that has an order. NaN is last, -0 and +0 are equal.
DLT_API Status sort(const Operand& from, const Operand* elements, const Operand* indices, int64_t line, bool descending,
                    const LaunchContext& context) noexcept;

// Sorts along an axis, of any strides; the outputs may be shorter along it: the contract of EngineTable::sort.
DLT_API Status sort_along(const Operand& x, const Operand* values, const Operand* indices, int axis, bool descending,
                          const LaunchContext& context) noexcept;

// out = where each of `values` would have to be inserted in `sorted`, before or after what is equal to it. All in C order; `out` is
// int64, the others are of one dtype that has an order.
DLT_API Status searchsorted(const Operand& sorted, const Operand& values, const Operand& out, bool after,
                            const LaunchContext& context) noexcept;

// Counts each number from 0 on among `bins`; those without a place in `counts` are left out. Both int64, in C order.
DLT_API Status tally(const Operand& bins, const Operand* weights, const Operand& counts, const LaunchContext& context) noexcept;

// Masks: see EngineTable.
DLT_API Status pack_mask(const Operand& from, uint64_t bits, int64_t n, const Operand& words, const Operand& before,
                         int64_t* count, const LaunchContext& context) noexcept;
DLT_API Status mask_positions(const Operand* to, int dims, const int64_t* shape, int64_t n, const Operand& words,
                              const Operand& before, const LaunchContext& context) noexcept;
DLT_API Status mask_elements(const Operand& x, int64_t n, const Operand& words, const Operand& before, const Operand& out,
                             const LaunchContext& context) noexcept;

// Returns whether cuBLAS may round the calling thread's float32 factors to TF32: 10 bits for a several times faster product.
DLT_API bool thread_tf32() noexcept;
DLT_API void set_thread_tf32(bool allowed) noexcept;

// Our own kernels even where cuBLAS is installed: for tests.
DLT_API void set_use_cublas(bool use) noexcept;

// Host memory in C order, pageable or pinned. to_host returns when the copy is complete; from_host may return earlier,
// but `data` may be freed then.
DLT_API Status to_host(void* data, const Operand& from, Stream& stream) noexcept;
DLT_API Status from_host(const void* data, const Operand& to, Stream& stream) noexcept;
// Into pinned memory without waiting: `*out` is a new block (of kDLCUDAHost), complete when `event` is. The caller
// owns both: release(block) and destroy_event(event).
DLT_API Status to_pinned(const Operand& from, Stream& stream, Block** out, CUevent* event) noexcept;

// The kind of a raw pointer to foreign memory: a DLDeviceType, and the device it belongs to.
DLT_API Status pointer_device(const void* pointer, DLDevice* out) noexcept;

DLT_API extern const EngineTable cuda_engine;

}  // namespace dlt::cuda
