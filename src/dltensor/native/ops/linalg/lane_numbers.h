// SPDX-License-Identifier: Apache-2.0
// Real and complex numbers of matrices, one matrix in each lane: a register of the CPU has several lanes, a thread of a GPU is
// one. No loops over matrices here. The file before says what a lane is, in the same namespace: lanes_of and root().
#pragma once

namespace dlt::DLT_LEVEL {
namespace {

template <class V>
using mask_of = decltype(V{} < V{});

template <class V>
DLT_FN V magnitude(V v) {
  return v < V{} ? -v : v + V{};  // -0 + 0 is +0
}
template <class V>
DLT_FN V larger(V a, V b) {
  return a > b ? a : b;
}
// An element of each matrix. `conj`, `real`, `phase` and the like have one meaning for both.
template <class F>
struct RealLanes {
  using Float = F;
  using V = typename lanes_of<F>::type;
  static constexpr int parts = 1;
  V re;
  DLT_FN static RealLanes load(const F* from, int64_t capacity) {
    (void)capacity;
    RealLanes x;
    memcpy(&x.re, from, sizeof x.re);
    return x;
  }
  DLT_FN void save(F* to, int64_t capacity) const {
    (void)capacity;
    memcpy(to, &re, sizeof re);
  }
};
template <class F>
struct ComplexLanes {
  using Float = F;
  using V = typename lanes_of<F>::type;
  static constexpr int parts = 2;
  V re, im;
  DLT_FN static ComplexLanes load(const F* from, int64_t capacity) {
    ComplexLanes x;
    memcpy(&x.re, from, sizeof x.re);
    memcpy(&x.im, from + capacity, sizeof x.im);
    return x;
  }
  DLT_FN void save(F* to, int64_t capacity) const {
    memcpy(to, &re, sizeof re);
    memcpy(to + capacity, &im, sizeof im);
  }
};

#define DLT_REAL     \
  template <class F> \
  DLT_FN
DLT_REAL RealLanes<F> operator+(RealLanes<F> a, RealLanes<F> b) { return {a.re + b.re}; }
DLT_REAL RealLanes<F> operator-(RealLanes<F> a, RealLanes<F> b) { return {a.re - b.re}; }
DLT_REAL RealLanes<F> operator*(RealLanes<F> a, RealLanes<F> b) { return {a.re * b.re}; }
DLT_REAL RealLanes<F> operator/(RealLanes<F> a, RealLanes<F> b) { return {a.re / b.re}; }
DLT_REAL RealLanes<F> conj(RealLanes<F> a) { return a; }
DLT_REAL RealLanes<F> scaled(RealLanes<F> a, typename RealLanes<F>::V by) { return {a.re * by}; }
DLT_REAL RealLanes<F> over(RealLanes<F> a, typename RealLanes<F>::V by) { return {a.re / by}; }
DLT_REAL auto size(RealLanes<F> a) { return magnitude(a.re); }      // |re| + |im|, which orders pivots
DLT_REAL auto squared(RealLanes<F> a) { return a.re * a.re; }       // |a|^2
DLT_REAL auto imaginary(RealLanes<F>) { return typename RealLanes<F>::V{}; }
template <class M, class F>
DLT_FN RealLanes<F> choose(M mask, RealLanes<F> a, RealLanes<F> b) {
  return {mask ? a.re : b.re};
}
// a = r * conj(phase), where r is real.
DLT_REAL auto polar(RealLanes<F> a, RealLanes<F>* phase) {
  phase->re = typename RealLanes<F>::V{} + F(1);
  return a.re;
}

DLT_REAL ComplexLanes<F> operator+(ComplexLanes<F> a, ComplexLanes<F> b) { return {a.re + b.re, a.im + b.im}; }
DLT_REAL ComplexLanes<F> operator-(ComplexLanes<F> a, ComplexLanes<F> b) { return {a.re - b.re, a.im - b.im}; }
DLT_REAL ComplexLanes<F> operator*(ComplexLanes<F> a, ComplexLanes<F> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
DLT_REAL ComplexLanes<F> conj(ComplexLanes<F> a) { return {a.re, -a.im}; }
DLT_REAL ComplexLanes<F> scaled(ComplexLanes<F> a, typename ComplexLanes<F>::V by) { return {a.re * by, a.im * by}; }
DLT_REAL ComplexLanes<F> over(ComplexLanes<F> a, typename ComplexLanes<F>::V by) { return {a.re / by, a.im / by}; }
DLT_REAL auto size(ComplexLanes<F> a) { return magnitude(a.re) + magnitude(a.im); }
DLT_REAL auto squared(ComplexLanes<F> a) { return a.re * a.re + a.im * a.im; }
DLT_REAL auto imaginary(ComplexLanes<F> a) { return a.im; }
template <class M, class F>
DLT_FN ComplexLanes<F> choose(M mask, ComplexLanes<F> a, ComplexLanes<F> b) {
  return {mask ? a.re : b.re, mask ? a.im : b.im};
}
// Through a divisor whose larger part is 1, so that its square neither overflows nor vanishes.
DLT_REAL ComplexLanes<F> operator/(ComplexLanes<F> a, ComplexLanes<F> b) {
  const auto by = larger(magnitude(b.re), magnitude(b.im));
  const ComplexLanes<F> unit = over(b, by), quotient = over(a, by);
  return over(quotient * conj(unit), squared(unit));
}
DLT_REAL auto polar(ComplexLanes<F> a, ComplexLanes<F>* phase) {
  using V = typename ComplexLanes<F>::V;
  const V by = larger(magnitude(a.re), magnitude(a.im));
  const auto none = by == V{};
  ComplexLanes<F> unit = over(a, by);
  unit = {none ? V{} + F(1) : unit.re, none ? V{} : unit.im};
  const V r = root(squared(unit));
  *phase = over(conj(unit), r);
  return by * r;
}
#undef DLT_REAL

}  // namespace
}  // namespace dlt::DLT_LEVEL
