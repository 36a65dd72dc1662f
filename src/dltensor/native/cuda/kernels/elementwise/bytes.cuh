// SPDX-License-Identifier: Apache-2.0
// Bodies on four elements of one byte in a word, or on two halves whose signs change: the results of ops.h, in a few instructions
// for all of them. The same text on the host. What is not here is computed element by element.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"

namespace dlt::kernels::bytes {

// Below, a mask is a word whose bytes have their highest bit set or not, and no other.
// All bits of the bytes that a mask names.
DLT_FN uint32_t filled(uint32_t mask) {
#if defined(__CUDACC_RTC__)
  uint32_t out;
  asm("prmt.b32 %0, %1, 0, 0xba98;" : "=r"(out) : "r"(mask));
  return out;
#else
  return (mask - (mask >> 7)) | mask;
#endif
}
DLT_FN uint32_t select(uint32_t mask, uint32_t a, uint32_t b) {
  const uint32_t chosen = filled(mask);
  return (a & chosen) | (b & ~chosen);
}
// Bytes in chosen a is less than b. The difference of the lower bits borrows from no other byte.
template <class T>
DLT_FN uint32_t below(uint32_t a, uint32_t b) {
  const uint32_t rest = (a | tops) - (b & ~tops);
  const uint32_t by_top = is_same<T, int8_t>::value ? a & ~b : ~a & b;
  return (by_top | (~(a ^ b) & ~rest)) & tops;
}
DLT_FN uint32_t sum(uint32_t a, uint32_t b) { return ((a & ~tops) + (b & ~tops)) ^ ((a ^ b) & tops); }
DLT_FN uint32_t difference(uint32_t a, uint32_t b) { return ((a | tops) - (b & ~tops)) ^ ((a ^ ~b) & tops); }
template <class T>
DLT_FN uint32_t greatest(uint32_t a, uint32_t b) {
  return select(below<T>(a, b), b, a);
}
template <class T>
DLT_FN uint32_t least(uint32_t a, uint32_t b) {
  return select(below<T>(b, a), b, a);
}

inline constexpr uint32_t signs = 0x80008000u;  // of two halves

template <class T>
inline constexpr bool is_truth = is_same<T, boolean>::value;
template <class T>
inline constexpr bool is_byte = is_same<T, int8_t>::value || is_same<T, uint8_t>::value || is_truth<T>;

// Operands of bools are 0 or 1 here, and their results have to be; those of raw bodies are as they are in memory.
template <class Body>
struct words {
  template <class T, class R>
  static constexpr bool takes = false;
};
#define DLT_BYTES(name, types, ...)                                 \
  template <>                                                       \
  struct words<op_##name> {                                         \
    template <class T, class R>                                     \
    static constexpr bool takes = types;                            \
    template <class T>                                              \
    DLT_FN static uint32_t of(uint32_t a, uint32_t b, uint32_t c) { \
      (void)a, (void)b, (void)c;                                    \
      return __VA_ARGS__;                                           \
    }                                                               \
  };
#define DLT_SAME (is_same<T, R>::value)
// clang-format off
DLT_BYTES(abs, DLT_SAME, is_half<T> ? a & ~signs : is_same<T, int8_t>::value ? sum(a ^ filled(a & tops), truths(a & tops)) : a)
DLT_BYTES(bitwise_invert, DLT_SAME, is_truth<T> ? a ^ ones : ~a)
DLT_BYTES(ceil, DLT_SAME, a)
DLT_BYTES(floor, DLT_SAME, a)
DLT_BYTES(trunc, DLT_SAME, a)
DLT_BYTES(round, DLT_SAME, a)
DLT_BYTES(conj, DLT_SAME, a)
DLT_BYTES(positive, DLT_SAME, a)
DLT_BYTES(copysign, DLT_SAME, (a & ~signs) | (b & signs))
DLT_BYTES(negative, DLT_SAME, is_half<T> ? a ^ signs : difference(0, a))
DLT_BYTES(sign, DLT_SAME, (is_same<T, int8_t>::value ? filled(a & tops) : 0) | truths(nonzero(a)))
DLT_BYTES(logical_not, true, truths(nonzero(a)) ^ ones)
DLT_BYTES(add, DLT_SAME, is_truth<T> ? a | b : sum(a, b))
DLT_BYTES(subtract, DLT_SAME, difference(a, b))
DLT_BYTES(multiply, DLT_SAME && is_truth<T>, a & b)
DLT_BYTES(bitwise_and, DLT_SAME, a & b)
DLT_BYTES(bitwise_or, DLT_SAME, a | b)
DLT_BYTES(bitwise_xor, DLT_SAME, a ^ b)
DLT_BYTES(equal, true, truths(nonzero(a ^ b)) ^ ones)
DLT_BYTES(not_equal, true, truths(nonzero(a ^ b)))
DLT_BYTES(less, true, truths(below<T>(a, b)))
DLT_BYTES(less_equal, true, truths(below<T>(b, a)) ^ ones)
DLT_BYTES(greater, true, truths(below<T>(b, a)))
DLT_BYTES(greater_equal, true, truths(below<T>(a, b)) ^ ones)
DLT_BYTES(logical_and, true, truths(nonzero(a) & nonzero(b)))
DLT_BYTES(logical_or, true, truths(nonzero(a | b)))
DLT_BYTES(logical_xor, true, truths(nonzero(a) ^ nonzero(b)))
DLT_BYTES(maximum, DLT_SAME, greatest<T>(a, b))
DLT_BYTES(minimum, DLT_SAME, least<T>(a, b))
DLT_BYTES(clip, DLT_SAME, least<T>(greatest<T>(a, b), c))
// clang-format on
#undef DLT_BYTES
#undef DLT_SAME

template <>
struct words<keep> {
  template <class T, class R>
  static constexpr bool takes = true;
  template <class T>
  DLT_FN static uint32_t of(uint32_t a, uint32_t, uint32_t) {
    return a;
  }
};
template <>
struct words<choose> {
  template <class T, class R>
  static constexpr bool takes = true;
  template <class T>
  DLT_FN static uint32_t of(uint32_t condition, uint32_t a, uint32_t b) {
    return select(nonzero(condition), a, b);
  }
};
// T is what is cast: bytes other than bools keep their bits.
template <class To, bool NEAREST, bool SATURATE>
struct words<cast<To, NEAREST, SATURATE>> {
  template <class T, class R>
  static constexpr bool takes = is_byte<To> && is_byte<T> && (is_truth<To> || is_truth<T> || !SATURATE);
  template <class T>
  DLT_FN static uint32_t of(uint32_t a, uint32_t, uint32_t) {
    return is_truth<To> || is_truth<T> ? truths(nonzero(a)) : a;
  }
};

template <class Body, class T, class M>
DLT_FN uint32_t word_of(const M* at) {
  uint32_t word;
  memcpy(&word, at, 4);
  if constexpr (!Body::raw && is_truth<T>) return truths(nonzero(word));
  else return word;
}

// Can packs of so many elements be computed by words? On older devices the compiler takes the words of a pack apart and puts
// them together again, so that 4 elements a time are slower than one.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 1000
inline constexpr bool has_words = false;
#else
inline constexpr bool has_words = true;
#endif
template <class Body, int N, class T, class R, class A, class B, class C, int VEC>
DLT_FN constexpr bool by_words() {
  if constexpr (is_same<Body, keep>::value) return is_same<A, R>::value && VEC * sizeof(A) % 4 == 0 && sizeof(A) < 4;
  else if constexpr (keeps_width<Body> && is_half<T>)
    return VEC % 2 == 0 && is_same<A, T>::value && (N < 2 || is_same<B, T>::value) && words<Body>::template takes<T, R>;
  else if constexpr (!has_words || VEC % 4 != 0 || sizeof(A) != 1 || (N > 1 && sizeof(B) != 1) || (N > 2 && sizeof(C) != 1) ||
                     sizeof(R) != 1)
    return false;
  else if constexpr (is_same<Body, choose>::value) return true;
  else
    return is_byte<T> && is_byte<R> && is_same<A, T>::value && (N < 2 || is_same<B, T>::value) &&
           (N < 3 || is_same<C, T>::value) && words<Body>::template takes<T, R>;
}

// A body on packs of its operands.
template <class Body, int N, class T, class R, class A, class B, class C, int VEC>
DLT_FN Pack<R, VEC> apply_pack(const Pack<A, VEC>& a, const Pack<B, VEC>& b, const Pack<C, VEC>& c) {
  Pack<R, VEC> out;
  if constexpr (by_words<Body, N, T, R, A, B, C, VEC>()) {
    constexpr int STEP = 4 / sizeof(A);
#pragma unroll
    for (int j = 0; j < VEC; j += STEP) {
      uint32_t y = 0, z = 0;
      if constexpr (N > 1) y = word_of<Body, T>(&b.at[j]);
      if constexpr (N > 2) z = word_of<Body, T>(&c.at[j]);
      const uint32_t word = words<Body>::template of<T>(word_of<Body, T>(&a.at[j]), y, z);
      memcpy(&out.at[j], &word, 4);
    }
  } else {
#pragma unroll
    for (int j = 0; j < VEC; ++j)
      out.at[j] = apply<Body, N, T, R>(take<Body, T>(a.at[j]), take<Body, T>(b.at[j]), take<Body, T>(c.at[j]));
  }
  return out;
}

}  // namespace dlt::kernels::bytes
