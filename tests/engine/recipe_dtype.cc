// SPDX-License-Identifier: Apache-2.0
// Row, single elements and casts of any dtype by its name, over the loops that a new dtype needs: what
// test_recipe_dtype.py loads.
#include "native/cpu/copy/cast_pipeline.h"
#include "native/cpu/copy/kernels/convert.h"
#include "native/cpu/copy/scalar.h"

namespace dlt {
namespace DLT_LEVEL {
void fill_small_casts(CopyKernels* kernels);
}

// The casts of storage-only dtypes, and of those between computed dtypes the two that the test's conversions pass through.
static const CopyKernels& table() {
  static CopyKernels made;
  static const bool filled = [] {
    DLT_LEVEL::fill_small_casts(&made);
    DLT_LEVEL::fill_cast<double, int64_t>(&made, type_int64, type_float64);
    DLT_LEVEL::fill_cast<float, complex64>(&made, type_complex64, type_float32);
    return true;
  }();
  return (void)filled, made;
}
}  // namespace dlt

extern "C" {

int recipe_type(const char* name) { return dlt::find_type_by_name(name); }

// Whether dtype and row name each other; format, kind and size of an element go to the other arguments.
int recipe_row(int type, DLDataType* dtype, const char** format, int* kind, int* bytes) {
  const dlt::TypeRow& row = dlt::type_table[type];
  *dtype = row.dtype;
  *format = row.format;
  *kind = static_cast<int>(row.kind);
  *bytes = row.bytes;
  return dlt::find_type(row.dtype) == type;
}

// n <= 64 elements through the loops that the engine would choose; returns how many loops, 0 if there is no way.
int recipe_cast(int from, int to, const void* in, void* out, int64_t n) {
  dlt::CastPipeline pipeline;
  if (n > 64 || !dlt::find_pipeline(dlt::table(), from, to, 0, &pipeline)) return 0;
  alignas(16) char between[2][64 * 16];
  for (int i = 0; i < pipeline.count; ++i) {
    void* next = i == pipeline.count - 1 ? out : between[i % 2];
    pipeline.loops[i](next, in, nullptr, nullptr, n, 0);
    in = next;
  }
  return pipeline.count;
}

// One element as item() reads it, and a number stored in it: real and imaginary part.
int recipe_load(int type, const void* in, int64_t index, double* re, double* im) {
  dlt::Scalar value{};
  if (!dlt::load_scalar(in, index, dlt::type_table[type].dtype, false, &value)) return 0;
  *re = value.re;
  *im = value.im;
  return 1;
}
int recipe_store(int type, void* out, int64_t index, double re, double im) {
  dlt::Scalar value{};
  value.kind = dlt::Kind::complex;
  value.re = re;
  value.im = im;
  return dlt::store_scalar(out, index, dlt::type_table[type].dtype, false, value, dlt::Rounding::truncate, false);
}
}
