// SPDX-License-Identifier: Apache-2.0
// The bodies of ops.h as types that a kernel takes as argument, and loads and stores of elements.
#pragma once
#include "native/ops/casts.h"
#include "native/ops/elementwise/ops.h"
#include "native/ops/elementwise/saturating.h"
#include "native/cuda/kernels/parameters.cuh"
namespace dlt::ops {
// Computes a * b + c of 16-bit floats, rounded once: the exact product, and the sum rounded to odd as in odd_fma() of the CPU.
template <class S, int E, int M, int B, Special P>
DLT_FN small_float<S, E, M, B, P> fma(small_float<S, E, M, B, P> a, small_float<S, E, M, B, P> b,
                                      small_float<S, E, M, B, P> c) {
  const double product = double(to_float(a)) * double(to_float(b)), addend = to_float(c), sum = product + addend;
  const double odd = odd_sum(exact_sum(product, addend));
  return convert<small_float<S, E, M, B, P>, false, false, double>(isfinite(sum) ? odd : sum);
}
}  // namespace dlt::ops

namespace dlt::kernels {

#define DLT_BODY(name, ...)            \
  struct op_##name {                   \
    static constexpr bool raw = false; \
    template <class... A>              \
    DLT_FN static auto of(A... a) {    \
      return ops::name(a...);          \
    }                                  \
  };
DLT_OPS(DLT_BODY)
#undef DLT_BODY
#define DLT_BODY(name, operands)       \
  struct saturating_##name {           \
    static constexpr bool raw = false; \
    template <class... A>              \
    DLT_FN static auto of(A... a) {    \
      return saturated::name(a...);    \
    }                                  \
  };
DLT_SATURATING_OPS(DLT_BODY)
#undef DLT_BODY

// Bodies that receive unconverted elements.

// An integer op any real number, the second operand.
#define DLT_REAL_BODY(name, operands)      \
  struct real_##name {                     \
    static constexpr bool raw = true;      \
    template <class... A>                  \
    DLT_FN static auto of(A... a) {        \
      return saturated::name##_real(a...); \
    }                                      \
  };
DLT_REAL_BODY(add, 2)
DLT_REAL_BODY(rsub, 2)
DLT_REAL_BODY(multiply, 2)
DLT_REAL_BODY(divide, 2)
DLT_REAL_BODY(rdivide, 2)
DLT_REAL_BODY(fma, 3)
#undef DLT_REAL_BODY
// a * b + c, where c and the result are the unsigned twin of a and b.
struct twin_fma {
  static constexpr bool raw = true;
  template <class T, class C>
  DLT_FN static C of(T a, T b, C c) {
    return saturated::fma(a, b, c);
  }
};

// Comparisons by value of elements with no dtype in common that holds both.
template <class M>
DLT_FN auto widest(M v) {
  if constexpr (is_same<M, int64_t>::value || is_same<M, uint64_t>::value) return v;
  else if constexpr (is_complex<M>::value) return convert<complex128, false, false, M>(v);
  else return convert<double, false, false, M>(v);
}
#define DLT_BODY(name)                        \
  struct unlike_##name {                      \
    static constexpr bool raw = true;         \
    template <class A, class B>               \
    DLT_FN static bool of(A a, B b) {         \
      return ops::name(widest(a), widest(b)); \
    }                                         \
  };
DLT_COMPARISONS(DLT_BODY)
#undef DLT_BODY

struct keep {
  static constexpr bool raw = true;
  template <class A>
  DLT_FN static A of(A a) {
    return a;
  }
};
template <class To, bool NEAREST, bool SATURATE>
struct cast {
  static constexpr bool raw = true;
  template <class A>
  DLT_FN static To of(A a) {
    return convert<To, NEAREST, SATURATE, A>(a);
  }
};

// A cast of a * scale + offset, computed in F with one rounding before the cast's own.
template <class To, bool NEAREST, bool SATURATE>
struct scaled_cast {
  static constexpr bool raw = true;
  template <class A, class F>
  DLT_FN static To of(A a, F scale, F offset) {
    return convert<To, NEAREST, SATURATE, F>(fused(convert<F, false, false, A>(a), scale, offset));
  }
};
struct choose {
  static constexpr bool raw = true;
  template <class A>
  DLT_FN static A of(boolean condition, A a, A b) {
    return condition.bits ? a : b;
  }
};

// The type an element is computed in.
template <class T>
struct computed {
  using type = T;
  DLT_FN static T in(T v) { return v; }
  DLT_FN static T out(T v) { return v; }
};
template <>
struct computed<boolean> {
  using type = bool;
  DLT_FN static bool in(boolean v) { return v.bits != 0; }
  DLT_FN static boolean out(bool v) { return {uint8_t(v)}; }
};
// Halves are computed in float. On a device by its own conversions: of a NaN they keep no payload, as no arithmetic there
// does. Casts and moves keep it; those do not come by here.
template <class HALF>
struct computed_half {
  using type = float;
  DLT_FN static float in(HALF v) {
#if defined(__CUDA_ARCH__)
    if constexpr (is_same<HALF, float16>::value) {
      float wide;
      asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(v.bits));
      return wide;
    }
#endif
    return to_float(v);
  }
  DLT_FN static HALF out(float v) {
#if defined(__CUDA_ARCH__)
    HALF narrow;
    if constexpr (is_same<HALF, float16>::value) {
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(v));
      return narrow;
    }
#if __CUDA_ARCH__ >= 800
    if constexpr (is_same<HALF, bfloat16>::value) {
      asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(v));
      return narrow;
    }
#endif
#endif
    return from<HALF>(v);
  }
};
template <>
struct computed<float16> : computed_half<float16> {};
template <>
struct computed<bfloat16> : computed_half<bfloat16> {};

// The ops that depend on the bits of the elements: those of halves are not computed in float.
#define DLT_BODY(name, ...) || is_same<Body, op_##name>::value
template <class Body>
inline constexpr bool keeps_width = is_same<Body, op_nextafter>::value || is_same<Body, op_fma>::value DLT_SIGN_OPS(DLT_BODY);
#undef DLT_BODY

// The functions of ops/elementary: those of float16 are computed in double, so that they are correctly rounded.
template <class Body>
inline constexpr bool is_elementary = false;
#define DLT_BODY(name, operands) \
  template <>                    \
  inline constexpr bool is_elementary<op_##name> = true;
DLT_ELEMENTARY_OPS(DLT_BODY)
#undef DLT_BODY

// An element of memory type M as an operand of an op that is computed in T's terms.
template <class Body, class T, class M>
DLT_FN auto take(M v) {
  if constexpr (Body::raw) return v;
  else if constexpr (!is_same<T, M>::value) return take<Body, T>(convert<T, false, false, M>(v));
  else if constexpr (keeps_width<Body> && is_half<T>) return v;
  else if constexpr (is_elementary<Body> && is_same<T, float16>::value) return double(computed<T>::in(v));
  else return computed<T>::in(v);
}

// The result as an element of memory type R.
template <class Body, class T, class R, class V>
DLT_FN R give(V v) {
  if constexpr (is_same<V, bool>::value) {
    if constexpr (is_same<R, boolean>::value) return {uint8_t(v)};
    else return convert<R, false, false, boolean>(boolean{uint8_t(v)});
  } else if constexpr (Body::raw) {
    return v;
  } else if constexpr (is_same<T, float16>::value && is_same<V, double>::value) {
    if constexpr (is_same<R, T>::value) return convert<T, false, false, double>(v);
    else return convert<R, false, false, T>(convert<T, false, false, double>(v));
  } else if constexpr (is_same<V, typename computed<T>::type>::value) {
    if constexpr (is_same<R, T>::value) return computed<T>::out(v);
    else return convert<R, false, false, T>(computed<T>::out(v));
  } else {  // the real part of a complex type
    if constexpr (is_same<R, V>::value) return v;
    else return convert<R, false, false, V>(v);
  }
}

template <class A>
DLT_FN A immediate(const Immediate& value) {
  A out;
  memcpy(&out, value.bytes, sizeof(A));
  return out;
}

// The first N operands.
template <class Body, int N, class T, class R, class X, class Y, class Z>
DLT_FN R apply(X a, Y b, Z c) {
  if constexpr (N == 1) return give<Body, T, R>(Body::of(a));
  else if constexpr (N == 2) return give<Body, T, R>(Body::of(a, b));
  else return give<Body, T, R>(Body::of(a, b, c));
}

// Adjacent elements moved as one, by accesses of up to 16 bytes. One element alone needs no more than its own alignment.
template <class T, int COUNT>
struct alignas(COUNT == 1               ? alignof(T)
               : sizeof(T) * COUNT < 16 ? sizeof(T) * COUNT
                                        : 16) Pack {
  T at[COUNT];
};

// The word that begins so many bits (fewer than 32) into `low`, followed by `high`.
DLT_FN uint32_t cut_words(uint32_t low, uint32_t high, uint32_t shift) {
#if defined(__CUDACC_RTC__)
  return __funnelshift_r(low, high, shift);
#else
  return uint32_t((uint64_t(high) << 32 | low) >> shift);
#endif
}

// Four bytes in a word: which are not 0, as their highest bits, and such a mask as bytes that are 0 or 1. More in bytes.cuh.
namespace bytes {
inline constexpr uint32_t tops = 0x80808080u, ones = 0x01010101u;
DLT_FN uint32_t nonzero(uint32_t a) { return (((a & ~tops) + ~tops) | a) & tops; }
DLT_FN uint32_t truths(uint32_t mask) { return mask >> 7; }
}  // namespace bytes

DLT_FN constexpr int wider(int a, int b) { return a > b ? a : b; }

// The first item of this thread, and the number of all threads.
DLT_FN uint64_t first_item() { return uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
DLT_FN uint64_t all_threads() { return uint64_t(gridDim.x) * blockDim.x; }

// 16 bytes, which 64-bit words do not have.
struct wide_word {
  uint64_t low, high;
};

}  // namespace dlt::kernels
