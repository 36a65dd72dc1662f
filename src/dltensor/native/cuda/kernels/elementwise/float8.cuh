// SPDX-License-Identifier: Apache-2.0
// Casts of runs between float8_e4m3fn or float8_e5m2 and float16, bfloat16, float32 or uint8, four elements at a time: by
// conversions of the hardware where it has them, and by products where it does not. NaNs and what is too large are put right by
// their bits.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"

namespace dlt::kernels::float8 {

// sm_89 has the conversions since PTX 8.1, sm_90 since PTX 7.8. On the host their results are computed.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900 || \
    (__CUDA_ARCH__ >= 890 && (__CUDACC_VER_MAJOR__ > 12 || __CUDACC_VER_MINOR__ > 0))
inline constexpr bool has_conversions = true;
#else
inline constexpr bool has_conversions = false;
#endif

template <class T>
inline constexpr bool is_e4m3 = is_same<T, float8_e4m3fn>::value;
template <class T>
inline constexpr bool is_float8 = is_e4m3<T> || is_same<T, float8_e5m2>::value;

// Its elements become float16 by a product, which gives a number for a NaN; on the host too, so that this is tested.
#if defined(__CUDA_ARCH__)
template <class T>
inline constexpr bool by_products = is_e4m3<T> && !has_conversions;
#else
template <class T>
inline constexpr bool by_products = is_e4m3<T>;
#endif

// ---- two float16 in a word

// The bytes of a word that a selector names, those of `other` from number 4 on.
DLT_FN uint32_t picked(uint32_t word, uint32_t other, uint32_t selector) {
#if defined(__CUDACC_RTC__)
  return __byte_perm(word, other, selector);
#else
  const uint64_t both = uint64_t(other) << 32 | word;
  uint32_t out = 0;
  for (int k = 0; k < 4; ++k) out |= uint32_t(both >> (8 * (selector >> (4 * k) & 7)) & 0xff) << (8 * k);
  return out;
#endif
}

DLT_FN uint32_t both_halves(uint32_t low, uint32_t high) { return low | high << 16; }

// a * b, rounded once.
DLT_FN uint32_t product(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__)
  uint32_t out;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
  return out;
#else
  const auto of = [](uint32_t x, uint32_t y) {
    return from<float16>(to_float(float16{uint16_t(x)}) * to_float(float16{uint16_t(y)})).bits;
  };
  return both_halves(of(a, b), of(a >> 16, b >> 16));
#endif
}
// a * b + c, rounded once; CLAMPED between 0 and 1, and 0 for a NaN.
template <bool CLAMPED>
DLT_FN uint32_t fused_product(uint32_t a, uint32_t b, uint32_t c) {
#if defined(__CUDA_ARCH__)
  uint32_t out;
  if constexpr (CLAMPED) asm("fma.rn.sat.f16x2 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(c));
  else asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(c));
  return out;
#else
  const auto wide = [](uint32_t x) { return double(to_float(float16{uint16_t(x)})); };
  const auto of = [&](uint32_t x, uint32_t y, uint32_t z) -> uint32_t {
    const double all = wide(x) * wide(y) + wide(z);
    return from<float16>(!CLAMPED ? all : all > 0 ? all < 1 ? all : 1.0 : 0.0).bits;
  };
  return both_halves(of(a, b, c), of(a >> 16, b >> 16, c >> 16));
#endif
}
DLT_FN float half_as_float(uint32_t half) { return computed<float16>::in(float16{uint16_t(half)}); }

// ---- two elements: the nearest ones of T, or the largest finite ones, in the lower half of a word; of a NaN some NaN

#if !defined(__CUDA_ARCH__)
template <class T>
DLT_FN uint32_t nearest(float x) {
  return x == x ? round_to<T>(x, true).bits : 0x7fu;
}
#endif
template <class T>
DLT_FN uint32_t two_of_halves(uint32_t halves) {
#if defined(__CUDA_ARCH__)
  uint16_t out;
  if constexpr (is_e4m3<T>) asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(out) : "r"(halves));
  else asm("cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;" : "=h"(out) : "r"(halves));
  return out;
#else
  return nearest<T>(half_as_float(halves)) | nearest<T>(half_as_float(halves >> 16)) << 8;
#endif
}
template <class T>
DLT_FN uint32_t two_of_floats(float low, float high) {
#if defined(__CUDA_ARCH__)
  uint16_t out;
  if constexpr (is_e4m3<T>) asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(out) : "f"(high), "f"(low));
  else asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(out) : "f"(high), "f"(low));
  return out;
#else
  return nearest<T>(low) | nearest<T>(high) << 8;
#endif
}

// Elements 2 * PAIR and 2 * PAIR + 1 of four, as float16: all but NaNs.
template <class T, int PAIR>
DLT_FN uint32_t halves_of(uint32_t four) {
#if defined(__CUDA_ARCH__)
  if constexpr (is_e4m3<T> && has_conversions) {
    uint32_t out;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(out) : "h"(uint16_t(four >> (16 * PAIR))));
    return out;
  }
#endif
  const uint32_t upper = picked(four, 0, PAIR ? 0x3424 : 0x1404);  // upper bytes of halves: as float16 has e5m2
  if constexpr (by_products<T>) return product((upper & 0x80008000) | (upper >> 1 & 0x3f803f80), 0x5c005c00);  // 2^8
  else return upper;
}
template <int PAIR>
DLT_FN uint32_t halves_of_bytes(uint32_t four) {
  // A byte below the upper byte of 1024 is 1024 more.
  return fused_product<false>(picked(four, 0x64646464, PAIR ? 0x4342 : 0x4140), 0x3c003c00, 0xe400e400);
}

// ---- four elements, in as many words as an element has bytes

template <class To, class From>
DLT_FN uint32_t encoded(const uint32_t* x) {
  if constexpr (is_same<From, float16>::value) {
    return both_halves(two_of_halves<To>(x[0]), two_of_halves<To>(x[1]));
  } else if constexpr (is_same<From, uint8_t>::value) {
    return both_halves(two_of_halves<To>(halves_of_bytes<0>(x[0])), two_of_halves<To>(halves_of_bytes<1>(x[0])));
  } else if constexpr (is_same<From, bfloat16>::value) {
    const auto two = [](uint32_t pair) {
      return two_of_floats<To>(bits_as<float>(pair << 16), bits_as<float>(pair & 0xffff0000));
    };
    return both_halves(two(x[0]), two(x[1]));
  } else {
    const auto two = [x](int k) { return two_of_floats<To>(bits_as<float>(x[k]), bits_as<float>(x[k + 1])); };
    return both_halves(two(0), two(2));
  }
}

// Without conversions.
template <class To, class From, bool SATURATE>
DLT_FN uint32_t one_by_one(const uint32_t* x) {
  uint32_t out = 0;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    From element;
    memcpy(&element, reinterpret_cast<const char*>(x) + j * sizeof(From), sizeof(From));
    out |= uint32_t(convert<To, false, SATURATE>(element).bits) << (8 * j);
  }
  return out;
}

// Two whole numbers in the lower bytes of halves: toward 0, between 0 and 255, 0 for a NaN. x less about half of one, divided by
// 255 and back, is nearest to the whole number that x begins with, for every element of those formats; from 1024 on float16 has
// no fractions.
DLT_FN uint32_t whole_bytes(uint32_t halves) {
  return fused_product<false>(fused_product<true>(halves, 0x1c041c04, 0x98009800), 0x5bfa5bfa, 0x64006400);
}
template <class To, class From>
DLT_FN void decode(uint32_t four, uint32_t* to) {
  const uint32_t low = halves_of<From, 0>(four), high = halves_of<From, 1>(four);
  if constexpr (is_same<To, float16>::value) {
    to[0] = low;
    to[1] = high;
  } else if constexpr (is_same<To, uint8_t>::value) {
    to[0] = picked(whole_bytes(low), whole_bytes(high), 0x6420);
  } else {
    const uint32_t wide[4] = {bits_as<uint32_t>(half_as_float(low)), bits_as<uint32_t>(half_as_float(low >> 16)),
                              bits_as<uint32_t>(half_as_float(high)), bits_as<uint32_t>(half_as_float(high >> 16))};
    if constexpr (is_same<To, bfloat16>::value) {  // which has all their digits
      to[0] = picked(wide[0], wide[1], 0x7632);
      to[1] = picked(wide[2], wide[3], 0x7632);
    } else {
      for (int k = 0; k < 4; ++k) to[k] = wide[k];
    }
  }
}

// ---- NaNs, and what is too large

// Digits and exponents of a type, and the bits of its infinity and of a NaN.
template <class T>
struct format {
  static constexpr int mantissa = T::mantissa, bias = T::bias;
  static constexpr uint32_t infinity = T::infinity, nan = T::infinity | 1u << (T::mantissa - 1);
};
template <>
struct format<float> {
  static constexpr int mantissa = 23, bias = 127;
  static constexpr uint32_t infinity = 0x7f800000, nan = 0x7fc00000;
};
template <>
struct format<uint8_t> {
  static constexpr uint32_t nan = 0;  // what a NaN becomes
};
template <>
struct format<float8_e4m3fn> {  // a NaN in place of the infinity
  static constexpr int mantissa = 3, bias = 7;
  static constexpr uint32_t infinity = 0x7f, nan = 0x7f;
};

// Sets the upper bits of bytes from `first` on, which has no upper bit; nothing else of what is returned is of use.
DLT_FN uint32_t from_on(uint32_t four, uint32_t first) { return (four & ~bytes::tops) + (0x80 - first) * bytes::ones; }

// The magnitude from which on elements have to be put right: NaNs, and of a conversion that does not saturate, the largest one
// too.
template <class To, bool SATURATE>
inline constexpr uint32_t first_encoded = SATURATE ? To::largest + 1 : To::largest;
template <class From>
inline constexpr uint32_t first_decoded = is_e4m3<From> ? 0x7f : format<From>::infinity + 1;

// The largest magnitude that becomes a finite one: the middle of the last of these and the next number becomes the even one.
template <class To, class From>
inline constexpr uint32_t last_finite = (To::largest << (format<From>::mantissa - To::mantissa)) +
                                        (uint32_t(format<From>::bias - To::bias) << format<From>::mantissa) +
                                        (1u << (format<From>::mantissa - To::mantissa - 1)) - (To::largest & 1);

template <class From>
DLT_FN uint32_t element_bits(const uint32_t* x, int j) {
  if constexpr (sizeof(From) == 4) return x[j];
  else return x[j / 2] >> (16 * (j % 2)) & 0xffff;
}

template <class To, class From, bool SATURATE>
DLT_FN uint32_t righted(uint32_t four, const uint32_t* x) {
  using F = format<From>;
  constexpr uint32_t sign = 1u << (8 * sizeof(From) - 1), last = SATURATE ? F::infinity : last_finite<To, From>;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const uint32_t all = element_bits<From>(x, j), magnitude = all & (sign - 1);
    const uint32_t bits = (magnitude > F::infinity ? format<To>::nan : format<To>::infinity) | (all & sign ? 0x80 : 0);
    if (magnitude > last) four = (four & ~(0xffu << (8 * j))) | bits << (8 * j);
  }
  return four;
}
template <class To, class From>
DLT_FN void right_decoded(uint32_t four, uint32_t* to) {
  constexpr int width = 8 * sizeof(To), each = 32 / width;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const uint32_t all = four >> (8 * j), shift = width * (j % each);
    const uint32_t sign = is_same<To, uint8_t>::value ? 0 : (all & 0x80) << (width - 8), element = ~0u >> (32 - width);
    if ((all & 0x7f) >= first_decoded<From>)
      to[j / each] = (to[j / each] & ~(element << shift)) | (format<To>::nan | sign) << shift;
  }
}

// ---- the kernel

// Elements that a thread has at once: packs of 16 bytes on the wider side, so many lanes of 16 bytes apart.
inline constexpr int lanes = 32, batch = 4;
template <class To, class From>
inline constexpr int pack = 16 / wider(sizeof(To), sizeof(From));

// Elements that a thread takes of a tile, and their results.
template <class To, class From>
struct Taken {
  static constexpr int FOURS = pack<To, From> / 4;
  using In = Pack<uint32_t, FOURS * sizeof(From)>;
  using Out = Pack<uint32_t, FOURS * sizeof(To)>;
  In x[batch];
  Out r[batch];

  DLT_FN void load(const In* in) {
#pragma unroll
    for (int u = 0; u < batch; ++u) x[u] = in[u * lanes];
  }
  DLT_FN void store(Out* out) const {
#pragma unroll
    for (int u = 0; u < batch; ++u) out[u * lanes] = r[u];
  }
  template <class F>
  DLT_FN void each(F call) {
#pragma unroll
    for (int u = 0; u < batch; ++u)
#pragma unroll
      for (int k = 0; k < FOURS; ++k) call(&x[u].at[k * sizeof(From)], &r[u].at[k * sizeof(To)]);
  }
  // Returns whether something may have to be put right.
  template <bool SATURATE>
  DLT_FN bool convert_all() {
    uint32_t suspects = 0;
    each([&](const uint32_t* from, uint32_t* to) {
      if constexpr (!is_float8<To>) {
        decode<To, From>(from[0], to);
        suspects |= from_on(from[0], first_decoded<From>);
      } else if constexpr (has_conversions) {
        to[0] = encoded<To, From>(from);
        suspects |= from_on(to[0], first_encoded<To, SATURATE>);
      } else {
        to[0] = one_by_one<To, From, SATURATE>(from);
      }
    });
    constexpr bool never = is_float8<To> ? is_same<From, uint8_t>::value || !has_conversions
                                         : is_same<To, uint8_t>::value && !by_products<From>;
    return !never && (suspects & bytes::tops) != 0;
  }
  template <bool SATURATE>
  DLT_FN void put_right() {
    each([&](const uint32_t* from, uint32_t* to) {
      if constexpr (!is_float8<To>) right_decoded<To, From>(from[0], to);
      else if constexpr (!is_same<From, uint8_t>::value) to[0] = righted<To, From, SATURATE>(to[0], from);
    });
  }
};

template <class To, class From, bool SATURATE>
__global__ void __launch_bounds__(1024) run(const __grid_constant__ Contiguous p) {
  using T = Taken<To, From>;
  constexpr int tile_size = pack<To, From> * batch * lanes;
  const uint64_t threads = all_threads(), warps = threads / lanes, first = first_item();
  // Threads of a group of fewer lanes take elements of the end only.
  const uint64_t tiles = warps ? p.count / tile_size : 0;
  const auto* in = static_cast<const typename T::In*>(p.in[0]) + first % lanes;
  auto* out = static_cast<typename T::Out*>(p.out) + first % lanes;
  uint64_t tile = first / lanes < warps ? first / lanes : tiles;
  T taken;
#pragma unroll 1
  while (tile < tiles) {
#pragma unroll 1
    do {
      taken.load(in + tile * (batch * lanes));
      if (taken.template convert_all<SATURATE>()) break;
      taken.store(out + tile * (batch * lanes));
      tile += warps;
    } while (tile < tiles);
    if (tile >= tiles) break;
    taken.template put_right<SATURATE>();
    taken.store(out + tile * (batch * lanes));
    tile += warps;
  }
  for (uint64_t i = uint64_t(tiles) * tile_size + first; i < p.count; i += threads)
    static_cast<To*>(p.out)[i] = convert<To, false, SATURATE, From>(static_cast<const From*>(p.in[0])[i]);
}

}  // namespace dlt::kernels::float8
