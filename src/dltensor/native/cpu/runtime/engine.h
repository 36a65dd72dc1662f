// SPDX-License-Identifier: Apache-2.0
// The interface of the CPU engine: the tables that Python reads, type promotion, and running an operation on CPU
// tensors.
//
// Preconditions, checked by the caller: shapes broadcast, devices match, `out` is writable and has no repeated element.
// For few contiguous elements of one dtype run() is not needed: call find_loop() and the loop.
#pragma once
#include <stdint.h>

#include "dltensor/dlpack.h"
#include "native/cpu/runtime/dtype.h"
#include "native/cpu/runtime/kernels.h"
#include "native/cpu/copy/scalar.h"
#include "native/export.h"
#include "native/status.h"

namespace dlt {

enum Real : int;  // in elementwise/op_numbers.h
struct BlockRef;

// The dtype of an op's result: that of its operands, bool, or the real dtype of a complex one.
enum class ResultDType : int32_t { same, mask, part };

struct OpRow {
  const char* name;
  int operands;
  unsigned kinds;      // DLT_BOOLEANS | ...
  ResultDType result;
  const char* result_name;  // as the row spells it
  const char* symbol;
  const char* text;
  const char* doc;
  int saturating;      // the number of its saturating variant, or -1
};
struct AliasRow {
  const char* name;
  int op;
  bool swapped;
};
DLT_API extern const OpRow op_table[];
DLT_API extern const int op_table_size;
DLT_API extern const AliasRow alias_table[];
DLT_API extern const int alias_count;

// By name or alias; -1 when there is none. `swapped` (may be null): the alias swaps the two operands.
DLT_API int find_op(const char* name, bool* swapped);

// The common dtype of two by the array API's promotion table; across kinds the dtype of the higher kind wins. -1: none
// (int64 with uint64, storage-only dtypes).
DLT_API int promote(int a, int b);

// The dtype in which elements of two dtypes with arithmetic are compared: it holds the values of both. -1: none does, and
// run() compares by value.
DLT_API int comparison_type(int a, int b);

// The dtype an op computes in when its operands share `type`: the same, or float32 for integers and bools in a
// float function; -1 when the op does not accept them. Below it: the dtype of the result.
DLT_API int compute_type(int op, int type);
inline int result_type(int op, int type) noexcept {
  if (op < 0 || op >= op_table_size || type < 0 || type >= type_count) return -1;
  switch (op_table[op].result) {
    case ResultDType::mask: return type_bool;
    case ResultDType::part: return type == type_complex64 ? type_float32 : type == type_complex128 ? type_float64 : type;
    case ResultDType::same: break;
  }
  return type;
}

// The loop over contiguous runs of one dtype, for the level in use; null where there is none (most of float16 and
// bfloat16 go through run()). Look it up at each call: it costs two loads.
DLT_API loop_t find_loop(int op, int type) noexcept;
DLT_API loop_t find_saturating_loop(int op, int type) noexcept;

// Faults of the functions below: TypeError, ValueError and MemoryError. Their texts do not name the function.
Status undefined_for(int type, unsigned flags = 0) noexcept;
Status does_not_broadcast() noexcept;
Status no_temporary() noexcept;
// Memory of one call, uninitialized.
Status allocate(size_t bytes, BlockRef* memory) noexcept;

// Flags of run().
inline constexpr unsigned run_saturate = 1;

// out[...] = op(in[0], in[1], in[2]), computed in dtype number `type`, broadcast to the shape of `out`. Operands of
// another dtype are converted; `out` may have any dtype, and gets what a cast would give. `padded` has bit k for
// operand k and bit 3 for `out`. Overlap is as if through a temporary. `type` -1, of comparisons only: by value.
DLT_API Status run(int op, unsigned flags, int type, const DLTensor* const* in, const DLTensor& out, unsigned padded) noexcept;

// Saturating op of an integer tensor with a real number that its dtype does not hold, exactly rounded. For real_fma,
// scalar * a + c.
DLT_API Status run_real(Real op, double scalar, const DLTensor& a, const DLTensor* c, const DLTensor& out) noexcept;

// out = a * scale + offset, cast to out's dtype in the same pass; or only cast, with `scaled` false.
struct CastOptions {
  Rounding rounding = Rounding::truncate;
  bool saturate = false;
  bool scaled = false;
  double scale = 1, offset = 0;
};
DLT_API Status cast(const DLTensor& out, const DLTensor& a, const CastOptions& options, unsigned padded) noexcept;

// out = condition ? a : b, by bytes: a, b and out share a dtype.
DLT_API Status where(const DLTensor& condition, const DLTensor& a, const DLTensor& b, const DLTensor& out) noexcept;

// A plan to compare a tensor with any scalar by exact value. For `always` >= 0 the answer is that for
// every element; else `op` with `value`, which the dtype holds, gives it. `op` is one of the six comparisons. `rest` is the
// sign of what a larger number than any scalar, or one with more digits, has beyond `scalar`. Beside floats, a float within
// their range counts as the nearest element.
struct ExactComparison {
  int always;
  int op;
  Scalar value;
};
DLT_API int mirrored_comparison(int op) noexcept;  // the one that gives the same of swapped operands; others stay
DLT_API ExactComparison exact_comparison(int op, int type, const Scalar& scalar, int rest);

}  // namespace dlt
