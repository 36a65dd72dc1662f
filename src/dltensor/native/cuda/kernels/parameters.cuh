// SPDX-License-Identifier: Apache-2.0
// The parameters of kernels: plain structs with the same layout in g++ (which fills them) and NVRTC (which reads them),
// and division by multiplication, which both use. No kernels here.
#pragma once
#include "native/ops/floats.h"
#include "native/ops/keys.h"

namespace dlt::kernels {

// n / d without a division instruction: (high half of n * multiplier + n) >> shift, right for n < 2^31 or 2^63.
// Granlund and Montgomery, "Division by invariant integers using multiplication", 1994.
template <class I>
struct Divider {
  I divisor, multiplier;
  uint32_t shift;
};

DLT_FN uint32_t high_half(uint32_t a, uint32_t b) {
#if defined(__CUDACC_RTC__)
  return __umulhi(a, b);
#else
  return uint32_t((uint64_t(a) * b) >> 32);
#endif
}
DLT_FN uint64_t high_half(uint64_t a, uint64_t b) {
#if defined(__CUDACC_RTC__)
  return __umul64hi(a, b);
#else
  __extension__ typedef unsigned __int128 wide_t;
  return uint64_t((wide_t(a) * b) >> 64);
#endif
}

template <class I>
DLT_FN I divide(const Divider<I>& by, I n, I* rest) {
  const I quotient = (high_half(n, by.multiplier) + n) >> by.shift;
  *rest = n - quotient * by.divisor;
  return quotient;
}

#if !defined(__CUDACC_RTC__)
template <class I>
inline Divider<I> divider(I divisor) {
  __extension__ typedef unsigned __int128 wide_t;
  constexpr int bits = sizeof(I) * 8;
  uint32_t shift = 0;
  while (shift < bits && (I(1) << shift) < divisor) ++shift;
  if (shift < bits && (I(1) << shift) == divisor) return {divisor, 1, shift};  // without a division of 128 bits
  const wide_t multiplier = (wide_t(1) << bits) * ((wide_t(1) << shift) - divisor) / divisor + 1;
  return {divisor, I(multiplier), shift};
}
#endif

// A scalar passed as a launch parameter: one element of its operand's dtype.
struct alignas(16) Immediate {
  unsigned char bytes[16];
};

inline constexpr int max_operands = 3;

// out[i] = body(a[i], b[i], c[i]), all of them runs of elements, or immediates.
struct Contiguous {
  void* out;
  const void* in[max_operands];
  uint64_t count;
  Immediate value[max_operands];
};

// Operands of kernels of users; more dimensions are joined by copies first.
inline constexpr int max_user_operands = 8, max_user_dims = 8;

struct UserRun {
  void* out;
  const void* in[max_user_operands];
  uint64_t count;
  Immediate value[max_user_operands];
};

template <class I>
struct UserRows {
  void* out;
  const void* in[max_user_operands];
  I count;  // of elements
  int dims;
  Divider<I> extent[max_user_dims];
  int64_t stride[max_user_operands + 1][max_user_dims];  // in elements; the output is number 0
  Immediate value[max_user_operands];
};

// The stride of one operand along the innermost dimension.
enum Mode : unsigned { mode_run = 0, mode_repeat = 1, mode_strided = 2, mode_immediate = 3 };
inline constexpr unsigned mode_bits = 2, mode_mask = 3;

// A shape of `dims` outer dimensions and rows of elements, each row in parts for 1 << lane_bits threads. Operand 0 is the
// output; strides in elements.
template <int DIMS, class I>
struct Rows {
  void* out;
  const void* in[max_operands];
  I items;           // rows * parts of a row
  I length;          // elements of a row
  I part;            // packs
  Divider<I> parts;  // of a row
  uint32_t lane_bits;
  int dims;
  int64_t inner[max_operands + 1];
  Divider<I> extent[DIMS];
  int64_t stride[max_operands + 1][DIMS];
  Immediate value[max_operands];
};
static_assert(sizeof(Rows<64, uint64_t>) <= 4096, "parameters of a kernel");

// Packs of a row that each thread has in flight, of so many elements and bytes at the widest operand: 16 elements are 16 registers
// of each operand.
DLT_FN constexpr int row_packs(int pack, int bytes) { return bytes <= 4 ? 4 : pack > 8 ? 1 : 2; }
// Elements of a pack in rows whose addresses allow no access of 16 bytes: one word of the widest operand.
DLT_FN constexpr int word_pack(int widest) { return widest < 4 ? 4 / widest : 1; }

// A permuted copy: the output runs along `across`, the input along `down`; what is left are batches of such planes.
template <int DIMS, class I>
struct Tiles {
  void* out;
  const void* in;
  I items;  // tiles of all planes
  Divider<I> tiles_across, tiles_down;
  int64_t across, down;  // extents of the plane
  int64_t out_down, in_across;  // strides of the plane; the other two are 1
  int dims;
  Divider<I> extent[DIMS];
  int64_t out_stride[DIMS], in_stride[DIMS];
  Immediate value[max_operands];  // of the second and third operand
};

// The tile of plain copies that move 16 bytes at a time, in elements of so many bytes: of lines along `across`, and along
// `down`. Lines of both sides are 128 bytes or more, and four accesses of a thread are in flight.
DLT_FN constexpr int tile_words_across(int bytes) { return bytes == 4 ? 64 : 128; }
DLT_FN constexpr int tile_words_down(int bytes) { return bytes == 1 ? 128 : 64; }

// Strips of planes with a short side of at most so many elements: how many of the long side a block takes, for one of `pitch`
// elements of so many bytes.
inline constexpr int strip_most = 32;
DLT_FN constexpr int strip_tile(int pitch, int bytes) {
  int tile = 32;
  while (2 * tile * pitch * bytes <= 16384) tile *= 2;
  return tile;
}

// Results of a reduction, as many of them a block as have its threads, and the parts that their elements are cut into.
struct ReduceAxis {
  Divider<uint64_t> extent;
  int64_t in, mask, out, center;  // in elements; center: of the parts of one
};
// Adjacent results whose elements, of 1, 2 or 4 bytes, a thread reads together where results lie closer than elements.
inline constexpr int reduce_columns = 4;
// Elements of so many bytes that are read at once.
DLT_FN constexpr int reduce_pack(int bytes) { return bytes < 16 ? 16 / bytes : 1; }
template <int DIMS>
struct Reduce {
  void* out;
  const void *in, *mask, *centers;  // centers: what deviations are taken from
  void* states;  // of every part, where there are several
  uint64_t results, count;  // count: of elements of each
  uint64_t parts, part;  // part: elements
  uint64_t tiles;  // groups of columns, times parts
  Divider<uint64_t> groups;
  uint32_t lane_bits, across;  // a result has 1 << lane_bits threads
  int kept, reduced;
  uint32_t packed;  // places of every reduce_pack() elements of a result are adjacent, from multiples of as many
  uint32_t has_initial, root;  // root: std instead of var
  double correction;
  Immediate initial;
  ReduceAxis axis[DIMS];
};
static_assert(sizeof(Reduce<64>) <= 4096, "parameters of a kernel");

// Running results of `rows` rows of `count` elements in blocks of scans::block, `threads >> lane_bits` rows a thread block with
// 1 << lane_bits threads each. `mask` of an axis is unused.
template <int DIMS>
struct Scanned {
  void* out;
  const void* in;
  void* states;  // of every block of every row, where a row has several; then of every batch of blocks
  uint64_t* flags;  // of every block of every row, for one launch, where it has two states of 32 bytes; see scan.cuh
  uint32_t* ticket;  // of the block that is taken next
  uint64_t rows, count, blocks, batches;
  Divider<uint64_t> row_count;
  int64_t in_step, out_step;  // in elements
  uint32_t lane_bits, across;
  int dims;
  ReduceAxis axis[DIMS];
};

// A group of steps of a program: rows of `count` elements, the `kept` axes of the rows ahead of the `reduced` ones of the elements of
// each, the innermost last. Packs of neighbouring elements are taken together.
inline constexpr int program_tensors = 16, program_numbers = 16, program_axes = 8, program_state_bytes = 112;
struct Steps {
  void* tensor[program_tensors];  // the results last
  void* states;  // of each reduction, of each part of each row
  uint64_t rows, count, packs;  // packs: of a row
  uint64_t parts, part;  // part: packs
  uint64_t tiles;  // groups of rows that a block takes, times parts
  Divider<uint64_t> groups, row_packs;
  uint32_t lane_bits, across;  // a row has 1 << lane_bits threads, which are not neighbours where rows lie closer than elements
  int kept, reduced;
  Divider<uint64_t> extent[program_axes];
  int64_t stride[program_tensors][program_axes];
  uint32_t absent[program_tensors];  // axes along which a result has one element
  Immediate value[program_numbers];
};
static_assert(sizeof(Steps) <= 4096, "parameters of a kernel");

// c = alpha * a @ b + beta * c for `batches` matrices, by any strides, in elements. The chains or blocks of terms of an element are
// computed one after the other, or, where there are several parts, each as a part: those of all elements of c in C order, then those
// of the next part, are written to `sums` and added by another kernel. Otherwise `sums` has room for what blocks keep between chains.
struct Product {
  void *c, *sums;
  const void *a, *b;
  int64_t rows, columns, depth;
  int64_t a_row, a_column, b_row, b_column, c_row, c_column;
  int dims;
  int64_t batches;
  Divider<uint64_t> extent[8];
  int64_t a_stride[8], b_stride[8], c_stride[8];
  Immediate alpha, beta;
  bool scaled, reads;  // alpha is not 1; beta is not 0, and c is read
  int64_t tiles_across, tiles_down, parts;
  bool along_terms;  // neighbours in memory are terms, not rows or columns
};
static_assert(sizeof(Product) <= 4096, "parameters of a kernel");

// Memory in C order from a tensor's places by index arrays. `dims` are those of the result, of words; the dimensions from
// spread_from to spread_to are the positions, `count` in all, of which each array has one int64.
inline constexpr int gather_dims = 65, gather_arrays = 64;

// An index out of range and the extent of its axis in one word, so that a plain store has both; 0 is none. Clamped to 32 bits.
DLT_FN uint64_t late_index(int64_t index, int64_t size) {
  constexpr int64_t most = 0x7fffffff;
  const int64_t value = index > most ? most : index < -most ? -most : index, extent = size > most ? most : size;
  return uint64_t(value) << 32 | uint64_t(extent + 1);
}
DLT_FN int64_t late_value(uint64_t word) { return int64_t(word) >> 32; }
DLT_FN int64_t late_size(uint64_t word) { return int64_t(word & 0xffffffff) - 1; }
struct Gather {
  void* out;
  const void* in;
  uint64_t *bad, *late;  // late: where an index out of range is reported that no thread waits for, or null
  uint64_t items, count;  // words of the result, positions
  int dims, spread_from, spread_to, arrays;
  Divider<uint64_t> extent[gather_dims];
  int64_t stride[gather_dims];  // of the tensor, in words; step too
  const void* index[gather_arrays];
  int64_t size[gather_arrays], step[gather_arrays];
};
static_assert(sizeof(Gather) <= 4096, "parameters of a kernel");

// Elements that are set where they have one of `bits`; `before` has how many are ahead of each tile, and one more.
inline constexpr int mask_tile = 4096;
struct Mask {
  const void* in;
  void* out;
  uint32_t* ticket;  // of the tile that is taken next
  uint64_t* told;  // what tiles say: see counts.cuh
  uint64_t *words, *before;
  uint64_t n, tiles, bits;
  int dims;
  Divider<uint64_t> extent[gather_arrays];
  void* to[gather_arrays];
};

// Keys with a number each, n of them, in tiles; what one pass does.
inline constexpr int sort_tile = 4096;
struct Sort {
  const void* keys;
  void* to_keys;  // null: not wanted
  const void* numbers;  // null: of each its position; or elements, which are carried with their keys
  void* to_numbers;  // null: not wanted
  uint64_t* totals;  // of each digit of the pass; `count` counts those of all passes
  uint64_t* words;  // of each digit of each tile
  uint32_t* ticket;  // of the tile that is taken next
  const uint64_t* live;  // where n is known on the device alone; null: n
  uint64_t n, runs, tiles;  // runs: in which tiles are counted, tiles: of lines
  uint64_t pass;  // from 1 on
  uint32_t passes;  // that are counted
  uint32_t shift;  // of the digit
  uint32_t wide;  // numbers are of 64 bits, not of 32
  uint32_t restores;  // the elements are wanted that keys stand for, and are the keys of these
  // For tensors in C order: elements of a line, and where each element comes from and goes to.
  Divider<uint64_t> line;
  const void* in;
  void* out;  // or null
  int64_t* indices;  // or null
  KeyForm form;
};

// The results of a selection: see select.cuh.
struct Selected {
  uint64_t ahead[2];  // elements ahead of the codes that the first and the last place have
  uint64_t live;  // elements that are kept
  uint32_t low, high;  // their codes
  uint32_t nan, tickets[2], unused;
};
// Elements at places `first` to `last` of the order of n.
struct Select {
  const void* in;
  uint32_t* counts;  // of the upper halves of codes, run by run; then of the lower ones, for two upper ones each
  uint64_t* offsets;  // of each run: what earlier ones keep
  Selected* state;
  void *keys, *numbers;
  void* out;  // or null
  int64_t* indices;  // or null
  uint64_t n, runs, first, last;
  uint32_t wide, nan_spoils;
  KeyForm form;
};

// n values, and where they would have to be inserted among `count` sorted ones.
struct Search {
  const void *sorted, *values;
  int64_t* out;
  uint64_t count, n;
  bool after;  // those equal to it
  KeyForm form;
};

// n bins, and how often each of `size` occurs, which is added to `counts`.
inline constexpr int tally_shared = 2048;  // counters of a block
struct Tally {
  const int64_t* bins;
  uint64_t* counts;
  uint64_t n, size;
};

// `count` matrices and what becomes of them, each contiguous: as native/cpu/linalg/batch.h has them. m, n, k: sides.
inline constexpr int team_side = 512;  // of matrices that a block rotates or reflects
struct Matrices {
  void *a, *out, *second, *third;
  void* work;  // of a block: a matrix and, beside it, vectors
  int32_t* info;
  const int64_t* pivots;  // of a library: the row, from 1, that each row was exchanged with
  uint64_t count;
  int m, n, k, flag;
};

// A tensor in C order whose axes are divided into blocks. What it takes at once are codes_pack neighbouring elements.
inline constexpr int codes_pack = 8;
struct BlockAxis {
  Divider<uint64_t> count, length;  // of blocks, and of each
};
template <int DIMS>
struct Quantize {
  const float* x;
  void *values, *scales;
  uint32_t* largest;  // magnitude of each block; null: not wanted, or found by the kernel itself
  uint32_t* most;  // finite one of the tensor; null: not wanted
  float* tensor_scale;  // or null
  uint64_t n, blocks, units;  // elements; units: packs of x in a block
  Divider<uint64_t> block_count;
  uint64_t parts, part;  // of a block; units
  uint32_t pack, lane_bits;  // elements of a unit; a block or part has 1 << lane_bits threads
  uint32_t wide, aligned, whole;  // x and the values allow wide accesses; codes_pack elements are of one block
  int32_t kind, rule;  // see native/ops/quantize/scales.h
  int dims;
  BlockAxis axis[DIMS];
};
static_assert(sizeof(Quantize<64>) <= 4096, "parameters of a kernel");

// Numbers of blocks that are joined with the elements of a tensor, each in its turn.
template <int DIMS, int OPERANDS>
struct Dequantize {
  const void* values;
  void* out;
  uint64_t n;
  const float* numbers[OPERANDS];
  uint32_t adjacent[OPERANDS];  // codes_pack elements have as many numbers, and not one
  uint32_t singly;  // or they lie anywhere
  uint32_t aligned, out_aligned, subtracts;  // subtracts: the first ones are zero points
  int operands, dims;
  Divider<uint64_t> extent[DIMS];
  Divider<uint64_t> length[OPERANDS][DIMS];
  int64_t step[OPERANDS][DIMS];
};
static_assert(sizeof(Dequantize<64, 1>) <= 4096, "parameters of a kernel");

// Positions in a tensor by index arrays, in words.
struct Places {
  int64_t* places;
  void* keys;  // or null
  uint64_t count;
  int arrays;
  const void* index[gather_arrays];
  int64_t size[gather_arrays], step[gather_arrays];
};

// Memory of any strides to those places; `dims` are those of the words of one side, of which `spread` are the positions.
struct Scatter {
  void* out;
  const void* in;
  const int64_t* places;
  const void* keys;  // of positions, sorted; null: positions are distinct
  const void* numbers;  // of positions in that order: as in Sort
  uint32_t wide_keys, wide;
  uint64_t items, count;
  int dims, spread;
  Divider<uint64_t> extent[gather_dims];
  int64_t stride[gather_dims], dense[gather_dims];
};
static_assert(sizeof(Scatter) <= 4096 && sizeof(Places) <= 4096, "parameters of a kernel");

// The number of place i among the sorted ones: its position where nothing was sorted.
template <class P>
DLT_FN uint64_t number_at(const P& p, uint64_t i) {
  if (p.numbers == nullptr) return i;
  return p.wide ? static_cast<const uint64_t*>(p.numbers)[i] : static_cast<const uint32_t*>(p.numbers)[i];
}

}  // namespace dlt::kernels
