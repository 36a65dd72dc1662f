// SPDX-License-Identifier: Apache-2.0
// The loops of arange.h. Spaced numbers are in 128-bit fixed point with an exact remainder, so that rounding errors do not
// accumulate.
#include "native/cpu/arange.h"

#include <math.h>

#include "native/ops/integers.h"
#include "native/cpu/dtype.h"
#include "native/cpu/scalar.h"
#include "native/cpu/sizes.h"
#include "native/cpu/thread_pool.h"

namespace dlt {
namespace {

__extension__ typedef __int128 wide_int;
__extension__ typedef unsigned __int128 wide_uint;

// The current number: exactly `floor`, or between `floor` and `floor` + 1 where `more` is true.
struct At {
  wide_int floor;
  bool more;
  int fraction;

  // Toward 0.
  wide_int whole() const {
    // A shift by the width of the type would not be one.
    const wide_int down = fraction > 126 ? (floor < 0 ? -1 : 0) : floor >> fraction;
    const bool choose_tiles = more || (fraction > 126 ? floor != 0 : (down << fraction) != floor);
    return down + (down < 0 && choose_tiles);
  }

  // The leading 64 bits times 2^exponent; the last bit is a sticky bit: set if any dropped bit is set.
  uint64_t leading(bool* negative, int* exponent) const {
    *negative = floor < 0;
    // The complement of a negative number is its magnitude less 1, which is its floor where there is more.
    const wide_uint size = *negative ? (more ? ~wide_uint(floor) : -wide_uint(floor)) : wide_uint(floor);
    const uint64_t high = uint64_t(size >> 64), low = uint64_t(size);
    *exponent = -fraction;
    if (size == 0) return 0;
    if (high == 0) {
      const int left = __builtin_clzll(low);
      *exponent -= left;
      return low << left | uint64_t(more);
    }
    const int right = 64 - __builtin_clzll(high);
    *exponent += right;
    const bool below = right == 64 ? low != 0 : (low << (64 - right)) != 0;
    return uint64_t(size >> right) | uint64_t(below || more);
  }

  double nearest() const {
    bool negative;
    int exponent;
    const uint64_t bits = leading(&negative, &exponent);
    const double size = ldexp(double(bits), exponent);
    return negative ? -size : size;
  }

  // A double that rounds to fewer digits exactly as the number itself does (round to odd).
  double odd() const {
    bool negative;
    int exponent;
    const uint64_t bits = leading(&negative, &exponent);
    const double size = ldexp(to_odd(bits), exponent);
    return negative ? -size : size;
  }
};

template <class STORE>
void run(const Ramp& r, int64_t count, STORE store) {
  wide_int at = wide_int(wide_uint(r.first_high) << 64 | r.first_low);
  const wide_int step = wide_int(wide_uint(r.step_high) << 64 | r.step_low);
  uint64_t over = 0;  // the running remainder, in units of 1 / steps
  for (int64_t i = 0; i < count; ++i) {
    store(i, At{at, over != 0, r.fraction});
    at += step;
    over += r.rest;
    if (over >= r.steps) {
      over -= r.steps;
      ++at;
    }
  }
}

template <class T>
void store_tile(void* base, int64_t index, T value) {
  __builtin_memcpy(static_cast<char*>(base) + index * int64_t(sizeof(T)), &value, sizeof(T));
}

// What one thread writes at a time: a multiple of 8 elements, so that no two threads write one byte of packed elements.
constexpr int64_t steps_chunk = int64_t(1) << 16;

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

template <class T>
void store_floats(const StepsJob& job, int64_t from, int64_t to) {
  const double first = job.steps.re, step = job.steps.step_re;
  // A counter of 32 bits is converted by SIMD. The sum is exact: it is the number of an element.
  const auto start = double(from);
  for (int32_t i = 0; i < int32_t(to - from); ++i) store_tile(job.base, from + i, T(first + (start + i) * step));
}

void store_any(const StepsJob& job, int64_t from, int64_t to) {
  const Steps& s = job.steps;
  for (int64_t i = from; i < to; ++i) {
    const uint64_t x = s.first + uint64_t(i) * s.step;
    const double n = double(i);
    store_scalar(job.base, i, job.dtype, job.padded, {s.kind, int64_t(x), x, s.re + n * s.step_re, s.im + n * s.step_im},
                 Rounding::truncate, false);
  }
}

void store_steps(const StepsJob& job, int64_t from, int64_t to) {
  const Kind kind = job.steps.kind;
  if (kind == Kind::complex) {
    if (job.type == type_float64) return store_floats<double>(job, from, to);
    if (job.type == type_float32) return store_floats<float>(job, from, to);
    return store_any(job, from, to);
  }
  const bool is_signed = kind == Kind::signed_integer;
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

void store_chunk(void* context, int64_t index) {
  const auto& job = *static_cast<const StepsJob*>(context);
  store_steps(job, index * steps_chunk, smaller((index + 1) * steps_chunk, job.count));
}

}  // namespace

bool fill_steps(void* base, int64_t count, DLDataType dtype, bool padded, const Steps& steps) {
  StepsJob job{static_cast<char*>(base), count, dtype, find_type(dtype), padded, steps};
  if (job.type < 0) return false;
  if (count <= steps_chunk) store_steps(job, 0, count);
  else parallel(ceil_divide(count, steps_chunk), store_chunk, &job);
  return true;
}

bool fill_ramp(void* base, int64_t at, int64_t every, int64_t count, DLDataType dtype, bool padded, const Ramp& ramp) {
  const int type = find_type(dtype);
  if (type < 0 || type_table[type].kind == Kind::complex) return false;
  const Kind kind = type_table[type].kind;
  if (type == type_float64) {
    run(ramp, count, [&](int64_t i, At x) { store_tile(base, at + i * every, x.nearest()); });
  } else if (type == type_float32) {
    run(ramp, count, [&](int64_t i, At x) { store_tile(base, at + i * every, float(x.odd())); });
  } else if (type == type_int64 || type == type_uint64) {
    run(ramp, count, [&](int64_t i, At x) { store_tile(base, at + i * every, uint64_t(x.whole())); });
  } else if (kind == Kind::signed_integer || kind == Kind::unsigned_integer) {
    run(ramp, count, [&](int64_t i, At x) {
      const auto whole = int64_t(x.whole());
      store_scalar(base, at + i * every, dtype, padded, {kind, whole, uint64_t(whole), 0, 0}, Rounding::truncate, false);
    });
  } else {
    run(ramp, count, [&](int64_t i, At x) {
      store_scalar(base, at + i * every, dtype, padded, {Kind::real, 0, 0, x.odd(), 0}, Rounding::truncate, false);
    });
  }
  return true;
}

}  // namespace dlt
