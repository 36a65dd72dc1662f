// SPDX-License-Identifier: Apache-2.0
// The loops of every reduction over elements but the exact sums of floats.
#include "native/cpu/reduce/kernels/extremes.h"
#include "native/cpu/reduce/kernels/reductions.h"

namespace dlt::DLT_LEVEL {
namespace {

constexpr int64_t block_elements = 2048, extreme_elements = 4096;

// ---- all and any: nothing past the element that decides is read

template <class Body, class T>
void run_until(void* states, const void* a, int64_t n, int64_t, const double*) {
  auto* const word = static_cast<uint8_t*>(states);
  uint8_t fresh;
  Body::start(&fresh);
  const char* from = static_cast<const char*>(a);
  for (int64_t done = 0; done < n && word[0] == fresh;) {
    const int64_t count = n - done < block_elements ? n - done : block_elements;
    uint8_t local = fresh;
    for (int64_t i = 0; i < count; ++i) Body::step(&local, fetch<T>(from, i), 0);
    word[0] = local;
    done += count;
    from += count * int64_t(sizeof(typename stored<T>::type));
  }
}

// ---- counts: lanes as wide as the element, emptied before they are full

// Integers and floats that compare with 0 as T does: bool and unsigned integers share the loops of signed ones.
template <class T>
struct lane_of {
  using type = T;
};
template <class T>
  requires(std::is_integral_v<T>)
struct lane_of<T> {
  using type = typename reductions::signed_of<sizeof(T)>::type;
};

template <class T>
int64_t count_nonzero(const void* a, int64_t n) {
  using V = pack<T>;
  using mask = decltype(typename V::type{} != typename V::type{});
  constexpr int64_t most = sizeof(T) == 1 ? 127 : sizeof(T) == 2 ? 32767 : int64_t(1) << 30;
  const char* from = static_cast<const char*>(a);
  int64_t total = 0, i = 0;
  while (n - i >= V::lanes) {
    const int64_t vectors = (n - i) / V::lanes, count = vectors < most ? vectors : most;
    mask lanes{};
#pragma GCC unroll 4
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
  using V = pack<U>;
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
    return count_nonzero<int8_t>(a, n);
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

// ---- integers and their squares, of 32 bits in halves

template <class T>
void run_wide_moments(void* states, const void* a, int64_t n, int64_t first, const double*) {
  using Body = reductions::wide_moments<T>;
  if constexpr (sizeof(T) == 8) {
    run_plain<Body, T>(states, a, n, first, nullptr);
  } else {
    constexpr int64_t most = int64_t(1) << 30;  // halves whose sum 63 bits hold
    auto* const w = static_cast<uint64_t*>(states);
    for (int64_t i = 0; i < n; i += most) {
      const int64_t end = n - i < most ? n : i + most;
      int64_t total = 0;
      uint64_t low = 0, high = 0;
      for (int64_t k = i; k < end; ++k) {
        const int64_t x = fetch<T>(a, k);
        const uint64_t square = uint64_t(x) * uint64_t(x);
        total += x;
        low += square & 0xffffffff;
        high += square >> 32;
      }
      Body::sum::put(w, uint64_t(total), uint64_t(total >> 63));
      const uint64_t squares = low + (high << 32);
      Body::put(w, squares, (high >> 32) + (squares < low), 0);
    }
  }
}

// ---- extremes of floats

template <class Body, class F, bool GREATEST>
void run_extreme(void* states, const void* a, int64_t n, int64_t, const double*) {
  const char* from = static_cast<const char*>(a);
  for (int64_t done = 0; done < n; done += extreme_elements, from += extreme_elements * int64_t(sizeof(F))) {
    const int64_t count = n - done < extreme_elements ? n - done : extreme_elements;
    Body::step(static_cast<typename Body::word*>(states), extreme_of<F, GREATEST>(from, count), 0);
  }
}

template <class Body, class F, bool GREATEST>
void each_extreme(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  auto* const words = static_cast<typename Body::word*>(states);
  for (int64_t r = 0; r < rows; ++r) {
    Words<Body> local;
    local.load(words, capacity, r);
    run_extreme<Body, F, GREATEST>(local.w, static_cast<const char*>(a) + r * row_bytes, n, 0, nullptr);
    local.store(words, capacity, r);
  }
}

// ---- the first extreme: the extremes of blocks, and a search in the first block that has the best one

// The key that no other is above.
template <class Body, class T>
constexpr typename Body::key_type highest_key() {
  return is_bool<T> && Body::greatest ? 1 : range<typename Body::key_type>::highest;
}

template <class Body, class T>
typename Body::key_type best_key(const char* from, int64_t n) {
  using key_t = typename Body::key_type;
  if constexpr (is_float<T>) {
    return Body::key(extreme_of<T, Body::greatest>(from, n));
  } else {
    key_t best = range<key_t>::lowest;
    for (int64_t i = 0; i < n; ++i) {
      const key_t k = Body::key(fetch<T>(from, i));
      best = k > best ? k : best;
    }
    return best;
  }
}

// The place of the first of n elements for which `is` holds; there is one, unless others write to them: then the last place.
// By parts, which the compiler vectorizes.
template <class T, class Is>
DLT_FN int64_t find_first(const char* from, int64_t n, Is is) {
  constexpr int64_t part = 64;
  using found_t = typename reductions::signed_of<sizeof(T)>::type;
  int64_t i = 0;
  for (; i + part <= n; i += part) {
    found_t found = 0;
    for (int64_t k = 0; k < part; ++k) found |= found_t(is(fetch<T>(from, i + k)));
    if (found != 0) break;
  }
  while (i < n - 1 && !is(fetch<T>(from, i))) ++i;
  return i;
}

template <class Body, class T>
int64_t find_key(const char* from, int64_t n, typename Body::key_type key) {
  if constexpr (is_float<T>) {
    if (key == range<typename Body::key_type>::highest) return find_first<T>(from, n, [](T x) { return x != x; });
    const T value = reductions::ordered<T>::value(Body::greatest ? key : typename Body::key_type(~key));
    return find_first<T>(from, n, [value](T x) { return x == value; });
  } else {
    return find_first<T>(from, n, [key](T x) { return Body::key(x) == key; });
  }
}

template <class Body, class T>
void run_first(void* states, const void* a, int64_t n, int64_t first, const double*) {
  using key_t = typename Body::key_type;
  if (n == 0) return;
  const char* const from = static_cast<const char*>(a);
  constexpr int64_t bytes = int64_t(sizeof(typename stored<T>::type));
  int64_t block = 0;
  key_t best = range<key_t>::lowest;
  for (int64_t done = 0; done < n; done += block_elements) {
    const int64_t count = n - done < block_elements ? n - done : block_elements;
    const key_t k = best_key<Body, T>(from + done * bytes, count);
    if (k > best) {
      best = k;
      block = done;
    }
    if (best == highest_key<Body, T>()) break;
  }
  auto* const words = static_cast<int64_t*>(states);
  const int64_t wide = Body::widened(best);
  if (wide < words[0] || (wide == words[0] && words[1] <= first + block)) return;
  Body::put(words, wide, first + block + find_key<Body, T>(from + block * bytes, n - block, best));
}

template <class Body, class T>
void each_first(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  auto* const words = static_cast<int64_t*>(states);
  for (int64_t r = 0; r < rows; ++r) {
    const char* const row = static_cast<const char*>(a) + r * row_bytes;
    bool has_nan;
    int64_t at = first_in_row<Body, T>(row, n, &has_nan);
    if (has_nan) at = find_first<T>(row, n, [](T x) { return x != x; });
    Words<Body> local;
    local.load(words, capacity, r);
    Body::put(local.w, Body::widened(Body::key(fetch<T>(row, at))), at);
    local.store(words, capacity, r);
  }
}

// Rows in blocks whose best keys and row numbers are as wide as the elements. `key` gives the key of an element.
template <class Body, class T, class Key>
DLT_FN void rows_by_key(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n,
                        int64_t first, Key key) {
  using key_t = typename Body::key_type;
  using row_t = typename reductions::signed_of<sizeof(key_t)>::type;
  constexpr int64_t strip = 512, most = sizeof(key_t) == 1 ? 127 : sizeof(key_t) == 2 ? 32767 : int64_t(1) << 30;
  constexpr int64_t bytes = int64_t(sizeof(typename stored<T>::type));
  auto* const words = static_cast<int64_t*>(states);
  const auto put = [=](int64_t c, key_t best, int64_t row) __attribute__((always_inline)) {
    Words<Body> local;
    local.load(words, capacity, c);
    Body::put(local.w, Body::widened(best), first + row);
    local.store(words, capacity, c);
  };
  if (rows < 4) {
    for (int64_t r = 0; r < rows; ++r) {
      const char* const row = static_cast<const char*>(a) + r * row_bytes;
      DLT_EACH put(i, key(fetch<T>(row, i)), r);
    }
    return;
  }
  for (int64_t column = 0; column < n; column += strip) {
    const int64_t columns = n - column < strip ? n - column : strip;
    for (int64_t start = 0; start < rows; start += most) {
      const int64_t count = rows - start < most ? rows - start : most;
      alignas(64) key_t best[strip];
      alignas(64) row_t at[strip];
      for (int64_t c = 0; c < columns; ++c) {
        best[c] = range<key_t>::lowest;
        at[c] = 0;
      }
      for (int64_t r = 0; r < count; ++r) {
        const char* const row = static_cast<const char*>(a) + (start + r) * row_bytes + column * bytes;
        const row_t number = row_t(r);
        DLT_IVDEP
        for (int64_t c = 0; c < columns; ++c) {
          const key_t k = key(fetch<T>(row, c));
          const bool better = k > best[c];
          best[c] = better ? k : best[c];
          at[c] = better ? number : at[c];
        }
      }
      for (int64_t c = 0; c < columns; ++c) put(column + c, best[c], start + at[c]);
    }
  }
}

// One function for the largest and the smallest integer, whose keys are complements of one another.
template <class T>
[[gnu::noinline]] void rows_complemented(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows,
                                         int64_t n, int64_t first, typename reductions::ordered<T>::type by) {
  using Body = reductions::first_largest<T>;
  rows_by_key<Body, T>(states, capacity, a, row_bytes, rows, n, first,
                       [by](T x) { return typename Body::key_type(Body::key(x) ^ by); });
}

template <class Body, class T>
void rows_first(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n, int64_t first,
                const double*) {
  using key_t = typename Body::key_type;
  if constexpr (is_float<T>) {
    rows_by_key<Body, T>(states, capacity, a, row_bytes, rows, n, first, [](T x) { return Body::key(x); });
  } else {
    key_t by = Body::greatest ? key_t(0) : key_t(-1);
    asm("" : "+r"(by));  // a known value would get a copy of the function
    rows_complemented<T>(states, capacity, a, row_bytes, rows, n, first, by);
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
      typename Body::word local[lanes];
      for (int j = 0; j < lanes; ++j) local[j] = words[j];
      for (; k + lanes <= count; k += lanes)
        for (int j = 0; j < lanes; ++j) local[j] = Body::P::times(local[j], Body::P::factor(fetch<T>(a, i + k + j)));
      for (int j = 0; k < count; ++j, ++k) local[j] = Body::P::times(local[j], Body::P::factor(fetch<T>(a, i + k)));
      for (int j = 0; j < lanes; ++j) words[j] = local[j];
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
          Words<Body> local;
          local.load(words, capacity, c);
          Body::close(local.w, index);
          local.store(words, capacity, c);
        }
      auto* const lane = words + index % reductions::product_lanes * capacity;
      const char* const row = static_cast<const char*>(a) + r * row_bytes;
      DLT_EACH lane[i] = Body::P::times(lane[i], Body::P::factor(fetch<T>(row, i)));
    }
  }
}

// ---- the table

template <class Body, class T>
constexpr bool is_first = is_same<Body, reductions::first_largest<T>>::value ||
                          is_same<Body, reductions::first_smallest<T>>::value;
template <class Body, class T>
constexpr bool is_least = is_same<Body, reductions::smallest<T>>::value;
template <class Body, class T>
constexpr bool is_extreme = is_least<Body, T> || is_same<Body, reductions::largest<T>>::value;

// A loop that is chosen here is the only one of its body that is compiled.
template <class Body, class T>
constexpr auto run_of() {
  using namespace reductions;
  using Lane = typename lane_of<T>::type;
  if constexpr (is_same<Body, every<T>>::value) return run_until<every<Lane>, Lane>;
  else if constexpr (is_same<Body, some<T>>::value) return run_until<some<Lane>, Lane>;
  else if constexpr (is_same<Body, products<T>>::value) return run_product<T>;
  else if constexpr (is_complex<T>::value) return run_plain<Body, T>;
  else if constexpr (is_same<Body, nonzero<T>>::value) return run_count<Lane>;
  else if constexpr (is_first<Body, T>) return run_first<Body, T>;
  else if constexpr (is_extreme<Body, T> && is_bool<T> && is_least<Body, T>) return run_until<every<Lane>, Lane>;
  else if constexpr (is_extreme<Body, T> && is_bool<T>) return run_until<some<Lane>, Lane>;
  else if constexpr (is_extreme<Body, T> && is_float<T>) return run_extreme<Body, T, !is_least<Body, T>>;
  else if constexpr (is_same<Body, sums<T>>::value) return run_sum<T>;
  else if constexpr (is_same<Body, wide_sums<T>>::value) return run_wide_sum<T>;
  else if constexpr (is_same<Body, wide_moments<T>>::value) return run_wide_moments<T>;
  else return run_plain<Body, T>;
}

template <class Body, class T>
constexpr auto rows_of() {
  using namespace reductions;
  using Lane = typename lane_of<T>::type;
  if constexpr (is_same<Body, every<T>>::value) return rows_plain<every<Lane>, Lane>;
  else if constexpr (is_same<Body, some<T>>::value) return rows_plain<some<Lane>, Lane>;
  else if constexpr (is_same<Body, nonzero<T>>::value) return rows_plain<nonzero<Lane>, Lane>;
  else if constexpr (is_same<Body, products<T>>::value) return rows_product<T>;
  else if constexpr (is_first<Body, T>) return rows_first<Body, T>;
  else return rows_plain<Body, T>;
}

template <class T>
void fill_type(ReduceKernels* kernels, int type) {
  each_reduction<T>([=]<class Body>(int body) {
    Reducer* const reducer = &kernels->reducers[body][type];
    reducer->run = run_of<Body, T>();
    reducer->rows = rows_of<Body, T>();
    if constexpr (is_extreme<Body, T> && !is_bool<T>) reducer->columns = column_extremes<Body, T, !is_least<Body, T>>;
    if constexpr (is_float<T> && is_extreme<Body, T>) reducer->each = each_extreme<Body, T, !is_least<Body, T>>;
    if constexpr (is_first<Body, T> && !is_bool<T> && sizeof(T) >= 4) reducer->each = each_first<Body, T>;
  });
}

}  // namespace

void fill_reductions(ReduceKernels* kernels) {
#define DLT_FILL(type, name) fill_type<type>(kernels, type_##name);
  DLT_REDUCED_TYPES(DLT_FILL)
#undef DLT_FILL
}

}  // namespace dlt::DLT_LEVEL
