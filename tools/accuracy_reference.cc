// SPDX-License-Identifier: Apache-2.0
// Functions in quadruple precision (113 bits, GCC's libquadmath), for tools/accuracy.py.
#include <quadmath.h>
#include <stdint.h>
#include <string.h>

#include <cmath>
#include <limits>

namespace {

using Quad = __float128;

Quad logaddexp(Quad a, Quad b) { return (a > b ? a : b) + log1pq(expq(-fabsq(a - b))); }
Quad sigmoid(Quad a) { return a < 0 ? expq(a) / (1 + expq(a)) : 1 / (1 + expq(-a)); }
Quad sinc(Quad a) {
  const Quad whole = rintq(a), sine = sinq(M_PIq * (a - whole));
  return a == 0 ? 1 : (fmodq(whole, 2) == 0 ? sine : -sine) / (M_PIq * a);
}
// Below -3 lgammaq loses digits where the function crosses 0; gamma itself is far from 0 there.
Quad gammaln(Quad a) { return a < 0 && a > -100 ? logq(fabsq(tgammaq(a))) : lgammaq(a); }

// The rest of v beside the nearest double, in units in the last place of that, which are at least 2^-1074.
double rest_of(Quad v, double near) {
  if (!std::isfinite(near)) return 0;
  const int exponent = near == 0 || std::fabs(near) < 0x1p-1022 ? -1022 : std::ilogb(near);
  return double(ldexpq(v - Quad(near), 52 - exponent));
}

}  // namespace

// Returns 0 if the name is known: the values as doubles, and what these lack in their units in the last place.
extern "C" int reference(const char* name, const double* x, const double* y, int64_t n, double* high, double* low) {
#define ROW(function, value)                \
  if (strcmp(name, #function) == 0) {       \
    for (int64_t i = 0; i < n; ++i) {       \
      const Quad a = x[i];                  \
      [[maybe_unused]] const Quad b = y[i]; \
      const Quad v = value;                 \
      high[i] = double(v);                  \
      low[i] = rest_of(v, high[i]);         \
    }                                       \
    return 0;                               \
  }
  // clang-format off
  ROW(acos, acosq(a)) ROW(acosh, acoshq(a)) ROW(asin, asinq(a)) ROW(asinh, asinhq(a)) ROW(atan, atanq(a))
  ROW(atan2, atan2q(a, b)) ROW(atanh, atanhq(a)) ROW(cbrt, cbrtq(a)) ROW(cos, cosq(a)) ROW(cosh, coshq(a))
  ROW(erf, erfq(a)) ROW(erfc, erfcq(a)) ROW(exp, expq(a)) ROW(exp2, exp2q(a)) ROW(expm1, expm1q(a))
  ROW(gammaln, gammaln(a)) ROW(hypot, hypotq(a, b)) ROW(log, logq(a)) ROW(log10, log10q(a)) ROW(log1p, log1pq(a))
  ROW(log2, log2q(a)) ROW(logaddexp, logaddexp(a, b)) ROW(pow, powq(a, b)) ROW(sigmoid, sigmoid(a)) ROW(sin, sinq(a))
  ROW(sinc, sinc(a)) ROW(sinh, sinhq(a)) ROW(tan, tanq(a)) ROW(tanh, tanhq(a))
  // clang-format on
#undef ROW
                      return 1;
}

// Compares floats with the true values. Adds to `wrong` how many are not the nearest float and raises `largest`, in ULP;
// returns the place of the largest error in this run, -1 if there is none greater, -2 - i if the i-th is not a number or not
// finite where it should be, or the reverse.
extern "C" int64_t compare_floats(const float* got, const double* exact, int64_t n, double* largest, int64_t* wrong) {
  int64_t at = -1;
  for (int64_t i = 0; i < n; ++i) {
    const float nearest = float(exact[i]);
    if (memcmp(&nearest, &got[i], sizeof nearest) == 0 || (std::isnan(nearest) && std::isnan(got[i]))) continue;
    if (std::isnan(nearest) || std::isnan(got[i])) return -2 - i;
    ++*wrong;
    const double limit = 0x1.ffffffp127, least = std::numeric_limits<float>::min();
    const double size = std::fabs(exact[i]);
    if (std::isinf(got[i]) ? size < 0x1.fffffep127 : size > 0x1.00000080p128) return -2 - i;
    if (std::isinf(got[i]) || size > limit) continue;
    const double error = std::fabs(double(got[i]) - exact[i]) / std::ldexp(1.0, std::ilogb(size < least ? least : size) - 23);
    if (error > *largest) *largest = error, at = i;
  }
  return at;
}
