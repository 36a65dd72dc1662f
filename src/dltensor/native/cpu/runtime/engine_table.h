// SPDX-License-Identifier: Apache-2.0
// The one table through which everything computes: the CPU fills one, CUDA the other.
//
// Contract of every slot. Checked before: dtypes, shapes, one device, outputs writable and without repeated elements. Tensors have
// any strides and any alignment, outputs the dtype that the results are rounded to; an output shares no byte with an input.
// Nothing is written when the status is not ok. No slot needs the GIL or runs Python code.
#pragma once
#include <stdint.h>
#include <string.h>

#include "dltensor/dlpack.h"
#include "native/cpu/runtime/dtype.h"
#include "native/export.h"
#include "native/status.h"

namespace dlt {

struct Block;
struct CastOptions;
struct ReduceOptions;
struct Indexed;
struct BadIndex;
struct FactorCall;
struct Scalar;
enum Real : int;
enum class Scan : int32_t;
enum Distribution : int;
struct Draw;
struct QuantizeCall;
struct Ramp;
struct Shuffle;
struct Steps;
namespace cuda {
struct Stream;
struct Launch;
}  // namespace cuda

// A tensor with the block that owns its memory (null: the caller has ordered the access, or it is borrowed host memory), or one
// element.
struct EngineOperand {
  const DLTensor* tensor = nullptr;
  Block* block = nullptr;
  int type = -1;  // of the scalar
  bool padded = false;  // elements below a byte take one each
  alignas(16) unsigned char value[16];

  EngineOperand() = default;
  EngineOperand(const DLTensor* t, Block* b) : tensor(t), block(b) {}
  static EngineOperand scalar(int type, const void* element) {
    EngineOperand operand;
    operand.type = type;
    memcpy(operand.value, element, static_cast<size_t>(type_table[type].bytes));
    return operand;
  }
};

// The stream that work on a device is enqueued on. The CPU ignores it.
struct LaunchContext {
  cuda::Stream* stream = nullptr;
  const cuda::Launch* launch = nullptr;  // null: the thread's setting, else the default
  alignas(8) unsigned char settings[16];  // that `launch` may point to
  bool reproducible = false;  // products have the bits of the CPU: no library computes them

  LaunchContext() = default;
  LaunchContext(cuda::Stream* s, const cuda::Launch* l = nullptr) : stream(s), launch(l) {}
};

struct ElementCall {
  int op;
  bool saturate;
  int type;  // that it is computed in; -1: two tensors are compared by value, where no dtype holds both
  int saturating;  // the number of the saturating row, or -1
};

struct EngineTable {
  // out = op(in[0], ...), broadcast to the shape of `out`, of any dtypes. Overlap is as if through a temporary.
  Status (*element)(const ElementCall& call, const EngineOperand* in, int count, const EngineOperand& out,
                    const LaunchContext& launch) noexcept;
  // x form number of integers with saturation, for numbers that the dtype does not hold, exactly rounded and clamped; fma adds c.
  Status (*real)(Real form, double number, const EngineOperand& x, const EngineOperand* c, const EngineOperand& out,
                 const LaunchContext& launch) noexcept;
  // out = x * scale + offset, converted; x is broadcast. Overlap is as if through a temporary.
  Status (*cast)(const EngineOperand& x, const EngineOperand& out, const CastOptions& options,
                 const LaunchContext& launch) noexcept;
  // out = condition ? a : b, broadcast; condition is bool, the others share a dtype. Overlap is as if through a temporary.
  Status (*choose)(const EngineOperand& condition, const EngineOperand& a, const EngineOperand& b, const EngineOperand& out,
                   const LaunchContext& launch) noexcept;
  // Every element of `out` becomes `element`, one of its dtype; of packed elements it has the low bits of a byte.
  Status (*fill)(const void* element, const EngineOperand& out, const LaunchContext& launch) noexcept;
  // c = alpha * a @ b + beta * c over the last two dimensions, the others broadcast. Overlap is as if through a temporary.
  Status (*gemm)(const EngineOperand& a, const EngineOperand& b, const EngineOperand& c, const Scalar& alpha,
                 const Scalar& beta, const LaunchContext& launch) noexcept;
  // out = the reduction of x over the axes whose bits are set, converted to `type` first; see native/cpu/reduce/reduce.h. `out` has the
  // dimensions of x, of extent 1 along those axes. `mask` (null: none) has the shape of x: elements where it is false are left out.
  Status (*reduce)(int reduction, const ReduceOptions& options, int type, const EngineOperand& x, const EngineOperand* mask,
                   uint64_t axes, const EngineOperand& out, const LaunchContext& launch) noexcept;
  // out[..., i, ...] = x[..., 0, ...] op ... op x[..., i, ...] along `axis`. Integers are computed in 64 bits, which wrap, or exactly
  // and clamped where `op` saturates; floats in float64.
  Status (*scan)(Scan op, const EngineOperand& x, int axis, const EngineOperand& out, const LaunchContext& launch) noexcept;
  // The first elements of each line along `axis` in stable order, and their indices (int64); either may be null. The outputs have
  // the shape of x, but along `axis` they may be shorter.
  Status (*sort)(const EngineOperand& x, const EngineOperand* values, const EngineOperand* indices, int axis, bool descending,
                 const LaunchContext& launch) noexcept;
  // To x.dense, which is `out` in C order, from the places of `from` that index arrays name; `blocks` own their memory. `bad` gets the
  // first index that is out of range; null: there is none. x may be changed.
  Status (*gather)(Indexed& x, const EngineOperand& from, const EngineOperand& out, Block* const* blocks, BadIndex* bad,
                   const LaunchContext& launch) noexcept;
  // From x.dense, of any strides, which `from` owns, to the places of `out`. If an index is repeated, the last value in C order is
  // stored; with `op` >= 0, of two operands of dtype `type`, each value is joined with what is there, in their order. `bad` as in
  // gather; null: also, positions name different elements. Nothing is written when an index is out of range.
  Status (*scatter)(Indexed& x, int op, int type, const EngineOperand& from, const EngineOperand& out, Block* const* blocks,
                    BadIndex* bad, const LaunchContext& launch) noexcept;
  // Elements of x, n in C order, are set where they have one of `bits` (the two halves of 16 bytes together): one bit each to
  // `words`, mask_tile / 64 for each tile, and how many are set ahead of each tile to `before`, one more than there are tiles.
  // Waits for `count`, all that are set.
  Status (*pack_mask)(const EngineOperand& x, uint64_t bits, int64_t n, const EngineOperand& words, const EngineOperand& before,
                      int64_t* count, const LaunchContext& launch) noexcept;
  // The indices of what is set, int64 in C order: out[d] along dimension d of a shape of n elements.
  Status (*mask_positions)(const EngineOperand* out, int ndim, const int64_t* shape, int64_t n, const EngineOperand& words,
                           const EngineOperand& before, const LaunchContext& launch) noexcept;
  // The elements of x that are set, in C order; x has n elements in C order, of 1, 2, 4, 8 or 16 bytes.
  Status (*mask_elements)(const EngineOperand& x, int64_t n, const EngineOperand& words, const EngineOperand& before,
                          const EngineOperand& out, const LaunchContext& launch) noexcept;
  int64_t mask_tile;
  // Factorizations of contiguous matrices, see FactorCall; outputs are contiguous too.
  Status (*factor)(const FactorCall& call, const EngineOperand& a, const EngineOperand* out, const EngineOperand* second,
                   const EngineOperand* third, const LaunchContext& launch) noexcept;
  // n values of a distribution to `out`, in C order; the words of value i begin at position + i * words, see random.h.
  Status (*draw)(Distribution distribution, int type, int words, const Draw& how, uint64_t position, int64_t n,
                 const EngineOperand& out, const LaunchContext& launch) noexcept;
  // out[i] = the place of values[i] in `sorted`, before equal elements or after them. All in C order; `out` is int64, the others
  // share a dtype that has an order.
  Status (*search)(const EngineOperand& sorted, const EngineOperand& values, const EngineOperand& out, bool after,
                   const LaunchContext& launch) noexcept;
  // Counts of each number from 0 on among `bins`, or on the CPU the sums of its weights, which are float64 as `sums` then is;
  // those with no place there are left out. All in C order; the others are int64.
  Status (*tally)(const EngineOperand& bins, const EngineOperand* weights, const EngineOperand& sums,
                  const LaunchContext& launch) noexcept;
  // x, of float32, as narrow numbers with a scale for each block, and one for the whole tensor where the format has it. All in C
  // order, and apart; see native/cpu/quantize/quantize.h. Null: the caller composes it of other slots.
  Status (*quantize)(const QuantizeCall& call, const EngineOperand& x, const EngineOperand& values, const EngineOperand& scale,
                     const EngineOperand* tensor_scale, const LaunchContext& launch) noexcept;
  // out = (values - zero) * scales[0] * ..., computed in float32 from the left and converted to the dtype of `out`. All in C order;
  // `zero` (null: none) and the scales, of float32 and at most four together, have a number for each block. Null as above.
  Status (*dequantize)(const EngineOperand& values, const EngineOperand* zero, const EngineOperand* scales, int count,
                       const EngineOperand& out, const LaunchContext& launch) noexcept;
  // Number i to element i of `out`, in C order; see native/ops/random/steps.h. On devices integers become integers, float32 or
  // float64, and real numbers float32 or float64; on the CPU all become all, truncated where they must be.
  Status (*steps)(const Steps& steps, const EngineOperand& out, const LaunchContext& launch) noexcept;
  // Number i of a ramp to element i of `out`, in C order, or to its real part (`part` 0) or imaginary part (1); see
  // native/ops/random/steps.h. On devices to integers of 8 bits and more, float16, bfloat16, float32 and float64; on the CPU to all.
  Status (*ramp)(const Ramp& ramp, int part, const EngineOperand& out, const LaunchContext& launch) noexcept;
  // The integers below n in random order, or the first `count` of them; see Shuffle.
  Status (*shuffle)(const Shuffle& shuffle, const EngineOperand& out, const LaunchContext& launch) noexcept;
};
DLT_API extern const EngineTable cpu_engine;

namespace cpu {
// A number as a tensor of no dimensions, or the tensor of an operand.
class View {
 public:
  explicit View(const EngineOperand& x)
      : number_{const_cast<unsigned char*>(x.value), {kDLCPU, 0}, 0, {}, &none_, &none_, 0}, tensor_(x.tensor) {
    if (tensor_ == nullptr) number_.dtype = type_table[x.type].dtype;
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  const DLTensor& operator*() const { return tensor_ ? *tensor_ : number_; }

 private:
  int64_t none_ = 0;
  DLTensor number_;
  const DLTensor* tensor_;
};

Status element(const ElementCall& call, const EngineOperand* in, int count, const EngineOperand& out,
               const LaunchContext& launch) noexcept;
Status real(Real form, double number, const EngineOperand& x, const EngineOperand* c, const EngineOperand& out,
            const LaunchContext& launch) noexcept;
Status cast(const EngineOperand& x, const EngineOperand& out, const CastOptions& options, const LaunchContext& launch) noexcept;
Status choose(const EngineOperand& condition, const EngineOperand& a, const EngineOperand& b, const EngineOperand& out,
              const LaunchContext& launch) noexcept;
Status fill(const void* element, const EngineOperand& out, const LaunchContext& launch) noexcept;
Status gemm(const EngineOperand& a, const EngineOperand& b, const EngineOperand& c, const Scalar& alpha, const Scalar& beta,
            const LaunchContext& launch) noexcept;
Status reduce(int reduction, const ReduceOptions& options, int type, const EngineOperand& x, const EngineOperand* mask,
              uint64_t axes, const EngineOperand& out, const LaunchContext& launch) noexcept;
Status gather(Indexed& x, const EngineOperand& from, const EngineOperand& out, Block* const* blocks, BadIndex* bad,
              const LaunchContext& launch) noexcept;
Status scatter(Indexed& x, int op, int type, const EngineOperand& from, const EngineOperand& out, Block* const* blocks,
               BadIndex* bad, const LaunchContext& launch) noexcept;
Status pack_mask(const EngineOperand& x, uint64_t bits, int64_t n, const EngineOperand& words, const EngineOperand& before,
                 int64_t* count, const LaunchContext& launch) noexcept;
Status mask_positions(const EngineOperand* out, int ndim, const int64_t* shape, int64_t n, const EngineOperand& words,
                      const EngineOperand& before, const LaunchContext& launch) noexcept;
Status mask_elements(const EngineOperand& x, int64_t n, const EngineOperand& words, const EngineOperand& before,
                     const EngineOperand& out, const LaunchContext& launch) noexcept;
Status factor(const FactorCall& call, const EngineOperand& a, const EngineOperand* out, const EngineOperand* second,
              const EngineOperand* third, const LaunchContext& launch) noexcept;
}  // namespace cpu

}  // namespace dlt
