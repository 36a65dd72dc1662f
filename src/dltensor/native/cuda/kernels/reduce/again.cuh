// SPDX-License-Identifier: Apache-2.0
// Results that the states of floats do not decide: all threads of a block read the elements again, and add them to integers of
// the whole range of float64. Additions of integers commute, so atomic ones are as good as ordered ones.
#pragma once
#include "native/cuda/kernels/reduce/elements.cuh"

namespace dlt::kernels::reduce {

struct SharedSum {
  unsigned long long chunk[exact_sums::chunks];
  int special;  // bit 0: NaN, bit 1: infinity, bit 2: negative infinity
};

DLT_FN void add_shared(SharedSum* sum, double x) {
  exact_sums::Placed put;
  if (!exact_sums::placed(x, &put)) {
    atomicOr(&sum->special, x != x ? 1 : x > 0 ? 2 : 4);
    return;
  }
  // 84 bits in three words of 32, so that carries can wait for 2^30 additions. `upper` is negative where `lower` is.
  const int64_t middle = put.upper % (int64_t(1) << 32), top = put.upper / (int64_t(1) << 32);
  atomicAdd(&sum->chunk[put.place], static_cast<unsigned long long>(put.lower));
  atomicAdd(&sum->chunk[put.place + 1], static_cast<unsigned long long>(middle));
  if (top != 0) atomicAdd(&sum->chunk[put.place + 2], static_cast<unsigned long long>(top));
}
DLT_FN void add_shared(SharedSum* sum, const Pair& x) {
  add_shared(sum, x.high);
  add_shared(sum, x.low);
}

DLT_FAR_FN void take_shared(const SharedSum* sum, exact_sums::Accumulator* a) {
  DLT_ROLLED
  for (int k = 0; k < exact_sums::chunks; ++k) a->chunk[k] = int64_t(sum->chunk[k]);
  a->nan = (sum->special & 1) != 0;
  a->positive = (sum->special & 2) != 0;
  a->negative = (sum->special & 4) != 0;
  exact_sums::carry(a);
}

DLT_FAR_FN void clear_shared(SharedSum* sum) {
  DLT_ROLLED
  for (int c = 0; c < exact_sums::chunks; ++c) sum->chunk[c] = 0;
  sum->special = 0;
}
DLT_FAR_FN void carry_shared(SharedSum* sum) {
  exact_sums::Accumulator a;
  take_shared(sum, &a);
  DLT_ROLLED
  for (int c = 0; c < exact_sums::chunks; ++c) sum->chunk[c] = static_cast<unsigned long long>(a.chunk[c]);
}

// Sums of the deviations of a result, shared by the threads of a block.
struct DeviationSums {
  SharedSum sum[2];            // of elements, of squares
  unsigned long long largest;  // magnitude, as bits
  int differs;                 // an element is not the center
  bool is_scaled;              // squares leave the range: elements are scaled by a power of two
  double center;               // of scaled elements
};

// The elements of one result, which all threads of a block read again.
template <class Body, class M, int DIMS, bool MASKED>
struct ReducedElements {
  const Reduce<DIMS>& p;
  const Place<DIMS> base;

  // Does this thread end the result?
  DLT_FN bool ends() const { return threadIdx.x == 0; }
  // Calls add(x) with each element. Carries the COUNT sums from time to time.
  template <int COUNT, class F>
  DLT_FN void each(SharedSum* sums, F add) const {
    constexpr uint64_t most = uint64_t(1) << 28;  // additions until carries must be passed on
    const M* const in = static_cast<const M*>(p.in) + base.in;
    const uint8_t* const mask = static_cast<const uint8_t*>(p.mask) + base.mask;
#pragma unroll 1
    for (uint64_t begin = 0; begin < p.count; begin += most) {
      __syncthreads();
      const uint64_t end = p.count - begin < most ? p.count : begin + most;
#pragma unroll 1
      for (uint64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        const Place<DIMS> at = Place<DIMS>::of(p, p.kept, p.reduced, i);
        if (MASKED && mask[at.mask] == 0) continue;
        add(element<typename Body::type, M>(in + at.in));
      }
      __syncthreads();
      if (threadIdx.x < COUNT) carry_shared(&sums[threadIdx.x]);
    }
    __syncthreads();
  }
};

// One result of the elements that `source` has; the thread that ends it writes it. `initial` is null where there is none.
template <class Body, class R, class Source>
struct Reread {
  using parts = typename Body::parts;
  const Source& source;
  const double count;
  const Ending ending;
  const Immediate* initial;

  // Calls add(x) with one part of each element.
  template <int COUNT, class F>
  DLT_FN void each(int part, SharedSum* sums, F add) const {
    source.template each<COUNT>(sums, [&](typename Body::C x) { add(parts::part(x, part)); });
  }

  DLT_FN void sum(R* out) const {
    using F = typename parts_of<R>::type;
    __shared__ SharedSum sum;
    for (int k = 0; k < parts::count; ++k) {
      __syncthreads();
      if (source.ends()) clear_shared(&sum);
      each<1>(k, &sum, [&](double x) { add_shared(&sum, x); });
      if (source.ends()) {
        exact_sums::Accumulator a;
        take_shared(&sum, &a);
        if (initial) exact_sums::add(&a, Body::first_part(*initial, k));
        const F value = exact_sums::round_accumulator<F>(&a, Body::mean ? uint64_t(count) : 1);
        parts_of<R>::put(out, k, value);
      }
    }
    __syncthreads();
  }

  DLT_FN void moments(R* out) const {
    __shared__ SharedSum sums[2];  // of elements, of squares
    exact_sums::Natural total;     // of the first thread
    total.count = 0;
    bool finite = true;
    for (int k = 0; k < parts::count; ++k) {
      __syncthreads();
      if (threadIdx.x < 2) clear_shared(&sums[threadIdx.x]);
      each<2>(k, sums, [&](double x) {
        add_shared(&sums[0], x);
        add_shared(&sums[1], x * x);
      });
      if (source.ends() && finite) {
        exact_sums::Accumulator sum, squares;
        take_shared(&sums[0], &sum);
        take_shared(&sums[1], &squares);
        finite = exact_sums::add_moments(&sum, &squares, uint64_t(count), &total);
      }
    }
    if (source.ends())
      *out = finite ? exact_sums::round_quotient<R>(&total, -2150, uint64_t(count), count - ending.correction, ending.root)
                    : from<R>(exact_sums::not_a_number());
    __syncthreads();
  }

  // Writes the result by the exact sum of squares; where the mean's own rounding shows, less what that adds. By one thread.
  // Returns false where squares leave float64's range.
  DLT_FN bool end_deviations(const DeviationSums& sums, const double* beyond, R* out) const {
    using namespace exact_sums;
    const double divisor = count - ending.correction, most = bits_as<double>(uint64_t(sums.largest));
    Accumulator squares;
    Natural size;
    double ignored;
    take_shared(&sums.sum[1], &squares);
    if (!special(squares, &ignored)) {
      Accumulator all = squares;
      double variance = 0;
      if (!magnitude(&all, &size)) variance = round_quotient<double>(&size, -1075, 1, divisor, false);
      if (is_in_range(variance)) {
        if (shows_rounding(Body::farthest(ending.center), variance))
          for (int k = 0; k < parts::count; ++k) add(&squares, -(beyond[k] * beyond[k] / count));
        *out = magnitude(&squares, &size) ? from<R>(0.0) : round_quotient<R>(&size, -1075, 1, divisor, ending.root);
        return true;
      }
    }
    if (ops::isfinite(most) && sums.differs && most != 0) return false;
    *out = from<R>(ops::isfinite(most) ? 0.0 : not_a_number());
    return true;
  }

  DLT_FN void scaled_deviations(DeviationSums* sums, R* out) const {
    using namespace exact_sums;
    const int up = scale_exponent(bits_as<double>(uint64_t(sums->largest)));
    const double scale = power_of_two(up);
    for (int k = 0; k < parts::count; ++k) {
      __syncthreads();
      if (source.ends()) clear_shared(&sums->sum[0]);
      each<2>(k, sums->sum, [&](double x) { add_shared(&sums->sum[0], x * scale); });
      if (source.ends()) {
        Accumulator sum;
        take_shared(&sums->sum[0], &sum);
        sums->center = round_accumulator<double>(&sum, uint64_t(count));
      }
      __syncthreads();
      each<2>(k, sums->sum, [&](double x) { add_shared(&sums->sum[1], squared_deviation(x * scale, sums->center)); });
    }
    if (source.ends()) {
      Accumulator squares;
      Natural size;
      take_shared(&sums->sum[1], &squares);
      magnitude(&squares, &size);
      *out = round_quotient<R>(&size, -1075 - 2 * up, 1, count - ending.correction, ending.root);
    }
    __syncthreads();
  }

  // Computes what the CPU's end_deviations() does where two words do not decide.
  DLT_FN void deviations(R* out) const {
    using namespace exact_sums;
    __shared__ DeviationSums sums;
    double beyond[2] = {};
    __syncthreads();
    if (source.ends()) {
      clear_shared(&sums.sum[1]);
      sums.largest = 0;
      sums.differs = 0;
    }
    for (int k = 0; k < parts::count; ++k) {
      __syncthreads();
      if (source.ends()) clear_shared(&sums.sum[0]);
      each<2>(k, sums.sum, [&](double x) {
        add_shared(&sums.sum[0], x);
        add_shared(&sums.sum[1], squared_deviation(x, ending.center[k]));
        atomicMax(&sums.largest, static_cast<unsigned long long>(bits_as<uint64_t>(magnitude_of(x))));
        if (x != ending.center[k]) atomicOr(&sums.differs, 1);
      });
      if (source.ends()) {
        Accumulator sum;
        take_shared(&sums.sum[0], &sum);
        beyond[k] = sum_beyond(&sum, count, ending.center[k]);
      }
    }
    if (source.ends()) {
      sums.is_scaled = !end_deviations(sums, beyond, out);
      clear_shared(&sums.sum[1]);
    }
    __syncthreads();
    if (sums.is_scaled) scaled_deviations(&sums, out);
  }
};

template <class Body, class R, class Source>
DLT_FN void reread(const Source& source, double count, const Ending& ending, const Immediate* initial, R* out) {
  const Reread<Body, R, Source> again{source, count, ending, initial};
  if constexpr (Body::again == Again::sum) again.sum(out);
  else if constexpr (Body::again == Again::moments) again.moments(out);
  else again.deviations(out);
}

template <class Body, class M, class R, int DIMS, bool MASKED>
DLT_FAR_FN void read_again(const Reduce<DIMS>& p, uint64_t result, double count) {
  const Place<DIMS> base = Place<DIMS>::of(p, 0, p.kept, result);
  double center[2] = {};
  read_center<Body>(p, base, center);
  reread<Body>(ReducedElements<Body, M, DIMS, MASKED>{p, base}, count, Ending{p.correction, p.root != 0, center},
               p.has_initial ? &p.initial : nullptr, static_cast<R*>(p.out) + base.out);
}

}  // namespace dlt::kernels::reduce
