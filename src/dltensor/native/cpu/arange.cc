// SPDX-License-Identifier: Apache-2.0
// The loop of arange.h: 128-bit fixed point with an exact remainder, so that rounding errors do not accumulate.
#include "native/cpu/arange.h"

#include <math.h>

#include "native/ops/integers.h"
#include "native/cpu/dtype.h"
#include "native/cpu/scalar.h"

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

}  // namespace

bool fill_arange(void* base, int64_t at, int64_t every, int64_t count, DLDataType dtype, bool padded, const Ramp& ramp) {
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
