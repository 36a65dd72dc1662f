// SPDX-License-Identifier: Apache-2.0
// Uniform, normal and exponential numbers of one block of words, for a machine of doubles (ops/elementary/machine.h).
#pragma once
#include "native/ops/elementary/exponentials.h"
#include "native/ops/elementary/logarithms.h"
#include "native/ops/elementary/special.h"
#include "native/ops/random/philox.h"

namespace dlt::sampled {

using elementary::polynomial;

// Words 0 and 1, and words 2 and 3 of a block; the second of a pair is the upper half.
template <class M>
struct Bits {
  typename M::Int low, high;
};

// A value, and whether it is one of the distribution.
template <class M>
struct Sample {
  typename M::Float value;
  typename M::Mask accepted;
};

// ---- numbers in (0, 1); every step is exact

// (k + 1/2) / 2^52 of the 52 high bits k of two words, so that the complement is exact too.
template <class M>
DLT_FN typename M::Float unit(typename M::Int pair) {
  return M::value(M::right(pair, 12) | 0x3ff0000000000000) - 0x1.fffffffffffffp-1;
}
// The upper word of a pair as a number, (w + 1/2) / 2^32.
template <class M>
DLT_FN typename M::Float upper_unit(typename M::Int pair) {
  return (M::value(M::right(pair, 32) | 0x4330000000000000) - 0x1.fffffffffffffp51) * 0x1p-32;
}

// ---- of the whole line

template <class M>
DLT_FN typename M::Float exponential(typename M::Int pair) {
  return -elementary::log<M>(unit<M>(pair));
}
// A normal value (Box and Muller): the radius from two words, the sine of an angle within half a turn from the third.
template <class M>
DLT_FN typename M::Float normal(const Bits<M>& bits) {
  const typename M::Float radius = M::sqrt(elementary::log<M>(unit<M>(bits.low)) * -2.0);
  const typename M::Float word = M::value((bits.high & 0xffffffff) | 0x4330000000000000) - 0x1.000008p52;
  const typename M::Float turn = M::fma(word, M::all(0x1p-32), M::all(0x1p-33)), z = turn * turn;
  return radius * (turn * 0x1.921fb54442d18p1) * M::fma(z, elementary::sine_slope<M, true>(z), M::all(1.0));
}

// ---- whole numbers next to a number that is not negative, and is itself whole from 2^52 on

template <class M>
DLT_FN typename M::Float nearest(typename M::Float x) {
  return x < 0x1p52 ? (x + 0x1p52) - 0x1p52 : x;
}
template <class M>
DLT_FN typename M::Float rounded_up(typename M::Float x) {
  const typename M::Float r = nearest<M>(x);
  return r < x ? r + 1.0 : r;
}
// Of a negative number some number below 0.
template <class M>
DLT_FN typename M::Float rounded_down(typename M::Float x) {
  const typename M::Float r = nearest<M>(x);
  return x < 0.0 ? M::all(-1.0) : r > x ? r - 1.0 : r;
}

}  // namespace dlt::sampled
