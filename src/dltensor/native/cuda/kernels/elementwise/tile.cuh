// SPDX-License-Identifier: Apache-2.0
// Permuted copies and casts: input and output run along different dimensions. A tile goes through shared memory, so that
// both sides are read and written in runs.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"

namespace dlt::kernels::tile {

// A tile of a plane: its number in both directions, and where the plane begins on both sides.
template <class I>
struct Place {
  I across, down;
  int64_t out, in;
};
template <int UNROLL, int DIMS, class I>
DLT_FN void place_plane(const Tiles<DIMS, I>& p, I plane, Place<I>* place) {
  place->out = place->in = 0;
#pragma unroll UNROLL
  for (int d = p.dims - 1; d >= 0; --d) {
    I rest;
    plane = divide(p.extent[d], plane, &rest);
    place->out += int64_t(rest) * p.out_stride[d];
    place->in += int64_t(rest) * p.in_stride[d];
  }
}
template <int DIMS, class I>
DLT_FN Place<I> place_of(const Tiles<DIMS, I>& p, uint64_t item) {
  Place<I> place;
  const I rest = divide(p.tiles_across, I(item), &place.across);
  place_plane<4>(p, divide(p.tiles_down, rest, &place.down), &place);
  return place;
}

// The body may take a second and third operand as immediates: scale and offset of a cast.
template <class Body, int OPERANDS, class T, class A, class B, class C, class R, int DIMS, class I>
__global__ void __launch_bounds__(1024) permute(const __grid_constant__ Tiles<DIMS, I> p) {
  // A line of a tile is 128 bytes where that is not too many lines.
  constexpr int side = sizeof(R) >= 4 ? 32 : 64;
  constexpr int pad = sizeof(R) >= 4 ? 1 : 4 / sizeof(R);  // lines begin in different banks
  constexpr int area = side * side, UNROLL = 4;
  __shared__ R tile[side][side + pad];
  const auto b = take<Body, T>(immediate<B>(p.value[1]));
  const auto c = take<Body, T>(immediate<C>(p.value[2]));
  for (uint64_t item = blockIdx.x; item < p.items; item += gridDim.x) {
    const Place<I> at = place_of(p, item);
    const int64_t across = int64_t(at.across) * side, down = int64_t(at.down) * side;
    const A* in = static_cast<const A*>(p.in) + at.in;
    R* out = static_cast<R*>(p.out) + at.out;
    // Four loads in flight before the first is needed.
    for (int first = threadIdx.x; first < area; first += blockDim.x * UNROLL) {
      A loaded[UNROLL];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        const int k = first + u * int(blockDim.x);
        const int64_t x = across + k / side, y = down + k % side;
        if (k < area && x < p.across && y < p.down) loaded[u] = in[x * p.in_across + y];
      }
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        const int k = first + u * int(blockDim.x);
        const int64_t x = across + k / side, y = down + k % side;
        if (k < area && x < p.across && y < p.down)
          tile[k % side][k / side] = apply<Body, OPERANDS, T, R>(take<Body, T>(loaded[u]), b, c);
      }
    }
    __syncthreads();
    for (int k = threadIdx.x; k < area; k += blockDim.x) {
      const int64_t x = across + k % side, y = down + k / side;
      if (x < p.across && y < p.down) out[y * p.out_down + x] = tile[k / side][k % side];
    }
    __syncthreads();
  }
}

struct alignas(16) Vector {
  uint32_t word[4];
};

// Bytes of two words by number, as in the instruction PRMT: 0 to 3 of the first, 4 to 7 of the second.
DLT_FN uint32_t pick(uint32_t a, uint32_t b, uint32_t order) {
#if defined(__CUDACC_RTC__)
  return __byte_perm(a, b, order);
#else
  const uint64_t both = uint64_t(b) << 32 | a;
  uint32_t out = 0;
  for (int i = 0; i < 4; ++i) out |= uint32_t(both >> (8 * (order >> (4 * i) & 7)) & 0xff) << (8 * i);
  return out;
#endif
}

// One word of each line becomes the words of four, two or one element along the lines: a square of 4 / W elements turned.
template <int W>
DLT_FN void turn(const uint32_t* lines, uint32_t* out) {
  if constexpr (W == 4) {
    out[0] = lines[0];
  } else if constexpr (W == 2) {
    out[0] = pick(lines[0], lines[1], 0x5410);
    out[1] = pick(lines[0], lines[1], 0x7632);
  } else {
    const uint32_t low01 = pick(lines[0], lines[1], 0x5140), high01 = pick(lines[0], lines[1], 0x7362);
    const uint32_t low23 = pick(lines[2], lines[3], 0x5140), high23 = pick(lines[2], lines[3], 0x7362);
    out[0] = pick(low01, low23, 0x5410);
    out[1] = pick(low01, low23, 0x7632);
    out[2] = pick(high01, high23, 0x5410);
    out[3] = pick(high01, high23, 0x7632);
  }
}

// Plain copies of elements of W bytes whose addresses, extents and strides are multiples of 16 bytes on both sides. A thread
// takes 16 bytes of 4 / W neighbouring lines, turns them, and keeps words that are parts of the output's lines. Rows of
// the tile are in an order, and of a length, that leave both accesses to shared memory without bank conflicts: the row of
// element y is y % VECTOR * VECTORS + y / VECTOR.
template <int W, int DIMS, class I>
__global__ void __launch_bounds__(256) words(const __grid_constant__ Tiles<DIMS, I> p) {
  constexpr int THREADS = 256, LINES = 4 / W, VECTOR = 16 / W;
  constexpr int ACROSS = tile_words_across(W), DOWN = tile_words_down(W), VECTORS = DOWN / VECTOR, COLUMNS = ACROSS / LINES;
  constexpr int PITCH = COLUMNS + 4;
  constexpr int LOADS = COLUMNS * VECTORS / THREADS, STORES = DOWN * COLUMNS / 4 / THREADS;
  __shared__ Vector tile_vectors[DOWN * PITCH / 4];
  uint32_t* const tile = tile_vectors[0].word;
  const int thread = threadIdx.x;
  for (uint64_t item = blockIdx.x; item < p.items; item += gridDim.x) {
    const Place<I> at = place_of(p, item);
    const int64_t across = int64_t(at.across) * ACROSS, down = int64_t(at.down) * DOWN;
    const char* in = static_cast<const char*>(p.in) + (at.in + across * p.in_across + down) * W;
    char* out = static_cast<char*>(p.out) + (at.out + down * p.out_down + across) * W;
    const int lines_left = p.across - across < ACROSS ? int(p.across - across) : ACROSS;
    const int down_left = p.down - down < DOWN ? int(p.down - down) : DOWN;
    Vector loaded[LOADS][LINES];
#pragma unroll
    for (int u = 0; u < LOADS; ++u) {
      // Eight threads read 128 bytes of a line.
      const int unit = thread + u * THREADS, vector = unit % 8 + unit / (8 * COLUMNS) * 8, column = unit / 8 % COLUMNS;
#pragma unroll
      for (int l = 0; l < LINES; ++l) {
        const int x = column * LINES + l;
        loaded[u][l] = Vector{};
        if (x < lines_left && vector * VECTOR < down_left)
          loaded[u][l] = *reinterpret_cast<const Vector*>(in + (x * p.in_across + vector * VECTOR) * W);
      }
    }
#pragma unroll
    for (int u = 0; u < LOADS; ++u) {
      const int unit = thread + u * THREADS, vector = unit % 8 + unit / (8 * COLUMNS) * 8, column = unit / 8 % COLUMNS;
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        uint32_t lines[LINES], turned[LINES];
#pragma unroll
        for (int l = 0; l < LINES; ++l) lines[l] = loaded[u][l].word[w];
        turn<W>(lines, turned);
#pragma unroll
        for (int l = 0; l < LINES; ++l) tile[((w * LINES + l) * VECTORS + vector) * PITCH + column] = turned[l];
      }
    }
    __syncthreads();
#pragma unroll
    for (int u = 0; u < STORES; ++u) {
      const int unit = thread + u * THREADS, column = unit % (COLUMNS / 4) * 4, y = unit / (COLUMNS / 4);
      const int row = y % VECTOR * VECTORS + y / VECTOR;
      if (y < down_left && column * LINES < lines_left)
        *reinterpret_cast<Vector*>(out + (y * p.out_down + column * LINES) * W) = tile_vectors[(row * PITCH + column) / 4];
    }
    __syncthreads();
  }
}

// The type of 16 bytes in shared memory.
template <bool WIDE>
struct piece_of {
  using type = uint32_t;
};
template <>
struct piece_of<true> {
  using type = uint64_t;
};
template <class Pieces>
DLT_FN Pieces load_pieces(const void* from) {
  static_assert(sizeof(Pieces) == 16);
  const Vector vector = *static_cast<const Vector*>(from);
  Pieces out;
  memcpy(&out, &vector, 16);
  return out;
}

// Planes with a short side of up to strip_most elements, as pixels and their channels: where the short side is the run, a strip
// of the plane is one run of memory, and on the other side a few lines. SPLIT: the input is the run, of PITCH elements for each
// of the long side; else the output is, without gaps. A block takes TILE of the long side through shared memory, where
// adjacent threads meet different banks. A and R are the elements of input and output.
template <class A, class R, int PITCH, int TILE, bool SPLIT>
struct Strip {
  static constexpr int THREADS = 256, SIZE = sizeof(A), UNROLL = 2;
  static constexpr int VEC = SIZE < 16 ? 16 / SIZE : 1;  // elements of a load
  static constexpr int WORD = sizeof(R) < 4 ? 4 / sizeof(R) : 1;  // and of a store
  static constexpr int BANK = SIZE < 4 ? 4 / SIZE : 1, ROW = 128 / SIZE;  // elements of a bank, and of all banks
  static constexpr int PAD = PITCH % 2 ? 0 : BANK;  // of a run, after each row
  static constexpr int LINE = TILE + (ROW / BANK + PITCH - 1) / PITCH * BANK;
  static constexpr int CELLS = SPLIT ? TILE * PITCH + TILE * PITCH / ROW * PAD : LINE * PITCH;
  using Piece = typename piece_of<(SIZE > 4)>::type;
  static constexpr int PIECES = SIZE * VEC / int(sizeof(Piece));
  struct Pieces {
    Piece at[PIECES];
  };
  DLT_FN static unsigned cell(unsigned i) { return i + (PAD ? i / ROW * PAD : 0); }

  // Loads `count` of the long side to shared memory: a run, or each line, in vectors, and the rest element by element.
  DLT_FN static void load(A* cells, const A* in, int64_t in_across, int count, int sides) {
    const int thread = threadIdx.x;
    const bool whole = (reinterpret_cast<uint64_t>(in) & 15) == 0 && (SPLIT || in_across % VEC == 0);
    const int length = SPLIT ? (count - 1) * PITCH + sides : count, vectors = whole ? length / VEC : 0;
    constexpr int MOST = SPLIT ? TILE * PITCH / VEC : TILE / VEC;
    const int units = SPLIT ? vectors : sides * MOST;
#pragma unroll 1
    for (int unit = thread; unit < units; unit += THREADS * UNROLL) {
      Pieces loaded[UNROLL];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        const int k = unit + u * THREADS, side = SPLIT ? 0 : unsigned(k) / MOST, v = SPLIT ? k : unsigned(k) % MOST;
        if (k < units && v < vectors) loaded[u] = load_pieces<Pieces>(in + (SPLIT ? 0 : side * in_across) + v * VEC);
      }
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        const int k = unit + u * THREADS, side = SPLIT ? 0 : unsigned(k) / MOST, v = SPLIT ? k : unsigned(k) % MOST;
        if (k >= units || v >= vectors) continue;
        Piece* const to = reinterpret_cast<Piece*>(cells + (SPLIT ? cell(v * VEC) : side * LINE + v * VEC));
#pragma unroll
        for (int j = 0; j < PIECES; ++j) to[j] = loaded[u].at[j];
      }
    }
    const int begin = vectors * VEC, over = length - begin;
#pragma unroll 1
    for (int k = thread; k < over * (SPLIT ? 1 : sides); k += THREADS) {
      const int side = SPLIT ? 0 : k / over, i = begin + k - side * over;
      cells[SPLIT ? cell(i) : side * LINE + i] = in[(SPLIT ? 0 : side * in_across) + i];
    }
  }

  // Stores WIDE elements from element i of a line, or of the run, whose line begins at cell `line`; value(k) is that of cell k.
  template <int WIDE, class F>
  DLT_FN static void store(R* to, int i, int end, int line, F value) {
    const auto at = [&](unsigned k) { return SPLIT ? cell(k * PITCH + line) : k % PITCH * LINE + k / PITCH; };
    if (WIDE == 1 || i + WIDE <= end) {
      Pack<R, WIDE> word;
      // Elements of a word are at equal distances where they lie between the same two gaps, and in lines that follow each other.
      constexpr bool equal = SPLIT ? PAD == 0 || (ROW % PITCH == 0 && ROW / PITCH % WIDE == 0) : PITCH % WIDE == 0;
      const unsigned begin = at(i);
#pragma unroll
      for (int e = 0; e < WIDE; ++e) word.at[e] = value(equal ? begin + e * (SPLIT ? PITCH : LINE) : at(i + e));
      *reinterpret_cast<Pack<R, WIDE>*>(to + i) = word;
    } else {
#pragma unroll 1
      for (int e = i; e < end; ++e) to[e] = value(at(e));
    }
  }

  template <int WIDE, class F>
  DLT_FN static void store_all(R* out, int64_t out_down, int count, int sides, F value) {
    constexpr int EACH = TILE / WIDE;
    const int thread = threadIdx.x;
    if constexpr (SPLIT) {
#pragma unroll 1
      for (int side = unsigned(thread) / EACH; side < sides; side += EACH < THREADS ? THREADS / EACH : 1) {
        R* const to = out + side * out_down;
#pragma unroll 1
        for (int i = unsigned(thread) % EACH * WIDE; i < count; i += THREADS * WIDE) store<WIDE>(to, i, count, side, value);
      }
    } else {
#pragma unroll 1
      for (int i = thread * WIDE; i < count * PITCH; i += THREADS * WIDE) store<WIDE>(out, i, count * PITCH, 0, value);
    }
  }
};

template <class Body, int OPERANDS, class T, class A, class B, class C, class R, int PITCH, int TILE, bool SPLIT, int DIMS,
          class I>
__global__ void __launch_bounds__(256) strip(const __grid_constant__ Tiles<DIMS, I> p) {
  using S = Strip<A, R, PITCH, TILE, SPLIT>;
  __shared__ Vector staged[(S::CELLS * S::SIZE + 15) / 16];
  A* const cells = reinterpret_cast<A*>(staged);
  const auto b = take<Body, T>(immediate<B>(p.value[1]));
  const auto c = take<Body, T>(immediate<C>(p.value[2]));
  const auto value = [&](unsigned at) { return apply<Body, OPERANDS, T, R>(take<Body, T>(cells[at]), b, c); };
  const int sides = int(SPLIT ? p.down : p.across);
#pragma unroll 1
  for (uint64_t item = blockIdx.x; item < p.items; item += gridDim.x) {
    I part;
    Place<I> at;
    place_plane<1>(p, divide(SPLIT ? p.tiles_across : p.tiles_down, I(item), &part), &at);
    const int64_t first = int64_t(part) * TILE, left = (SPLIT ? p.across : p.down) - first;
    const int count = left < TILE ? int(left) : TILE;
    const A* const in = static_cast<const A*>(p.in) + at.in + first * (SPLIT ? PITCH : 1);
    R* const out = static_cast<R*>(p.out) + at.out + first * (SPLIT ? 1 : PITCH);
    S::load(cells, in, p.in_across, count, sides);
    __syncthreads();
    if (S::WORD > 1 && (reinterpret_cast<uint64_t>(out) & 3) == 0 && (!SPLIT || p.out_down % S::WORD == 0))
      S::template store_all<S::WORD>(out, p.out_down, count, sides, value);
    else S::template store_all<1>(out, p.out_down, count, sides, value);
    __syncthreads();
  }
}

}  // namespace dlt::kernels::tile
