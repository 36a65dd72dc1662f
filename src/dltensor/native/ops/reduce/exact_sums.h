// SPDX-License-Identifier: Apache-2.0
// Sums of floats that are exact until they are rounded once: two words and a bound on what they lack, and behind them an
// integer as wide as float64's whole range. For g++ and NVRTC; no arrays of the caller are read here.
#pragma once
#include "native/ops/elementwise/bodies.h"

// Long functions that are called seldom: on a device a call costs less than their copies.
#if defined(__CUDACC_RTC__)
#define DLT_FAR_FN __device__ __noinline__
#define DLT_ROLLED _Pragma("unroll 1")  // before their loops, whose copies would take longer to compile than they save
#else
#define DLT_FAR_FN inline __attribute__((noinline))
#define DLT_ROLLED
#endif

namespace dlt::exact_sums {

// A running sum as two numbers: `high` + `low`, within `bound` of the exact sum.
inline constexpr int high = 0, low = 1, bound = 2, words = 3;

DLT_FN void start(double* w) { w[high] = w[low] = w[bound] = 0; }
// The error of the first addition is added to `low`, the error of that to the bound.
DLT_FN void put(double* w, double x) {
  const Pair sum = exact_sum(w[high], x), rest = exact_sum(w[low], sum.low);
  w[high] = sum.high;
  w[low] = rest.high;
  w[bound] += magnitude_of(rest.low);
}
DLT_FN void join(double* w, const double* other) {
  put(w, other[high]);
  const Pair rest = exact_sum(w[low], other[low]);
  w[low] = rest.high;
  w[bound] += magnitude_of(rest.low) + other[bound];
}

// The value nearest to high + low, rounded once, half to even.
template <class T>
DLT_FN T nearest(double above, double below) {
  if constexpr (is_same<T, double>::value) return above + below;
  else return from<T>(odd_sum(exact_sum(above, below)));
}
DLT_FN bool same_bits(double a, double b) { return bits_as<uint64_t>(a) == bits_as<uint64_t>(b); }
DLT_FN bool same_bits(float a, float b) { return bits_as<uint32_t>(a) == bits_as<uint32_t>(b); }
template <class T>
DLT_FN bool same_bits(T a, T b) {
  return a.bits == b.bits;
}

// high + low rounded once, 0.0 where that is 0. False when the bound leaves more than one value, or something is not finite.
template <class T>
DLT_FN bool round_sum(double above, double below, double error, T* out) {
  if (!ops::isfinite(above) || !ops::isfinite(below) || !ops::isfinite(error)) return false;
  if (below == 0 && error == 0) {
    *out = from<T>(above + 0.0);  // -0.0 becomes 0.0
    return true;
  }
  // Twice the bound: its own additions were rounded, and so are those to `below`.
  const double margin = error == 0 ? 0 : 2 * error + magnitude_of(below) * 0x1p-52;
  *out = nearest<T>(above, below - margin);
  return same_bits(*out, nearest<T>(above, below + margin));
}

// A quotient as two words and a bound. False near the ends of float64's range, where remainders are not exact.
struct Quotient {
  double above, below, error;
};
DLT_FN bool divide(double above, double below, double error, double divisor, Quotient* out) {
  const Pair sum = exact_sum(above, below);
  const double first = sum.high / divisor, size = magnitude_of(first);
  if (!(size > 0x1p-900 && size < 0x1p1000 && divisor > 0x1p-60 && divisor < 0x1p60 && error < 0x1p900)) return false;
  const double rest = fused(-first, divisor, sum.high) + sum.low, second = rest / divisor;
  out->above = first;
  out->below = second;
  out->error = 2 * error / divisor + magnitude_of(second) * 0x1p-50;
  return true;
}

// ---- an integer of float64's whole range

// Signed chunks of 32 bits and some to spare, chunk k of weight 2^(32 k - 1075). An addition changes a chunk by less than
// 2^52: a mantissa that is moved up by 31 bits leaves that much for the upper chunk.
inline constexpr int chunks = 72;
inline constexpr int64_t additions_until_carry = int64_t(1) << 10;
struct Accumulator {
  int64_t chunk[chunks];
  int64_t left;  // additions until carries must be passed on
  bool nan, positive, negative;  // what came in that is not finite
};

DLT_FN void clear(Accumulator* a) {
  for (int k = 0; k < chunks; ++k) a->chunk[k] = 0;
  a->left = additions_until_carry;
  a->nan = a->positive = a->negative = false;
}
DLT_FAR_FN void carry(Accumulator* a) {
  DLT_ROLLED
  for (int k = 0; k + 1 < chunks; ++k) {
    const int64_t over = a->chunk[k] >> 32;
    a->chunk[k] -= over * (int64_t(1) << 32);
    a->chunk[k + 1] += over;
  }
  a->left = additions_until_carry;
}
// A finite number as what is added to the chunks `place` and `place` + 1; false when it is none.
struct Placed {
  int place;
  int64_t lower, upper;
};
DLT_FN bool placed(double x, Placed* out) {
  const uint64_t bits = bits_as<uint64_t>(x);
  const int field = int(bits >> 52 & 0x7ff), exponent = field != 0 ? field : 1;
  if (field == 0x7ff) return false;
  const bool minus = bits >> 63 != 0;
  uint64_t mantissa = bits & ((uint64_t(1) << 52) - 1);
  if (field != 0) mantissa |= uint64_t(1) << 52;
  const int shift = exponent & 31;
  const int64_t lower = int64_t((mantissa << shift) & 0xffffffffu);
  const int64_t upper = int64_t(shift != 0 ? mantissa >> (32 - shift) : mantissa >> 32);
  *out = {exponent >> 5, minus ? -lower : lower, minus ? -upper : upper};
  return true;
}
DLT_FN void add(Accumulator* a, double x) {
  Placed put;
  if (!placed(x, &put)) {
    a->nan |= x != x;
    a->positive |= x > 0;
    a->negative |= x < 0;
    return;
  }
  a->chunk[put.place] += put.lower;
  a->chunk[put.place + 1] += put.upper;
  if (--a->left == 0) carry(a);
}

// ---- natural numbers of many digits, for what is left to the end of an exact sum

inline constexpr int digits_of_sum = chunks + 2, most_digits = 2 * digits_of_sum + 8;
struct Natural {
  uint32_t digit[most_digits];  // the lowest first
  int count;                    // without zeros at the top
};

DLT_FAR_FN void trim(Natural* a) {
  DLT_ROLLED
  while (a->count > 0 && a->digit[a->count - 1] == 0) --a->count;
}
// An integer of `count` words, the low one first.
DLT_FAR_FN void from_words(Natural* a, const uint64_t* words, int count) {
  DLT_ROLLED
  for (int k = 0; k < 2 * count; ++k) a->digit[k] = uint32_t(words[k / 2] >> (32 * (k & 1)));
  a->count = 2 * count;
  trim(a);
}
// The size of a signed integer of two words; true when it is negative.
DLT_FAR_FN bool from_signed_words(Natural* a, const uint64_t* words) {
  const bool negative = int64_t(words[1]) < 0;
  uint64_t size[] = {words[0], words[1]};
  if (negative) {
    size[0] = uint64_t(0) - words[0];
    size[1] = ~words[1] + (size[0] == 0);
  }
  from_words(a, size, 2);
  return negative;
}
// The size of an accumulator, in units of 2^-1075; true when it is negative.
DLT_FAR_FN bool magnitude(Accumulator* a, Natural* out) {
  carry(a);
  const bool negative = a->chunk[chunks - 1] < 0;
  if (negative) {
    DLT_ROLLED
    for (int k = 0; k < chunks; ++k) a->chunk[k] = -a->chunk[k];
    carry(a);
  }
  DLT_ROLLED
  for (int k = 0; k < chunks; ++k) out->digit[k] = uint32_t(a->chunk[k]);
  out->count = chunks;
  trim(out);
  return negative;
}
DLT_FAR_FN void multiply(const Natural& a, const Natural& b, Natural* out) {
  DLT_ROLLED
  for (int k = 0; k < a.count + b.count; ++k) out->digit[k] = 0;
  DLT_ROLLED
  for (int i = 0; i < a.count; ++i) {
    uint64_t over = 0;
    DLT_ROLLED
    for (int j = 0; j < b.count; ++j) {
      over += uint64_t(a.digit[i]) * b.digit[j] + out->digit[i + j];
      out->digit[i + j] = uint32_t(over);
      over >>= 32;
    }
    out->digit[i + b.count] = uint32_t(over);
  }
  out->count = a.count + b.count;
  trim(out);
}
// a * 2^bits in place; what would go past the top must be 0.
DLT_FAR_FN void shift_up(Natural* a, int bits) {
  if (a->count == 0) return;
  const int places = bits / 32, within = bits % 32;
  DLT_ROLLED
  for (int k = a->count; k >= 0; --k) {
    const uint64_t two = (uint64_t(k < a->count ? a->digit[k] : 0) << 32 | (k > 0 ? a->digit[k - 1] : 0)) << within;
    a->digit[k + places] = uint32_t(two >> 32);
  }
  DLT_ROLLED
  for (int k = 0; k < places; ++k) a->digit[k] = 0;
  a->count += places + 1;
  trim(a);
}
// a - b, which must not be below 0.
DLT_FAR_FN void subtract(Natural* a, const Natural& b) {
  int64_t over = 0;
  DLT_ROLLED
  for (int k = 0; k < a->count; ++k) {
    over += int64_t(a->digit[k]) - (k < b.count ? int64_t(b.digit[k]) : 0);
    a->digit[k] = uint32_t(over);
    over >>= 32;
  }
  trim(a);
}
DLT_FAR_FN void add(Natural* a, const Natural& b) {
  uint64_t over = 0;
  const int count = a->count > b.count ? a->count : b.count;
  DLT_ROLLED
  for (int k = 0; k < count; ++k) {
    over += (k < a->count ? uint64_t(a->digit[k]) : 0) + (k < b.count ? b.digit[k] : 0);
    a->digit[k] = uint32_t(over);
    over >>= 32;
  }
  a->digit[count] = uint32_t(over);
  a->count = count + 1;
  trim(a);
}
DLT_FAR_FN bool less(const Natural& a, const Natural& b) {
  if (a.count != b.count) return a.count < b.count;
  DLT_ROLLED
  for (int k = a.count - 1; k >= 0; --k)
    if (a.digit[k] != b.digit[k]) return a.digit[k] < b.digit[k];
  return false;
}
// a / divisor in place, rounded down; true when something is left. `divisor` has at most 62 bits: a digit by binary long
// division, since nothing wider than 64 bits is at hand everywhere.
DLT_FAR_FN bool divide(Natural* a, uint64_t divisor) {
  uint64_t rest = 0;
  DLT_ROLLED
  for (int k = a->count - 1; k >= 0; --k) {
    uint32_t quotient = 0;
    DLT_ROLLED
    for (int bit = 31; bit >= 0; --bit) {
      rest = rest << 1 | (a->digit[k] >> bit & 1);
      const bool fits = rest >= divisor;
      rest -= fits ? divisor : 0;
      quotient = quotient << 1 | uint32_t(fits);
    }
    a->digit[k] = quotient;
  }
  trim(a);
  return rest != 0;
}
DLT_FAR_FN int bit_length(const Natural& a) {
  if (a.count == 0) return 0;
  int bits = 32 * a.count;
  DLT_ROLLED
  for (uint32_t top = a.digit[a.count - 1]; (top & 0x80000000u) == 0; top <<= 1) --bits;
  return bits;
}
DLT_FAR_FN bool bit_at(const Natural& a, int place) {
  return place >= 0 && place < 32 * a.count && (a.digit[place / 32] >> (place % 32) & 1) != 0;
}
DLT_FAR_FN bool any_below(const Natural& a, int place) {
  DLT_ROLLED
  for (int k = 0; k < a.count && 32 * k < place; ++k) {
    const int kept = place - 32 * k;
    if ((kept >= 32 ? a.digit[k] : a.digit[k] & ((uint32_t(1) << kept) - 1)) != 0) return true;
  }
  return false;
}
// 2^exponent, which float64 has.
DLT_FN double power_of_two(int exponent) {
  return exponent >= -1022 ? bits_as<double>(uint64_t(exponent + 1023) << 52)
                           : bits_as<double>(uint64_t(1) << (exponent + 1074));
}

// a * 2^exponent, and a little more where `sticky`, as two words: the upper cut off, the lower rounded to odd. Rounding
// their sum to at most 104 bits rounds the value. Exponents must be far from the ends of float64's range.
DLT_FAR_FN Pair as_pair(const Natural& a, int exponent, bool sticky) {
  const int length = bit_length(a);
  uint64_t upper = 0, lower = 0;
  DLT_ROLLED
  for (int k = 0; k < 53; ++k) upper = upper << 1 | uint64_t(bit_at(a, length - 1 - k));
  DLT_ROLLED
  for (int k = 53; k < 106; ++k) lower = lower << 1 | uint64_t(bit_at(a, length - 1 - k));
  if (sticky || any_below(a, length - 106)) lower |= 1;
  const int place = length - 53 + exponent;
  return {double(upper) * power_of_two(place), double(lower) * power_of_two(place - 53)};
}

// Half to even at the last place that T has: `digits` significant bits, none below 2^lowest. As float64, which holds every
// value of T; what is beyond T is infinite.
DLT_FAR_FN double round_natural(const Natural& a, int exponent, bool sticky, int digits, int lowest) {
  const int length = bit_length(a);
  if (length == 0) return 0;
  int last = length - digits;  // the place of the last bit that stays
  if (last + exponent < lowest) last = lowest - exponent;
  uint64_t kept = 0;
  DLT_ROLLED
  for (int k = length - 1; k >= last && k >= 0; --k) kept = kept << 1 | uint64_t(bit_at(a, k));
  if (last < 0) kept <<= -last;
  if (last > 0 && bit_at(a, last - 1)) kept += (kept & 1) != 0 || sticky || any_below(a, last - 1);
  const int place = last + exponent;
  int top = 0;  // bits of what is kept
  DLT_ROLLED
  while (top < 64 && kept >> top != 0) ++top;
  if (top + place > 1024) return bits_as<double>(uint64_t(0x7ff) << 52);
  // In two steps, since 2^place itself may be below the smallest value.
  const double half = double(kept) * power_of_two(place < -1000 ? -500 : place > 900 ? 500 : 0);
  return half * power_of_two(place < -1000 ? place + 500 : place > 900 ? place - 500 : place);
}

// ---- rounding what has been accumulated

template <class R>
struct Form {  // of a float: significant bits, and the exponent of its smallest value
  static constexpr int digits = R::mantissa + 1, lowest = 1 - R::bias - R::mantissa;
};
template <>
struct Form<float> {
  static constexpr int digits = 24, lowest = -149;
};
template <>
struct Form<double> {
  static constexpr int digits = 53, lowest = -1074;
};

DLT_FN double not_a_number() { return bits_as<double>(uint64_t(0x7ff8) << 48); }
DLT_FN double infinity(bool negative) { return bits_as<double>(uint64_t(negative ? 0xfff : 0x7ff) << 52); }

// The value of an accumulator that met infinities or NaN; false when it met none.
DLT_FN bool special(const Accumulator& a, double* out) {
  if (!a.nan && !a.positive && !a.negative) return false;
  *out = a.nan || (a.positive && a.negative) ? not_a_number() : infinity(a.negative);
  return true;
}

// An accumulator divided by `count`, rounded once to a float of so many digits.
DLT_FAR_FN double rounded(Accumulator* a, uint64_t count, int digits, int lowest) {
  double value;
  if (special(*a, &value)) return value;
  Natural size;
  const bool negative = magnitude(a, &size);
  int exponent = -1075;
  bool sticky = false;
  if (count != 1) {
    shift_up(&size, 128);
    exponent -= 128;
    sticky = divide(&size, count);
  } else {
    shift_up(&size, 64);  // so that no last place lies below the lowest digit
    exponent -= 64;
  }
  value = round_natural(size, exponent, sticky, digits, lowest);
  return negative ? -value : value;
}
template <class R>
DLT_FN R round_accumulator(Accumulator* a, uint64_t count) {
  return from<R>(rounded(a, count, Form<R>::digits, Form<R>::lowest));
}

}  // namespace dlt::exact_sums
