// SPDX-License-Identifier: Apache-2.0
// Random numbers by counter: the Philox 4x32-10 function of Salmon, Moraes, Dror and Shaw (SC11), and what its words become.
// For g++ and NVRTC; one block or one value at a time, no state and no arrays of the caller. Only +, -, *, / and sqrt are
// used, each rounded once and never contracted, so that every device computes the same bits.
#pragma once
#include "native/ops/floats.h"

namespace dlt::philox {

inline constexpr uint32_t multiplier0 = 0xd2511f53, multiplier1 = 0xcd9e8d57;
inline constexpr uint32_t weyl0 = 0x9e3779b9, weyl1 = 0xbb67ae85;  // added to the key after each round
inline constexpr int rounds = 10;

struct Words {
  uint32_t v[4];
};

DLT_FN Words block(Words c, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < rounds; ++round) {
    const uint64_t p = uint64_t(multiplier0) * c.v[0], q = uint64_t(multiplier1) * c.v[2];
    c = {{uint32_t(q >> 32) ^ c.v[1] ^ key0, uint32_t(q), uint32_t(p >> 32) ^ c.v[3] ^ key1, uint32_t(p)}};
    key0 += weyl0;
    key1 += weyl1;
  }
  return c;
}

// A sequence of words: word i is word i % 4 of block i / 4. A counter is the number of a block in words 0 and 1, the stream in
// words 2 and 3. The highest byte of word 1 is 0 there; other values of it count the attempts of words that were rejected.
struct Sequence {
  uint64_t key, stream;
};
inline constexpr uint32_t children =
    255;  // in that byte: the block is the key and the stream of a generator made from this one
inline constexpr int position_bits = 56;  // words of a sequence: blocks, and numbers of rejected words, stay below the byte

DLT_FN Words block_of(const Sequence& s, uint64_t number, uint32_t attempt = 0) {
  const uint32_t high = uint32_t(number >> 32) | attempt << 24;
  return block({{uint32_t(number), high, uint32_t(s.stream), uint32_t(s.stream >> 32)}}, uint32_t(s.key),
               uint32_t(s.key >> 32));
}

// ---- numbers in [0, 1) and (0, 1]; every step is exact

// The 24 high bits of a word; the 53 high bits of two, `high` first.
DLT_FN float unit32(uint32_t word) { return float(int32_t(word >> 8)) * 0x1p-24f; }
DLT_FN double unit64(uint32_t low, uint32_t high) {
  return (double(int32_t(high >> 5)) * 0x1p26 + double(int32_t(low >> 6))) * 0x1p-53;
}
// Never 0, whose logarithm is not finite. The float is rounded: below 2^-7 it has all 31 bits.
DLT_FN float positive32(uint32_t word) { return (float(int32_t(word >> 1)) + 1.0f) * 0x1p-31f; }
DLT_FN double positive64(uint32_t low, uint32_t high) {
  return (double(int32_t(high >> 5)) * 0x1p26 + (double(int32_t(low >> 6)) + 1.0)) * 0x1p-53;
}

// ---- functions: series whose next term is below half a unit in the last place

// log(x) of a normal x in (0, 1] by x = 2^e (1 + f), s = f / (2 + f): e log(2) + 2 atanh(s), with |s| < 0.172.
DLT_FN float log32(float x) {
  const uint32_t bits = bits_as<uint32_t>(x) + (0x3f800000u - 0x3f3504f3u);  // so that 1 + f is in [sqrt(1/2), sqrt(2))
  const float e = float(int32_t(bits >> 23) - 127);
  const float f = bits_as<float>((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  const float s = f / (2.0f + f), z = s * s;
  const float series = z * (2.0f / 3 + z * (2.0f / 5 + z * (2.0f / 7 + z * (2.0f / 9))));
  // 0x1.62e4p-1 has 15 bits: its product with e is exact.
  return e * 0x1.62e4p-1f + (e * 0x1.7f7d1cp-20f + (s * series + 2.0f * s));
}
DLT_FN double log64(double x) {
  const uint64_t bits = bits_as<uint64_t>(x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
  const double e = double(int32_t(bits >> 52) - 1023);
  const double f = bits_as<double>((bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
  const double s = f / (2.0 + f), z = s * s;
  double series = 2.0 / 21;
  series = series * z + 2.0 / 19;
  series = series * z + 2.0 / 17;
  series = series * z + 2.0 / 15;
  series = series * z + 2.0 / 13;
  series = series * z + 2.0 / 11;
  series = series * z + 2.0 / 9;
  series = series * z + 2.0 / 7;
  series = series * z + 2.0 / 5;
  series = series * z + 2.0 / 3;
  // 0x1.62e42fefap-1 has 35 bits: its product with e is exact.
  return e * 0x1.62e42fefap-1 + (e * 0x1.cf79abc9e3b3ap-40 + (s * (z * series) + 2.0 * s));
}

// sine and cosine of a part of a turn: `word` / 2^32, and for float64 the bits of `low` below. The nearest quarter is taken
// off in integers, so that the angle that remains, at most pi / 4, is rounded only once.
template <class F>
struct Turn {
  F cosine, sine;
};
template <class F>
DLT_FN Turn<F> rotate(F c, F s, uint32_t word) {
  const uint32_t quarter = (word + 0x20000000u) >> 30;
  const bool swap = (quarter & 1) != 0;
  const F a = swap ? s : c, b = swap ? c : s;
  return {((quarter + 1) & 2) != 0 ? -a : a, (quarter & 2) != 0 ? -b : b};
}
DLT_FN Turn<float> turn32(uint32_t word) {
  const float t = float(int32_t(word << 2)) * 0x1.921fb6p-32f, z = t * t;  // pi / 2 * 2^-32
  const float sine = t + t * z * (-1.0f / 6 + z * (1.0f / 120 + z * (-1.0f / 5040 + z * (1.0f / 362880))));
  const float cosine = 1.0f + z * (-0.5f + z * (1.0f / 24 + z * (-1.0f / 720 + z * (1.0f / 40320 + z * (-1.0f / 3628800)))));
  return rotate(cosine, sine, word);
}
DLT_FN Turn<double> turn64(uint32_t low, uint32_t word) {
  const double part = double(int32_t(word << 2)) + double(int32_t(low >> 1)) * 0x1p-29;
  const double t = part * 0x1.921fb54442d18p-32, z = t * t;
  double s = 1.0 / 355687428096000;  // 17!
  s = s * z - 1.0 / 1307674368000;
  s = s * z + 1.0 / 6227020800;
  s = s * z - 1.0 / 39916800;
  s = s * z + 1.0 / 362880;
  s = s * z - 1.0 / 5040;
  s = s * z + 1.0 / 120;
  s = s * z - 1.0 / 6;
  double c = 1.0 / 20922789888000;  // 16!
  c = c * z - 1.0 / 87178291200;
  c = c * z + 1.0 / 479001600;
  c = c * z - 1.0 / 3628800;
  c = c * z + 1.0 / 40320;
  c = c * z - 1.0 / 720;
  c = c * z + 1.0 / 24;
  c = c * z - 0.5;
  return rotate(1.0 + c * z, t + t * z * s, word);
}

#if defined(__CUDACC_RTC__)
DLT_FN float root(float x) { return __fsqrt_rn(x); }
DLT_FN double root(double x) { return __dsqrt_rn(x); }
#else
DLT_FN float root(float x) { return __builtin_sqrtf(x); }
DLT_FN double root(double x) { return __builtin_sqrt(x); }
#endif

// Two normal values (Box and Muller): from two words, and from four.
DLT_FN Turn<float> normals32(uint32_t word0, uint32_t word1) {
  const float radius = root(-2.0f * log32(positive32(word0)));
  const Turn<float> at = turn32(word1);
  return {radius * at.cosine, radius * at.sine};
}
DLT_FN Turn<double> normals64(uint32_t word0, uint32_t word1, uint32_t word2, uint32_t word3) {
  const double radius = root(-2.0 * log64(positive64(word0, word1)));
  const Turn<double> at = turn64(word2, word3);
  return {radius * at.cosine, radius * at.sine};
}
DLT_FN float exponential32(uint32_t word) { return 0.0f - log32(positive32(word)); }
DLT_FN double exponential64(uint32_t low, uint32_t high) { return 0.0 - log64(positive64(low, high)); }

// ---- integers below a bound without bias (Lemire, 2019): the high half of bits * count, unless the low half is below
// `reject` = 2^width % count. A value whose words are rejected takes others, which are its own: blocks that are counted by the
// position of its first word, and by the attempt.

DLT_FN uint64_t product_high(uint64_t a, uint64_t b) {
  const uint64_t al = uint32_t(a), ah = a >> 32, bl = uint32_t(b), bh = b >> 32;
  const uint64_t middle = ah * bl + (al * bl >> 32), rest = al * bh + uint32_t(middle);
  return ah * bh + (middle >> 32) + (rest >> 32);
}

// count is at least 1, and reject 2^32 % count.
DLT_FN uint32_t below32(const Sequence& s, uint64_t position, uint32_t word, uint32_t count, uint32_t reject) {
  uint64_t product = uint64_t(word) * count;
  for (uint32_t attempt = 1; uint32_t(product) < reject && attempt < children; ++attempt) {
    const Words other = block_of(s, position, attempt);
    for (int k = 0; k < 4; ++k) {
      product = uint64_t(other.v[k]) * count;
      if (uint32_t(product) >= reject) break;
    }
  }
  return uint32_t(product >> 32);
}
// Bounded integers with words of 2^64. After 509 rejections, which happens with a probability below 2^-500, the last one stands.
DLT_FN uint64_t below64(const Sequence& s, uint64_t position, uint64_t bits, uint64_t count, uint64_t reject) {
  for (uint32_t attempt = 1; bits * count < reject && attempt < children; ++attempt) {
    const Words other = block_of(s, position, attempt);
    for (int k = 0; k < 4; k += 2) {
      bits = other.v[k] | uint64_t(other.v[k + 1]) << 32;
      if (bits * count >= reject) break;
    }
  }
  return product_high(bits, count);
}

}  // namespace dlt::philox
