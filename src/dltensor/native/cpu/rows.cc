// SPDX-License-Identifier: Apache-2.0
#include "native/cpu/rows.h"

namespace dlt {
namespace {

constexpr int most_dims = 4;
constexpr int64_t most_bytes = 64 << 10;                 // of the output
constexpr int64_t many_rows = 8, short_row = 16;         // so many shorter ones are better spread out in a buffer

struct Rows {
  int dims = 0;  // those of more than one element, outermost first
  int64_t shape[most_dims];
  int64_t steps[3][most_dims];  // of the operands, in elements; 0 along what is repeated
};

// The output's dimensions; false when it is not in C order or not small.
bool read_output(const DLTensor& out, int64_t width, int* kept, Rows* rows, int64_t* size) {
  *size = 1;
  if (out.ndim > most_dims) return false;
  for (int d = out.ndim - 1; d >= 0; --d) {
    if (out.shape[d] != 1 && out.strides[d] != *size) return false;
    *size *= out.shape[d];
    if (*size > most_bytes / width) return false;
  }
  for (int d = 0; d < out.ndim; ++d) {
    if (out.shape[d] == 1) continue;
    rows->shape[rows->dims] = out.shape[d];
    kept[rows->dims++] = d;
  }
  return *size > 0 && rows->dims > 0;
}

// How an operand is walked along them; false when rows run backwards or in steps, or when it is in the output's way.
bool read_operand(const DLTensor& t, const DLTensor& out, int64_t width, int64_t out_bytes, const int* kept, int number,
                  Rows* rows) {
  const int shift = out.ndim - t.ndim;
  if (shift < 0) return false;
  for (int d = 0; d < t.ndim; ++d)
    if (t.shape[d] != 1 && t.shape[d] != out.shape[shift + d]) return false;
  int64_t reach = 1;
  bool same = true;
  for (int i = 0; i < rows->dims; ++i) {
    const int d = kept[i] - shift;
    const int64_t step = d < 0 || t.shape[d] == 1 ? 0 : t.strides[d];
    if (step < 0) return false;
    rows->steps[number][i] = step;
    reach += (rows->shape[i] - 1) * step;
    same &= step == out.strides[kept[i]];
  }
  if (rows->steps[number][rows->dims - 1] > 1) return false;
  const char *data = static_cast<const char*>(t.data), *target = static_cast<const char*>(out.data);
  if (data == target && same && reach * width == out_bytes) return true;
  return data + reach * width <= target || target + out_bytes <= data;
}

}  // namespace

bool run_rows(loop_t loop, int count, const DLTensor* const* in, const DLTensor& out, int64_t in_width,
              int64_t out_width) noexcept {
  Rows rows;
  int kept[most_dims];
  int64_t size;
  if (!read_output(out, out_width, kept, &rows, &size)) return false;
  for (int k = 0; k < count; ++k)
    if (!read_operand(*in[k], out, in_width, size * out_width, kept, k, &rows)) return false;

  // Dimensions along which every operand runs on belong to the row.
  const int last = rows.dims - 1;
  int outer = last;
  int64_t n = rows.shape[last];
  for (bool joins = true; joins && outer > 0;) {
    for (int k = 0; k < count; ++k) joins &= rows.steps[k][outer - 1] == rows.steps[k][last] * n;
    if (joins) n *= rows.shape[--outer];
  }
  const int64_t calls = size / n;
  if (calls > many_rows && n < short_row) return false;

  const char* from[3] = {};
  unsigned scalars = 0;
  for (int k = 0; k < count; ++k) {
    from[k] = static_cast<const char*>(in[k]->data);
    scalars |= unsigned(rows.steps[k][last] == 0) << k;
  }
  char* to = static_cast<char*>(out.data);
  int64_t at[most_dims] = {};
  for (int64_t left = calls;;) {
    loop(to, from[0], from[1], from[2], n, scalars);
    if (--left == 0) return true;
    to += n * out_width;
    for (int d = outer - 1;; --d) {
      const bool on = ++at[d] < rows.shape[d];
      for (int k = 0; k < count; ++k) from[k] += rows.steps[k][d] * (on ? 1 : 1 - rows.shape[d]) * in_width;
      if (on) break;
      at[d] = 0;
    }
  }
}

}  // namespace dlt
