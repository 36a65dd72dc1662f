// SPDX-License-Identifier: Apache-2.0
// Elements of a reduction: their places, loads of several at once, and the steps of a body over all that a thread takes.
#pragma once
#include "native/cuda/kernels/reduce/exact_bodies.cuh"

namespace dlt::kernels::reduce {

// `kept` axes of the results, then `reduced` ones; the innermost last.
template <int DIMS>
struct Place {
  int64_t in, mask, out, center;
  DLT_FN static Place of(const Reduce<DIMS>& p, int first, int count, uint64_t index) {
    Place place{0, 0, 0, 0};
#pragma unroll 1
    for (int d = first + count - 1; d >= first; --d) {
      uint64_t i = index;
      if (d > first) index = divide(p.axis[d].extent, index, &i);
      place.in += int64_t(i) * p.axis[d].in;
      place.mask += int64_t(i) * p.axis[d].mask;
      place.out += int64_t(i) * p.axis[d].out;
      place.center += int64_t(i) * p.axis[d].center;
    }
    return place;
  }
};

// The center of the deviations of a result; nothing for other bodies.
template <class Body, int DIMS>
DLT_FN void read_center(const Reduce<DIMS>& p, const Place<DIMS>& base, double* center) {
  if constexpr (Body::again == Again::deviations)
    for (int k = 0; k < Body::parts::count; ++k)
      center[k] = static_cast<const double*>(p.centers)[base.center * Body::parts::count + k];
}
template <class Body, class X>
DLT_FN void step(typename Body::word* w, X x, uint64_t index, const double* center) {
  if constexpr (Body::again == Again::deviations) Body::step(w, x, center);
  else Body::step(w, x, int64_t(index));
}

// ---- bytes, of which four are a word

DLT_FN uint32_t set_bytes(uint32_t word) { return bytes::truths(bytes::nonzero(word)); }
DLT_FN uint32_t add_bytes(uint32_t word, uint32_t sum) {
#if defined(__CUDACC_RTC__)
  return __dp4a(word, bytes::ones, sum);
#else
  for (int k = 0; k < 4; ++k) sum += word >> (8 * k) & 0xff;
  return sum;
#endif
}

template <class Body>
DLT_FN void step_bytes(typename Body::word* w, const Pack<uint32_t, 4>& x) {
  using word = typename Body::word;
  constexpr Bytes how = Body::bytes;
  uint32_t all = how == Bytes::every ? bytes::ones : 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if constexpr (how == Bytes::sum) all = add_bytes(x.at[k], all);
    else if constexpr (how == Bytes::sum_of_signed) all = add_bytes(x.at[k] ^ 0x80808080, all);  // each 128 more
    else if constexpr (how == Bytes::count) all = add_bytes(set_bytes(x.at[k]), all);
    else if constexpr (how == Bytes::some) all |= x.at[k];
    else all &= set_bytes(x.at[k]);
  }
  if constexpr (how == Bytes::sum_of_signed) w[0] += word(int64_t(all) - 128 * 16);
  else if constexpr (how == Bytes::some) w[0] = word(w[0] | word(all != 0));
  else if constexpr (how == Bytes::every) w[0] = word(w[0] & word(all == bytes::ones));
  else w[0] += word(all);
}

// True if 16 bytes are loaded as words: NVRTC takes words apart that were loaded as bytes, and puts them together again.
template <class Body, class M>
inline constexpr bool by_words = Body::bytes != Bytes::none && is_same<typename Body::type, M>::value;
template <class M, bool WORDS>
struct loaded_as {
  using type = Pack<M, reduce_pack(sizeof(M))>;
};
template <class M>
struct loaded_as<M, true> {
  using type = Pack<uint32_t, 4>;
};

// A pack of elements of which the first has that index.
template <class Body, class M, class Loaded>
DLT_FN void step_pack(typename Body::word* w, const Loaded& x, uint64_t index, const double* center) {
  using T = typename Body::type;
  constexpr int VEC = reduce_pack(sizeof(M));
  if constexpr (by_words<Body, M>) {
    step_bytes<Body>(w, x);
  } else if constexpr (Body::takes_packs) {
    typename computed<T>::type elements[VEC];
#pragma unroll
    for (int j = 0; j < VEC; ++j) elements[j] = element<T, M>(&x.at[j]);
    Body::template step_pack<VEC>(w, elements, index, 1);
  } else {
#pragma unroll
    for (int j = 0; j < VEC; ++j) step<Body>(w, element<T, M>(&x.at[j]), index + j, center);
  }
}

// All of them at once, an axis after the other.
template <int COUNT, int DIMS>
DLT_FN void places_apart(const Reduce<DIMS>& p, uint64_t first, uint64_t by, int64_t* at) {
  uint64_t left[COUNT];
#pragma unroll
  for (int u = 0; u < COUNT; ++u) {
    left[u] = first + u * by;
    at[u] = 0;
  }
#pragma unroll 1
  for (int d = p.kept + p.reduced - 1; d >= p.kept; --d) {
    const Divider<uint64_t> extent = p.axis[d].extent;
    const int64_t step = p.axis[d].in;
#pragma unroll
    for (int u = 0; u < COUNT; ++u) {
      uint64_t i = left[u];
      if (d > p.kept) left[u] = divide(extent, left[u], &i);
      at[u] += int64_t(i) * step;
    }
  }
}

// Places of the elements first, first + by, ... of the reduced axes, from the first element of their result; `step`: those of the
// only axis.
template <int COUNT, int DIMS>
DLT_FN void places_of(const Reduce<DIMS>& p, uint64_t first, uint64_t by, int64_t step, int64_t* at) {
  if (p.reduced <= 1) {
#pragma unroll
    for (int u = 0; u < COUNT; ++u) at[u] = int64_t(first + u * by) * step;
  } else {
    places_apart<COUNT>(p, first, by, at);
  }
}

// Adjacent elements in packs, from pack *k on: as many batches of packs as there are whole ones. One question about exponents and one
// addition to the state is for all of a batch. Returns how many elements.
template <class Body, class M>
DLT_FN uint64_t reduce_batches(const M* in, uint64_t packs, unsigned lanes, uint64_t* k, typename Body::word* w) {
  using T = typename Body::type;
  constexpr int VEC = reduce_pack(sizeof(M)), BATCH = 4;
  uint64_t taken = 0;
  const M* from = in + *k * VEC;
#pragma unroll 1
  for (; *k + (BATCH - 1) * uint64_t(lanes) < packs; *k += BATCH * lanes, from += BATCH * lanes * VEC) {
    Pack<M, VEC> x[BATCH];
#pragma unroll
    for (int u = 0; u < BATCH; ++u) x[u] = *reinterpret_cast<const Pack<M, VEC>*>(from + u * int64_t(lanes) * VEC);
    typename computed<T>::type elements[BATCH * VEC];
#pragma unroll
    for (int u = 0; u < BATCH; ++u)
#pragma unroll
      for (int j = 0; j < VEC; ++j) elements[u * VEC + j] = element<T, M>(&x[u].at[j]);
    Body::template step_batch<BATCH * VEC>(w, elements, from, lanes * VEC, VEC);
    taken += BATCH * VEC;
  }
  return taken;
}

// Adjacent halves in packs, from pack *k on: as many batches of packs as there are whole ones, of which the extrema of both halves of
// words meet the state at the end.
template <class Body, class M>
DLT_FN void reduce_halves(const M* in, uint64_t packs, unsigned lanes, uint64_t* k, typename Body::word* w) {
  constexpr int BATCH = 4;
  if (*k + (BATCH - 1) * uint64_t(lanes) >= packs) return;
  const Pack<uint32_t, 4>* from = reinterpret_cast<const Pack<uint32_t, 4>*>(in) + *k;
  Pack<uint32_t, 4> best = *from;
#pragma unroll 1
  for (; *k + (BATCH - 1) * uint64_t(lanes) < packs; *k += BATCH * lanes, from += BATCH * lanes) {
    Pack<uint32_t, 4> x[BATCH];
#pragma unroll
    for (int u = 0; u < BATCH; ++u) x[u] = from[u * int64_t(lanes)];
#pragma unroll
    for (int u = 0; u < BATCH; ++u)
#pragma unroll
      for (int j = 0; j < 4; ++j) best.at[j] = Body::farther(best.at[j], x[u].at[j]);
  }
  const uint32_t both = Body::farther(Body::farther(best.at[0], best.at[1]), Body::farther(best.at[2], best.at[3]));
  for (int half = 0; half < 2; ++half) {
    const M value{uint16_t(both >> 16 * half)};
    Body::step(w, element<typename Body::type, M>(&value), 0);
  }
}

// Elements begin to end of the reduced axes of the result at `base`, of which `lanes` threads take each their own: 16 bytes at a
// time where the host has found that axes allow that, and the address does.
template <class Body, class M, int DIMS, bool MASKED>
DLT_FN void reduce_elements(const Reduce<DIMS>& p, const Place<DIMS>& base, uint64_t begin, uint64_t end, unsigned lane,
                            unsigned lanes, typename Body::word* w) {
  using T = typename Body::type;
  constexpr int VEC = reduce_pack(sizeof(M));
  double center[2] = {};
  read_center<Body>(p, base, center);
  const M* const in = static_cast<const M*>(p.in) + base.in;
  const uint8_t* const mask = static_cast<const uint8_t*>(p.mask) + base.mask;
  uint64_t i = begin + lane, taken = 0;
  if constexpr (VEC > 1 && !MASKED && !Body::is_ordered) {
    using Loaded = typename loaded_as<M, by_words<Body, M>>::type;
    constexpr int UNROLL = VEC > 4 || Body::again != Again::never
                               ? 2
                               : 4;  // the more instructions, the fewer packs keep memory busy
    if (p.packed && (reinterpret_cast<uint64_t>(p.in) & 15) == 0) {
      const uint64_t packs = end / VEC;  // `begin` is a multiple of VEC
      uint64_t k = begin / VEC + lane;
      if constexpr (Body::takes_batches)
        if (p.reduced <= 1) taken += reduce_batches<Body, M>(in, packs, lanes, &k, w);
      if constexpr (Body::takes_halves && is_same<M, typename Body::type>::value)
        if (p.reduced <= 1) reduce_halves<Body, M>(in, packs, lanes, &k, w);
#pragma unroll 1
      for (; k < packs; k += UNROLL * lanes) {
        int64_t at[UNROLL];
        Loaded x[UNROLL];
        places_of<UNROLL>(p, k * VEC, lanes * VEC, 1, at);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
          if (k + u * lanes < packs) x[u] = *reinterpret_cast<const Loaded*>(in + at[u]);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
          if (k + u * lanes >= packs) break;
          step_pack<Body, M>(w, x[u], (k + u * lanes) * VEC, center);
          taken += VEC;
        }
      }
      i = packs * VEC + lane;
    }
  }
  if constexpr (MASKED) {
#pragma unroll 1
    for (; i < end; i += lanes) {
      const Place<DIMS> at = Place<DIMS>::of(p, p.kept, p.reduced, i);
      if (mask[at.mask] == 0) continue;
      step<Body>(w, element<T, M>(in + at.in), i, center);
      ++taken;
    }
  } else {
    constexpr int UNROLL = 4;
#pragma unroll 1
    for (; i < end; i += UNROLL * lanes) {
      int64_t at[UNROLL];
      M x[UNROLL];
      places_of<UNROLL>(p, i, lanes, p.axis[p.kept].in, at);
#pragma unroll
      for (int u = 0; u < UNROLL; ++u)
        if (i + u * lanes < end) x[u] = in[at[u]];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        if (i + u * lanes >= end) break;
        step<Body>(w, element<T, M>(&x[u]), i + u * lanes, center);
        ++taken;
      }
    }
  }
  Body::counted(w, taken);
}

}  // namespace dlt::kernels::reduce
