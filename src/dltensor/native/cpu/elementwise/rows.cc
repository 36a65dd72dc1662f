// SPDX-License-Identifier: Apache-2.0
#include "native/cpu/elementwise/rows.h"

#include <string.h>

#include "native/layout/layout.h"

namespace dlt {
namespace {

constexpr int most_dims = 4;
constexpr int64_t most_bytes = 64 << 10;          // of the output
constexpr int64_t many_rows = 8, short_row = 16;  // more rows shorter than this are faster through a buffer

// Returns whether the elements lie side by side, in any order of the dimensions.
bool is_dense(const DLTensor& t) {
  int64_t step = 1;
  unsigned left = (1u << t.ndim) - 1;
  for (int d = t.ndim - 1; d >= 0; --d) left &= ~(unsigned(t.shape[d] == 1) << d);
  for (bool found = true; found && left != 0;) {
    found = false;
    for (int d = t.ndim - 1; d >= 0; --d)
      if ((left >> d & 1) != 0 && t.strides[d] == step) {
        step *= t.shape[d];
        left &= ~(1u << d);
        found = true;
      }
  }
  return left == 0;
}
bool has_layout(const DLTensor& t, const DLTensor& other) {
  if (t.ndim != other.ndim) return false;
  for (int d = 0; d < t.ndim; ++d)
    if (t.shape[d] != other.shape[d] || t.strides[d] != other.strides[d]) return false;
  return true;
}

}  // namespace

bool run_rows(loop_t loop, int count, const DLTensor* const* in, const DLTensor& out, int64_t in_width,
              int64_t out_width) noexcept {
  if (out.ndim > most_dims) return false;
  const int64_t size = numel(out.ndim, out.shape);
  if (size == 0 || size > most_bytes / out_width) return false;
  if (!is_contiguous(out.ndim, out.shape, out.strides)) {
    // One row, if the operands lie as the output does.
    for (int k = 0; k < count; ++k)
      if (!has_layout(*in[k], out) || overlap(*in[k], out) == Overlap::some) return false;
    if (!is_dense(out)) return false;
    const void* const data[3] = {in[0]->data, count > 1 ? in[1]->data : nullptr, count > 2 ? in[2]->data : nullptr};
    loop(out.data, data[0], data[1], data[2], size, 0);
    return true;
  }
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
