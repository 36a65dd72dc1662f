// SPDX-License-Identifier: Apache-2.0
// Running sums of columns, a row of them at a time.
#include "native/cpu/scan/columns.h"

#include <string.h>

#include "native/cpu/copy/kernels.h"
#include "native/cpu/runtime/dtype.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/cpu/scan/kernels.h"
#include "native/layout/layout.h"

namespace dlt {
namespace {

constexpr int64_t share_from = 1 << 17, chunk = 1 << 13;  // elements
constexpr int64_t narrowest = 8, strip = 128;  // columns; a strip of long ones has the elements of several cache lines

// Planes of columns: the elements of one lie `steps` apart, those of neighbouring ones are contiguous. Steps in bytes.
struct Columns {
  const char* in;
  char* out;
  int64_t n, columns, planes;
  int64_t in_step, out_step, in_plane, out_plane;
};

bool find_columns(const DLTensor& x, int axis, const DLTensor& out, Columns* found) {
  int64_t shape[max_dims], in[max_dims], to[max_dims];
  int dims = 0;
  for (int d = 0; d < x.ndim; ++d)
    if (d != axis) shape[dims] = x.shape[d], in[dims] = x.strides[d], to[dims++] = out.strides[d];
  int64_t* const strides[] = {in, to};
  dims = coalesce(dims, shape, 2, strides);
  if (dims == 0 || dims > 2 || in[dims - 1] != 1 || to[dims - 1] != 1 || shape[dims - 1] < narrowest) return false;
  const int64_t width = item_bytes(x.dtype), out_width = item_bytes(out.dtype);
  found->in = static_cast<const char*>(x.data);
  found->out = static_cast<char*>(out.data);
  found->n = x.shape[axis];
  found->columns = shape[dims - 1];
  found->planes = dims == 2 ? shape[0] : 1;
  found->in_step = byte_stride(x.strides[axis], width);
  found->out_step = byte_stride(out.strides[axis], out_width);
  found->in_plane = dims == 2 ? byte_stride(in[0], width) : 0;
  found->out_plane = dims == 2 ? byte_stride(to[0], out_width) : 0;
  return true;
}

// Calls of(in, out, count) for parts of at most `most` columns, shared among threads.
template <class Of>
void each_part(const Columns& all, int64_t width, int64_t out_width, int64_t most, const Of& of) {
  const int64_t parts = ceil_divide(all.columns, most), each = ceil_divide(ceil_divide(all.columns, parts), 16) * 16;
  const auto task = [&](int64_t number) {
    const int64_t plane = number / parts, first = number % parts * each, count = smaller(each, all.columns - first);
    if (count > 0)
      of(all.in + plane * all.in_plane + first * width, all.out + plane * all.out_plane + first * out_width, count);
  };
  if (all.n * all.columns * all.planes >= share_from) return parallel(all.planes * parts, task);
  for (int64_t k = 0; k < all.planes * parts; ++k) task(k);
}

}  // namespace

bool sum_float_columns(const DLTensor& x, int axis, const DLTensor& out) noexcept {
  const int type = find_type(x.dtype);
  Columns all;
  if (!find_columns(x, axis, out, &all)) return false;
  const int64_t width = type_table[type].bytes;
  each_part(all, width, width, larger(chunk / all.n, strip), [&](const char* in, char* to, int64_t count) {
    kernels().scan->column_sums[type](to, in, count, all.n, all.out_step, all.in_step);
  });
  return true;
}

bool sum_integer_columns(const DLTensor& x, int axis, const DLTensor& out) noexcept {
  const int from = find_type(x.dtype), to = find_type(out.dtype);
  const Kind kind = type_table[from].kind;
  if ((to != type_int64 && to != type_uint64) || kind == Kind::real || kind == Kind::complex) return false;
  const bool converts = type_table[from].bytes != 8;
  const loop_t convert = converts ? kernels().copy->casts[0][from][to] : nullptr;
  Columns all;
  if ((converts && convert == nullptr) || !find_columns(x, axis, out, &all)) return false;
  each_part(all, type_table[from].bytes, 8, larger(chunk / all.n, strip), [&](const char* in, char* sums, int64_t count) {
    for (int64_t i = 0; i < all.n; ++i, in += all.in_step, sums += all.out_step) {
      if (converts) convert(sums, in, nullptr, nullptr, count, 0);
      else if (i == 0 && sums != in) memcpy(sums, in, size_t(count * 8));
      if (i > 0) kernels().scan->add_integers(sums, sums - all.out_step, converts ? sums : in, count);
    }
  });
  return true;
}

}  // namespace dlt
