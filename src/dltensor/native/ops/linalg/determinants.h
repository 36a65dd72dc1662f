// SPDX-License-Identifier: Apache-2.0
// Determinants from the pivots of LU: products that neither overflow nor vanish between, and their logarithms. The same bits on
// every processor.
#pragma once
#if !defined(__CUDACC_RTC__)
#include <math.h>
#endif

#include "native/ops/floats.h"

namespace dlt {

// The natural logarithm of a number from sqrt(1/2) to sqrt(2), to about 2^-52: the same bits on every processor.
inline double log_near_one(double x) {
  const double s = (x - 1) / (x + 1), square = s * s;
  double sum = 0;
  for (int k = 27; k >= 3; k -= 2) sum = (sum + 1.0 / k) * square;
  return 2 * s + 2 * s * sum;
}

// The product where no part of it comes near the ends of the range of exponents. False elsewhere.
template <class F, int PARTS>
bool plain_product(const F* pivots, int64_t n, double* re, double* im) {
  bool inside = true;
  double x = 1, y = 0;
  for (int64_t c = 0; c <= n; ++c) {
    const double a = double(pivots[c * PARTS]), b = PARTS == 2 ? double(pivots[c * PARTS + (PARTS == 2)]) : 0;
    const double old = x;
    if constexpr (PARTS == 1) x = x * a;
    else x = old * a - y * b, y = old * b + y * a;
    const double most = fabs(x) > fabs(y) ? fabs(x) : fabs(y), factor = fabs(a) > fabs(b) ? fabs(a) : fabs(b);
    inside &= most > 1e-140 && most < 1e140 && factor > 1e-140 && factor < 1e140;
  }
  *re = x, *im = y;
  return inside;
}

// A product of many numbers as a number near 1 and a power of two, so that nothing overflows between.
struct Product2 {
  double re = 1, im = 0;
  int64_t exponent = 0;
  void times(double a, double b) {
    const double x = re * a - im * b, y = b == 0 && im == 0 ? 0 : re * b + im * a;
    re = x, im = y;
    normalize();
  }
  void normalize() {
    const double most = fabs(re) > fabs(im) ? fabs(re) : fabs(im);
    if (!(most > 0) || most - most != 0) return;
    int e;
    (void)frexp(most, &e);
    re = ldexp(re, -e), im = ldexp(im, -e);
    exponent += e;
  }
};

template <class F, int PARTS>
Product2 product_of(const F* pivots, int64_t n) {
  Product2 result;
  if (plain_product<F, PARTS>(pivots, n, &result.re, &result.im)) return result;
  result.re = 1, result.im = 0;
  for (int64_t c = 0; c <= n; ++c) {
    double re = double(pivots[c * PARTS]), im = PARTS == 2 ? double(pivots[c * PARTS + (PARTS == 2)]) : 0;
    int e = 0;
    const double most = fabs(re) > fabs(im) ? fabs(re) : fabs(im);
    if (most > 0 && most - most == 0) (void)frexp(most, &e);
    result.exponent += e;
    result.times(ldexp(re, -e), ldexp(im, -e));
  }
  return result;
}

inline double scaled_by_power(double x, int64_t exponent) {
  return ldexp(x, exponent > 5000 ? 5000 : exponent < -5000 ? -5000 : int(exponent));
}

template <class F, int PARTS>
void finish_determinant(const F* pivots, int64_t n, F* sign, F* logarithm) {
  const Product2 p = product_of<F, PARTS>(pivots, n);
  if (logarithm == nullptr && p.exponent == 0) {
    sign[0] = F(p.re);
    if (PARTS == 2) sign[PARTS - 1] = F(p.im);
    return;
  }
  if (logarithm == nullptr) {
    sign[0] = F(scaled_by_power(p.re, p.exponent));
    if (PARTS == 2) sign[PARTS - 1] = F(scaled_by_power(p.im, p.exponent));
    return;
  }
  const double infinity = bits_as<double>(uint64_t{0x7ff0000000000000}),
               not_a_number = bits_as<double>(uint64_t{0x7ff8000000000000});
  const double size = PARTS == 2 ? sqrt(p.re * p.re + p.im * p.im) : fabs(p.re);
  const double unit = size > 0 ? p.re / size : p.re == p.re ? 0 : not_a_number;
  sign[0] = F(fabs(p.re) == infinity && PARTS == 1 ? copysign(1.0, p.re) : unit);
  if (PARTS == 2) sign[PARTS - 1] = F(size > 0 ? p.im / size : size);
  if (!(size > 0) || size - size != 0) {
    *logarithm = F(size == 0 ? -infinity : size);
    return;
  }
  int e;
  double x = frexp(size, &e);
  if (x < 0.70710678118654752) x *= 2, --e;
  *logarithm = F(double(p.exponent + e) * 0.69314718055994531 + log_near_one(x));
}

}  // namespace dlt
