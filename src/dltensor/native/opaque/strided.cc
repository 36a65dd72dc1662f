// SPDX-License-Identifier: Apache-2.0
// Copying elements: dimensions are ordered by the target's strides and joined where both sides allow it, the
// innermost loop then copies a row at once or element by element.
#include "native/opaque/strided.h"

#include <string.h>

#include <algorithm>
#include <utility>

#include "native/layout/layout.h"

namespace dlt::opaque {
namespace {

template <size_t width>
void copy_each(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t count) noexcept {
  for (int64_t i = 0; i < count; ++i, from += from_step, to += to_step) memcpy(to, from, width);
}

void copy_row(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t count, size_t width) noexcept {
  auto whole = static_cast<int64_t>(width);
  if (from_step == whole && to_step == whole) {
    memcpy(to, from, width * static_cast<size_t>(count));
    return;
  }
  switch (width) {
    case 1: return copy_each<1>(from, from_step, to, to_step, count);
    case 2: return copy_each<2>(from, from_step, to, to_step, count);
    case 4: return copy_each<4>(from, from_step, to, to_step, count);
    case 8: return copy_each<8>(from, from_step, to, to_step, count);
    case 16: return copy_each<16>(from, from_step, to, to_step, count);
    default:
      for (int64_t i = 0; i < count; ++i, from += from_step, to += to_step) memcpy(to, from, width);
  }
}

// Bits are counted from the lowest of the first byte. `bit` may be negative: >> rounds down, as it must.
void move_bits(const char* from, int64_t from_bit, char* to, int64_t to_bit, int64_t count) noexcept {
  while (count > 0) {
    auto in = static_cast<int>(from_bit & 7), out = static_cast<int>(to_bit & 7);
    int step = static_cast<int>(std::min<int64_t>(count, std::min(8 - in, 8 - out)));
    auto mask = static_cast<unsigned>((1 << step) - 1);
    unsigned value = (static_cast<uint8_t>(from[from_bit >> 3]) >> in) & mask;
    auto& target = reinterpret_cast<uint8_t&>(to[to_bit >> 3]);
    target = static_cast<uint8_t>((target & ~(mask << out)) | (value << out));
    from_bit += step;
    to_bit += step;
    count -= step;
  }
}

int64_t size_of(int64_t step) noexcept { return step < 0 ? -step : step; }

}  // namespace

StridedCopy::StridedCopy(int32_t ndim, const int64_t* shape, const int64_t* from_strides, const int64_t* to_strides,
                         Element element) noexcept
    : element_(element) {
  int64_t scale = element.whole_bytes() ? element.bits / 8 : element.bits;
  int32_t kept = 0;
  for (int32_t i = 0; i < ndim; ++i) {
    if (shape[i] == 0) empty_ = true;
    if (shape[i] <= 1) continue;
    // Few dimensions: insertion, largest step of the target first, else as they came.
    int64_t to_step = to_strides[i] * scale;
    int32_t at = kept++;
    for (; at > 0 && size_of(to_steps_[at - 1]) < size_of(to_step); --at) {
      shape_[at] = shape_[at - 1];
      from_steps_[at] = from_steps_[at - 1];
      to_steps_[at] = to_steps_[at - 1];
    }
    shape_[at] = shape[i];
    from_steps_[at] = from_strides[i] * scale;
    to_steps_[at] = to_step;
  }
  if (empty_) return;
  int64_t* steps[] = {from_steps_, to_steps_};
  const int joined = coalesce(kept, shape_, 2, steps);
  from_ = to_ = scale;
  if (joined > 0) {
    outer_ = joined - 1;
    count_ = shape_[outer_];
    from_ = from_steps_[outer_];
    to_ = to_steps_[outer_];
  }
}

void StridedCopy::operator()(const void* from, int64_t from_position, void* to, int64_t to_position) const noexcept {
  if (empty_) return;
  auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  if (element_.whole_bytes()) {
    auto width = static_cast<int64_t>(element_.bytes());
    copy_bytes(source + from_position * width, target + to_position * width);
  } else {
    copy_bits(source, from_position * element_.bits, target, to_position * element_.bits);
  }
}

// Calls row(from, to) with the places of each row, from these ones on.
template <class Row>
void StridedCopy::each_row(int64_t from, int64_t to, const Row& row) const noexcept {
  int64_t index[DLT_ARRAY_MAX_NDIM + 2];
  std::fill_n(index, outer_, 0);
  for (;;) {
    row(from, to);
    int32_t axis = outer_ - 1;
    for (;; --axis) {
      if (axis < 0) return;
      from += from_steps_[axis];
      to += to_steps_[axis];
      if (++index[axis] < shape_[axis]) break;
      from -= from_steps_[axis] * shape_[axis];
      to -= to_steps_[axis] * shape_[axis];
      index[axis] = 0;
    }
  }
}

void StridedCopy::copy_bytes(const char* from, char* to) const noexcept {
  const size_t width = element_.bytes();
  each_row(0, 0, [&](int64_t in, int64_t out) { copy_row(from + in, from_, to + out, to_, count_, width); });
}

void StridedCopy::copy_bits(const char* from, int64_t from_bit, char* to, int64_t to_bit) const noexcept {
  each_row(from_bit, to_bit, [&](int64_t in, int64_t out) {
    if (from_ == element_.bits && to_ == element_.bits) return move_bits(from, in, to, out, count_ * element_.bits);
    for (int64_t i = 0; i < count_; ++i) move_bits(from, in + i * from_, to, out + i * to_, element_.bits);
  });
}

void fill_elements(void* to, int64_t count, const void* value, Element element) noexcept {
  if (count == 0) return;
  auto* target = static_cast<char*>(to);
  if (!element.whole_bytes()) {
    for (int64_t i = 0; i < count; ++i) move_bits(static_cast<const char*>(value), 0, target, i * element.bits, element.bits);
    return;
  }
  // The filled part is the source of the next piece, so that it doubles each time.
  size_t width = element.bytes(), all = width * static_cast<size_t>(count), done = width;
  memcpy(target, value, width);
  while (done < all) {
    size_t piece = std::min(done, all - done);
    memcpy(target + done, target, piece);
    done += piece;
  }
}

}  // namespace dlt::opaque
