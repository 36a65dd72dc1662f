// SPDX-License-Identifier: Apache-2.0
// The engine for ctypes: C names for what engine.h, copy.h, gemm.h, layout.h and scalar.h declare.
#include <sys/mman.h>
#include <unistd.h>

#include "native/cpu/copy.h"
#include "native/cpu/engine.h"
#include "native/cpu/features.h"
#include "native/cpu/gemm.h"
#include "native/cpu/thread_pool.h"
#include "native/layout/layout.h"

#define FACE extern "C" __attribute__((visibility("default")))
using namespace dlt;

FACE int face_op_count() { return op_count; }
FACE const OpRow* face_op(int op) { return &op_table[op]; }
FACE int face_type_count() { return type_count; }
FACE int face_computed_types() { return computed_types; }
FACE const TypeRow* face_type(int type) { return &type_table[type]; }
FACE int face_find_op(const char* name) { return find_op(name, nullptr); }
FACE int face_promote(int a, int b) { return promote(a, b); }
FACE int face_compute_type(int op, int type) { return compute_type(op, type); }
FACE int face_result_type(int op, int type) { return result_type(op, type); }
FACE int face_run(int op, unsigned flags, int type, const DLTensor* const* in, const DLTensor* out, unsigned padded) {
  return int(run(op, flags, type, in, *out, padded).fault);
}
FACE int face_run_real(int op, double scalar, const DLTensor* a, const DLTensor* c, const DLTensor* out) {
  return int(run_real(Real(op), scalar, *a, c, *out).fault);
}
FACE int face_cast(const DLTensor* out, const DLTensor* a, int nearest, int saturate, int scaled, double scale, double offset,
                   unsigned padded) {
  CastOptions options;
  options.rounding = nearest ? Rounding::nearest : Rounding::truncate;
  options.saturate = saturate != 0;
  options.scaled = scaled != 0;
  options.scale = scale;
  options.offset = offset;
  return int(cast(*out, *a, options, padded).fault);
}
FACE int face_where(const DLTensor* condition, const DLTensor* a, const DLTensor* b, const DLTensor* out) {
  return int(where(*condition, *a, *b, *out).fault);
}
FACE int face_copy(const DLTensor* dst, const DLTensor* src, int padded) { return copy(*dst, *src, padded != 0); }
FACE void face_fill(const DLTensor* dst, const void* element, int padded) { fill(*dst, element, padded != 0); }
FACE int face_gemm(const DLTensor* c, const DLTensor* a, const DLTensor* b, double alpha, double beta) {
  return int(gemm(*c, *a, *b, {Kind::real, 0, 0, alpha, 0}, {Kind::real, 0, 0, beta, 0}).fault);
}
FACE int face_set_blas(const char* path) { return set_blas(path); }
FACE int face_set_level(const char* name) { return set_cpu_level(name); }
FACE int face_supports(const char* name) { return cpu_supports(name); }
FACE const char* const* face_levels() { return cpu_levels(); }
FACE void face_set_threads(int n) { set_num_threads(n); }
FACE int face_has_loop(int op, int type) { return find_loop(op, type) != nullptr; }
FACE int face_load(const void* base, int64_t index, const DLTensor* like, int padded, Scalar* out) {
  return load_scalar(base, index, like->dtype, padded != 0, out);
}
FACE int face_store(void* base, int64_t index, const DLTensor* like, int padded, const Scalar* value, int nearest,
                    int saturate) {
  return store_scalar(base, index, like->dtype, padded != 0, *value, nearest ? Rounding::nearest : Rounding::truncate,
                      saturate != 0);
}
FACE int face_compare(const Scalar* a, const Scalar* b) { return compare_scalars(*a, *b); }
FACE void face_exact_comparison(int op, int type, const Scalar* s, ExactComparison* out) {
  *out = exact_comparison(op, type, *s);
}
FACE int face_overlap(const DLTensor* a, const DLTensor* b) { return int(overlap(*a, *b)); }
FACE int face_coalesce(int ndim, int64_t* shape, int operands, int64_t* const* strides) {
  return coalesce(ndim, shape, operands, strides);
}
FACE int face_contiguous(int ndim, const int64_t* shape, const int64_t* strides) { return is_contiguous(ndim, shape, strides); }
FACE int face_repeats(int ndim, const int64_t* shape, const int64_t* strides) { return repeats_elements(ndim, shape, strides); }
FACE int face_broadcast(int count, const int* ndims, const int64_t* const* shapes, int leading, int64_t* out) {
  return broadcast_shapes(count, ndims, shapes, leading ? Align::leading : Align::trailing, out);
}
// A direct call of a loop, as the fast path of a caller makes it.
FACE int face_loop(int op, int type, void* out, const void* a, const void* b, const void* c, int64_t n, unsigned scalars) {
  const loop_t loop = find_loop(op, type);
  if (loop != nullptr) loop(out, a, b, c, n, scalars);
  return loop != nullptr;
}
