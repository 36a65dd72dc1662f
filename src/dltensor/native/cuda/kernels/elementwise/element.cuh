// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels for any body: over runs of memory, and over rows of a strided shape. Both loop with a grid
// stride, so that any launch gives the same result, and 16 bytes at a time where the addresses allow.
#pragma once
#include "native/cuda/kernels/elementwise/bytes.cuh"

namespace dlt::kernels::element {

template <class M, int VEC>
DLT_FN Pack<M, VEC> repeated(M same) {
  Pack<M, VEC> out;
#pragma unroll
  for (int j = 0; j < VEC; ++j) out.at[j] = same;
  return out;
}

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
        if constexpr (bytes::by_words<Body, OPERANDS, T, R, A, B, C, VEC>()) {
          if constexpr (!load_a) x[u] = repeated<A, VEC>(immediate<A>(p.value[0]));
          if constexpr (OPERANDS > 1 && !load_b) y[u] = repeated<B, VEC>(immediate<B>(p.value[1]));
          if constexpr (OPERANDS > 2 && !load_c) z[u] = repeated<C, VEC>(immediate<C>(p.value[2]));
          r = bytes::apply_pack<Body, OPERANDS, T, R>(x[u], y[u], z[u]);
        } else {
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

// One operand along a row. A run of bytes or halves may begin at any address: each pack of four bytes is cut out of the two
// words that it lies in, which are one word twice where it is a word.
template <class M, int VEC, unsigned MODE, bool WORDS>
struct Line {
  static constexpr bool is_cut = WORDS && MODE == mode_run && sizeof(M) < 4 && VEC * sizeof(M) == 4;
  static constexpr bool is_same_everywhere = MODE == mode_repeat || MODE == mode_immediate;
  const M* at;
  const M* high;  // where the second words are
  int64_t step;
  M same;
  uint32_t shift = 0;  // of packs, in bits from the beginnings of their first words

  DLT_FN Line(const void* from, int64_t row, int64_t inner, const Immediate& value)
      : at(static_cast<const M*>(from) + (MODE == mode_immediate ? 0 : row)), step(inner) {
    if constexpr (MODE == mode_repeat) same = *at;
    if constexpr (MODE == mode_immediate) same = immediate<M>(value);
  }
  DLT_FN M element(uint64_t i) const {
    if constexpr (MODE == mode_run) return at[i];
    else if constexpr (MODE == mode_strided) return at[int64_t(i) * step];
    else return same;
  }
  // Do packs from element `first` on begin inside of words?
  DLT_FN bool is_apart(uint64_t first) const {
    if constexpr (is_cut) return reinterpret_cast<uint64_t>(at + first) & 3;
    else return false;
  }
  // From here on packs are counted from that element.
  DLT_FN void begin(uint64_t first) {
    if constexpr (is_cut) {
      const char* place = reinterpret_cast<const char*>(at + first);
      const uint32_t over = uint32_t(reinterpret_cast<uint64_t>(place)) & 3;
      shift = over * 8;
      at = reinterpret_cast<const M*>(place - over);
      high = reinterpret_cast<const M*>(place - over + (over ? 4 : 0));
    } else if constexpr (MODE == mode_strided) {
      at += int64_t(first) * step;
    } else if constexpr (MODE == mode_run) {
      at += first;
    }
  }
  struct Cut {
    uint32_t low, high;
  };
  struct Nothing {};
  // The words loaded for a pack, and the pack: all loads are under way before the first is needed.
  DLT_FN auto load(uint64_t k) const {
    if constexpr (is_same_everywhere) {
      return Nothing{};
    } else if constexpr (is_cut) {
      return Cut{reinterpret_cast<const uint32_t*>(at)[k], reinterpret_cast<const uint32_t*>(high)[k]};
    } else if constexpr (MODE == mode_run && !(WORDS && VEC > 1)) {
      return reinterpret_cast<const Pack<M, VEC>*>(at)[k];
    } else {
      Pack<M, VEC> out;
#pragma unroll
      for (int j = 0; j < VEC; ++j) out.at[j] = element(k * VEC + j);
      return out;
    }
  }
  using Loaded = decltype(static_cast<const Line*>(nullptr)->load(0));
  DLT_FN Pack<M, VEC> pack(const Loaded& loaded) const {
    if constexpr (is_same_everywhere) {
      return repeated<M, VEC>(same);
    } else if constexpr (is_cut) {
      Pack<M, VEC> out;
      const uint32_t both = cut_words(loaded.low, loaded.high, shift);
      memcpy(&out, &both, 4);
      return out;
    } else {
      return loaded;
    }
  }
};

// Adds what a row contributes to the places of the output and the operands.
template <int OPERANDS, int DIMS, class I>
DLT_FN void add_row(const Rows<DIMS, I>& p, I row, int64_t (&at)[max_operands + 1]) {
#pragma unroll 1
  for (int d = p.dims - 1; d >= 0; --d) {
    I rest = row;
    if (d) row = divide(p.extent[d], row, &rest);
    at[0] += int64_t(rest) * p.stride[0][d];
    at[1] += int64_t(rest) * p.stride[1][d];
    if constexpr (OPERANDS > 1) at[2] += int64_t(rest) * p.stride[2][d];
    if constexpr (OPERANDS > 2) at[3] += int64_t(rest) * p.stride[3][d];
  }
}

// Packs `first` to `end` of a row, `lanes` of them apart; elements of the output are `step` apart unless RUN.
template <class Body, int OPERANDS, class T, int VEC, int UNROLL, bool RUN, class A, class B, class C, class R, class I>
DLT_FN void compute_packs(const A& a, const B& b, const C& c, R* out, int64_t step, I first, I end, uint32_t lanes) {
#pragma unroll 1
  for (; first < end; first += lanes * UNROLL) {
    typename A::Loaded x[UNROLL];
    typename B::Loaded y[UNROLL];
    typename C::Loaded z[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const I k = first + u * lanes;
      if (k < end) {
        x[u] = a.load(k);
        y[u] = b.load(k);
        z[u] = c.load(k);
      }
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const I k = first + u * lanes;
      if (k < end) {
        const Pack<R, VEC> r = bytes::apply_pack<Body, OPERANDS, T, R>(a.pack(x[u]), b.pack(y[u]), c.pack(z[u]));
        if constexpr (RUN) {
          reinterpret_cast<Pack<R, VEC>*>(out)[k] = r;
        } else {
#pragma unroll
          for (int j = 0; j < VEC; ++j) out[(int64_t(k) * VEC + j) * step] = r.at[j];
        }
      }
    }
  }
}

// MODES: two bits for the output and each operand. Threads of a group take neighbouring packs of a part of a row, so that
// its place is found once a part. Where packs are words, the output's are aligned and the elements before and after them
// are taken one by one; no word is read that is not all in the row.
template <class Body, int OPERANDS, class T, class A, class B, class C, class R, int VEC, unsigned MODES, int DIMS, class I>
__global__ void __launch_bounds__(1024) rows(const __grid_constant__ Rows<DIMS, I> p) {
  constexpr unsigned mode_out = MODES & mode_mask, mode_a = MODES >> mode_bits & mode_mask,
                     mode_b = OPERANDS > 1 ? MODES >> 2 * mode_bits & mode_mask : unsigned(mode_immediate),
                     mode_c = OPERANDS > 2 ? MODES >> 3 * mode_bits & mode_mask : unsigned(mode_immediate);
  constexpr int widest = wider(wider(sizeof(R), mode_a == mode_immediate ? 1 : sizeof(A)),
                               wider(mode_b == mode_immediate ? 1 : sizeof(B), mode_c == mode_immediate ? 1 : sizeof(C)));
  constexpr bool WORDS = VEC * widest < 16;
  constexpr int UNROLL = row_packs(VEC, VEC * widest);
  const uint32_t lanes = 1u << p.lane_bits, lane = uint32_t(first_item()) & (lanes - 1);
  const uint64_t groups = all_threads() >> p.lane_bits;
  for (uint64_t item = first_item() >> p.lane_bits; item < p.items; item += groups) {
    I part;
    const I row = divide(p.parts, I(item), &part);
    int64_t at[max_operands + 1] = {0, 0, 0, 0};
    add_row<OPERANDS>(p, row, at);
    Line<A, VEC, mode_a, WORDS> a(p.in[0], at[1], p.inner[1], p.value[0]);
    Line<B, VEC, mode_b, WORDS> b(p.in[1], at[2], p.inner[2], p.value[1]);
    Line<C, VEC, mode_c, WORDS> c(p.in[2], at[3], p.inner[3], p.value[2]);
    R* out = static_cast<R*>(p.out) + at[0];
    I packs = p.length / VEC;
    if constexpr (WORDS && VEC > 1) {
      I head = (0 - uint32_t(reinterpret_cast<uint64_t>(out)) / uint32_t(sizeof(R))) & (VEC - 1);
      const bool apart = a.is_apart(head) || b.is_apart(head) || c.is_apart(head);
      if (apart) head += VEC;
      if (head > p.length) head = p.length;
      packs = (p.length - head) / VEC;
      if (apart && packs) --packs;
      if (part == 0) {
        const I inside = packs * VEC;
#pragma unroll 1
        for (I e = lane; e < p.length - inside; e += lanes) {
          const I i = e < head ? e : e + inside;
          out[i] = apply<Body, OPERANDS, T, R>(take<Body, T>(a.element(i)), take<Body, T>(b.element(i)),
                                               take<Body, T>(c.element(i)));
        }
      }
      a.begin(head);
      b.begin(head);
      c.begin(head);
      out += head;
    }
    I end = (part + 1) * p.part;
    end = end < packs ? end : packs;
    compute_packs<Body, OPERANDS, T, VEC, UNROLL, mode_out == mode_run>(a, b, c, out, p.inner[0], part * p.part + lane, end,
                                                                        lanes);
  }
}

}  // namespace dlt::kernels::element
