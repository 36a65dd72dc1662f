// SPDX-License-Identifier: Apache-2.0
// The loops of moments of floats: sums of elements and of their squares, which float64 holds exactly for float32, and sums of
// squared deviations from a center.
#include "native/cpu/reduce/kernels/two_sum_lanes.h"

namespace dlt::DLT_LEVEL {
namespace {

// ---- moments: the sum of the elements and that of their squares, which float64 holds exactly

// Sums of squares in lanes. They only add up, so that the last sum bounds the errors of all before it.
template <int K>
struct SquareLanes {
  V high[K], low[K];
  DLT_FN void clear() {
    for (int k = 0; k < K; ++k) high[k] = low[k] = V{};
  }
  DLT_FN V deposit_high(int k, V x) {
    const V sum = high[k] + x, part = sum - high[k];
    const V error = (high[k] - (sum - part)) + (x - part);
    high[k] = sum;
    return error;
  }
  DLT_FN void deposit(int k, V x) { low[k] += deposit_high(k, x); }
  DLT_FN void deposit(int k, V above, V below) { low[k] += deposit_high(k, above) + below; }  // |below| at most 2^-51 of above
  // Each lane has taken `steps` elements.
  DLT_FN TwoSum state(int k, int64_t steps) const {
    return {high[k], low[k], high[k] * (double(steps) * double(steps + 1) * 0x1p-102)};
  }
  // Lane j goes into state j % PARTS.
  template <int PARTS>
  DLT_FN void flush(double (*states)[words], int64_t steps) const {
    TwoSum all = state(0, steps);
    for (int k = 1; k < K; ++k) all.merge(state(k, steps));
    all.flush(states, PARTS);
  }
};

// sum + x * x for squares that float64 holds: rounded once, with or without a fused operation.
DLT_FN V plus_square(V sum, V x) {
#if defined(__AVX512F__)
  const auto d = reinterpret_cast<__m512d>(x);
  return reinterpret_cast<V>(_mm512_fmadd_pd(d, d, reinterpret_cast<__m512d>(sum)));
#elif defined(__FMA__)
  const auto d = reinterpret_cast<__m256d>(x);
  return reinterpret_cast<V>(_mm256_fmadd_pd(d, d, reinterpret_cast<__m256d>(sum)));
#else
  return sum + x * x;
#endif
}

// Sums whose additions were rounded, `steps` in a row at most, are near well_conditioned where they leave a sixteenth of the squares as
// deviation: the variance of all elements together is not less than what the blocks have within themselves. Then 2^-40 of it
// is in doubt. False with infinities and NaN.
DLT_FN bool is_well_conditioned(double count, double sum, double squares) {
  return count * squares - sum * sum >= count * squares / 16;
}
DLT_FN double sum_in_doubt(double count, double squares, double steps) {
  return steps * 0x1p-53 * __builtin_sqrt(count * squares);  // not less than the sum of the magnitudes
}

template <int PARTS>
bool deposit_moments(double (*plain)[words], double (*squared)[words], const float* p, int64_t n) {
  constexpr int A = 4, width = A * lanes;
  V sums[A], squares[A];
  for (int k = 0; k < A; ++k) sums[k] = squares[k] = V{};
  int64_t i = 0;
  const auto take = [&](const float* from) {
    for (int k = 0; k < A; ++k) {
      const V x = load(from + k * lanes);
      sums[k] += x;
      squares[k] = plus_square(squares[k], x);
    }
  };
  for (; i + width <= n; i += width) {
    prefetch_page(p + i, width * 4);
    take(p + i);
  }
  if (i < n) {
    float rest[width];
    for (int k = 0; k < width; ++k) rest[k] = i + k < n ? element<float>(p, i + k) : 0.0f;
    take(rest);
  }
  double last[2][lanes];
  save(last[0], (sums[0] + sums[1]) + (sums[2] + sums[3]));
  save(last[1], (squares[0] + squares[1]) + (squares[2] + squares[3]));
  for (auto& one : last)
    for (int w = lanes / 2; w >= PARTS; w /= 2)
      for (int j = 0; j < w; ++j) one[j] += one[j + w];
  const double count = double(n / PARTS), steps = double(n / width + 8);
  for (int j = 0; j < PARTS; ++j)
    if (!is_well_conditioned(count, last[0][j], last[1][j])) return false;
  for (int j = 0; j < PARTS; ++j) {
    const double sum[words] = {last[0][j], 0, sum_in_doubt(count, last[1][j], steps)};
    const double square[words] = {last[1][j], 0, last[1][j] * steps * 0x1p-53};
    join(plain[j], sum);
    join(squared[j], square);
  }
  return true;
}

// Adds with every error.
template <int PARTS>
void deposit_moments_exactly(double (*plain)[words], double (*squared)[words], const float* p, int64_t n) {
  constexpr int K = 4;
  int64_t i = 0;
  if (n >= 2 * K * lanes) {
    deposit_block<PARTS>(plain, p, n);
    SquareLanes<K> sums;
    sums.clear();
    for (; i + K * lanes <= n; i += K * lanes)
      for (int k = 0; k < K; ++k) {
        const V x = load(p + i + k * lanes);
        sums.deposit(k, x * x);
      }
    sums.template flush<PARTS>(squared, n / (K * lanes));
  } else {
    for (int64_t k = 0; k < n; ++k) put(plain[k % PARTS], double(element<float>(p, k)));
  }
  for (; i < n; ++i) {
    const double x = double(element<float>(p, i));
    put(squared[i % PARTS], x * x);
  }
}

template <int PARTS>
void run_moments(void* states, const void* a, int64_t n, int64_t, const double*) {
  auto* const w = static_cast<double*>(states);
  constexpr int64_t block = 4096, least = 8 * lanes;
  double plain[PARTS][words], squared[PARTS][words];
  for (int k = 0; k < PARTS; ++k)
    for (int m = 0; m < words; ++m) {
      plain[k][m] = w[m * PARTS + k];
      squared[k][m] = w[(words + m) * PARTS + k];
    }
  const float* const p = static_cast<const float*>(a);
  const int64_t count = n * PARTS;
  bool well_conditioned = true;
  for (int64_t first = 0; first < count; first += block) {
    const int64_t m = count - first < block ? count - first : block;
    well_conditioned = well_conditioned && m >= least && deposit_moments<PARTS>(plain, squared, p + first, m);
    if (!well_conditioned) deposit_moments_exactly<PARTS>(plain, squared, p + first, m);
  }
  for (int k = 0; k < PARTS; ++k)
    for (int m = 0; m < words; ++m) {
      w[m * PARTS + k] = plain[k][m];
      w[(words + m) * PARTS + k] = squared[k][m];
    }
}

// Rows whose columns are added to `sums` and `squares`.
template <int ROWS>
DLT_FN void add_moments(double* sums, double* squares, const char* from, int64_t row_bytes, int64_t n) {
  for (int64_t c = 0; c < n; c += lanes) {
    V sum = load(sums + c), square = load(squares + c);
    for (int r = 0; r < ROWS; ++r) {
      const V x = load(reinterpret_cast<const float*>(from + r * row_bytes) + c);
      sum += x;
      square = plus_square(square, x);
    }
    save(sums + c, sum);
    save(squares + c, square);
  }
}

void deposit_row_moments(double* w, int64_t capacity, const char* a, int64_t row_bytes, int64_t rows, int64_t from, int64_t n) {
  double* const squares = w + words * capacity;
  const int64_t wide_end = from + (n - from) / lanes * lanes;
  const auto row = [&](int64_t r) { return reinterpret_cast<const float*>(a + r * row_bytes); };
  const Fused fused;
  int64_t r = 0;
  for (; r + rows_together <= rows; r += rows_together)
    for (int64_t c = from; c < wide_end; c += lanes) {
      TwoSumLanes<1> local;
      SquareLanes<1> local_squares;
      local.clear();
      local_squares.clear();
      for (int k = 0; k < rows_together; ++k) {
        const V x = load(row(r + k) + c);
        local.deposit(0, x, fused);
        local_squares.deposit(0, x * x);
      }
      merge_columns(w, capacity, c, local.state(0, rows_together));
      merge_columns(squares, capacity, c, local_squares.state(0, rows_together));
    }
  for (; r < rows; r += rows_together)
    for (int64_t c = from; c < wide_end; c += lanes) {
      TwoSum local, local_squares;
      local.load_from(w + c, capacity);
      local_squares.load_from(squares + c, capacity);
      for (int64_t k = 0; k < rows_next(rows - r); ++k) {
        const V x = load(row(r + k) + c);
        local.deposit(x);
        local_squares.deposit(x * x);
      }
      local.save_to(w + c, capacity);
      local_squares.save_to(squares + c, capacity);
    }
  for (r = 0; r < rows; ++r)
    for (int64_t c = wide_end; c < n; ++c) {
      const double x = double(element<float>(row(r), c));
      deposit_column(w, capacity, c, x);
      deposit_column(squares, capacity, c, x * x);
    }
}

void rows_moments(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n, int64_t,
                  const double*) {
  auto* const w = static_cast<double*>(states);
  const char* const from = static_cast<const char*>(a);
  constexpr int64_t block = 64, strip = 512, least = 16;
  double sums[strip], squares[strip];
  for (int64_t first = 0; first < n; first += strip) {
    const int64_t end = n - first < strip ? n : first + strip, wide_end = first + (end - first) / lanes * lanes;
    for (int64_t r = 0; r < rows; r += block) {
      const int64_t count = rows - r < block ? rows - r : block, wide = count < least ? 0 : wide_end - first;
      const char* const rows_at = from + r * row_bytes;
      for (int64_t c = 0; c < wide; ++c) sums[c] = squares[c] = 0;
      int64_t k = 0;
      for (; k + rows_together <= count; k += rows_together)
        add_moments<rows_together>(sums, squares, rows_at + k * row_bytes + 4 * first, row_bytes, wide);
      for (; k < count; ++k) add_moments<1>(sums, squares, rows_at + k * row_bytes + 4 * first, row_bytes, wide);
      bool well_conditioned = wide != 0;
      for (int64_t c = 0; c < wide; ++c) well_conditioned &= is_well_conditioned(double(count), sums[c], squares[c]);
      deposit_row_moments(w, capacity, rows_at, row_bytes, count, well_conditioned ? wide_end : first, end);
      if (!well_conditioned) continue;
      const double steps = double(count);
      double* const bounds = w + bound * capacity + first;
      double* const bounds_of_squares = w + (words + bound) * capacity + first;
      for (int64_t c = 0; c < wide; c += lanes) {
        deposit_columns(w, capacity, first + c, load(sums + c));
        deposit_columns(w + words * capacity, capacity, first + c, load(squares + c));
      }
      for (int64_t c = 0; c < wide; ++c) {
        bounds[c] += sum_in_doubt(steps, squares[c], steps);
        bounds_of_squares[c] += squares[c] * steps * 0x1p-53;
      }
    }
  }
}

// ---- squared deviations of float64 from a center, to 106 bits: what is rounded depends on the element alone

// (x - center) ** 2 as two float64, which are both summed.
struct Square {
  V above, below;
};
DLT_FN Square square_of(V x, V center) {
  const V minus = -center, d = x + minus, part = d - x;
  const V rest = (x - (d - part)) + (minus - part);
  const V product = d * d;
#if defined(__AVX512F__)
  const V error = reinterpret_cast<V>(
      _mm512_fmsub_pd(reinterpret_cast<__m512d>(d), reinterpret_cast<__m512d>(d), reinterpret_cast<__m512d>(product)));
#elif defined(__FMA__)
  const V error = reinterpret_cast<V>(
      _mm256_fmsub_pd(reinterpret_cast<__m256d>(d), reinterpret_cast<__m256d>(d), reinterpret_cast<__m256d>(product)));
#else
  V error;
  for (int j = 0; j < lanes; ++j) error[j] = fused(d[j], d[j], -product[j]);
#endif
  return {product, error + 2.0 * d * rest};
}

template <int PARTS>
void run_deviations(void* states, const void* a, int64_t n, int64_t, const double* center) {
  auto* const w = static_cast<double*>(states);
  constexpr int K = 4, block = 1 << 14;
  double local[PARTS][words];
  for (int k = 0; k < PARTS; ++k)
    for (int m = 0; m < words; ++m) local[k][m] = w[m * PARTS + k];
  const double* const p = static_cast<const double*>(a);
  const int64_t count = n * PARTS;
  V centers;
  for (int j = 0; j < lanes; ++j) centers[j] = center[j % PARTS];
  for (int64_t first = 0; first < count; first += block) {
    const int64_t end = count - first < block ? count : first + block;
    int64_t i = first;
    if (end - first >= 2 * K * lanes) {
      SquareLanes<K> sums;
      sums.clear();
      for (; i + K * lanes <= end; i += K * lanes)
        for (int k = 0; k < K; ++k) {
          if (k == 0) prefetch_page(p + i, K * lanes * 8);
          const Square square = square_of(load(p + i + k * lanes), centers);
          sums.deposit(k, square.above, square.below);
        }
      sums.template flush<PARTS>(local, (end - first) / (K * lanes));
    }
    for (; i < end; ++i) {
      const Square square = square_of(V{} + element<double>(p, i), V{} + center[i % PARTS]);
      put(local[i % PARTS], square.above[0]);
      put(local[i % PARTS], square.below[0]);
    }
  }
  for (int k = 0; k < PARTS; ++k)
    for (int m = 0; m < words; ++m) w[m * PARTS + k] = local[k][m];
}

void rows_deviations(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n, int64_t,
                     const double* center) {
  auto* const w = static_cast<double*>(states);
  const int64_t wide_end = n / lanes * lanes;
  const auto row = [&](int64_t r) { return reinterpret_cast<const double*>(static_cast<const char*>(a) + r * row_bytes); };
  int64_t r = 0;
  for (; r + rows_together <= rows; r += rows_together)
    for (int64_t c = 0; c < wide_end; c += lanes) {
      const V centers = load(center + c);
      SquareLanes<1> local;
      local.clear();
      for (int k = 0; k < rows_together; ++k) {
        const Square square = square_of(load(row(r + k) + c), centers);
        local.deposit(0, square.above, square.below);
      }
      merge_columns(w, capacity, c, local.state(0, rows_together));
    }
  for (; r < rows; r += rows_together)
    for (int64_t c = 0; c < wide_end; c += lanes) {
      const V centers = load(center + c);
      TwoSum local;
      local.load_from(w + c, capacity);
      for (int64_t k = 0; k < rows_next(rows - r); ++k) {
        const Square square = square_of(load(row(r + k) + c), centers);
        local.deposit(square.above);
        local.deposit(square.below);
      }
      local.save_to(w + c, capacity);
    }
  for (r = 0; r < rows; ++r)
    for (int64_t c = wide_end; c < n; ++c) {
      const Square square = square_of(V{} + element<double>(row(r), c), V{} + center[c]);
      deposit_column(w, capacity, c, square.above[0]);
      deposit_column(w, capacity, c, square.below[0]);
    }
}

// ---- few elements for each result

// Differences of floats to a mean in float64 are rounded once. The rounding of the mean adds its square, `rows` times.
void column_deviations(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  const auto row = [&](int64_t r) { return reinterpret_cast<const float*>(static_cast<const char*>(a) + r * row_bytes); };
  const double count = double(rows);
  int64_t c = 0;
  const auto take = [&]<int K>() {
    V mean[K], sum[K];
    for (int k = 0; k < K; ++k) mean[k] = sum[k] = V{};
    for (int64_t r = 0; r < rows; ++r)
      for (int k = 0; k < K; ++k) mean[k] += load(row(r) + c + k * lanes);
    for (int k = 0; k < K; ++k) mean[k] /= count;
    for (int64_t r = 0; r < rows; ++r)
      for (int k = 0; k < K; ++k) {
        const V d = load(row(r) + c + k * lanes) - mean[k];
        sum[k] += d * d;
      }
    for (int k = 0; k < K; ++k) save(sums + c + k * lanes, sum[k]);
    c += K * lanes;
  };
  while (c + 2 * lanes <= n) take.template operator()<2>();
  if (c + lanes <= n) take.template operator()<1>();
  for (; c < n; ++c) {
    double mean = 0, sum = 0;
    for (int64_t r = 0; r < rows; ++r) mean += double(element<float>(row(r), c));
    mean /= count;
    for (int64_t r = 0; r < rows; ++r) {
      const double d = double(element<float>(row(r), c)) - mean;
      sum += d * d;
    }
    sums[c] = sum;
  }
}

// One register of columns. `below` is what is lost of `above`, and off by less than rows^2 2^-105 of it.
template <class LOAD>
DLT_FN unsigned variances_of(V* out, V mean, int64_t rows, double divisor, bool root, LOAD at) {
  V above{}, below{};
  integers apart{};
  for (int64_t r = 0; r < rows; ++r) {
    const V x = at(r);
    const Square square = square_of(x, mean);
    const V sum = above + square.above, part = sum - above;
    below += ((above - (sum - part)) + (square.above - part)) + square.below;
    above = sum;
    apart |= x != mean;
  }
  const V sum = above + below, low = below - (sum - above), by = V{} + divisor;
  V value = sum / by, rest = (rest_of(sum, value, by) + low) / by;
  integers known = (value > 0x1p-800) & (value < 0x1p900) &
                   (size_of(mean) * 0x1p-24 * size_of(mean) * 0x1p-24 < value * (1 - 0x1p-50));
  if (root) {
    V square_root;
    for (int j = 0; j < lanes; ++j) square_root[j] = __builtin_sqrt(value[j]);
    rest = (rest_of(value, square_root, square_root) + rest) / (square_root + square_root);
    value = square_root;
  }
  const V margin = value * (double(rows) * double(rows) * 0x1p-103), up = value + (rest + margin),
          down = value + (rest - margin);
  const integers equal = ~apart;  // all elements, to their mean
  *out = V(integers(up) & ~equal);
  known = (known & (up == down)) | equal;
  return bits_of(known);
}
// Of two elements half their difference is the root, a tie of many.
DLT_FN unsigned half_differences(V* out, V x, V y) {
  const V apart = size_of(x - y);
  *out = apart * 0.5;
  return bits_of(apart < 0x1p900);
}

uint64_t rounded_variances(double* out, const double* means, const void* a, int64_t row_bytes, int64_t rows, int64_t n,
                           double divisor, bool root) {
  uint64_t unknown = 0;
  const auto take = [&](int64_t c, int64_t count) {
    const auto at = [&](int64_t r) {
      V x{};
      __builtin_memcpy(&x, static_cast<const char*>(a) + r * row_bytes + c * 8, size_t(count) * 8);
      return x;
    };
    V mean{}, result;
    __builtin_memcpy(&mean, means + c, size_t(count) * 8);
    const bool is_half = root && rows == 2 && divisor == 2;
    const unsigned known = is_half ? half_differences(&result, at(0), at(1))
                                   : variances_of(&result, mean, rows, divisor, root, at);
    unknown |= uint64_t(~known & all_lanes & ((1u << count) - 1)) << c;
    __builtin_memcpy(out + c, &result, size_t(count) * 8);
  };
  int64_t c = 0;
  for (; c + lanes <= n; c += lanes) take(c, lanes);
  if (c < n) take(c, n - c);
  return unknown;
}

}  // namespace

void fill_moments(ReduceKernels* kernels) {
  kernels->few.column_deviations = column_deviations;
  kernels->few.rounded_variances = rounded_variances;
  Reducer* const moments = kernels->reducers[reduce_moments];
  moments[type_float32] = {2 * words, 8, 1, -1, start_sums<2>, run_moments<1>, rows_moments, nullptr, merge_sums<2>, nullptr};
  moments[type_complex64] = {2 * words, 8, 2, -1, start_sums<2>, run_moments<2>, rows_moments, nullptr, merge_sums<2>, nullptr};
  Reducer* const deviations = kernels->reducers[reduce_deviations];
  deviations[type_float64] = {words,         8,      1, -1, start_sums<1>, run_deviations<1>, rows_deviations, nullptr,
                              merge_sums<1>, nullptr};
  deviations[type_complex128] = {words,         8,      2, -1, start_sums<1>, run_deviations<2>, rows_deviations, nullptr,
                                 merge_sums<1>, nullptr};
}

}  // namespace dlt::DLT_LEVEL
