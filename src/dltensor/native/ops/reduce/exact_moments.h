// SPDX-License-Identifier: Apache-2.0
// Ends of exact sums of elements and of their squares: variances and standard deviations, rounded once. For g++ and NVRTC;
// no arrays of the caller are read here.
#pragma once
#include "native/ops/reduce/exact_sums.h"

namespace dlt::exact_sums {

#if defined(__CUDACC_RTC__)
DLT_FN double square_root(double x) { return __dsqrt_rn(x); }
#else
DLT_FN double square_root(double x) { return __builtin_sqrt(x); }
#endif

// The square root of above + below as two words and a bound.
DLT_FN Quotient root_of(const Quotient& v) {
  const double first = square_root(v.above), rest = fused(-first, first, v.above) + v.below;
  const double second = rest / (2 * first);
  return {first, second, v.error / first + magnitude_of(second) * 0x1p-50 + first * 0x1p-104};
}

// A positive number as an odd integer and a power of two.
DLT_FN uint64_t odd_part(double x, int* exponent) {
  const uint64_t bits = bits_as<uint64_t>(x);
  uint64_t mantissa = (bits & ((uint64_t(1) << 52) - 1)) | uint64_t(1) << 52;
  *exponent = int(bits >> 52 & 0x7ff) - 1075;
  for (; (mantissa & 1) == 0; mantissa >>= 1) ++*exponent;
  return mantissa;
}

// size * 2^exponent / (count * divisor), or its root, rounded once to a float of so many digits. `size` has room for 320 bits
// more.
DLT_FAR_FN double rounded_quotient(Natural* size, int exponent, uint64_t count, double divisor, bool root, int digits,
                                   int lowest) {
  if (size->count == 0) return 0;
  shift_up(size, 320);
  int power;
  const uint64_t odd = odd_part(divisor, &power);
  exponent -= 320 + power;
  bool sticky = divide(size, odd);
  sticky |= divide(size, count);
  if (!root) return round_natural(*size, exponent, sticky, digits, lowest);
  // An even exponent near 0 is taken out first, so that the words are far from the ends of the range.
  const int far = (bit_length(*size) + exponent) / 2;
  const Pair value = as_pair(*size, exponent - 2 * far, sticky);
  const Quotient r = root_of({value.high, value.low, 0});
  // Narrower floats are rounded from the odd neighbour, float64 here.
  return (digits == 53 ? r.above + r.below : odd_sum(exact_sum(r.above, r.below))) * power_of_two(far);
}
template <class R>
DLT_FN R round_quotient(Natural* size, int exponent, uint64_t count, double divisor, bool root) {
  return from<R>(rounded_quotient(size, exponent, count, divisor, root, Form<R>::digits, Form<R>::lowest));
}

// The sign of an exact sum of n finite terms, which are replaced by their sum without overlaps.
DLT_FN int sign_of_sum(double* terms, int n) {
  for (bool changed = true; changed;) {
    changed = false;
    DLT_ROLLED
    for (int i = 1; i < n; ++i) {
      const Pair sum = exact_sum(terms[i], terms[i - 1]);
      changed |= sum.high != terms[i] || sum.low != terms[i - 1];
      terms[i] = sum.high;
      terms[i - 1] = sum.low;
    }
  }
  for (int i = n - 1; i >= 0; --i)
    if (terms[i] != 0) return terms[i] > 0 ? 1 : -1;
  return 0;
}

// Compares the variance whose states have no bound, or its root, with a number of half float64's digits: 1 where it is above.
// 2 where that would not be exact.
DLT_FAR_FN int compare_moments(const double* states, int parts, double count, double divisor, bool root, double number) {
  const double size = root ? number * number : number, times = count * divisor;
  if (fused(count, divisor, -times) != 0 || !ops::isfinite(size * times)) return 2;
  double terms[22];
  int n = 0;
  const auto add = [&](double a, double b) {
    if (b == 0) return;
    const double product = a * b, rest = fused(a, b, -product);
    if (rest != 0) terms[n++] = rest;
    terms[n++] = product;
  };
  add(-size, times);
  for (int k = 0; k < parts; ++k) {
    const double *const s = states + 2 * words * k, *const q = s + words;
    if (s[bound] != 0 || q[bound] != 0) return 2;
    const Pair sum = exact_sum(s[high], s[low]);
    add(sum.low, -sum.low);
    add(-2 * sum.high, sum.low);
    add(count, q[low]);
    add(-sum.high, sum.high);
    add(count, q[high]);
  }
  return sign_of_sum(terms, n);
}

// A quotient, or its root, as a float of half float64's digits, by one division: most are not near the middle of two floats.
template <class R>
DLT_FN bool round_roughly(double value, double error, double divisor, bool root, R* out) {
  if constexpr (Form<R>::digits > 24) {
    return false;
  } else {
    if (!(error < value * 0x1p-48 && value > 0x1p-900)) return false;
    const double quotient = value / divisor, result = root ? square_root(quotient) : quotient, margin = result * 0x1p-46;
    *out = nearest<R>(result, -margin);
    return same_bits(*out, nearest<R>(result, margin));
  }
}

// A value about half way between two floats: exact arithmetic tells its side, and a tie goes to the even one.
template <class R>
DLT_FN bool round_half(const double* states, int parts, double count, double divisor, bool root, const Quotient& v, R* out) {
  if constexpr (Form<R>::digits > 24) {
    return false;
  } else {
    const double margin = 2 * v.error + magnitude_of(v.below) * 0x1p-52;
    const R lower = nearest<R>(v.above, v.below - margin), upper = nearest<R>(v.above, v.below + margin);
    const double half = (double(to_float(lower)) + double(to_float(upper))) / 2;
    if (!same_bits(nearest<R>(half, -half * 0x1p-50), lower) || !same_bits(nearest<R>(half, half * 0x1p-50), upper))
      return false;
    const int side = compare_moments(states, parts, count, divisor, root, half);
    if (side == 2) return false;
    *out = side > 0 ? upper : side < 0 ? lower : nearest<R>(half, 0.0);
    return true;
  }
}

// The variance of `number` elements, or its root, from two states for each part: of the sum, then of the sum of squares. False
// when their bounds leave more than one value.
template <class R>
DLT_FN bool round_moments(const double* states, int parts, double count, double divisor, bool root, R* out) {
  // count * squares - sum * sum in twice the digits, of the parts together.
  double value = 0, rest = 0, error = 0;
  for (int k = 0; k < parts; ++k) {
    const double *const s = states + 2 * words * k, *const q = s + words;
    const Pair sum = exact_sum(s[high], s[low]);
    const double many = count * q[high], square = sum.high * sum.high;
    const Pair left = exact_sum(many, -square), all = exact_sum(value, left.high);
    value = all.high;
    rest += all.low + left.low + (fused(count, q[high], -many) + count * q[low]) -
            (fused(sum.high, sum.high, -square) + 2 * sum.high * sum.low);
    error += 2 * count * q[bound] + 4 * magnitude_of(sum.high) * s[bound] + s[bound] * s[bound] + (many + square) * 0x1p-100;
  }
  if (!(ops::isfinite(value) && ops::isfinite(rest) && ops::isfinite(error))) return false;
  if (round_roughly(value + rest, error, count * divisor, root, out)) return true;
  Quotient v;
  if (!divide(value, rest, error, divisor, &v) || !divide(v.above, v.below, v.error, count, &v)) return false;
  if (!(v.above > 2 * v.error)) return false;
  if (root) v = root_of(v);
  return round_sum(v.above, v.below, v.error, out) || round_half(states, parts, count, divisor, root, v, out);
}

// Adds count * squares - sum * sum of one part to `total`, in units of 2^-2150. False when an element is not finite.
DLT_FAR_FN bool add_moments(Accumulator* sum, Accumulator* squares, uint64_t count, Natural* total) {
  double ignored;
  if (special(*sum, &ignored)) return false;
  Natural s, q, n, product;
  magnitude(sum, &s);
  magnitude(squares, &q);
  from_words(&n, &count, 1);
  multiply(q, n, &product);
  shift_up(&product, 1075);
  multiply(s, s, &q);
  subtract(&product, q);
  add(total, product);
  return true;
}

// A signed integer of `count` words, the low one first, as the state of a sum.
DLT_FAR_FN void state_of_words(double* w, const uint64_t* x, int count) {
  start(w);
  DLT_ROLLED
  for (int k = count - 1; k >= 0; --k) {
    const double unit = power_of_two(64 * k);
    put(w, double(k == count - 1 ? int64_t(x[k]) >> 32 : int64_t(x[k] >> 32)) * 0x1p32 * unit);
    put(w, double(x[k] & 0xffffffff) * unit);
  }
}

// The mean of `count` integers from their sum in two words, rounded once.
DLT_FAR_FN double exact_integer_mean(const uint64_t* sum, uint64_t count, int digits, int lowest) {
  Natural size;
  const bool negative = from_signed_words(&size, sum);
  shift_up(&size, 128);
  const bool sticky = divide(&size, count);
  const double value = round_natural(size, -128, sticky, digits, lowest);
  return negative ? -value : value;
}
template <class R>
DLT_FN R integer_mean(const uint64_t* sum, uint64_t count) {
  if (count == 0) return from<R>(not_a_number());
  if (sum[0] == 0 && sum[1] == 0) return from<R>(0.0);
  double w[words];
  Quotient q;
  R out;
  state_of_words(w, sum, 2);
  if (divide(w[high], w[low], w[bound], double(count), &q) && round_sum(q.above, q.below, q.error, &out)) return out;
  return from<R>(exact_integer_mean(sum, count, Form<R>::digits, Form<R>::lowest));
}

// The variance of `count` integers, or its root, rounded once: from their sum in two words, and the sum of their squares in
// the three after it.
DLT_FAR_FN double exact_integer_moments(const uint64_t* sums, uint64_t count, double divisor, bool root, int digits,
                                        int lowest) {
  Natural sum, squares, number, total;
  from_signed_words(&sum, sums);
  from_words(&squares, sums + 2, 3);
  from_words(&number, &count, 1);
  multiply(squares, number, &total);
  multiply(sum, sum, &squares);
  subtract(&total, squares);
  return rounded_quotient(&total, 0, count, divisor, root, digits, lowest);
}
template <class R>
DLT_FN R integer_moments(const uint64_t* sums, uint64_t count, double correction, bool root) {
  const double divisor = double(count) - correction;
  if (!(divisor > 0) || count == 0) return from<R>(not_a_number());
  double states[2 * words];
  R out;
  state_of_words(states, sums, 2);
  state_of_words(states + words, sums + 2, 3);
  if (round_moments(states, 1, double(count), divisor, root, &out)) return out;
  return from<R>(exact_integer_moments(sums, count, divisor, root, Form<R>::digits, Form<R>::lowest));
}

}  // namespace dlt::exact_sums
