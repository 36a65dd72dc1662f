// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels for any body: over runs of memory, and over rows of a strided shape. Both loop with a grid
// stride, so that any launch gives the same result, and 16 bytes at a time where the addresses allow.
#pragma once
#include "native/cuda/kernels/bodies.cuh"

namespace dlt::kernels::element {

// BODY on OPERANDS operands in T's terms; A, B, C and R are the types in memory; bit k of IMMEDIATES: operand k is one.
template <class Body, int OPERANDS, class T, class A, class B, class C, class R, int VEC, unsigned IMMEDIATES>
__global__ void __launch_bounds__(1024) contiguous(const __grid_constant__ Contiguous p) {
  constexpr bool load_a = !(IMMEDIATES & 1), load_b = OPERANDS > 1 && !(IMMEDIATES & 2),
                 load_c = OPERANDS > 2 && !(IMMEDIATES & 4);
  // Two packs of each operand in flight fill the memory pipe at full occupancy; wide packs of bytes are enough alone.
  constexpr int UNROLL = VEC > 8 || VEC * sizeof(R) > 16 ? 1 : 2;
  const auto value_a = take<Body, T>(immediate<A>(p.value[0]));
  const auto value_b = take<Body, T>(immediate<B>(p.value[1]));
  const auto value_c = take<Body, T>(immediate<C>(p.value[2]));
  const uint64_t packs = p.count / VEC, threads = all_threads();
  const auto* a = static_cast<const Pack<A, VEC>*>(p.in[0]);
  const auto* b = static_cast<const Pack<B, VEC>*>(p.in[1]);
  const auto* c = static_cast<const Pack<C, VEC>*>(p.in[2]);
  auto* out = static_cast<Pack<R, VEC>*>(p.out);
// Unrolled further, as the compiler does for newer architectures, the loop takes twice the registers.
#pragma unroll 1
  for (uint64_t i = first_item(); i < packs; i += threads * UNROLL) {
    Pack<A, VEC> x[UNROLL];
    Pack<B, VEC> y[UNROLL];
    Pack<C, VEC> z[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const uint64_t at = i + u * threads;
      if (at < packs) {
        if constexpr (load_a) x[u] = a[at];
        if constexpr (load_b) y[u] = b[at];
        if constexpr (load_c) z[u] = c[at];
      }
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const uint64_t at = i + u * threads;
      if (at < packs) {
        Pack<R, VEC> r;
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
          auto va = value_a;
          auto vb = value_b;
          auto vc = value_c;
          if constexpr (load_a) va = take<Body, T>(x[u].at[j]);
          if constexpr (load_b) vb = take<Body, T>(y[u].at[j]);
          if constexpr (load_c) vc = take<Body, T>(z[u].at[j]);
          r.at[j] = apply<Body, OPERANDS, T, R>(va, vb, vc);
        }
        out[at] = r;
      }
    }
  }
  for (uint64_t i = packs * VEC + first_item(); i < p.count; i += threads) {
    auto va = value_a;
    auto vb = value_b;
    auto vc = value_c;
    if constexpr (load_a) va = take<Body, T>(static_cast<const A*>(p.in[0])[i]);
    if constexpr (load_b) vb = take<Body, T>(static_cast<const B*>(p.in[1])[i]);
    if constexpr (load_c) vc = take<Body, T>(static_cast<const C*>(p.in[2])[i]);
    static_cast<R*>(p.out)[i] = apply<Body, OPERANDS, T, R>(va, vb, vc);
  }
}

template <class M, int VEC, unsigned MODE>
DLT_FN Pack<M, VEC> load_row(const void* from, int64_t row, int64_t column, int64_t step, const Immediate& value) {
  Pack<M, VEC> pack;
  if constexpr (MODE == mode_run) {
    pack = *reinterpret_cast<const Pack<M, VEC>*>(static_cast<const M*>(from) + row + column);
  } else if constexpr (MODE == mode_strided) {
    const M* at = static_cast<const M*>(from) + row + column * step;
#pragma unroll
    for (int j = 0; j < VEC; ++j) pack.at[j] = at[j * step];
  } else {
    const M same = MODE == mode_repeat ? static_cast<const M*>(from)[row] : immediate<M>(value);
#pragma unroll
    for (int j = 0; j < VEC; ++j) pack.at[j] = same;
  }
  return pack;
}

// MODES: two bits for the output and each operand. One chain of divisions finds the place of VEC elements.
template <class Body, int OPERANDS, class T, class A, class B, class C, class R, int VEC, unsigned MODES, int DIMS, class I>
__global__ void __launch_bounds__(1024) rows(const __grid_constant__ Rows<DIMS, I> p) {
  constexpr unsigned mode_out = MODES & mode_mask, mode_a = MODES >> mode_bits & mode_mask,
                     mode_b = OPERANDS > 1 ? MODES >> 2 * mode_bits & mode_mask : unsigned(mode_immediate),
                     mode_c = OPERANDS > 2 ? MODES >> 3 * mode_bits & mode_mask : unsigned(mode_immediate);
  const uint64_t threads = all_threads();
  for (uint64_t item = first_item(); item < p.items; item += threads) {
    I column, rest;
    I row = divide(p.per_row, I(item), &column);
    int64_t at[max_operands + 1] = {0, 0, 0, 0};
#pragma unroll 2
    for (int d = p.dims - 1; d >= 0; --d) {
      row = divide(p.extent[d], row, &rest);
      at[0] += int64_t(rest) * p.stride[0][d];
      at[1] += int64_t(rest) * p.stride[1][d];
      if constexpr (OPERANDS > 1) at[2] += int64_t(rest) * p.stride[2][d];
      if constexpr (OPERANDS > 2) at[3] += int64_t(rest) * p.stride[3][d];
    }
    const int64_t first = int64_t(column) * VEC;
    const auto a = load_row<A, VEC, mode_a>(p.in[0], at[1], first, p.inner[1], p.value[0]);
    const auto b = load_row<B, VEC, mode_b>(p.in[1], at[2], first, p.inner[2], p.value[1]);
    const auto c = load_row<C, VEC, mode_c>(p.in[2], at[3], first, p.inner[3], p.value[2]);
    Pack<R, VEC> r;
#pragma unroll
    for (int j = 0; j < VEC; ++j)
      r.at[j] = apply<Body, OPERANDS, T, R>(take<Body, T>(a.at[j]), take<Body, T>(b.at[j]), take<Body, T>(c.at[j]));
    R* out = static_cast<R*>(p.out) + at[0];
    if constexpr (mode_out == mode_run) {
      *reinterpret_cast<Pack<R, VEC>*>(out + first) = r;
    } else {
#pragma unroll
      for (int j = 0; j < VEC; ++j) out[(first + j) * p.inner[0]] = r.at[j];
    }
  }
}

}  // namespace dlt::kernels::element
