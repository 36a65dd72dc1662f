// SPDX-License-Identifier: Apache-2.0
// Loops of products of matrices and of factorizations.
#pragma once
#include "native/cpu/runtime/dtype.h"
#include "native/cpu/runtime/kernels.h"
#include "native/ops/linalg/product_order.h"

namespace dlt {

// c (rows x columns) += a (rows x depth) @ b (depth x columns), a by any strides, b and c by rows of contiguous
// elements. `fresh` writes instead of adding. An element of a @ b is one chain of fused multiply-adds, from 0 in the order of
// the depth; one of a complex dtype has four, of the products of parts.
typedef void (*product_t)(void* c, int64_t c_row, const void* a, int64_t a_row, int64_t a_column, const void* b, int64_t b_row,
                          int64_t rows, int64_t columns, int64_t depth, bool fresh);

// c = a @ b, as above, for `count` small matrices, whose operands may be shared: steps of 0. b by any strides, of at most
// most_stacked elements.
struct StackProduct {
  char* c;
  const char *a, *b;
  int64_t c_step, a_step, b_step;
  int64_t c_row, a_row, a_column, b_row, b_column;
  int64_t rows, columns, depth, count;
};
typedef void (*stack_product_t)(const StackProduct& stack);
inline constexpr int64_t most_stacked = 256;

// The same for matrices side by side: an element of all of them, or a part of a complex one, is a run of lane_bytes, the parts of an
// element follow each other, and strides are from run to run. Rows of c are contiguous. Numbers past those of `count` matrices, up to
// a whole register, are read and written. The steps are not used.
inline constexpr int64_t lane_bytes = 256;
typedef stack_product_t lane_product_t;

// c (rows x columns) += a @ b for few rows and columns, of chains of chain_depth terms, which are added in order; several of them
// are computed side by side. With `chain_step`, each chain is written to c by itself, so many bytes after the one before.
typedef void (*chains_t)(const StackProduct& p, int64_t chain_step, bool fresh);

// c[r] = sum of m[r, k] * v[k] for r < rows, k < depth, with depth at least 1; `c_step` bytes between elements of c. m has
// contiguous rows, or contiguous columns, and v is contiguous. With `v_row`, the bytes between them, each row has a vector
// of its own; then rows are contiguous. The bits are the same for rows and for columns.
typedef void (*vector_product_t)(void* c, int64_t c_step, const void* m, int64_t row, int64_t column, const void* v,
                                 int64_t v_row, int64_t rows, int64_t depth);

// The same for elements of m of another dtype than float32, which are converted in registers, and one vector: the bits of the loop
// above. False, with any numbers in c, where it cannot be sure of these: elements are NaN, or v is too large. depth is at most 4,096.
typedef bool (*narrow_product_t)(void* c, int64_t c_step, const void* m, int64_t row, int64_t column, const float* v,
                                 int64_t rows, int64_t depth);

// Numbers of blocks of rows of a matrix. `block` is 16 or a multiple of 32 elements, or what `left` has are all.
struct BlockNumbers {
  const float* numbers;  // of the first row: of the block in which its elements begin, then of those that follow
  int64_t row;  // from one row to the next
  int64_t block, left;  // elements of a block; those of the first one that are left
  const float* table;  // every element of 4 bits; its products are multiplied by `factor` too
  float factor;
};
// c[r] = sum of w[r, k] * v[k], w being the element of m times the number of its block, rounded: the bits of vector_product_t on w.
// m has contiguous rows, `row` bytes apart; depth is a multiple of 32, at most 4,096. False as above.
typedef bool (*block_product_t)(float* c, const void* m, int64_t row, const float* v, int64_t rows, int64_t depth,
                                const BlockNumbers& numbers);

// Factorizations of up to small_batch matrices of at most small_side rows and columns. Element e of all matrices is a run of
// small_batch numbers; of a complex one its real parts, then its imaginary parts. The result takes the place of the first
// argument, or is written to the second; the third gets a nonzero number where a matrix is singular or not positive definite.
inline constexpr int small_side = 8;
inline constexpr int64_t small_batch = 32;
struct SmallMatrices {
  using by_side = void(void* a, void* b, void* c, int n, int k, int64_t count);
  by_side* solve;  // a x = b with k columns: b becomes x
  by_side* inverse;  // b becomes the inverse
  by_side* pivots;  // b becomes the diagonal of U and the sign of the permutation; c, unless null, of real ones
      // their product, and 1 where no part of it was near the ends of the range
  by_side* cholesky;  // a becomes the factor, the upper one where k is 1
  by_side* eigh;  // b becomes the eigenvalues, c the eigenvectors unless it is null; the lower triangle is read
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
  // For real dtypes only: column -= y v + u x for each of `count` columns, `step` elements apart, with its y and u; its inner product with `next` and
  // its element at the pivot are returned, and the sums of columns by these numbers added to `image` and `row_image`, unless they are null.
  void (*reflect)(const Reflected& r, void* columns, int64_t step, int64_t count, const void* y, const void* u, void* products,
                  void* row);
  double (*inner)(const void* a, const void* b, int64_t n);
};
// Euclidean norms of float32 or float64 that are the ones of norms.cc, or else are not certain.
struct NormLoops {
  bool (*run)(const void* a, int64_t n, void* out);  // of n contiguous elements; returns whether the norm is certain
  // Of `count` adjacent columns of n elements, `step` bytes apart.
  void (*columns)(const void* a, int64_t step, int64_t n, int64_t count, void* out, bool* certain);
  // Of `count` rows of n <= most_in_rows contiguous elements, `step` bytes apart.
  void (*rows)(const void* a, int64_t step, int64_t n, int64_t count, void* out, bool* certain);
  static constexpr int64_t most_in_rows = 1024;
};

inline constexpr int factored_types = 4;  // float32, float64, complex64, complex128

// Products of bytes, summed in int32, which wraps. b is packed as panels of `columns` columns: `unit` elements of depth of each
// column after those of the column before, as bytes or as words of 16 bits; rows of a have the same elements.
struct ByteProducts {
  int unit, element_bytes, columns;  // unit 0: the processor lacks the instruction
  bool offset;  // elements of a are 128 more where they have a sign, and those of b have one
  // `depth` rows of at most `columns` contiguous bytes, `row` bytes apart; what is missing is 0.
  void (*pack)(void* panel, const uint8_t* b, int64_t row, int64_t depth, int64_t columns, bool is_signed);
  void (*pack_row)(void* out, const uint8_t* a, int64_t depth, bool is_signed);
  // c (rows x columns of a panel) = start + a @ panel, of each column; null adds to c. a_row in bytes, c_row in elements.
  void (*multiply)(int32_t* c, int64_t c_row, const void* a, int64_t a_row, const void* panel, const int32_t* start,
                   int64_t rows, int64_t units);
};

// Products of bfloat16 and of bytes by tiles of 16 rows of 64 bytes: of a, elements of a row; of b, for each of 16 columns two or four
// that follow one another, of 4 bytes together. What is missing is 0.
inline constexpr int64_t tile_side = 16, tile_row = 64, tile_bytes = 1024;
inline constexpr int tiles_of_bfloat16 = 0,
                     tiles_of_bytes = 1;  // 2 more where those of a have a sign, 1 more where those of b have
// The least and the greatest magnitudes of numbers, without their sign, lane by lane; of the least 1 is taken, so that no zero is.
struct MagnitudeRange {
  uint16_t least[32], greatest[32];
};
struct TileBlock {
  char* c;  // rows x columns of float32 or int32; two tiles of either are computed at most
  int64_t c_row;  // in bytes
  const char *a, *b;
  int64_t a_step, b_step;  // bytes from tiles of rows and of columns to the next
  int64_t rows, columns;
};
struct TileProducts {
  bool (*ask)();  // whether the system lets the process use tiles; null where the processor lacks them
  void (*begin)();  // of a thread, around calls of `multiply`
  void (*end)();
  // c += the sums of so many blocks of terms, or with `fresh` = them; of bfloat16, those of one chain.
  void (*multiply[5])(const TileBlock& t, int64_t steps, bool fresh);
  // Write a tile of a, or one or two neighbouring tiles of b, of elements that are contiguous in rows, and read magnitudes of bfloat16.
  void (*pack_rows)(char* to, const char* from, int64_t row, int64_t rows, int64_t bytes, MagnitudeRange* range);
  void (*pack_columns[2])(char* to, int64_t tile_step, const char* from, int64_t row, int64_t terms, int64_t columns,
                          MagnitudeRange* range);  // of bfloat16; of bytes
  void (*find_range)(const char* tile, MagnitudeRange* range);  // of a tile that is packed
};

struct LinalgKernels {
  product_t products[type_count];
  product_t alternating_product;  // of bfloat16, converted to float32: depth from the beginning of a chain
  stack_product_t stack_products[type_count];
  lane_product_t lane_products[type_count];
  lane_product_t alternating_lane_product;  // of bfloat16 as float32, of at most block_terms terms
  chains_t chains[type_count];  // of floats and complex numbers
  vector_product_t vector_products[type_count];
  narrow_product_t narrow_products[type_count];  // null: of other dtypes, and where the processor lacks instructions
  block_product_t block_products[type_count];  // null as above; of 4 bits: two elements a byte
  TileProducts tiles;
  int64_t panel_bytes;  // of a row of b, of whose columns `products` keeps sums in registers
  SmallMatrices small_matrices[factored_types];
  FactorLoops factors[factored_types];
  NormLoops norms[2];  // float32, float64
  ByteProducts byte_products[2];  // by words of 16 bits; by dot products of bytes, which not every processor of the level has
};

}  // namespace dlt
