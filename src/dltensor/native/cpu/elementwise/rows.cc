// SPDX-License-Identifier: Apache-2.0
#include "native/cpu/elementwise/rows.h"

#include <string.h>

#include "native/layout/layout.h"

namespace dlt {
namespace {

constexpr int most_dims = 4;
constexpr int64_t most_bytes = 64 << 10;          // of the output
constexpr int64_t many_rows = 8, short_row = 16;  // more rows shorter than this are faster through a buffer

}  // namespace

bool run_rows(loop_t loop, int count, const DLTensor* const* in, const DLTensor& out, int64_t in_width,
              int64_t out_width) noexcept {
  if (out.ndim > most_dims || !is_contiguous(out.ndim, out.shape, out.strides)) return false;
  const int64_t size = numel(out.ndim, out.shape);
  if (size == 0 || size > most_bytes / out_width) return false;
  int64_t shape[most_dims], steps[3][most_dims];  // steps in elements; 0 along what is repeated
  for (int k = 0; k < count; ++k) {
    const DLTensor& t = *in[k];
    if (!broadcast_strides(t.ndim, t.shape, t.strides, out.ndim, out.shape, Align::trailing, steps[k])) return false;
    if (overlap(t, out) == Overlap::some) return false;
  }
  if (out.ndim > 0) memcpy(shape, out.shape, size_t(out.ndim) * sizeof(int64_t));
  int64_t* const strides[] = {steps[0], steps[1], steps[2]};
  const int last = coalesce(out.ndim, shape, count, strides) - 1;
  if (last < 0) return false;
  const int64_t n = shape[last], calls = size / n;
  if (calls > many_rows && n < short_row) return false;

  const char* from[3] = {};
  unsigned scalars = 0;
  for (int k = 0; k < count; ++k) {
    if (steps[k][last] != 0 && steps[k][last] != 1) return false;
    from[k] = static_cast<const char*>(in[k]->data);
    scalars |= unsigned(steps[k][last] == 0) << k;
  }
  char* to = static_cast<char*>(out.data);
  int64_t at[most_dims] = {};
  for (int64_t left = calls;;) {
    loop(to, from[0], from[1], from[2], n, scalars);
    if (--left == 0) return true;
    to += n * out_width;
    for (int d = last - 1;; --d) {
      const bool on = ++at[d] < shape[d];
      for (int k = 0; k < count; ++k) from[k] += steps[k][d] * (on ? 1 : 1 - shape[d]) * in_width;
      if (on) break;
      at[d] = 0;
    }
  }
}

}  // namespace dlt
