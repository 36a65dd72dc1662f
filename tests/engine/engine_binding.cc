// SPDX-License-Identifier: Apache-2.0
// The engine for ctypes: C names for what engine.h, copy.h, gemm.h, layout.h and scalar.h declare.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "native/cpu/copy/copy.h"
#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/linalg/gemm.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/cpu/elementwise/op_numbers.h"
#include "native/cpu/elementwise/tiling.h"
#include "native/layout/layout.h"
#include "native/ops/elementary/numbers.h"

#define EXPORT extern "C" __attribute__((visibility("default")))
using namespace dlt;

// Functions of ops/elementary, one number at a time, as kernels of CUDA compute them.
template <class F>
static int numbers_of(int op, F* out, const F* a, const F* b, int64_t n) {
  switch (op) {
#define DLT_VALUE_1(name) numbers::name(a[i])
#define DLT_VALUE_2(name) numbers::name(a[i], b[i])
#define DLT_CASE(name, operands)                                         \
  case op_##name:                                                        \
    for (int64_t i = 0; i < n; ++i) out[i] = DLT_VALUE_##operands(name); \
    return 0;
    DLT_ELEMENTARY_OPS(DLT_CASE)
#undef DLT_CASE
    default: return 1;
  }
}
EXPORT int engine_numbers(int op, int is_double, void* out, const void* a, const void* b, int64_t n) {
  if (is_double)
    return numbers_of(op, static_cast<double*>(out), static_cast<const double*>(a), static_cast<const double*>(b), n);
  return numbers_of(op, static_cast<float*>(out), static_cast<const float*>(a), static_cast<const float*>(b), n);
}

EXPORT int engine_op_count() { return op_table_size; }
EXPORT const OpRow* engine_op(int op) { return &op_table[op]; }
EXPORT int engine_type_count() { return type_count; }
EXPORT int engine_computed_types() { return computed_types; }
EXPORT const TypeRow* engine_type(int type) { return &type_table[type]; }
EXPORT int engine_find_op(const char* name) { return find_op(name, nullptr); }
EXPORT int engine_promote(int a, int b) { return promote(a, b); }
EXPORT int engine_compute_type(int op, int type) { return compute_type(op, type); }
EXPORT int engine_result_type(int op, int type) { return result_type(op, type); }
EXPORT int engine_run(int op, unsigned flags, int type, const DLTensor* const* in, const DLTensor* out, unsigned padded) {
  return int(run(op, flags, type, in, *out, padded).fault);
}
EXPORT int engine_run_real(int op, double scalar, const DLTensor* a, const DLTensor* c, const DLTensor* out) {
  return int(run_real(Real(op), scalar, *a, c, *out).fault);
}
EXPORT int engine_cast(const DLTensor* out, const DLTensor* a, int nearest, int saturate, int scaled, double scale,
                       double offset, unsigned padded) {
  CastOptions options;
  options.rounding = nearest ? Rounding::nearest : Rounding::truncate;
  options.saturate = saturate != 0;
  options.scaled = scaled != 0;
  options.scale = scale;
  options.offset = offset;
  return int(cast(*out, *a, options, padded).fault);
}
EXPORT int engine_where(const DLTensor* condition, const DLTensor* a, const DLTensor* b, const DLTensor* out) {
  return int(where(*condition, *a, *b, *out).fault);
}
EXPORT int engine_copy(const DLTensor* dst, const DLTensor* src, int padded) { return copy(*dst, *src, padded != 0); }
EXPORT void engine_fill(const DLTensor* dst, const void* element, int padded) { fill(*dst, element, padded != 0); }
EXPORT int engine_gemm(const DLTensor* c, const DLTensor* a, const DLTensor* b, double alpha, double beta) {
  return int(gemm(*c, *a, *b, {Kind::real, 0, 0, alpha, 0}, {Kind::real, 0, 0, beta, 0}).fault);
}
EXPORT int engine_set_blas(const char* path) { return set_blas(path); }
EXPORT int engine_set_level(const char* name) { return set_cpu_level(name); }
EXPORT int engine_supports(const char* name) { return cpu_supports(name); }
EXPORT const char* const* engine_levels() { return cpu_levels(); }
EXPORT void engine_set_threads(int n) { set_num_threads(n); }
EXPORT int engine_has_loop(int op, int type) { return find_loop(op, type) != nullptr; }
EXPORT int engine_load(const void* base, int64_t index, const DLTensor* like, int padded, Scalar* out) {
  return load_scalar(base, index, like->dtype, padded != 0, out);
}
EXPORT int engine_store(void* base, int64_t index, const DLTensor* like, int padded, const Scalar* value, int nearest,
                        int saturate) {
  return store_scalar(base, index, like->dtype, padded != 0, *value, nearest ? Rounding::nearest : Rounding::truncate,
                      saturate != 0);
}
EXPORT int engine_compare(const Scalar* a, const Scalar* b) { return compare_scalars(*a, *b); }
EXPORT void engine_exact_comparison(int op, int type, const Scalar* s, ExactComparison* out) {
  *out = exact_comparison(op, type, *s, 0);
}
EXPORT int engine_overlap(const DLTensor* a, const DLTensor* b) { return int(overlap(*a, *b)); }
EXPORT int engine_coalesce(int ndim, int64_t* shape, int operands, int64_t* const* strides) {
  return coalesce(ndim, shape, operands, strides);
}
EXPORT int engine_contiguous(int ndim, const int64_t* shape, const int64_t* strides) {
  return is_contiguous(ndim, shape, strides);
}
EXPORT int engine_repeats(int ndim, const int64_t* shape, const int64_t* strides) {
  return repeats_elements(ndim, shape, strides);
}
EXPORT int engine_broadcast(int count, const int* ndims, const int64_t* const* shapes, int leading, int64_t* out) {
  return broadcast_shapes(count, ndims, shapes, leading ? Align::leading : Align::trailing, out);
}
// A direct call of a loop, as the fast path of a caller makes it.
EXPORT int engine_loop(int op, int type, void* out, const void* a, const void* b, const void* c, int64_t n, unsigned scalars) {
  const loop_t loop = find_loop(op, type);
  if (loop != nullptr) loop(out, a, b, c, n, scalars);
  return loop != nullptr;
}
EXPORT void engine_choose_tiling(const TilingProblem* problem, Tiling* out) { *out = choose_tiling(*problem); }
