// SPDX-License-Identifier: Apache-2.0
// Matrix products with the bits of the CPU, of any strides and any batch: tiles through shared memory, and partial sums of products
// with one row or one column. Terms are added in the order of product_order.h.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"
#include "native/ops/linalg/product_order.h"

namespace dlt::kernels::product {

// The sums of one element of the result. ALTERNATES: of products of bfloat16.
template <class S, bool ALTERNATES>
struct Sums {
  S sum;
  DLT_FN void clear() { sum = S{}; }
  DLT_FN void add(S x, S y, int) { sum = ops::fma(x, y, sum); }
  DLT_FN void end_block() {}
  DLT_FN void join(const Sums& other) { sum = ops::add(sum, other.sum); }
  DLT_FN S value() const { return sum; }
};
// The products of parts have chains of their own.
template <class F>
struct Sums<complex_of<F>, false> {
  F re_re, im_im, re_im, im_re;
  DLT_FN void clear() { re_re = im_im = re_im = im_re = 0; }
  DLT_FN void add(complex_of<F> x, complex_of<F> y, int) {
    re_re = fused(x.re, y.re, re_re);
    im_im = fused(x.im, y.im, im_im);
    re_im = fused(x.re, y.im, re_im);
    im_re = fused(x.im, y.re, im_re);
  }
  DLT_FN void end_block() {}
  DLT_FN void join(const Sums& other) {
    re_re = re_re + other.re_re;
    im_im = im_im + other.im_im;
    re_im = re_im + other.re_im;
    im_re = im_re + other.im_re;
  }
  DLT_FN complex_of<F> value() const { return {re_re - im_im, re_im + im_re}; }
};
template <>
struct Sums<float, true> {
  float even, odd, total;
  DLT_FN void clear() { even = odd = total = 0; }
  DLT_FN void add(float x, float y, int term) {
    if (term % 2 == 0) even = fused(x, y, even);
    else odd = fused(x, y, odd);
  }
  DLT_FN void end_block() {
    total = total + (even + odd);
    even = odd = 0;
  }
  DLT_FN float value() const { return total; }
};

// The elements of c, and of a and b, that a batch begins with.
struct Places {
  int64_t a = 0, b = 0, c = 0;
};
DLT_FN Places places_of(const Product& p, int64_t batch) {
  Places at;
  uint64_t left = uint64_t(batch), rest;
  for (int d = p.dims - 1; d >= 0; --d) {
    left = divide(p.extent[d], left, &rest);
    at.a += int64_t(rest) * p.a_stride[d];
    at.b += int64_t(rest) * p.b_stride[d];
    at.c += int64_t(rest) * p.c_stride[d];
  }
  return at;
}

template <class T, class S, class F>
DLT_FN void store(const Product& p, T* at, S value) {
  if (p.scaled) value = ops::multiply(value, S(immediate<F>(p.alpha)));
  if (p.reads) value = ops::fma(S(immediate<F>(p.beta)), S(computed<T>::in(*at)), value);
  *at = computed<T>::out(typename computed<T>::type(value));
}

constexpr int threads = 256, across = 16;  // of a tile, and of each of its sides
constexpr int deep = 8;  // terms of a tile
static_assert(block_terms % deep == 0 && chain_depth % deep == 0);

// Elements that a thread owns along a side of OWN: `pack` neighbours, then those a tile's part further.
template <class S, int OWN>
struct Side {
  static constexpr int size = across * OWN;
  static constexpr int pack = OWN < 16 / int(sizeof(S)) ? OWN : 16 / int(sizeof(S));
  static constexpr int pitch = size + pack;
  static DLT_FN int place(int rank, int i) { return i / pack * (across * pack) + rank * pack + i % pack; }

  static DLT_FN void read(S (&out)[OWN], const S* line, int rank) {
#pragma unroll
    for (int i = 0; i < OWN; i += pack) {
      const auto some = *reinterpret_cast<const Pack<S, pack>*>(line + place(rank, i));
#pragma unroll
      for (int j = 0; j < pack; ++j) out[i + j] = some.at[j];
    }
  }
};

DLT_FN int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

// Reads a tile of elements of an operand, in the order of memory, and writes them to shared memory by terms.
template <class M, class S, int SIZE, int PITCH>
struct TileReader {
  static constexpr int count = SIZE * deep / threads;
  const M* at;
  int64_t step, next_terms;
  int line, term, line_step, term_step;
  M ahead[count];

  DLT_FN TileReader(const M* first, int64_t line_stride, int64_t term_stride) {
    const int thread = int(threadIdx.x);
    const bool along_terms = magnitude(term_stride) <= magnitude(line_stride);
    line = along_terms ? thread / deep : thread % SIZE;
    term = along_terms ? thread % deep : thread / SIZE;
    line_step = along_terms ? threads / deep : 0;
    term_step = along_terms ? 0 : threads / SIZE;
    at = first + line * line_stride + term * term_stride;
    step = line_step * line_stride + term_step * term_stride;
    next_terms = deep * term_stride;
  }
  // Elements outside of the matrix are not read.
  DLT_FN void read(int lines, int terms) {
    const M* from = at;
#pragma unroll
    for (int i = 0; i < count; ++i, from += step)
      ahead[i] = line + i * line_step < lines && term + i * term_step < terms ? *from : M{};
    at += next_terms;
  }
  DLT_FN void write(S* tile) const {
#pragma unroll
    for (int i = 0; i < count; ++i) tile[(term + i * term_step) * PITCH + line + i * line_step] = S(computed<M>::in(ahead[i]));
  }
};

// A tile of c, of one part or of all terms from `first` to `end`. A and B lie in memory, S is summed in. Each thread owns R x C
// elements.
template <class A, class B, class S, bool ALTERNATES, int R, int C>
struct Tile {
  using Rows = Side<S, R>;
  using Columns = Side<S, C>;

  // The items of the grid are parts of tiles of batches.
  const Product& p;
  const int64_t part, batch, tile, row0, column0, first, end;
  const int rows, columns;  // that lie in the matrix
  const Places places;
  const int row_rank, column_rank;
  TileReader<A, S, Rows::size, Rows::pitch> a;
  TileReader<B, S, Columns::size, Columns::pitch> b;
  Sums<S, ALTERNATES> sums[R][C];

  static DLT_FN int64_t smaller(int64_t x, int64_t y) { return x < y ? x : y; }
  DLT_FN int terms_from(int64_t k) const { return int(smaller(deep, end - k)); }

  // A warp has 4 x 8 threads, so that it reads few words of either tile.
  DLT_FN Tile(const Product& product, int64_t item, int64_t tiles)
      : p(product),
        part(item % p.parts),
        batch(item / p.parts / tiles),
        tile(item / p.parts % tiles),
        row0(tile / p.tiles_across * Rows::size),
        column0(tile % p.tiles_across * Columns::size),
        first(part * chain_depth),
        end(p.parts > 1 ? smaller(first + chain_depth, p.depth) : p.depth),
        rows(int(smaller(p.rows - row0, Rows::size))),
        columns(int(smaller(p.columns - column0, Columns::size))),
        places(places_of(p, batch)),
        row_rank(int(threadIdx.x) / 64 * 4 + int(threadIdx.x) % 32 / 8),
        column_rank(int(threadIdx.x) / 32 % 2 * 8 + int(threadIdx.x) % 8),
        a(static_cast<const A*>(p.a) + places.a + row0 * p.a_row + first * p.a_column, p.a_row, p.a_column),
        b(static_cast<const B*>(p.b) + places.b + column0 * p.b_column + first * p.b_row, p.b_column, p.b_row) {}

  template <class Body>
  DLT_FN void each(const Body& body) {
#pragma unroll
    for (int i = 0; i < R; ++i)
#pragma unroll
      for (int j = 0; j < C; ++j) body(sums[i][j], i, j);
  }
  DLT_FN void clear() {
    each([](auto& sum, int, int) { sum.clear(); });
  }
  DLT_FN void read(int64_t k) {
    a.read(rows, terms_from(k));
    b.read(columns, terms_from(k));
  }
  DLT_FN void add_term(const S* a_tile, const S* b_tile, int k, int parity) {
    S x[R], y[C];
    Rows::read(x, a_tile + k * Rows::pitch, row_rank);
    Columns::read(y, b_tile + k * Columns::pitch, column_rank);
    each([&](auto& sum, int i, int j) { sum.add(x[i], y[j], parity); });
  }
  DLT_FN void add_terms(const S* a_tile, const S* b_tile, int terms) {
    if (terms == deep) {
#pragma unroll
      for (int i = 0; i < deep; ++i) add_term(a_tile, b_tile, i, i % 2);
      return;
    }
#pragma unroll 1
    for (int i = 0; i < terms; i += 2) {
      add_term(a_tile, b_tile, i, 0);
      if (i + 1 < terms) add_term(a_tile, b_tile, i + 1, 1);
    }
  }
  // Adds a chain to those before, which the thread keeps in memory of its own, and begins the next one.
  DLT_FN void keep(S* kept, bool is_first) {
    each([&](auto& sum, int i, int j) {
      S& total = kept[(i * C + j) * threads];
      total = is_first ? sum.value() : ops::add(total, sum.value());
    });
    clear();
  }
  template <class T, class F>
  DLT_FN void finish(const S* kept) {
    T* const c = static_cast<T*>(p.c) + places.c;
    each([&](auto& sum, int i, int j) {
      const int64_t row = row0 + Rows::place(row_rank, i), column = column0 + Columns::place(column_rank, j);
      if (row >= p.rows || column >= p.columns) return;
      const S value = end - first <= chain_depth ? sum.value() : ops::add(kept[(i * C + j) * threads], sum.value());
      if (p.parts == 1) return store<T, S, F>(p, c + row * p.c_row + column * p.c_column, value);
      static_cast<S*>(p.sums)[((part * p.batches + batch) * p.rows + row) * p.columns + column] = value;
    });
  }
};

// T lies in memory, and F are alpha and beta, as products.cc chooses.
template <class A, class B, class T, class S, class F, bool ALTERNATES, int R, int C>
__global__ void __launch_bounds__(256, 2) tiled(const __grid_constant__ Product p) {
  alignas(16) __shared__ S a_tile[2][deep * Side<S, R>::pitch];
  alignas(16) __shared__ S b_tile[2][deep * Side<S, C>::pitch];
  const int64_t tiles = p.tiles_across * p.tiles_down;
  S* const kept = static_cast<S*>(p.sums) + int64_t(blockIdx.x) * threads * R * C + threadIdx.x;
  for (int64_t item = blockIdx.x; item < tiles * p.batches * p.parts; item += gridDim.x) {
    Tile<A, B, S, ALTERNATES, R, C> tile(p, item, tiles);
    tile.clear();
    tile.read(tile.first);
    tile.a.write(a_tile[0]);
    tile.b.write(b_tile[0]);
    __syncthreads();
    int now = 0;  // the terms that are added; the next ones are read meanwhile
    for (int64_t k = tile.first; k < tile.end;) {
      const int64_t stop = tile.smaller(k + chain_depth, tile.end);
#pragma unroll 1
      for (; k < stop; k += deep, now ^= 1) {
        const bool has_more = k + deep < tile.end;
        if (has_more) tile.read(k + deep);
        tile.add_terms(a_tile[now], b_tile[now], tile.terms_from(k));
        if (ALTERNATES && ((k + deep) % block_terms == 0 || !has_more)) tile.each([](auto& sum, int, int) { sum.end_block(); });
        if (!has_more) continue;
        tile.a.write(a_tile[now ^ 1]);
        tile.b.write(b_tile[now ^ 1]);
        __syncthreads();
      }
      if (k < tile.end) tile.keep(kept, k == tile.first + chain_depth);
    }
    tile.template finish<T, F>(kept);
    __syncthreads();  // the next tile takes the place of this one
  }
}

// Partial sums of an element: a complex one has two sets of two parts.
template <class S>
inline constexpr int partial_sums = partial_sums_bytes / int(sizeof(S));
template <class F>
inline constexpr int partial_sums<complex_of<F>> = partial_sums_bytes / 4 / int(sizeof(F));

// One row or one column of c: a thread has one partial sum of an element, in one block of terms.
template <class A, class B, class T, class S, class F>
__global__ void __launch_bounds__(256) vectors(const __grid_constant__ Product p) {
  constexpr int count = partial_sums<S>, lines = threads / count;
  __shared__ Sums<S, false> sums[count][lines + 1];
  const int thread = int(threadIdx.x);
  const int line = p.along_terms ? thread / count : thread % lines, first = p.along_terms ? thread % count : thread / lines;
  const int64_t length = p.rows * p.columns, elements = length * p.batches, groups = (elements + lines - 1) / lines;
  const int64_t a_step = p.columns == 1 ? p.a_row : 0, b_step = p.columns == 1 ? 0 : p.b_column;
  for (int64_t item = blockIdx.x; item < groups * p.parts; item += gridDim.x) {
    const int64_t part = item / groups, element = item % groups * lines + line;
    const int64_t batch = element / length, place = element % length, k0 = part * vector_block;
    const Places places = places_of(p, batch);
    Sums<S, false>& own = sums[first][line];
    Sums<S, false> sum;
    sum.clear();
    if (element < elements) {
      const A* a = static_cast<const A*>(p.a) + places.a + place * a_step + (k0 + first) * p.a_column;
      const B* b = static_cast<const B*>(p.b) + places.b + place * b_step + (k0 + first) * p.b_row;
      const int terms = int(p.depth - k0 < vector_block ? p.depth - k0 : vector_block);
#pragma unroll 8
      for (int k = first; k < terms; k += count, a += count * p.a_column, b += count * p.b_row)
        sum.add(S(computed<A>::in(*a)), S(computed<B>::in(*b)), 0);
    }
    own = sum;
    __syncthreads();
    for (int half = count / 2; half > 0; half /= 2) {
      if (first < half) own.join(sums[first + half][line]);
      __syncthreads();
    }
    if (first > 0 || element >= elements) continue;
    const S value = ops::add(own.value(), S{});  // a sum of 0 is +0
    if (p.parts > 1) static_cast<S*>(p.sums)[part * elements + element] = value;
    else store<T, S, F>(p, static_cast<T*>(p.c) + places.c + place * (p.columns == 1 ? p.c_row : p.c_column), value);
  }
}

// Adds the parts of each element, in order.
template <class T, class S, class F>
__global__ void __launch_bounds__(256) joined(const __grid_constant__ Product p) {
  const int64_t size = p.rows * p.columns, elements = size * p.batches;
  for (int64_t i = int64_t(first_item()); i < elements; i += int64_t(all_threads())) {
    const S* sum = static_cast<const S*>(p.sums) + i;
    S value = *sum;
#pragma unroll 8
    for (int64_t part = 1; part < p.parts; ++part) value = ops::add(value, *(sum += elements));
    const int64_t place = i % size;
    T* const c = static_cast<T*>(p.c) + places_of(p, i / size).c;
    store<T, S, F>(p, c + place / p.columns * p.c_row + place % p.columns * p.c_column, value);
  }
}

}  // namespace dlt::kernels::product
