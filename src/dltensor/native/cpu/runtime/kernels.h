// SPDX-License-Identifier: Apache-2.0
// The kernels of one instruction set: tables of loops over plain runs of elements. Which set is used is decided in
// features.cc; how a tensor is split into runs is decided in strided_loop.cc.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "native/ops/elementwise/ops.h"
#include "native/ops/keys.h"
#include "native/ops/reduce/reductions.h"
#include "native/ops/scans.h"
#include "native/cpu/runtime/dtype.h"

namespace dlt {

#define DLT_NUMBER(name, ...) op_##name,
enum Op : int { DLT_OPS(DLT_NUMBER) op_count };
#undef DLT_NUMBER
#define DLT_NUMBER(name, ...) saturating_##name,
enum Saturating : int { DLT_SATURATING_OPS(DLT_NUMBER) saturating_count };
#undef DLT_NUMBER

// Before a loop: no iteration needs what another has written. Clang has this promise only together with forced
// vectorization, so there the loops compare addresses first.
#if defined(__clang__)
#define DLT_IVDEP
#else
#define DLT_IVDEP _Pragma("GCC ivdep")
#endif

// out[i] = op(a[i], b[i], c[i]) for i < n, all contiguous, in one dtype each, at any alignment. Bit k of `scalars`:
// operand k is a single element. `out` may be an operand itself but must not overlap one otherwise.
typedef void (*loop_t)(void* out, const void* a, const void* b, const void* c, int64_t n, unsigned scalars);

// Comparisons by value of elements whose dtypes have none in common that holds both. Row: the dtypes of `a` and `b`.
#define DLT_UNLIKE(X) X(int64, uint64) X(int64, float64) X(uint64, float64) X(int64, complex128) X(uint64, complex128)
#define DLT_NUMBER(name) comparison_##name,
enum Comparison : int { DLT_COMPARISONS(DLT_NUMBER) comparison_count };
#undef DLT_NUMBER
#define DLT_NUMBER(a, b) unlike_##a##_##b,
enum Unlike : int { DLT_UNLIKE(DLT_NUMBER) unlike_count };
#undef DLT_NUMBER

// Copies rows x columns elements between strided locations; strides in bytes, no overlap.
typedef void (*move_t)(char* to, int64_t to_row, int64_t to_column, const char* from, int64_t from_row, int64_t from_column,
                       int64_t rows, int64_t columns);

// The modes of a cast: bit 0 rounds to nearest instead of truncating, bit 1 saturates integers and small floats.
inline constexpr int cast_nearest = 1, cast_saturate = 2, cast_modes = 4;

// An integer op a real number, exactly rounded and clamped: the saturating ops where the dtype does not hold the
// scalar.
enum Real : int { real_add, real_rsub, real_multiply, real_divide, real_rdivide, real_fma, real_count };
typedef void (*real_loop_t)(void* out, const void* a, double scalar, const void* c, int64_t n, unsigned scalars);

// c (rows x columns) += a (rows x depth) @ b (depth x columns), a by any strides, b and c by rows of contiguous
// elements. `fresh` writes instead of adding.
typedef void (*product_t)(void* c, int64_t c_row, const void* a, int64_t a_row, int64_t a_column, const void* b, int64_t b_row,
                          int64_t rows, int64_t columns, int64_t depth, bool fresh);

// c[r] = sum of m[r, k] * v[k] for r < rows, k < depth, with depth at least 1; `c_step` bytes between elements of c. m has
// contiguous rows, or contiguous columns, and v is contiguous. With `v_row`, the bytes between them, each row has a vector
// of its own; then rows are contiguous. The bits are the same for rows and for columns.
typedef void (*vector_product_t)(void* c, int64_t c_step, const void* m, int64_t row, int64_t column, const void* v,
                                 int64_t v_row, int64_t rows, int64_t depth);

// Indices of one axis, checked: to[i] = offset of from[i], a negative one counted from the end, in elements; `add` adds it to
// what is there. Returns the first position whose index is out of range, or n. Each index is read once.
typedef int64_t (*check_t)(int64_t* to, const int64_t* from, int64_t n, int64_t size, int64_t stride, bool add);

// to[i] = from[offsets[i]], and to[offsets[i]] = from[i * step] for i = 0, 1, ..., n - 1 in this order; elements.
typedef void (*gather_t)(void* to, const void* from, const int64_t* offsets, int64_t n);
typedef void (*scatter_t)(void* to, const void* from, int64_t step, const int64_t* offsets, int64_t n);
// offsets[i] += first + i * step
typedef void (*add_steps_t)(int64_t* offsets, int64_t first, int64_t step, int64_t n);

// The operations that join elements at equal indices.
#define DLT_JOINS(X) X(add) X(maximum) X(minimum)
#define DLT_NUMBER(name) join_##name,
enum Join : int { DLT_JOINS(DLT_NUMBER) join_count };
#undef DLT_NUMBER

// words: bit i is set where element i has one of `bits`; those past n are 0. Returns how many are set.
typedef int64_t (*pack_t)(uint64_t* words, const void* from, uint64_t bits, int64_t n);
// The `count` elements whose bit is set, one after the other; nothing past them is written.
typedef void (*compress_t)(void* to, const void* from, const uint64_t* words, int64_t n, int64_t count);
// Elements one after the other, or one for all with step 0, to where a bit is set; nothing else is written.
typedef void (*expand_t)(void* to, const void* from, int64_t step, const uint64_t* words, int64_t n, int64_t count);
// first + i for each bit i that is set.
typedef void (*positions_t)(int64_t* to, int64_t first, const uint64_t* words, int64_t n, int64_t count);
#define DLT_NUMBER(name, ...) reduce_##name,
enum ReductionBody : int { DLT_REDUCTION_BODIES(DLT_NUMBER) reduction_body_count };
#undef DLT_NUMBER

// The loops of one body of reductions.h over one dtype. States lie as arrays, one for each word: word m of state c is at
// (m * capacity + c) * width. A complex element has `parts` states where its parts are reduced apart, else one.
struct Reducer {
  int members, width, parts;
  int result;  // the dtype that `end` writes, or -1 where the engine ends by itself
  void (*start)(void* states, int64_t capacity, int64_t n);
  // n contiguous elements into one element's states, whose capacity is `parts`; `first` is the index of the first.
  // `center` is what deviations are taken from, one for each state.
  void (*run)(void* states, const void* a, int64_t n, int64_t first, const double* center);
  // Rows of n contiguous states' values, each into the states of its column.
  void (*rows)(void* states, int64_t capacity, const void* a, int64_t row_bytes, int64_t rows, int64_t n, int64_t first,
               const double* center);
  void (*join)(void* states, int64_t capacity, const void* from, int64_t from_capacity, int64_t n);
  void (*end)(void* out, const void* states, int64_t capacity, int64_t n);
};

// n contiguous elements into the states of an exact sum, one for each part of a complex number, leaving far less in doubt than
// `run` of reduce_sums does.
typedef void (*sum_again_t)(void* states, const void* a, int64_t n);

// Products of n contiguous elements in float64, exact for float32; for float64 with what rounding takes from each, 0 where the
// product is not finite.
typedef void (*terms_t)(double* products, double* rests, const void* a, const void* b, int64_t n);

// Loops of sorting and searching over elements or keys of one width.
struct SortLoops {
  void (*keys)(void* keys, const void* in, int64_t n, const KeyForm& form);
  void (*elements)(void* out, const void* keys, int64_t n, const KeyForm& form);  // the inverse; in place allowed
  // The place of each of n <= most_ranked keys in their stable order. Both arrays have room for rank_room more bytes.
  void (*ranks)(void* ranks, const void* keys, int64_t n);
  // Sorts n <= most_ranked keys by a network, where that is faster than ranks, else null. There is room for most_ranked.
  void (*network)(void* keys, int64_t n);
  // Sorts keys by vectorized partitions; `spare` has room for as many. Null where there is none. False when the pivots
  // were bad: the keys are then in another order.
  bool (*partitions)(void* keys, void* spare, int64_t n);
  // Copies the keys from low to high to `out`, which may be `keys`; `below` gets the number of lower ones.
  int64_t (*between)(const void* keys, int64_t n, uint64_t low, uint64_t high, void* out, int64_t* below);
  // The number of the `size` sorted keys that are less than each key, or with `after` not greater.
  void (*bounds)(int64_t* out, const void* sorted, int64_t size, const void* keys, int64_t n, bool after);
};
inline constexpr int64_t most_ranked = 128, rank_room = 64;

// out[i] = before + (in[0] + ... + in[i]) of one block, rounded to the dtype; returns the sum of the block. `before` is what
// lies before the block, in two float64, or null. `out` may be `in`, or null where only the sum is wanted. Order: in groups of
// `scans::group` elements, each gets those at distances 1, 2 and 4 before it; then what the groups before it come to.
typedef double (*running_sums_t)(void* out, const void* in, int64_t n, const double* before);
// Sums as that function does, of blocks of `scans::block` elements, one after the other in memory.
typedef void (*block_sums_t)(double* sums, const void* in, int64_t blocks);

// Factorizations of up to small_batch matrices of at most small_side rows and columns. Element e of all matrices is a run of
// small_batch numbers; of a complex one its real parts, then its imaginary parts. The result takes the place of the first
// argument, or is written to the second; the third gets a nonzero number where a matrix is singular or not positive definite.
inline constexpr int small_side = 8;
inline constexpr int64_t small_batch = 32;
struct SmallMatrices {
  using by_side = void(void* a, void* b, void* c, int n, int k, int64_t count);
  by_side* solve;     // a x = b with k columns: b becomes x
  by_side* inverse;   // b becomes the inverse
  by_side* pivots;    // b becomes the diagonal of U and the sign of the permutation; c, unless null, of real ones
                       // their product, and 1 where no part of it was near the ends of the range
  by_side* cholesky;  // a becomes the factor, the upper one where k is 1
  by_side* eigh;      // b becomes the eigenvalues, c the eigenvectors unless it is null; the lower triangle is read
  void (*qr)(void* a, void* q, int m, int n, int columns, int64_t count);  // a becomes R, in its upper part
  // m >= n; `left` null: singular values only. `wide`: a is the conjugate transpose of the matrix.
  void (*svd)(void* a, void* left, void* values, void* right, int m, int n, int columns, bool wide, int64_t count);
};

// The parts of factorizations of larger matrices that are no products.
// Vectors of n elements, for columns of as many: whole cache lines, of which the last may end in zeros.
struct Reflected {
  int64_t n, pivot;
  const void *v, *x, *next;
  void *image, *row_image;
};
struct FactorLoops {
  // LU with partial pivoting of n columns of m contiguous elements, `step` elements apart. Multipliers are negated. pivots[c]:
  // the row that row c changed places with. Returns whether a pivot is 0.
  bool (*lu)(void* a, int64_t step, int64_t m, int64_t n, int64_t* pivots);
  // Rows of b (n x columns) from those before, or with `backward` after them: b[i] += sum of t[i, p] * b[p], and without
  // `unit` b[i] = -b[i] / t[i, i]. Steps in elements; rows of b are contiguous.
  void (*substitute)(const void* t, int64_t t_row, int64_t t_column, void* b, int64_t b_row, int64_t n, int64_t columns,
                     bool backward, bool unit);
  // The upper factor of a Hermitian matrix from its upper triangle, in place. Returns whether it is positive definite.
  bool (*cholesky)(void* a, int64_t a_row, int64_t n);
  // QR by Householder of n columns of m contiguous elements, `step` elements apart: R down to the diagonal, below it the vectors,
  // whose first element is 1. Q is I - V T V^H with T n x n and upper triangular.
  void (*qr)(void* a, int64_t step, int64_t m, int64_t n, void* t, int64_t t_row);
  // Of real dtypes only: column -= y v + u x for each of `count` columns, `step` elements apart, with its y and u; its inner product with `next` and
  // its element at the pivot are returned, and the sums of columns by these numbers added to `image` and `row_image`, unless they are null.
  void (*reflect)(const Reflected& r, void* columns, int64_t step, int64_t count, const void* y, const void* u, void* products,
                  void* row);
  double (*inner)(const void* a, const void* b, int64_t n);
};
inline constexpr int factored_types = 4;  // float32, float64, complex64, complex128

// Rows of n elements of two operands, whose results go past the caches. Steps from row to row in bytes: of the output, which is
// aligned to 64 bytes in every row, and of both operands.
typedef void (*streamed_t)(void* out, const void* a, const void* b, int64_t n, int64_t rows, const int64_t steps[3]);
struct StreamedLoop {
  loop_t loop;  // what it does as well; null where there is none
  streamed_t streamed;
};
inline constexpr int streamed_count = 6;

// One table for each capability, in a header of its own.
struct RandomKernels;

struct Kernels {
  const char* name;
  loop_t ops[op_count][computed_types];
  loop_t unlike[comparison_count][unlike_count];  // null where complex numbers have no order
  loop_t saturating[saturating_count][computed_types];
  loop_t fma_unsigned[computed_types];  // saturating fma: a and b signed, c and out unsigned; at the unsigned type
  real_loop_t real_scalar[real_count][computed_types];
  loop_t casts[cast_modes][type_count][type_count];  // from, to
  move_t moves[5];  // of elements of 1, 2, 4, 8, 16 bytes
  void (*stream)(void* to, const void* from, size_t bytes);  // non-temporal stores; `to` is aligned to 64 bytes
  void (*stream_end)();
  StreamedLoop streamed[streamed_count];
  check_t check;
  gather_t gather[5];  // of elements of 1, 2, 4, 8, 16 bytes, as all that follow
  scatter_t scatter[5];
  add_steps_t add_steps;
  scatter_t joins[join_count][computed_types];  // to[offsets[i]] = op(to[offsets[i]], from[i * step]), one after the other
  loop_t choose[5];  // a where the condition, of bool, is not 0, else b
  pack_t pack[5];
  compress_t compress[5];
  expand_t expand[5];
  positions_t positions;
  product_t products[type_count];
  vector_product_t vector_products[type_count];
  Reducer reducers[reduction_body_count][computed_types];
  sum_again_t sums_again[computed_types];  // of float32, float64, complex64, complex128
  terms_t terms[computed_types];  // of float32 and float64
  SortLoops sorts[4];  // of keys of 1, 2, 4, 8 bytes
  running_sums_t running_sums[computed_types];  // of float32 and float64
  block_sums_t block_sums[computed_types];  // of the same
  const RandomKernels* random;
  SmallMatrices small_matrices[factored_types];
  FactorLoops factors[factored_types];
  int64_t blas_work;  // multiplications of float32 and float64 from which a BLAS takes no longer than we do
};

}  // namespace dlt
