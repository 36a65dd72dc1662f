// SPDX-License-Identifier: Apache-2.0
// The loops of arange.h. Spaced numbers are in 128-bit fixed point with an exact remainder, so that rounding errors
// do not accumulate; floats of 16 bits and more are rounded from there in blocks.
#include "native/cpu/random/arange.h"

#include <string.h>

#include "native/ops/random/ramps.h"
#include "native/ops/random/steps.h"
#include "native/cpu/runtime/dtype.h"
#include "native/cpu/copy/scalar.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/layout/layout.h"

namespace dlt {
namespace {

using exact_sums::power_of_two;

__extension__ typedef __int128 wide_int;
__extension__ typedef unsigned __int128 wide_uint;

wide_int as_integer(ramps::Wide a) { return wide_int(wide_uint(a.high) << 64 | a.low); }

// Calls store(i, number) of a ramp.
template <class STORE>
void run(const Ramp& r, int64_t from, int64_t to, STORE store) {
  ramps::Place place = ramps::place(r, uint64_t(from));
  for (int64_t i = from; i < to; ++i) {
    store(i, place.at(r));
    place.advance(r);
  }
}

template <class T>
void store_tile(void* base, int64_t index, T value) {
  __builtin_memcpy(static_cast<char*>(base) + index * int64_t(sizeof(T)), &value, sizeof(T));
}

// Elements that one thread writes at a time: a multiple of 8, so that no two threads write one byte of packed elements.
constexpr int64_t chunk = int64_t(1) << 16;

struct StepsJob {
  char* base;
  int64_t count;
  DLDataType dtype;
  int type;
  bool padded;
  Steps steps;
};

template <class T>
void store_integers(const StepsJob& job, int64_t from, int64_t to) {
  uint64_t x = job.steps.first + uint64_t(from) * job.steps.step;
  for (int64_t i = from; i < to; ++i, x += job.steps.step) store_tile(job.base, i, T(x));
}

// Integers as floats; I is the type that they are read as.
template <class T, class I>
void store_converted(const StepsJob& job, int64_t from, int64_t to) {
  uint64_t x = job.steps.first + uint64_t(from) * job.steps.step;
  for (int64_t i = from; i < to; ++i, x += job.steps.step) store_tile(job.base, i, T(I(x)));
}

// Returns whether numbers are whole ones of 32 bits, which SIMD converts four at a time. -0.0 is none.
bool are_whole(const StepsJob& job, int64_t to) {
  const double first = job.steps.re, step = job.steps.step_re, end = first + double(to) * step;
  const auto is_whole = [](double x) { return magnitude_of(x) < 0x1p30 && x == double(int32_t(x)); };
  return is_whole(first) && is_whole(step) && magnitude_of(end) < 0x1p30 && (first != 0 || step > 0);
}

template <class T>
void store_floats(const StepsJob& job, int64_t from, int64_t to) {
  const double first = job.steps.re, step = job.steps.step_re;
  if (are_whole(job, to)) {
    const auto each = int32_t(step);  // added: SSE2 has no product of 32 bits
    auto whole = int32_t(first + double(from) * step);
    for (int32_t i = 0; i < int32_t(to - from); ++i, whole += each) store_tile(job.base, from + i, T(whole));
    return;
  }
  // A counter of 32 bits is converted by SIMD. The sum is exact: it is the number of an element.
  const auto start = double(from);
  for (int32_t i = 0; i < int32_t(to - from); ++i) store_tile(job.base, from + i, T(first + (start + i) * step));
}

void store_any(const StepsJob& job, int64_t from, int64_t to) {
  const Steps& s = job.steps;
  const Kind kind = s.form == StepForm::complex          ? Kind::complex
                    : s.form == StepForm::signed_integer ? Kind::signed_integer
                                                         : Kind::unsigned_integer;
  for (int64_t i = from; i < to; ++i) {
    const uint64_t x = s.first + uint64_t(i) * s.step;
    const double n = double(i);
    store_scalar(job.base, i, job.dtype, job.padded, {kind, int64_t(x), x, s.re + n * s.step_re, s.im + n * s.step_im},
                 Rounding::truncate, false);
  }
}

void store_steps(const StepsJob& job, int64_t from, int64_t to) {
  const StepForm form = job.steps.form;
  if (form == StepForm::complex) {
    if (job.type == type_float64) return store_floats<double>(job, from, to);
    if (job.type == type_float32) return store_floats<float>(job, from, to);
    return store_any(job, from, to);
  }
  const bool is_signed = form == StepForm::signed_integer;
  switch (job.type) {
    case type_int8:
    case type_uint8: return store_integers<uint8_t>(job, from, to);
    case type_int16:
    case type_uint16: return store_integers<uint16_t>(job, from, to);
    case type_int32:
    case type_uint32: return store_integers<uint32_t>(job, from, to);
    case type_int64:
    case type_uint64: return store_integers<uint64_t>(job, from, to);
    case type_float32:
      return is_signed ? store_converted<float, int64_t>(job, from, to) : store_converted<float, uint64_t>(job, from, to);
    case type_float64:
      return is_signed ? store_converted<double, int64_t>(job, from, to) : store_converted<double, uint64_t>(job, from, to);
    default: return store_any(job, from, to);
  }
}

struct RampJob {
  char* base;
  int64_t at, every, count;
  DLDataType dtype;
  int type;
  bool padded;
  Ramp ramp;
};

int bit_length(wide_uint value) {
  const uint64_t high = uint64_t(value >> 64), low = uint64_t(value);
  return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

// The numbers of a block are (upper + n * upper_step) + (lower + n * lower_step): the upper ones are integers times
// `unit`, a power of two, the lower ones lie between 0 and `unit`, and no number reaches 2^51 units.
struct Line {
  double upper, upper_step, lower, lower_step, unit;
  bool exact;  // every product and sum is, but the sum of upper and lower in float64
};

constexpr int block = 512;
constexpr int spare_bits = 43;  // a double has so many below the units of a lower sum, which is less than 2^10

// False where the unit is so close to the ends of float64's range that products with it might not be exact.
bool as_line(const Ramp& r, int64_t from, int count, bool is_double, Line* line) {
  const ramps::Place start = ramps::place(r, uint64_t(from));
  const wide_int first = as_integer(start.floor), step = as_integer({uint64_t(r.step_high), r.step_low});
  const wide_int end = first + (count - 1) * step;
  const int length = bit_length(wide_uint(first ^ first >> 127) | wide_uint(end ^ end >> 127));
  // The last number is above `end` by less than `block`, the carries of the remainder: at most one bit more.
  const int low_bits = length > 50 ? length - 50 : 0;
  const int exponent = low_bits - r.fraction;
  if (exponent < -1000 || exponent > 960) return false;
  const wide_uint mask = (wide_uint(1) << low_bits) - 1;
  const double unit = power_of_two(exponent), down = power_of_two(-low_bits);
  line->unit = unit;
  line->upper = double(int64_t(first >> low_bits)) * unit;
  line->upper_step = double(int64_t(step >> low_bits)) * unit;
  line->lower = (double(wide_uint(first) & mask) + double(start.over) / double(r.steps)) * down * unit;
  line->lower_step = (double(wide_uint(step) & mask) + double(r.rest) / double(r.steps)) * down * unit;
  const wide_uint must_be_zero = is_double ? mask >> spare_bits : mask;
  line->exact = r.rest == 0 && ((wide_uint(first) | wide_uint(step)) & must_be_zero) == 0;
  return true;
}

// Rounds each number minus `doubt` and plus `doubt`, which is more than the error: where both give the same, the exact
// number does too. The other elements take the exact loop.
//
// The error, in units. In float64 the upper sums are exact. The lower start and step have errors below 2^-51, which
// n <= 511 steps make 2^-42; the product, its sum with the start and that with `doubt` are below 2^10: at most 2^-44
// each. Together that is below 2^-41. In narrower types the parts are added first; the numbers are below 2^51 and
// n steps below 2^52: the step's error makes 1/2, the product 1/4, the three sums 1/4 each, 1.5 in all.
template <class T>
void store_block(const RampJob& job, int64_t from, int count) {
  const auto store = [&](int64_t i, T value) { store_tile(job.base, job.at + i * job.every, value); };
  constexpr bool is_double = sizeof(T) == 8;
  Line line;
  if (count < 16 || !as_line(job.ramp, from, count, is_double, &line))
    return run(job.ramp, from, from + count, [&](int64_t i, ramps::At x) { store(i, x.as<T>()); });
  T low[block], high[block];
  const auto fill = [&](T* to, double doubt) {
    if constexpr (is_double) {
      for (int n = 0; n < count; ++n) to[n] = line.upper + n * line.upper_step + (line.lower + n * line.lower_step + doubt);
    } else {
      const double start = line.upper + line.lower, step = line.upper_step + line.lower_step;
      for (int n = 0; n < count; ++n) to[n] = dlt::from<T>(start + n * step + doubt);
    }
  };
  const double doubt = line.exact ? 0 : line.unit * (is_double ? 0x1p-40 : 4);
  fill(low, line.exact ? 0.0 : -doubt);
  if (!line.exact) fill(high, doubt);
  // By bits, because 0 and -0 differ.
  const auto differ = [&](int n) { return memcmp(low + n, high + n, sizeof(T)) != 0; };
  if (!line.exact && memcmp(low, high, size_t(count) * sizeof(T)) != 0) {
    int begin = 0, end = count;
    while (!differ(begin)) ++begin;
    while (!differ(end - 1)) --end;
    run(job.ramp, from + begin, from + end, [&](int64_t i, ramps::At x) {
      if (differ(int(i - from))) low[i - from] = x.as<T>();
    });
  }
  if (job.every == 1) {
    memcpy(job.base + (job.at + from) * int64_t(sizeof(T)), low, size_t(count) * sizeof(T));
  } else {
    for (int n = 0; n < count; ++n) store(from + n, low[n]);
  }
}

template <class T>
void store_blocks(const RampJob& job, int64_t from, int64_t to) {
  for (int64_t i = from; i < to; i += block) store_block<T>(job, i, int(smaller(block, to - i)));
}

template <class T>
void store_wholes(const RampJob& job, int64_t from, int64_t to) {
  run(job.ramp, from, to, [&](int64_t i, ramps::At x) { store_tile(job.base, job.at + i * job.every, x.as<T>()); });
}

void store_ramp(const RampJob& job, int64_t from, int64_t to) {
  const auto store = [&](int64_t i, const Scalar& value) {
    store_scalar(job.base, job.at + i * job.every, job.dtype, job.padded, value, Rounding::truncate, false);
  };
  const Kind kind = type_table[job.type].kind;
  switch (job.type) {
    case type_float32: return store_blocks<float>(job, from, to);
    case type_float64: return store_blocks<double>(job, from, to);
    case type_float16: return store_blocks<float16>(job, from, to);
    case type_bfloat16: return store_blocks<bfloat16>(job, from, to);
    case type_int8:
    case type_uint8: return store_wholes<uint8_t>(job, from, to);
    case type_int16:
    case type_uint16: return store_wholes<uint16_t>(job, from, to);
    case type_int32:
    case type_uint32: return store_wholes<uint32_t>(job, from, to);
    case type_int64:
    case type_uint64: return store_wholes<uint64_t>(job, from, to);
    default: break;
  }
  if (kind == Kind::signed_integer || kind == Kind::unsigned_integer) {
    run(job.ramp, from, to, [&](int64_t i, ramps::At x) {
      const auto whole = int64_t(x.whole());
      store(i, {kind, whole, uint64_t(whole), 0, 0});
    });
  } else {
    run(job.ramp, from, to, [&](int64_t i, ramps::At x) { store(i, {Kind::real, 0, 0, x.odd(), 0}); });
  }
}

// Calls store(job, from, to) for chunks of the elements of a job.
template <class Job>
void in_chunks(const Job& job, void (*store)(const Job& job, int64_t from, int64_t to)) {
  if (job.count <= chunk) return store(job, 0, job.count);
  parallel(ceil_divide(job.count, chunk), [&](int64_t k) { store(job, k * chunk, smaller((k + 1) * chunk, job.count)); });
}

}  // namespace

Status cpu::fill_steps(const Steps& steps, const EngineOperand& out, const LaunchContext&) noexcept {
  const DLTensor& tensor = *out.tensor;
  in_chunks(StepsJob{static_cast<char*>(tensor.data) + tensor.byte_offset, numel(tensor.ndim, tensor.shape), tensor.dtype,
                     find_type(tensor.dtype), out.padded, steps},
            store_steps);
  return success;
}

Status cpu::fill_ramp(const Ramp& ramp, int part, const EngineOperand& out, const LaunchContext&) noexcept {
  const DLTensor& tensor = *out.tensor;
  DLDataType dtype = tensor.dtype;
  const bool is_complex = type_table[find_type(dtype)].kind == Kind::complex;
  if (is_complex) dtype = {kDLFloat, uint8_t(dtype.bits / 2), 1};
  in_chunks(RampJob{static_cast<char*>(tensor.data) + tensor.byte_offset, part, is_complex ? 2 : 1,
                    numel(tensor.ndim, tensor.shape), dtype, find_type(dtype), out.padded, ramp},
            store_ramp);
  return success;
}

}  // namespace dlt
