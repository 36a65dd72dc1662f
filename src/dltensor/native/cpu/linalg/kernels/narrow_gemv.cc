// SPDX-License-Identifier: Apache-2.0
// Products of a matrix of 4, 8 or 16-bit elements and a vector of float32: the sums of gemv.cc, with elements converted in registers,
// where blocks of them may have a scale.
#if defined(__clang__)
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif
#include "native/cpu/copy/kernels/narrow.h"
#include "native/cpu/linalg/kernels.h"
#include "native/cpu/quantize/kernels/tables.h"

namespace dlt::DLT_LEVEL {
namespace {

#if defined(__AVX2__) && defined(__F16C__)
constexpr int64_t most_depth = 4096;
constexpr int sums = partial_sums_bytes / int(sizeof(float));  // of an element of the result, as in gemv.cc
constexpr int chains = sums / float_lanes;
constexpr int most_rows = register_bytes == 64 ? 4 : 2;

DLT_FN __m128i load_8(const char* from) { return _mm_loadl_epi64(reinterpret_cast<const __m128i_u*>(from)); }
DLT_FN __m128i load_16(const char* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
DLT_FN __m256i load_32(const char* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }

#if defined(__AVX512F__)
DLT_FN Floats from_halves(__m256i halves) { return Floats(_mm512_cvtph_ps(halves)); }
DLT_FN Floats from_words(__m512i words) { return Floats(_mm512_cvtepi32_ps(words)); }
#else
DLT_FN Floats from_halves(__m128i halves) { return Floats(_mm256_cvtph_ps(halves)); }
DLT_FN Floats from_words(__m256i words) { return Floats(_mm256_cvtepi32_ps(words)); }
#endif

template <class M>
constexpr bool has_halves = is_same<M, float8_e4m3fn>::value || is_same<M, float8_e5m2>::value;

template <class M>
DLT_FN float number_at(const char* m, int64_t i) {
  if constexpr (std::is_integral_v<M>) return float(read_at<M>(m, i));
  else return to_float(read_at<M>(m, i));
}

// One register of elements, of which some are NaN.
template <class M>
[[gnu::noinline, gnu::cold]] Floats register_with_nan(const char* from) {
  Floats all;
  for (int i = 0; i < float_lanes; ++i) all[i] = number_at<M>(from, i);
  return all;
}

// One register of elements of another dtype.
template <class M>
DLT_FN Floats register_of(const char* from) {
  if constexpr (has_halves<M>) {
    const __m128i codes = float_lanes == 16 ? load_16(from) : load_8(from);
    if (__builtin_expect(has_nan<M>(codes), 0)) return register_with_nan<M>(from);
#if defined(__AVX512F__)
    return from_halves(halves_of<M>(codes)) * scale_of_halves<M>;
#else
    return from_halves(_mm256_castsi256_si128(halves_of<M>(codes))) * scale_of_halves<M>;
#endif
  } else {
#if defined(__AVX512F__)
    if constexpr (is_same<M, bfloat16>::value) return Floats(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load_32(from)), 16));
    else if constexpr (is_same<M, float16>::value) return from_halves(load_32(from));
    else if constexpr (std::is_signed_v<M>) return from_words(_mm512_cvtepi8_epi32(load_16(from)));
    else return from_words(_mm512_cvtepu8_epi32(load_16(from)));
#else
    if constexpr (is_same<M, bfloat16>::value) return Floats(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_16(from)), 16));
    else if constexpr (is_same<M, float16>::value) return from_halves(load_16(from));
    else if constexpr (std::is_signed_v<M>) return from_words(_mm256_cvtepi8_epi32(load_8(from)));
    else return from_words(_mm256_cvtepu8_epi32(load_8(from)));
#endif
  }
}

// ---- contiguous rows of the matrix

// Thirty-two elements as registers of float32, over `scale`.
template <class M>
struct Loader {
  static constexpr float scale = 1;
  DLT_FN void load(const char* from, Floats (&x)[chains]) {
    each<chains>([&](int u) __attribute__((always_inline)) { x[u] = register_of<M>(from + u * float_lanes * int(sizeof(M))); });
  }
  bool has_nan() const { return false; }
};

// Floats of 8 bits by way of float16. NaN is other bits there.
template <class T>
struct HalfLoader {
  static constexpr float scale = scale_of_halves<T>;
  __m256i largest = _mm256_setzero_si256();  // magnitudes

  DLT_FN void load(const char* from, Floats (&x)[chains]) {
    const __m256i codes = load_32(from);
    largest = _mm256_max_epu8(largest, _mm256_and_si256(codes, _mm256_set1_epi8(0x7f)));
#if defined(__AVX512F__)
    const __m512i words = _mm512_cvtepi8_epi16(codes);
    const __m512i halves = T::mantissa == 2 ? _mm512_slli_epi16(words, 8)
                                            : _mm512_and_si512(_mm512_slli_epi16(words, 7), _mm512_set1_epi16(short(0xbf80)));
    x[0] = from_halves(_mm512_castsi512_si256(halves));
    x[1] = from_halves(_mm512_extracti64x4_epi64(halves, 1));
#else
    for (int part = 0; part < 2; ++part) {
      const __m256i halves = halves_of<T>(part == 0 ? _mm256_castsi256_si128(codes) : _mm256_extracti128_si256(codes, 1));
      x[2 * part] = from_halves(_mm256_castsi256_si128(halves));
      x[2 * part + 1] = from_halves(_mm256_extracti128_si256(halves, 1));
    }
#endif
  }
  bool has_nan() const {
    uint8_t all[32];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(all), largest);
    uint8_t most = 0;
    for (const uint8_t magnitude : all) most = magnitude > most ? magnitude : most;
    return most > (T::mantissa == 2 ? 0x7c : 0x7e);
  }
};
template <>
struct Loader<float8_e4m3fn> : HalfLoader<float8_e4m3fn> {};
template <>
struct Loader<float8_e5m2> : HalfLoader<float8_e5m2> {};

// The sum of all partial sums, the upper half of them added to the lower half until one is left. A sum of 0 is +0.
template <int By>
DLT_FN Floats joined(Floats v) {
  if constexpr (By == 0) return v;
  else return joined<By / 2>(v + exchanged<float, By>(v));
}

// R rows; `v` has zeros after `depth` elements.
template <class T, int R>
bool dot_rows(char* c, int64_t c_step, const char* m, int64_t row, const float* v, int64_t depth) {
  Floats total[R][chains] = {};
  Loader<T> loaders[R];
  const auto add = [&](const char* from, int64_t step, const float* x) __attribute__((always_inline)) {
    each<R>([&](int r) __attribute__((always_inline)) {
      Floats y[chains];
      loaders[r].load(from + r * step, y);
      each<chains>([&](int u)
                       __attribute__((always_inline)) { total[r][u] = total[r][u] + y[u] * load_floats(x + u * float_lanes); });
    });
  };
  int64_t k = 0;
#pragma GCC unroll 1
  for (; k + sums <= depth; k += sums, m += sums * int64_t(sizeof(T))) {
    each<R>([&](int r) __attribute__((always_inline)) { __builtin_prefetch(m + (r + R) * row); });
    add(m, row, v + k);
  }
  if (k < depth) {
    char rest[R][sums * sizeof(T)] = {};
    for (int r = 0; r < R; ++r) __builtin_memcpy(rest[r], m + r * row, size_t(depth - k) * sizeof(T));
    add(rest[0], sizeof rest[0], v + k);
  }
  bool has_nan = false;
  for (int r = 0; r < R; ++r) {
    const Floats all = joined<float_lanes / 2>(halved<chains>(total[r]));
    write_at(c + r * c_step, 0, all[0] + 0.0f);
    has_nan = has_nan || loaders[r].has_nan();
  }
  return !has_nan;
}

template <class T>
bool all_rows(char* c, int64_t c_step, const char* m, int64_t row, const float* v, int64_t rows, int64_t depth) {
  constexpr float scale = Loader<T>::scale;
  // The product of v and scale is exact, so that products with elements are rounded as those of both numbers.
  alignas(64) float scaled[most_depth + sums];
  bool is_large = false;
  for (int64_t k = 0; k < depth; ++k) {
    const float x = read_at<float>(v, k);
    scaled[k] = x * scale;
    is_large |= scale != 1 && !(__builtin_fabsf(x) <= 0x1p119f);
  }
  if (is_large) return false;
  for (int64_t k = depth; k % sums != 0; ++k) scaled[k] = 0;
  bool done = true;
  const auto advance = [&](int by) {
    rows -= by;
    m += by * row;
    c += by * c_step;
  };
  for (; done && rows >= most_rows; advance(most_rows)) done = dot_rows<T, most_rows>(c, c_step, m, row, scaled, depth);
  for (; done && rows >= 1; advance(1)) done = dot_rows<T, 1>(c, c_step, m, row, scaled, depth);
  return done;
}

// ---- contiguous rows of the matrix, with numbers of blocks

// Thirty-two elements as registers of float32, times the number of their block.
template <class M>
struct BlockLoader {
  static constexpr int numbers = 1, bytes = sums;
  Loader<M> loader;
  Floats number;

  // Returns whether products are sure to be those of the elements.
  DLT_FN bool begin(const BlockNumbers&, const float* from) {
    const float both = read_at<float>(from, 0) * Loader<M>::scale;  // exact
    number = both - Floats{};  // a sum would not be left out
    return Loader<M>::scale == 1 || __builtin_fabsf(both) <= 0x1p120f;
  }
  DLT_FN void load(const char* from, Floats (&x)[chains]) {
    loader.load(from, x);
    each<chains>([&](int u) __attribute__((always_inline)) { x[u] = x[u] * number; });
  }
};
// Elements of 4 bits, in blocks of 32 or more, or N = 2: of 16.
template <int N>
struct TableLoader {
  static constexpr int numbers = N, bytes = sums / 2;
  ScaledTable tables[N];

  DLT_FN bool begin(const BlockNumbers& all, const float* from) {
    each<N>([&](int i)
                __attribute__((always_inline)) { tables[i] = ScaledTable(all.table, read_at<float>(from, i), all.factor); });
    return true;
  }
  DLT_FN void load(const char* from, Floats (&x)[chains]) {
    const auto* const packed = reinterpret_cast<const uint8_t*>(from);
    each<chains>([&](int u)
                     __attribute__((always_inline)) { x[u] = tables[u * N / chains].of(packed + u * (float_lanes / 2)); });
  }
};

// Rows that are multiplied together; with AVX2 tables and sums of two do not fit the registers.
constexpr int block_rows = register_bytes == 64 ? 4 : 1;

// R rows.
template <class L, int R>
bool dot_blocks(float* c, const char* m, int64_t row, const float* v, int64_t depth, const BlockNumbers& all) {
  Floats total[R][chains] = {};
  L loaders[R];
  bool is_sure = true;
  const float* numbers = all.numbers;
  const int64_t block = L::numbers == 1 ? all.block : sums;
  int64_t end = L::numbers == 1 ? all.left : sums;
  for (int64_t k = 0; k < depth; end += block, numbers += L::numbers) {
    each<R>([&](int r) __attribute__((always_inline)) {
      __builtin_prefetch(numbers + (r + R) * all.row);
      is_sure &= loaders[r].begin(all, numbers + r * all.row);
    });
    if (end > depth) end = depth;
#pragma GCC unroll 1
    for (; k < end; k += sums, m += L::bytes)
      each<R>([&](int r) __attribute__((always_inline)) {
        Floats y[chains];
        __builtin_prefetch(m + (r + R) * row);
        loaders[r].load(m + r * row, y);
        each<chains>([&](int u) __attribute__((always_inline)) {
          total[r][u] = total[r][u] + y[u] * load_floats(v + k + u * float_lanes);
        });
      });
  }
  for (int r = 0; r < R; ++r) {
    c[r] = joined<float_lanes / 2>(halved<chains>(total[r]))[0] + 0.0f;
    if constexpr (requires { loaders[r].loader; }) is_sure = is_sure && !loaders[r].loader.has_nan();
  }
  return is_sure;
}

template <class L, int R>
bool all_blocks(float* c, const char* m, int64_t row, const float* v, int64_t rows, int64_t depth, BlockNumbers all) {
  bool done = true;
  for (; done && rows >= R; rows -= R, m += R * row, c += R, all.numbers += R * all.row)
    done = dot_blocks<L, R>(c, m, row, v, depth, all);
  if constexpr (R > 1) return done && all_blocks<L, 1>(c, m, row, v, rows, depth, all);
  return done;
}

template <class M>
bool block_product(float* c, const void* m, int64_t row, const float* v, int64_t rows, int64_t depth, const BlockNumbers& all) {
  return all_blocks<BlockLoader<M>, block_rows>(c, static_cast<const char*>(m), row, v, rows, depth, all);
}
bool table_product(float* c, const void* m, int64_t row, const float* v, int64_t rows, int64_t depth, const BlockNumbers& all) {
  const auto multiply = all.block == 16 ? all_blocks<TableLoader<2>, block_rows> : all_blocks<TableLoader<1>, block_rows>;
  return multiply(c, static_cast<const char*>(m), row, v, rows, depth, all);
}

// ---- contiguous columns of the matrix

constexpr int64_t strip = 256;  // elements of a column that are computed at a time: their partial sums stay in the first cache
constexpr int most_columns = 4;  // that one pass over a set of partial sums adds

// Adds K columns, `step` bytes apart, times numbers that are `sums` apart, to one partial sum of each of n elements.
template <class M, int K>
[[gnu::noinline]] void add_columns(float* to, const char* m, int64_t step, const float* v, int64_t n) {
  int64_t i = 0;
  for (; i + float_lanes <= n; i += float_lanes) {
    Floats s = load_floats(to + i);
    each<K>([&](int k) __attribute__((always_inline)) {
      s = s + register_of<M>(m + k * step + i * int64_t(sizeof(M))) * read_at<float>(v, k * sums);
    });
    save_floats(to + i, s);
  }
  for (; i < n; ++i)
#pragma GCC unroll 1
    for (int k = 0; k < K; ++k) to[i] = to[i] + number_at<M>(m + k * step, i) * read_at<float>(v, k * sums);
}

template <class M>
void all_columns(char* c, int64_t c_step, const char* m, int64_t column, const float* v, int64_t rows, int64_t depth) {
  alignas(64) float sets[sums][strip];
  for (int64_t first = 0; first < rows; first += strip, m += strip * int64_t(sizeof(M)), c += strip * c_step) {
    const int64_t n = rows - first < strip ? rows - first : strip, used = depth < sums ? depth : sums;
    for (int64_t j = 0; j < used; ++j)
      for (int64_t i = 0; i < strip; i += float_lanes) save_floats(sets[j] + i, Floats{});
    for (int64_t k = 0; k < depth; k += most_columns * sums)
      for (int64_t j = k; j < k + sums && j < depth; ++j) {
        const char* const from = m + j * column;
        if (j + (most_columns - 1) * sums < depth) add_columns<M, most_columns>(sets[j - k], from, sums * column, v + j, n);
        else
          for (int64_t i = j; i < depth; i += sums) add_columns<M, 1>(sets[j - k], m + i * column, 0, v + i, n);
      }
    for (int64_t half = sums / 2; half > 0; half /= 2)
      for (int64_t j = 0; j < half && j + half < depth; ++j) {
        DLT_IVDEP
        for (int64_t i = 0; i < n; ++i) sets[j][i] = sets[j][i] + sets[j + half][i];
      }
    for (int64_t i = 0; i < n; ++i) write_at(c + i * c_step, 0, sets[0][i] + 0.0f);
  }
}

template <class M>
bool narrow_product(void* c, int64_t c_step, const void* m, int64_t row, int64_t column, const float* v, int64_t rows,
                    int64_t depth) {
  auto* const to = static_cast<char*>(c);
  auto* const from = static_cast<const char*>(m);
  if (column == int64_t(sizeof(M))) return all_rows<M>(to, c_step, from, row, v, rows, depth);
  all_columns<M>(to, c_step, from, column, v, rows, depth);
  return true;
}
#endif

}  // namespace

void fill_narrow_vectors([[maybe_unused]] LinalgKernels* kernels) {
#if defined(__AVX2__) && defined(__F16C__)
  narrow_product_t* p = kernels->narrow_products;
  p[type_bfloat16] = narrow_product<bfloat16>;
  p[type_float16] = narrow_product<float16>;
  p[type_int8] = narrow_product<int8_t>;
  p[type_uint8] = narrow_product<uint8_t>;
  p[type_float8_e4m3fn] = narrow_product<float8_e4m3fn>;
  p[type_float8_e5m2] = narrow_product<float8_e5m2>;
  block_product_t* q = kernels->block_products;
  q[type_int8] = block_product<int8_t>;
  q[type_uint8] = block_product<uint8_t>;
  q[type_float8_e4m3fn] = block_product<float8_e4m3fn>;
  q[type_float8_e5m2] = block_product<float8_e5m2>;
  q[type_int4] = q[type_uint4] = q[type_float4_e2m1fn] = table_product;
#endif
}

}  // namespace dlt::DLT_LEVEL
