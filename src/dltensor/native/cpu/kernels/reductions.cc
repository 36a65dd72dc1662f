// SPDX-License-Identifier: Apache-2.0
// The loops of every reduction but the exact sums of floats.
#include "native/cpu/kernels/reductions.h"

namespace dlt::DLT_LEVEL {
namespace {

constexpr int64_t block_elements = 2048, search_elements = 8192;

// ---- all and any: nothing past the element that decides is read

template <class Body, class T>
void run_until(void* states, const void* a, int64_t n, int64_t, const double*) {
  auto* const word = static_cast<uint8_t*>(states);
  uint8_t fresh;
  Body::start(&fresh);
  const char* from = static_cast<const char*>(a);
  for (int64_t done = 0; done < n && word[0] == fresh;) {
    const int64_t count = n - done < block_elements ? n - done : block_elements;
    uint8_t mine = fresh;
    for (int64_t i = 0; i < count; ++i) Body::step(&mine, fetch<T>(from, i), 0);
    word[0] = mine;
    done += count;
    from += count * int64_t(sizeof(typename stored<T>::type));
  }
}

// ---- counts: lanes as wide as the element, emptied before they are full

// Integers and floats that compare with 0 as T does, a register at a time.
template <class T>
struct lane_of {
  using type = T;
};
template <>
struct lane_of<bool> {
  using type = uint8_t;
};

template <class T>
int64_t count_nonzero(const void* a, int64_t n) {
  using V = vector_of<typename lane_of<T>::type>;
  using mask = decltype(typename V::type{} != typename V::type{});
  constexpr int64_t most = sizeof(T) == 1 ? 127 : sizeof(T) == 2 ? 32767 : int64_t(1) << 30;
  const char* from = static_cast<const char*>(a);
  int64_t total = 0, i = 0;
  while (n - i >= V::lanes) {
    const int64_t vectors = (n - i) / V::lanes, count = vectors < most ? vectors : most;
    mask lanes{};
    for (int64_t k = 0; k < count; ++k, i += V::lanes)
      lanes -= *reinterpret_cast<const typename V::loose*>(from + i * int64_t(sizeof(T))) != typename V::type{};
    for (int j = 0; j < V::lanes; ++j) total += lanes[j];
  }
  for (; i < n; ++i) total += ops::truth(fetch<T>(a, i));
  return total;
}

template <class T>
void run_count(void* states, const void* a, int64_t n, int64_t, const double*) {
  *static_cast<int64_t*>(states) += count_nonzero<T>(a, n);
}

// ---- sums of narrow integers: two neighbours in a lane of twice their width, as unsigned; what that adds is taken back

template <class T>
int64_t sum_narrow(const void* a, int64_t n) {
  using U = decltype([] {
    if constexpr (sizeof(T) == 1) return uint16_t();
    else if constexpr (sizeof(T) == 2) return uint32_t();
    else return uint64_t();
  }());
  using V = vector_of<U>;
  constexpr int bits = 8 * int(sizeof(T));
  constexpr U half = (U(1) << bits) - 1, bias = range<T>::is_signed ? U(U(1) << (bits - 1) | U(1) << (2 * bits - 1)) : U(0);
  constexpr int64_t offset = range<T>::is_signed ? int64_t(1) << (bits - 1) : 0;
  constexpr int64_t most = sizeof(T) == 1 ? 128 : sizeof(T) == 2 ? 32768 : int64_t(1) << 31;
  const char* from = static_cast<const char*>(a);
  int64_t total = 0, i = 0;
  while (n - i >= 2 * V::lanes) {
    const int64_t vectors = (n - i) / (2 * V::lanes), count = vectors < most ? vectors : most;
    typename V::type lanes{};
    for (int64_t k = 0; k < count; ++k, i += 2 * V::lanes) {
      const typename V::type x = *reinterpret_cast<const typename V::loose*>(from + i * int64_t(sizeof(T))) ^ bias;
      lanes += (x & half) + (x >> bits);
    }
    for (int j = 0; j < V::lanes; ++j) total += int64_t(lanes[j]);
    total -= offset * count * 2 * V::lanes;
  }
  for (; i < n; ++i) total += int64_t(fetch<T>(a, i));
  return total;
}

template <class T>
int64_t sum_run(const void* a, int64_t n) {
  if constexpr (is_bool<T>) {
    return count_nonzero<T>(a, n);
  } else if constexpr (sizeof(T) < 8) {
    return sum_narrow<T>(a, n);
  } else {
    uint64_t total = 0;
    for (int64_t i = 0; i < n; ++i) total += uint64_t(fetch<T>(a, i));
    return int64_t(total);
  }
}

template <class T>
void run_sum(void* states, const void* a, int64_t n, int64_t, const double*) {
  *static_cast<uint64_t*>(states) += uint64_t(sum_run<T>(a, n));
}

template <class T>
void run_wide_sum(void* states, const void* a, int64_t n, int64_t first, const double*) {
  using Body = reductions::wide_sums<T>;
  if constexpr (sizeof(T) == 8) {
    run_plain<Body, T>(states, a, n, first, nullptr);
  } else {
    constexpr int64_t most = int64_t(1) << 30;  // elements whose sum 63 bits hold
    for (int64_t i = 0; i < n; i += most) {
      const int64_t sum = sum_run<T>(static_cast<const char*>(a) + i * int64_t(sizeof(T)), n - i < most ? n - i : most);
      Body::put(static_cast<uint64_t*>(states), uint64_t(sum), uint64_t(sum >> 63));
    }
  }
}

// ---- extremes of floats, by three extremes of their bits: as signed integers the greatest is the greatest float that is not
// negative; as unsigned ones the least and the greatest are the ends of what is negative, or of all when nothing is

template <class F>
struct Extremes {
  using S = typename reductions::signed_of<sizeof(F)>::type;
  using U = typename wide<F>::bits;
  static constexpr S infinity = S(U(2 * wide<F>::bias + 1) << wide<F>::mantissa);
  S top;
  U low, high;
  bool nan() const { return top > infinity || high > (U(infinity) | sign_mask<F>()); }
  F greatest() const { return bits_as<F>(nan() ? reductions::ordered<F>::highest : top >= 0 ? top : S(low)); }
  F least() const { return bits_as<F>(nan() ? U(reductions::ordered<F>::highest) : high & sign_mask<F>() ? high : low); }
};

template <class F>
Extremes<F> extremes_of(const void* a, int64_t n) {
  using S = typename Extremes<F>::S;
  using U = typename Extremes<F>::U;
  using VS = vector_of<S>;
  using VU = vector_of<U>;
  constexpr int K = 4, lanes = VS::lanes;
  Extremes<F> all{range<S>::lowest, range<U>::highest, 0};
  int64_t i = 0;
  if (n >= K * lanes) {
    typename VS::type top[K];
    typename VU::type low[K], high[K];
    for (int k = 0; k < K; ++k) {
      top[k] = typename VS::type{} + range<S>::lowest;
      low[k] = ~typename VU::type{};
      high[k] = typename VU::type{};
    }
    for (; i + K * lanes <= n; i += K * lanes)
      for (int k = 0; k < K; ++k) {
        const char* const from = static_cast<const char*>(a) + (i + k * lanes) * int64_t(sizeof(F));
        const typename VU::type x = *reinterpret_cast<const typename VU::loose*>(from);
        const typename VS::type y = reinterpret_cast<typename VS::type>(x);
        top[k] = y > top[k] ? y : top[k];
        low[k] = x < low[k] ? x : low[k];
        high[k] = x > high[k] ? x : high[k];
      }
    for (int k = 1; k < K; ++k) {
      top[0] = top[k] > top[0] ? top[k] : top[0];
      low[0] = low[k] < low[0] ? low[k] : low[0];
      high[0] = high[k] > high[0] ? high[k] : high[0];
    }
    for (int j = 0; j < lanes; ++j) {
      all.top = top[0][j] > all.top ? top[0][j] : all.top;
      all.low = low[0][j] < all.low ? low[0][j] : all.low;
      all.high = high[0][j] > all.high ? high[0][j] : all.high;
    }
  }
  for (; i < n; ++i) {
    const U x = static_cast<const loose_t<U>*>(a)[i];
    all.top = S(x) > all.top ? S(x) : all.top;
    all.low = x < all.low ? x : all.low;
    all.high = x > all.high ? x : all.high;
  }
  return all;
}

template <class Body, class F, bool GREATEST>
void run_extreme(void* states, const void* a, int64_t n, int64_t, const double*) {
  if (n == 0) return;
  const Extremes<F> found = extremes_of<F>(a, n);
  Body::step(static_cast<typename Body::word*>(states), GREATEST ? found.greatest() : found.least(), 0);
}

// ---- the first extreme: the extreme of a block by itself, and a search only in a block that has a better one

template <class Body, class T>
void run_first(void* states, const void* a, int64_t n, int64_t first, const double*) {
  using key_t = typename Body::key_type;
  auto* const words = static_cast<int64_t*>(states);
  const char* from = static_cast<const char*>(a);
  for (int64_t done = 0; done < n; done += search_elements, from += search_elements * int64_t(sizeof(T))) {
    const int64_t count = n - done < search_elements ? n - done : search_elements;
    key_t best = range<key_t>::lowest;
    if constexpr (is_float<T>) {
      const Extremes<T> found = extremes_of<T>(from, count);
      best = Body::key(Body::greatest ? found.greatest() : found.least());
    } else {
      for (int64_t i = 0; i < count; ++i) {
        const key_t k = Body::key(fetch<T>(from, i));
        best = k > best ? k : best;
      }
    }
    if (Body::widened(best) < words[0] || (Body::widened(best) == words[0] && words[1] <= first + done)) continue;
    int64_t i = 0;
    while (Body::key(fetch<T>(from, i)) != best) ++i;
    Body::put(words, Body::widened(best), first + done + i);
  }
}

// ---- products in order

template <class T>
void run_product(void* states, const void* a, int64_t n, int64_t first, const double*) {
  using Body = reductions::products<T>;
  if constexpr (!Body::P::in_order) {
    run_plain<Body, T>(states, a, n, first, nullptr);
  } else {
    auto* const words = static_cast<typename Body::word*>(states);
    constexpr int lanes = reductions::product_lanes;
    for (int64_t i = 0; i < n;) {
      const int64_t index = first + i;
      if (index != 0 && index % reductions::product_block == 0) Body::close(words, index);
      const int64_t to_end = reductions::product_block - index % reductions::product_block;
      const int64_t count = n - i < to_end ? n - i : to_end;
      int64_t k = 0;
      for (; k < count && (index + k) % lanes != 0; ++k) {
        auto& lane = words[(index + k) % lanes];
        lane = Body::P::times(lane, Body::P::factor(fetch<T>(a, i + k)));
      }
      typename Body::word mine[lanes];
      for (int j = 0; j < lanes; ++j) mine[j] = words[j];
      for (; k + lanes <= count; k += lanes)
        for (int j = 0; j < lanes; ++j) mine[j] = Body::P::times(mine[j], Body::P::factor(fetch<T>(a, i + k + j)));
      for (int j = 0; k < count; ++j, ++k) mine[j] = Body::P::times(mine[j], Body::P::factor(fetch<T>(a, i + k)));
      for (int j = 0; j < lanes; ++j) words[j] = mine[j];
      i += count;
    }
  }
}

template <class T>
void rows_product(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n, int64_t first,
                  const double*) {
  using Body = reductions::products<T>;
  if constexpr (!Body::P::in_order) {
    rows_plain<Body, T>(states, capacity, a, row_bytes, rows, n, first, nullptr);
  } else {
    auto* const words = static_cast<typename Body::word*>(states);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t index = first + r;
      if (index != 0 && index % reductions::product_block == 0)
        for (int64_t c = 0; c < n; ++c) {
          Words<Body> mine;
          mine.load(words, capacity, c);
          Body::close(mine.w, index);
          mine.store(words, capacity, c);
        }
      auto* const lane = words + index % reductions::product_lanes * capacity;
      const char* const row = static_cast<const char*>(a) + r * row_bytes;
      DLT_EACH lane[i] = Body::P::times(lane[i], Body::P::factor(fetch<T>(row, i)));
    }
  }
}

// ---- the table

template <class R>
constexpr int type_of_result() {
  int found = -1;
#define DLT_COMPARE(name, storage, ...) \
  if (is_same<typename stored<R>::type, storage>::value) found = type_##name;
  DLT_COMPUTED_DTYPES(DLT_COMPARE)
#undef DLT_COMPARE
  return found;
}

template <class Body, class T>
constexpr Reducer plain_reducer() {
  return {Body::members,
          int(sizeof(typename Body::word)),
          1,
          type_of_result<typename Body::result>(),
          start_states<Body>,
          run_plain<Body, T>,
          rows_plain<Body, T>,
          join_states<Body>,
          end_states<Body>};
}

template <class T>
void fill_any(Kernels* kernels, int type) {
  Reducer* const every = &kernels->reducers[reduce_every][type];
  *every = plain_reducer<reductions::every<T>, T>();
  every->run = run_until<reductions::every<T>, T>;
  Reducer* const some = &kernels->reducers[reduce_some][type];
  *some = plain_reducer<reductions::some<T>, T>();
  some->run = run_until<reductions::some<T>, T>;
  Reducer* const nonzero = &kernels->reducers[reduce_nonzero][type];
  *nonzero = plain_reducer<reductions::nonzero<T>, T>();
  if constexpr (!is_complex<T>::value) nonzero->run = run_count<T>;
  Reducer* const products = &kernels->reducers[reduce_products][type];
  *products = plain_reducer<reductions::products<T>, T>();
  products->run = run_product<T>;
  products->rows = rows_product<T>;
}

template <class T>
void fill_ordered(Kernels* kernels, int type) {
  fill_any<T>(kernels, type);
  Reducer* const largest = &kernels->reducers[reduce_largest][type];
  *largest = plain_reducer<reductions::largest<T>, T>();
  Reducer* const smallest = &kernels->reducers[reduce_smallest][type];
  *smallest = plain_reducer<reductions::smallest<T>, T>();
  if constexpr (is_float<T>) {
    largest->run = run_extreme<reductions::largest<T>, T, true>;
    smallest->run = run_extreme<reductions::smallest<T>, T, false>;
  } else if constexpr (is_bool<T>) {
    largest->run = run_until<reductions::some<bool>, bool>;
    smallest->run = run_until<reductions::every<bool>, bool>;
  }
  Reducer* const first = &kernels->reducers[reduce_first_largest][type];
  *first = plain_reducer<reductions::first_largest<T>, T>();
  first->run = run_first<reductions::first_largest<T>, T>;
  Reducer* const last = &kernels->reducers[reduce_first_smallest][type];
  *last = plain_reducer<reductions::first_smallest<T>, T>();
  last->run = run_first<reductions::first_smallest<T>, T>;
}

template <class T>
void fill_integer(Kernels* kernels, int type) {
  fill_ordered<T>(kernels, type);
  Reducer* const sums = &kernels->reducers[reduce_sums][type];
  *sums = plain_reducer<reductions::sums<T>, T>();
  sums->run = run_sum<T>;
  using Wide = reductions::wide_sums<T>;
  kernels->reducers[reduce_wide_sums][type] = {
      2, 8, 1, -1, start_states<Wide>, run_wide_sum<T>, rows_plain<Wide, T>, join_states<Wide>, nullptr};
  kernels->reducers[reduce_saturated_products][type] = plain_reducer<reductions::saturated_products<T>, T>();
}

}  // namespace

void fill_reductions(Kernels* kernels) {
  fill_integer<bool>(kernels, type_bool);
  fill_integer<int8_t>(kernels, type_int8);
  fill_integer<int16_t>(kernels, type_int16);
  fill_integer<int32_t>(kernels, type_int32);
  fill_integer<int64_t>(kernels, type_int64);
  fill_integer<uint8_t>(kernels, type_uint8);
  fill_integer<uint16_t>(kernels, type_uint16);
  fill_integer<uint32_t>(kernels, type_uint32);
  fill_integer<uint64_t>(kernels, type_uint64);
  fill_ordered<float>(kernels, type_float32);
  fill_ordered<double>(kernels, type_float64);
  fill_any<complex64>(kernels, type_complex64);
  fill_any<complex128>(kernels, type_complex128);
}

}  // namespace dlt::DLT_LEVEL
