// SPDX-License-Identifier: Apache-2.0
// Sums that are near enough for a result of their own dtype: some elements at a time in float32, and those sums in float64.
// bfloat16: float32 has 16 bits more; registers hold every second element, so that none is moved. float32: beside a large number, as
// biased_lanes.h does it for float64.
#include "native/cpu/reduce/kernels/rounded_lanes.h"

namespace dlt::DLT_LEVEL {
namespace {

typedef uint16_t Halves __attribute__((vector_size(register_bytes)));
typedef uint32_t Words __attribute__((vector_size(register_bytes)));
typedef float Singles __attribute__((vector_size(register_bytes)));
typedef float LooseSingles __attribute__((vector_size(register_bytes), aligned(1), may_alias));
constexpr int halves = register_bytes / 2, singles = register_bytes / 4;
constexpr int64_t steps = 16;  // additions in float32

DLT_FN Halves halves_at(const char* from) {
  Halves v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
DLT_FN Halves part_at(const char* from, int64_t n) {
  Halves v{};
  __builtin_memcpy(&v, from, size_t(n) * 2);
  return v;
}

// The lowest and the highest magnitude, zeros left out.
struct HalfSpan {
  Halves low = ~Halves{}, high{};
  DLT_FN void deposit(Halves v) {
    const Halves bits = v & uint16_t(0x7fff), less = bits - uint16_t(1);
    low = less < low ? less : low;
    high = bits > high ? bits : high;
  }
  // At most what a sum of n is off by: 0 where it is exact, infinity where elements are not finite, or so large that
  // float32 cannot hold some of them.
  double error_of(int64_t n) const {
    unsigned least = 0x7f7f, most = 0;
    for (int j = 0; j < halves; ++j) {
      least = low[j] < least ? low[j] : least;
      most = high[j] > most ? high[j] : most;
    }
    if (most >> 7 >= 255 - 6) return __builtin_inf();  // partial sums may be above all float32
    if (int(most >> 7) - int((least + 1) >> 7) <= 24 - 8 - log2_above(steps)) return 0;
    return double(bits_as<float>(most << 16)) * double(n) * double(steps) * 0x1p-23;
  }
};

// Sums of the even elements and of the odd ones.
struct Pair {
  Singles even{}, odd{};
  DLT_FN void deposit(Halves v) {
    const Words bits = Words(v);
    even += Singles(bits << 16);
    odd += Singles(bits & 0xffff0000u);
  }
};
DLT_FN V widened_half(Singles x, bool upper) {
  float all[singles];
  __builtin_memcpy(all, &x, sizeof x);
  return load(all + (upper ? lanes : 0));
}
DLT_FN V total(const Pair& sums) {
  return (widened_half(sums.even, false) + widened_half(sums.even, true)) +
         (widened_half(sums.odd, false) + widened_half(sums.odd, true));
}
// sums[r] = the sum of the lanes of of_row(r).
template <class OfRow>
DLT_FN void sum_rows(double* sums, int64_t rows, OfRow of_row) {
  for (int64_t r = 0; r < rows; r += lanes) {
    V all[lanes] = {};
    const int64_t count = rows - r < lanes ? rows - r : lanes;
    for (int64_t k = 0; k < count; ++k) all[k] = of_row(r + k);
    const V ended = joined(all, Add());
    __builtin_memcpy(sums + r, &ended, size_t(count) * 8);
  }
}
template <int... I>
DLT_FN Singles merged(Singles x, Singles y, int first, std::integer_sequence<int, I...>) {
  return first == 0 ? Singles(__builtin_shufflevector(x, y, (I / 2 + I % 2 * singles)...))
                    : Singles(__builtin_shufflevector(x, y, (singles / 2 + I / 2 + I % 2 * singles)...));
}

double bfloat16_rows(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  HalfSpan span;
  sum_rows(sums, rows, [&](int64_t r) {
    const char* const row = static_cast<const char*>(a) + r * row_bytes;
    V all{};
    int64_t c = 0;
    while (c < n) {
      Pair pairs[2];
      for (int64_t k = 0; k < steps && c < n; ++k)
        for (int j = 0; j < 2 && c < n; ++j, c += halves) {
          const Halves v = n - c >= halves ? halves_at(row + 2 * c) : part_at(row + 2 * c, n - c);
          pairs[j].deposit(v);
          span.deposit(v);
        }
      all += total(pairs[0]) + total(pairs[1]);
    }
    return all;
  });
  return span.error_of(n);
}

double bfloat16_columns(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  const std::make_integer_sequence<int, singles> order;
  HalfSpan span;
  for (int64_t c = 0; c < n; ++c) sums[c] = 0;
  for (int64_t r = 0; r < rows; r += steps) {
    const int64_t end = r + steps < rows ? r + steps : rows;
    for (int64_t c = 0; c < n; c += halves) {
      const char* const from = static_cast<const char*>(a) + 2 * c;
      Pair pair;
      for (int64_t k = r; k < end; ++k) {
        const Halves v = n - c >= halves ? halves_at(from + k * row_bytes) : part_at(from + k * row_bytes, n - c);
        pair.deposit(v);
        span.deposit(v);
      }
      double last[halves];
      for (int half = 0; half < 2; ++half) {
        const Singles part = merged(pair.even, pair.odd, half, order);
        save(last + half * singles, widened_half(part, false));
        save(last + half * singles + lanes, widened_half(part, true));
      }
      const int64_t used = n - c < halves ? n - c : halves;
      for (int64_t k = 0; k < used; ++k) sums[c + k] += last[k];
    }
  }
  return span.error_of(rows);
}

// ---- float32

DLT_FN Singles singles_at(const char* from) { return *reinterpret_cast<const LooseSingles*>(from); }
DLT_FN Singles part_of(const char* from, int64_t n) {
  Singles v{};
  __builtin_memcpy(&v, from, size_t(n) * 4);
  return v;
}

constexpr int64_t biased_steps = 16;  // additions beside the large number
// The large number 1.5 2^k for sums of that many elements that are not far above those seen, of which the least bit is `unit`.
struct SingleBias {
  uint32_t most = 0;
  Singles number{};
  double unit = 0;
  void see(Singles v) {
    for (int j = 0; j < singles; ++j) {
      const uint32_t bits = bits_as<uint32_t>(float(v[j])) & 0x7fffffff;
      most = bits > most && bits < 0x7f800000 ? bits : most;
    }
  }
  bool choose() {
    const uint32_t exponent = (most >> 23) + 2 + 5, k = exponent < 60 ? 60 : exponent;
    number = Singles{} + bits_as<float>((k << 23 | 1u << 22));
    unit = double(bits_as<float>((k - 23) << 23));
    return k < 250;
  }
};
// A register of sums: multiples of the unit, and what is below it.
struct SingleSums {
  Singles sums{}, rests{};
  SingleSums() = default;
  DLT_FN explicit SingleSums(const SingleBias& bias) : sums(bias.number) {}
  DLT_FN void deposit(Singles x, Words* changed, Words number) {
    const Singles sum = sums + x;
    rests += x - (sum - sums);
    *changed |= Words(sum) ^ number;
    sums = sum;
  }
};
// Returns whether a sum has left the power of two of the large number, so that its last bit is another.
bool has_left(Words changed) {
  uint32_t all = 0;
  for (int j = 0; j < singles; ++j) all |= changed[j];
  return all >> 23 != 0;
}
// At most what a sum of n elements is off by: rests are half a unit, their sums as many halves as there are steps, and each addition
// rounds by 2^-24 of that; two registers of them are added.
double error_of(const SingleBias& bias, int64_t n) {
  return double(n + 16 * singles) * double(biased_steps) * bias.unit * 0x1p-24;
}

double float_rows(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  const auto row = [&](int64_t r) { return static_cast<const char*>(a) + r * row_bytes; };
  SingleBias bias;
  for (const int64_t r : {int64_t(0), rows / 2, rows - 1})
    for (const int64_t c : {int64_t(0), n - singles}) bias.see(singles_at(row(r) + 4 * c));
  if (!bias.choose()) return float_row_sums(sums, a, row_bytes, rows, n);
  const Words number = Words(bias.number);
  Words changed{};
  sum_rows(sums, rows, [&](int64_t r) {
    const char* at = row(r);
    V all{};
    int64_t left = n;
    while (left > 0) {
      SingleSums one(bias), other(bias);
      int64_t k = 0;
      for (; k < biased_steps && left >= 2 * singles; ++k, left -= 2 * singles, at += 2 * register_bytes) {
        one.deposit(singles_at(at), &changed, number);
        other.deposit(singles_at(at + register_bytes), &changed, number);
      }
      for (; k < biased_steps && left > 0; ++k, left -= singles, at += register_bytes)
        one.deposit(left < singles ? part_of(at, left) : singles_at(at), &changed, number);
      const Singles above = (one.sums - bias.number) + (other.sums - bias.number), below = one.rests + other.rests;
      all += (widened_half(above, false) + widened_half(above, true)) +
             (widened_half(below, false) + widened_half(below, true));
    }
    return all;
  });
  return has_left(changed) ? float_row_sums(sums, a, row_bytes, rows, n) : error_of(bias, n);
}

// K registers of columns, `used` of the last one.
template <int K>
DLT_FN void add_columns(double* sums, const SingleBias& bias, Words* changed, const char* from, int64_t row_bytes, int64_t rows,
                        int64_t used) {
  const Words number = Words(bias.number);
  V low[K], high[K];
  for (int k = 0; k < K; ++k) low[k] = high[k] = V{};
  for (int64_t r = 0; r < rows;) {
    const int64_t end = r + biased_steps < rows ? r + biased_steps : rows;
    SingleSums local[K];
    for (int k = 0; k < K; ++k) local[k] = SingleSums(bias);
    for (; r < end; ++r, from += row_bytes)
      for (int k = 0; k < K; ++k) {
        const char* const at = from + k * register_bytes;
        local[k].deposit(k + 1 < K || used == singles ? singles_at(at) : part_of(at, used), changed, number);
      }
    for (int k = 0; k < K; ++k) {
      const Singles above = local[k].sums - bias.number;
      low[k] += widened_half(above, false) + widened_half(local[k].rests, false);
      high[k] += widened_half(above, true) + widened_half(local[k].rests, true);
    }
  }
  for (int k = 0; k < K; ++k) {
    double last[singles];
    save(last, low[k]);
    save(last + lanes, high[k]);
    __builtin_memcpy(sums + k * singles, last, size_t(k + 1 < K ? singles : used) * 8);
  }
}
double float_columns(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  constexpr int together = register_bytes == 64 ? 4 : 2;
  constexpr int64_t least_rows = 512;  // fewer, each read as a whole, come faster from memory
  if (rows < least_rows) return float_column_sums(sums, a, row_bytes, rows, n);
  const char* const from = static_cast<const char*>(a);
  SingleBias bias;
  for (const int64_t r : {int64_t(0), rows / 2, rows - 1})
    for (int64_t c = 0; c + singles <= n; c += 4 * singles) bias.see(singles_at(from + r * row_bytes + 4 * c));
  if (!bias.choose()) return float_column_sums(sums, a, row_bytes, rows, n);
  Words changed{};
  int64_t c = 0;
  for (; c + together * singles <= n; c += together * singles)
    add_columns<together>(sums + c, bias, &changed, from + 4 * c, row_bytes, rows, singles);
  for (; c < n; c += singles)
    add_columns<1>(sums + c, bias, &changed, from + 4 * c, row_bytes, rows, n - c < singles ? n - c : singles);
  return has_left(changed) ? float_column_sums(sums, a, row_bytes, rows, n) : error_of(bias, rows);
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

}  // namespace

void fill_narrow_sums(ReduceKernels* kernels) {
  FewKernels* const few = &kernels->few;
  few->narrow_columns[source_bfloat16] = bfloat16_columns;
  few->narrow_rows[source_bfloat16] = bfloat16_rows;
  few->narrow_columns[source_float32] = float_columns;
  few->narrow_rows[source_float32] = float_rows;
  few->near_floats = near_floats;
}

}  // namespace dlt::DLT_LEVEL
