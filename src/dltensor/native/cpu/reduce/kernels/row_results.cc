// SPDX-License-Identifier: Apache-2.0
// Sums, sums of products, products and extremes of rows whose elements follow one another: a register for each row, and the rows of
// as many registers as it has lanes end in one. The terms of products, and the ends of results.
#include "native/cpu/reduce/kernels/biased_lanes.h"
#include "native/ops/reduce/reductions.h"

namespace dlt::DLT_LEVEL {
namespace {

// ---- sums of float64, and of products

struct Elements {
  using type = double;
  static constexpr bool is_product = false, has_rests = false;
};
template <class T>
struct Products {
  using type = T;
  static constexpr bool is_product = true, has_rests = is_same<T, double>::value;
};

template <class Terms>
DLT_FN V term_at(const typename Terms::type* a, const typename Terms::type* b) {
  return Terms::is_product ? load(a) * load(b) : load(a);
}
// Calls take(k, term, rest of the term or nothing) for the elements of K rows from `first` on.
template <class Terms, int K, class Take>
DLT_FN void each_term(const Rows& a, const Rows& b, int64_t first, int64_t n, Take take) {
  using T = typename Terms::type;
  const T *x[K], *y[K];
  for (int k = 0; k < K; ++k) {
    x[k] = reinterpret_cast<const T*>(a(first + k));
    y[k] = Terms::is_product ? reinterpret_cast<const T*>(b(first + k)) : x[k];
  }
  const auto terms = [&](int k, V one, V other) __attribute__((always_inline)) {
    const V term = Terms::is_product ? one * other : one;
    if constexpr (Terms::has_rests) take(k, term, -rest_of(term, one, other));
    else take(k, term);
  };
  int64_t c = 0;
  for (; c + lanes <= n; c += lanes)
    for (int k = 0; k < K; ++k) terms(k, load(x[k] + c), load(y[k] + c));
  for (int k = 0; c < n && k < K; ++k) terms(k, load_first(x[k] + c, n - c), load_first(y[k] + c, n - c));
}

// As many rows as a register has lanes, by errors and errors of errors.
template <class Terms, int K>
DLT_FN TwoSum sum_rows(const Rows& a, const Rows& b, int64_t n) {
  const Fused by;
  TwoSum all[lanes];
  for (int first = 0; first < lanes; first += K) {
    TwoSum* const local = all + first;
    for (int k = 0; k < K; ++k) local[k] = {V{}, V{}, V{}};
    each_term<Terms, K>(a, b, first, n, [&](int k, V x, auto... rest) __attribute__((always_inline)) {
      local[k].deposit(x, by);
      (local[k].deposit_below(rest, by), ...);
    });
  }
  return joined(all, Add());
}

// A bias for the rows of a group, by the first and the last elements of some.
template <class Terms>
DLT_FN bool choose_bias(Bias* bias, const Rows& a, const Rows& b, int64_t n) {
  using T = typename Terms::type;
  Magnitudes sizes;
  if (n < lanes) {
    for (int r = 0; r < lanes; ++r)
      each_term<Terms, 1>(a, b, r, n, [&](int, V x, auto...) __attribute__((always_inline)) { sizes.deposit(x); });
  } else {
    for (const int r : {0, lanes / 2})
      for (const int64_t c : {int64_t(0), n - lanes})
        sizes.deposit(term_at<Terms>(reinterpret_cast<const T*>(a(r)) + c,
                                     Terms::is_product ? reinterpret_cast<const T*>(b(r)) + c : nullptr));
  }
  return bias->choose(sizes.most(), n / lanes + 1);
}
// The same rows beside it; false where they are not known.
template <class Terms, int K, bool EXACT>
DLT_FN bool sum_biased(TwoSum* sum, const Bias& bias, const Rows& a, const Rows& b, int64_t n) {
  const Fused by;
  V above[lanes], below[lanes];
  integers unknown{};
  for (int first = 0; first < lanes; first += K) {
    BiasedLanes<K, EXACT> local(bias);
    each_term<Terms, K>(a, b, first, n, [&](int k, V x, auto... rest) __attribute__((always_inline)) {
      local.deposit(k, x, by);
      (local.deposit_rest(k, rest, by), ...);
    });
    for (int k = 0; k < K; ++k) {
      above[first + k] = local.above(k);
      below[first + k] = local.below(k);
    }
    unknown |= local.unknown();
  }
  *sum = {joined(above, Add()), joined(below, Add()), V{} + (EXACT ? 0.0 : rest_error(bias, n / lanes + 1))};
  return !has_any(unknown);
}

// A bias that serves one group after another, as long as their sums are known beside it.
struct SharedBias {
  Bias bias;
  bool is_chosen = false;
};
// Rounds the rows of a group. Returns a bit for each one that is not known.
template <class Terms, class R>
DLT_FN unsigned round_group(V* out, SharedBias* shared, const Rows& a, const Rows& b, int64_t n, double count, unsigned used) {
  constexpr int together = register_bytes == 64 && lanes >= 4 ? 4 : 2;
  // Of fewer elements many sums lie between two floats, which no bound decides. Of products with rests few do.
  constexpr int64_t many = Terms::has_rests ? 0 : 64;
  TwoSum sum;
  const auto left = [&] { return ~bits_of(rounded<R>(sum, count, out)) & used; };
  for (bool is_new = false; !is_new;) {
    is_new = !shared->is_chosen;
    if (is_new && !choose_bias<Terms>(&shared->bias, a, b, n)) break;
    shared->is_chosen = n >= many && sum_biased<Terms, together, false>(&sum, shared->bias, a, b, n) && left() == 0;
    if (shared->is_chosen) return 0;
    if constexpr (!Terms::has_rests)  // which have more bits than there is room for
      shared->is_chosen = sum_biased<Terms, together, true>(&sum, shared->bias, a, b, n) && left() == 0;
    if (shared->is_chosen) return 0;
  }
  sum = sum_rows<Terms, together>(a, b, n);
  return left();
}

template <class Terms>
void state_of_row(double* state, const char* a, const char* b, int64_t n) {
  using T = typename Terms::type;
  exact_sums::start(state);
  for (int64_t c = 0; c < n; ++c) {
    const double x = double(element<T>(a, c));
    if constexpr (!Terms::is_product) put(state, x);
    else {
      const double y = double(element<T>(b, c)), product = x * y, rest = fused(x, y, -product);
      put(state, product);
      if (product - product == 0 && rest != 0) put(state, rest);
    }
  }
}

template <class Terms, class R>
uint64_t rounded_rows(void* results, double* states, int64_t capacity, const RowPair& from, int64_t rows, int64_t n,
                      double count) {
  R* const out = static_cast<R*>(results);
  uint64_t unknown = 0;
  SharedBias shared;
  for (int64_t r = 0; r < rows; r += lanes) {
    const Rows a{from.a + r * from.a_bytes, from.a_bytes, rows - r}, b{from.b + r * from.b_bytes, from.b_bytes, rows - r};
    const unsigned used = rows - r < lanes ? (1u << (rows - r)) - 1 : all_lanes;
    V ended{};
    const unsigned left = round_group<Terms, R>(&ended, &shared, a, b, n, count, used);
    R last[lanes];
    save_result(last, ended);
    __builtin_memcpy(out + r, last, size_t(__builtin_popcount(used)) * sizeof(R));
    unknown |= uint64_t(left) << r;
  }
  for (uint64_t left = unknown; left != 0; left &= left - 1) {
    const int k = __builtin_ctzll(left);
    double local[words];
    state_of_row<Terms>(local, from.a + k * from.a_bytes, from.b + k * from.b_bytes, n);
    for (int m = 0; m < words; ++m) states[m * capacity + k] = local[m];
  }
  return unknown;
}

// ---- products, in the lanes of reductions.h

template <class T, int K>
DLT_FN void multiply_rows(double* products, const Rows& rows, int64_t first, int64_t n) {
  constexpr int all = reductions::product_lanes, R = all / lanes;
  V lane[K][R];
  const T* from[K];
  for (int k = 0; k < K; ++k) {
    from[k] = reinterpret_cast<const T*>(rows(first + k));
    for (int j = 0; j < R; ++j) lane[k][j] = V{} + 1.0;
  }
  int64_t c = 0;
  for (; c + all <= n; c += all)
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < R; ++j) lane[k][j] *= load(from[k] + c + j * lanes);
  for (int k = 0; c < n && k < K; ++k) {
    for (int j = 0; j < R; ++j) {
      const int64_t at = c + j * lanes;
      lane[k][j] *= load_first(from[k] + at, n - at, V{} + 1.0);
    }
  }
  for (int k = 0; k < K; ++k) {
    for (int half = R / 2; half > 0; half /= 2)
      for (int j = 0; j < half; ++j) lane[k][j] *= lane[k][j + half];
    double last[lanes];
    save(last, lane[k][0]);
    for (int half = lanes / 2; half > 0; half /= 2)
      for (int j = 0; j < half; ++j) last[j] *= last[j + half];
    products[first + k] = last[0];
  }
}

template <class T>
void row_products(double* out, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  constexpr int together = register_bytes == 16 ? 1 : 2;
  for (int64_t r = 0; r < rows; r += together) {
    const Rows from{static_cast<const char*>(a) + r * row_bytes, row_bytes, rows - r};
    double products[together];
    multiply_rows<T, together>(products, from, 0, n);
    for (int64_t k = 0; k < together && r + k < rows; ++k) out[r + k] = reductions::plain_nan(products[k]);
  }
}

// ---- sums of integers and extremes: registers of terms, how two become one, and the elements of a row that fill no register, the last of a whole one

// Sums that wrap, in 64 bits.
template <class T>
struct Sums {
  using Lane = int64_t;
  using V = pack<Lane>::type;
  static constexpr int lanes = pack<Lane>::lanes;
  DLT_FN static V take(const T* from) {
    if constexpr (sizeof(T) == 8) return *reinterpret_cast<const pack<Lane>::loose*>(from);
    else {
      typedef T narrow __attribute__((vector_size(lanes * sizeof(T)), aligned(1), may_alias));
      return __builtin_convertvector(*reinterpret_cast<const narrow*>(from), V);
    }
  }
  DLT_FN static V take_last(const T* end, int64_t n) {
    alignas(64) static constexpr Lane taken[2 * 8] = {0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1};
    return take(end - lanes) & *reinterpret_cast<const pack<Lane>::loose*>(taken + 8 + n - lanes);
  }
  DLT_FN V operator()(V x, V y) const { return x + y; }
  DLT_FN static V ended(V x) { return x; }
};

// Keys as those of native/ops/reduce/reductions.h.
template <class T, bool GREATEST>
struct Best {
  using Ordered = reductions::ordered<T>;
  using Lane = typename Ordered::type;
  using V = typename pack<Lane>::type;
  static constexpr int lanes = pack<Lane>::lanes, sign_at = int(sizeof(T)) * 8 - 1;
  DLT_FN static V take(const T* from) {
    const V bits = *reinterpret_cast<const typename pack<Lane>::loose*>(from);
    if constexpr (!is_float<T>) return bits;
    else {
      const typename pack<T>::type x = reinterpret_cast<typename pack<T>::type>(bits);
      return x == x ? bits ^ ((bits >> sign_at) & Ordered::highest) : V{} + (GREATEST ? Ordered::highest : Ordered::lowest);
    }
  }
  DLT_FN static V take_last(const T* end, int64_t) { return take(end - lanes); }  // some once more
  DLT_FN V operator()(V x, V y) const { return GREATEST ? (x > y ? x : y) : (x < y ? x : y); }
  DLT_FN static V ended(V x) {
    if constexpr (!is_float<T>) return x;
    else {
      const Lane nan = bits_as<Lane>(Ordered::value(Ordered::highest));
      return ((x == Ordered::highest) | (x == Ordered::lowest)) ? V{} + nan : x ^ ((x >> sign_at) & Ordered::highest);
    }
  }
};

template <class Row, class T>
void row_results(void* out, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  using V = typename Row::V;
  constexpr int lanes = Row::lanes, together = 4 < lanes ? 4 : lanes;
  const Row join;
  for (int64_t r = 0; r < rows; r += lanes) {
    const Rows row{static_cast<const char*>(a) + r * row_bytes, row_bytes, rows - r};
    V all[lanes];
    for (int first = 0; first < lanes; first += together) {
      const T* from[together];
      V x[together];
      for (int k = 0; k < together; ++k) {
        from[k] = reinterpret_cast<const T*>(row(first + k));
        x[k] = Row::take(from[k]);
      }
      int64_t c = lanes;
      for (; c + lanes <= n; c += lanes)
        for (int k = 0; k < together; ++k) x[k] = join(x[k], Row::take(from[k] + c));
      for (int k = 0; c < n && k < together; ++k) x[k] = join(x[k], Row::take_last(from[k] + n, n - c));
      for (int k = 0; k < together; ++k) all[first + k] = x[k];
    }
    const V ended = Row::ended(joined<1, lanes>(all, join));
    __builtin_memcpy(static_cast<typename Row::Lane*>(out) + r, &ended,
                     size_t(rows - r < lanes ? rows - r : lanes) * sizeof(typename Row::Lane));
  }
}

// ---- the ends of results of few elements that follow one another

// A float64 as float32. ODD: its last bit says whether the rest is 0, so that narrower floats are rounded once.
template <bool ODD>
DLT_FN float as_float(double x) {
  const float near = float(x);
  if constexpr (!ODD) return near;
  const double rest = x - double(near);
  const uint32_t bits = bits_as<uint32_t>(near), step = (rest > 0) == (x > 0) ? 1u : ~0u;
  return bits_as<float>(bits + (rest != 0 && (bits & 1) == 0 ? step : 0u));
}
// Rounds sums to float32; a bit for each that is not known.
uint64_t near_floats(float* out, const double* sums, int64_t n, double initial, double each, double margin, double rounding) {
  uint32_t unknown[64];
  DLT_EACH {
    const double value = (sums[i] + initial) * each, off = margin + magnitude_of(value) * rounding;
    const float up = float(value + off);
    out[i] = up;
    unknown[i] = bits_as<uint32_t>(up) != bits_as<uint32_t>(float(value - off));
  }
  uint64_t bits = 0;
  for (int64_t i = 0; i < n; ++i) bits |= uint64_t(unknown[i]) << i;
  return bits;
}

void near_ends(float* above, float* below, const double* sums, int64_t n, double initial, double each, double margin,
               double rounding) {
  DLT_EACH {
    const double value = (sums[i] + initial) * each, off = margin + magnitude_of(value) * rounding;
    above[i] = as_float<true>(value + off);
    below[i] = as_float<true>(value - off);
  }
}
// Sums divided by `count`, rounded to odd.
void odd_means(double* out, const double* sums, int64_t n, double count) {
  const double each = 1 / count;
  if ((int64_t(count) & (int64_t(count) - 1)) == 0) {  // a power of two: the quotients are exact
    DLT_EACH out[i] = sums[i] * each + 0.0;  // -0.0 becomes 0.0
    return;
  }
  DLT_EACH {
    const double sum = sums[i] + 0.0, rough = sum * each, quotient = rough + fused(-rough, count, sum) * each;
    out[i] = odd_sum({quotient, fused(-quotient, count, sum)});
  }
}
template <bool ODD>
void round_means(float* out, const double* sums, int64_t n, double count) {
  constexpr int64_t part = 256;
  double means[part];
  for (int64_t first = 0; first < n; first += part) {
    const int64_t m = n - first < part ? n - first : part;
    odd_means(means, sums + first, m, count);
    for (int64_t i = 0; i < m; ++i) out[first + i] = as_float<ODD>(means[i]);
  }
}

// The deviations of two elements: ties of many, which no bound decides.
void half_differences(double* out, const void* a, int64_t row_bytes, int64_t n) {
  const loose_t<float>* const x = static_cast<const loose_t<float>*>(a);
  const loose_t<float>* const y = reinterpret_cast<const loose_t<float>*>(static_cast<const char*>(a) + row_bytes);
  DLT_EACH {
    const double first = double(x[i]), second = double(y[i]);
    const double apart = magnitude_of(odd_sum(exact_sum(first, -second)));
    out[i] = first - first == second - second ? apart * 0.5 : exact_sums::not_a_number();
  }
}

template <bool root>
bool round_quotients(float* out, const double* sums, int64_t n, double each, double margin) {
  const double above = 1 + margin, below = 1 - margin;
  uint32_t unknown = 0;
  for (int64_t c = 0; c < n; ++c) {
    double value = sums[c] * each;
    if constexpr (root) value = __builtin_sqrt(value);
    const float up = float(value * above), down = float(value * below);
    out[c] = up;
    unknown |= uint32_t(!(up == down)) | uint32_t(!(value < 0x1p900));
  }
  return unknown == 0;
}

bool round_variances(float* out, const double* sums, int64_t n, double divisor, bool root, double margin) {
  const auto round = root ? round_quotients<true> : round_quotients<false>;
  return round(out, sums, n, 1 / divisor, margin + 0x1p-50);
}

// ---- terms of exact sums of products: the products in float64, and what rounding takes from them

// The product of two float32 has at most 48 bits.
void find_products(double* products, double*, const void* a, const void* b, int64_t n) {
  const loose_t<float>* const x = static_cast<const loose_t<float>*>(a);
  const loose_t<float>* const y = static_cast<const loose_t<float>*>(b);
  DLT_EACH products[i] = double(x[i]) * double(y[i]);
}

void find_terms(double* products, double* rests, const void* a, const void* b, int64_t n) {
  const loose_t<double>* const x = static_cast<const loose_t<double>*>(a);
  const loose_t<double>* const y = static_cast<const loose_t<double>*>(b);
  DLT_EACH {
    const double product = x[i] * y[i], rest = fused(x[i], y[i], -product);
    products[i] = product;
    // The sign of 0 is the one that changes no sum.
    rests[i] = product - product == 0 && rest != 0 ? rest : -0.0;
  }
}

template <class T>
void fill(ReduceKernels* kernels, int type) {
  if constexpr (!is_float<T> && sizeof(T) >= 4) kernels->reducers[reduce_sums][type].row_results = row_results<Sums<T>, T>;
  if constexpr (sizeof(T) >= 4) {
    kernels->reducers[reduce_largest][type].row_results = row_results<Best<T, true>, T>;
    kernels->reducers[reduce_smallest][type].row_results = row_results<Best<T, false>, T>;
  }
}

}  // namespace

void fill_row_results(ReduceKernels* kernels) {
  FewKernels* const few = &kernels->few;
  few->rounded_rows[terms_float64][1] = rounded_rows<Elements, double>;
  few->rounded_rows[terms_products32][0] = rounded_rows<Products<float>, float>;
  few->rounded_rows[terms_products32][1] = rounded_rows<Products<float>, double>;
  few->rounded_rows[terms_products64][0] = rounded_rows<Products<double>, float>;
  few->rounded_rows[terms_products64][1] = rounded_rows<Products<double>, double>;
  few->row_products[0] = row_products<float>;
  few->row_products[1] = row_products<double>;
  few->near_floats = near_floats;
  few->near_ends = near_ends;
  few->round_means[0] = round_means<false>;
  few->round_means[1] = round_means<true>;
  few->half_differences = half_differences;
  few->round_variances = round_variances;
#define DLT_FILL(type, name) fill<type>(kernels, type_##name);
  DLT_INTEGER_TYPES(DLT_FILL)
#undef DLT_FILL
  fill<float>(kernels, type_float32);
  fill<double>(kernels, type_float64);
  kernels->terms[type_float32] = find_products;
  kernels->terms[type_float64] = find_terms;
}

}  // namespace dlt::DLT_LEVEL
