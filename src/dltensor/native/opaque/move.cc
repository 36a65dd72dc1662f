// SPDX-License-Identifier: Apache-2.0
// move_data: all movements are validated before the first copy, then adjacent ones are merged into few large copies.
#include <string.h>

#include <mutex>
#include <new>
#include <shared_mutex>

#include "dltensor/validate.h"
#include "native/layout/layout.h"
#include "native/opaque/array.h"
#include "native/opaque/strided.h"
#include "native/opaque/transfer.h"

namespace dlt::opaque {
namespace {

using Movement = dlt_data_movement_t;

bool same(DLDataType a, DLDataType b) noexcept { return memcmp(&a, &b, sizeof(a)) == 0; }

DetailedStatus check_arrays(const Array& output, const Array& input, const DLTensor& to, const DLTensor& from) {
  if (output.origin != input.origin)
    return failure("move_data: expected an input of the output's origin '", std::string_view(output.origin->name),
                   "', got one of '", std::string_view(input.origin->name), "'");
  if (!same(to.dtype, from.dtype) || output.element().bits != input.element().bits)
    return failure("move_data: expected an input of the output's dtype ", to.dtype, ", got ", from.dtype,
                   "; nothing is converted here");
  if (to.ndim != from.ndim || to.ndim < 2)
    return failure("move_data: expected two arrays of as many dimensions, at least 2, got ", Dims{to.shape, to.ndim}, " and ",
                   Dims{from.shape, from.ndim});
  for (int32_t i = 1; i + 1 < to.ndim; ++i)
    if (to.shape[i] != from.shape[i])
      return failure("move_data: expected equal dimensions between the first and the last, got ", Dims{to.shape, to.ndim},
                     " for the output and ", Dims{from.shape, from.ndim}, " for the input");
  if (output.readonly()) return failure("move_data: the output is read-only; copy it and move into the copy");
  if (repeats_elements(to.ndim, to.shape, to.strides))
    return failure("move_data: elements of the output share memory (strides ", Dims{to.strides, to.ndim},
                   "); copy it and move into the copy");
  DLT_TRY(can_reach("move_data", to.device));
  return can_reach("move_data", from.device);
}

bool fits(uintptr_t start, uintptr_t length, uintptr_t size) noexcept { return length <= size && start <= size - length; }

DetailedStatus check_movements(const DLTensor& to, const DLTensor& from, const Movement* movements, uintptr_t count) {
  auto samples_in = static_cast<uintptr_t>(from.shape[0]), samples_out = static_cast<uintptr_t>(to.shape[0]);
  auto properties_in = static_cast<uintptr_t>(from.shape[from.ndim - 1]);
  auto properties_out = static_cast<uintptr_t>(to.shape[to.ndim - 1]);
  for (uintptr_t i = 0; i < count; ++i) {
    const Movement& m = movements[i];
    if (m.sample_in < samples_in && m.sample_out < samples_out &&
        fits(m.properties_start_in, m.properties_length, properties_in) &&
        fits(m.properties_start_out, m.properties_length, properties_out)) [[likely]]
      continue;
    if (m.sample_in >= samples_in)
      return failure("move_data: movement ", i, ": expected sample_in below ", samples_in, ", got ", m.sample_in);
    if (m.sample_out >= samples_out)
      return failure("move_data: movement ", i, ": expected sample_out below ", samples_out, ", got ", m.sample_out);
    bool into = fits(m.properties_start_in, m.properties_length, properties_in);
    return failure("move_data: movement ", i, ": expected properties within the ", into ? properties_out : properties_in,
                   into ? " of the output, got " : " of the input, got ", m.properties_length, " from ",
                   into ? m.properties_start_out : m.properties_start_in);
  }
  return {};
}

// True if a movement is the one before it, one sample further on both sides.
bool follows(const Movement& next, const Movement& last) noexcept {
  return next.sample_in == last.sample_in + 1 && next.sample_out == last.sample_out + 1 &&
         next.properties_start_in == last.properties_start_in && next.properties_start_out == last.properties_start_out &&
         next.properties_length == last.properties_length;
}

// Joined movements run line by line, not sample by sample. That gives the same result only if all lines of a group write
// to one sample: lines of different samples could overwrite each other in another order.
bool write_one_sample(const Movement* movements, uintptr_t count) noexcept {
  for (uintptr_t i = 1; i < count; ++i)
    if (movements[i].sample_out != movements[0].sample_out) return false;
  return true;
}

// Movements mostly come sample by sample, each with the same few lines: `period` lines, repeated `times` times.
struct Group {
  uintptr_t period, times;
};
Group group_at(const Movement* movements, uintptr_t count) noexcept {
  constexpr uintptr_t longest_period = 8;
  for (uintptr_t period = 1; period <= longest_period && 2 * period <= count; ++period) {
    if (!follows(movements[period], movements[0])) continue;
    if (!write_one_sample(movements, period)) continue;
    uintptr_t end = period;
    while (end < count && follows(movements[end], movements[end - period])) ++end;
    if (end >= 2 * period) return {period, end / period};
  }
  return {1, 1};
}

// Plans copies of `times` lines of one length. The last four plans are cached: patterns repeat.
class Copies {
 public:
  Copies(const DLTensor& to, const DLTensor& from, Element element) noexcept : to_(to), from_(from), element_(element) {}

  void operator()(const Movement& first, int64_t times) noexcept {
    const StridedCopy& copy = copy_for(static_cast<int64_t>(first.properties_length), times);
    int32_t last = to_.ndim - 1;
    auto position = [last](const DLTensor& view, uintptr_t sample, uintptr_t property) {
      return static_cast<int64_t>(sample) * view.strides[0] + static_cast<int64_t>(property) * view.strides[last];
    };
    copy(from_.data, position(from_, first.sample_in, first.properties_start_in), to_.data,
         position(to_, first.sample_out, first.properties_start_out));
  }

 private:
  struct Plan {
    int64_t length = -1, times = -1;
    alignas(StridedCopy) unsigned char storage[sizeof(StridedCopy)];
  };

  const StridedCopy& copy_for(int64_t length, int64_t times) noexcept {
    for (Plan& plan : plans_)
      if (plan.length == length && plan.times == times) return *reinterpret_cast<StridedCopy*>(plan.storage);
    Plan& plan = plans_[next_++ % 4];
    plan.length = length;
    plan.times = times;
    int64_t shape[DLT_ARRAY_MAX_NDIM];
    memcpy(shape, to_.shape, static_cast<size_t>(to_.ndim) * sizeof(int64_t));
    shape[0] = times;
    shape[to_.ndim - 1] = length;
    return *new (plan.storage) StridedCopy(to_.ndim, shape, from_.strides, to_.strides, element_);
  }

  const DLTensor& to_;
  const DLTensor& from_;
  Element element_;
  Plan plans_[4];
  unsigned next_ = 0;
};

bool touch(const DLTensor& a, const DLTensor& b, const Array& of) noexcept {
  if (of.element().whole_bytes()) return overlap(a, b) != Overlap::none;
  // Compare the ranges of bytes, as packed elements share bytes.
  dlt_extent x, y;
  if (dlt_measure_tensor(&a, of.flags, &x) != DLT_RULE_NONE || dlt_measure_tensor(&b, of.flags, &y) != DLT_RULE_NONE)
    return true;
  auto at = [](const DLTensor& view) { return static_cast<int64_t>(reinterpret_cast<uintptr_t>(view.data)); };
  return at(a) + x.low < at(b) + y.high && at(b) + y.low < at(a) + x.high;
}

// Locked in the order of the addresses: two threads that move in opposite directions must not deadlock.
struct Guards {
  std::unique_lock<std::shared_mutex> writing;
  std::shared_lock<std::shared_mutex> reading;
  Guards(Array& output, Array& input) : writing(output.guard, std::defer_lock) {
    if (&output == &input) {
      writing.lock();
      return;
    }
    reading = std::shared_lock(input.guard, std::defer_lock);
    if (&output < &input) {
      writing.lock();
      reading.lock();
    } else {
      reading.lock();
      writing.lock();
    }
  }
};

}  // namespace

DetailedStatus move_data(Array& output, Array& input, const Movement* movements, uintptr_t count) {
  if (count == 0) return {};
  if (!movements) return failure("move_data: expected ", count, " movements, got NULL for them");
  BlockRef copied;
  Guards guards(output, input);
  DLTensor to = output.view(), from = input.view();
  DLT_TRY(check_arrays(output, input, to, from));
  DLT_TRY(check_movements(to, from, movements, count));

  // Copy an overlapping input first, so that no movement reads elements that another has written.
  Element element = output.element();
  int64_t strides[DLT_ARRAY_MAX_NDIM];
  if (touch(to, from, output)) {
    DLT_TRY(gather("move_data", from, element, {kDLCPU, 0}, &copied.block));
    contiguous_strides(from.ndim, from.shape, strides);
    from.data = copied.block->data;
    from.strides = strides;
  }
  Copies copies(to, from, element);
  for (uintptr_t i = 0; i < count;) {
    Group group = group_at(movements + i, count - i);
    for (uintptr_t line = 0; line < group.period; ++line) copies(movements[i + line], static_cast<int64_t>(group.times));
    i += group.period * group.times;
  }
  return {};
}

}  // namespace dlt::opaque
