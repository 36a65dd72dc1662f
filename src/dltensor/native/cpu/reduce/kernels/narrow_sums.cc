// SPDX-License-Identifier: Apache-2.0
// Sums that are near enough for a result of their own dtype: some elements at a time in float32, and those sums in float64.
// bfloat16: float32 has 16 bits more; registers hold every second element, so that none is moved. float32: beside a large number, as
// biased_lanes.h does it for float64.
#include "native/cpu/reduce/kernels/narrow_floats.h"
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
DLT_FN Floats wide(Singles x) { return floats_of(Span::U(x)); }
DLT_FN V total(Singles x) {
  const Floats all = wide(x);
  return all.low + all.high;
}
DLT_FN V total(const Pair& sums) { return total(sums.even) + total(sums.odd); }
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
        const Floats part = wide(merged(pair.even, pair.odd, half, order));
        save(last + half * singles, part.low);
        save(last + half * singles + lanes, part.high);
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
// The large number for sums that are not far above those of the elements seen, of which the least bit is `unit`.
struct SingleBias {
  uint32_t most = 0, kept = 0;  // the largest magnitude seen; the bits of the number that sums must keep
  Singles number{};
  double unit = 0;
  void see(Singles v) {
    for (int j = 0; j < singles; ++j) {
      const uint32_t bits = bits_as<uint32_t>(float(v[j])) & 0x7fffffff;
      most = bits > most && bits < 0x7f800000 ? bits : most;
    }
  }
  // 1.5 2^k, from which a lane takes `steps` numbers, as far as 2^(k - 1); or 1.5625 2^k and 2^(k - 4), so that sums of lanes too
  // are multiples of the unit that float32 holds.
  bool choose(int64_t steps, bool joins) {
    const uint32_t exponent = (most >> 23) + (joins ? 6 : 3) + uint32_t(log2_above(steps)), k = exponent < 60 ? 60 : exponent;
    number = Singles{} + bits_as<float>(k << 23 | (joins ? 9u << 19 : 1u << 22));
    kept = joins ? 0xfff00000 : 0xff800000;
    unit = double(bits_as<float>((k - 23) << 23));
    return k < 250;
  }
  // Returns whether a sum has left the number, so that its last bit is another.
  bool has_left(Words changed) const {
    uint32_t all = 0;
    for (int j = 0; j < singles; ++j) all |= changed[j];
    return (all & kept) != 0;
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
// At most what a sum of n elements is off by: rests are half a unit, their sums as many halves as there are steps, and each addition
// rounds by 2^-24 of that; two registers of them are added.
double error_of(const SingleBias& bias, int64_t n) {
  return double(n + 16 * singles) * double(biased_steps) * bias.unit * 0x1p-24;
}

// Rows of few registers: those of as many rows as one has lanes end in one.
double short_float_rows(double* sums, const SingleBias& bias, Words* changed, const char* from, int64_t row_bytes, int64_t rows,
                        int64_t n) {
  const Words number = Words(bias.number);
  const int64_t steps = (n + singles - 1) / singles;
  for (int64_t r = 0; r < rows; r += singles) {
    Singles above[singles], below[singles];
    const int64_t count = rows - r < singles ? rows - r : singles;
    for (int64_t k = 0; k < singles; ++k) {  // the last row in the place of those that are missing
      const char* const row = from + (k < count ? r + k : rows - 1) * row_bytes;
      SingleSums local(bias);
      int64_t c = 0;
      for (; c + singles <= n; c += singles) local.deposit(singles_at(row + 4 * c), changed, number);
      if (c < n) local.deposit(part_of(row + 4 * c, n - c), changed, number);
      above[k] = local.sums - bias.number;
      below[k] = local.rests;
    }
    const Floats high = wide(joined<1, singles>(above, Add())), low = wide(joined<1, singles>(below, Add()));
    double last[singles];
    save(last, high.low + low.low);
    save(last + lanes, high.high + low.high);
    __builtin_memcpy(sums + r, last, size_t(count) * 8);
  }
  // As error_of(); the lanes are added in as many turns as their number has bits.
  return double(n) * double(steps + 1 + log2_above(singles)) * bias.unit * 0x1p-24;
}

double float_rows(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  const auto row = [&](int64_t r) { return static_cast<const char*>(a) + r * row_bytes; };
  SingleBias bias;
  for (const int64_t r : {int64_t(0), rows / 2, rows - 1})
    for (const int64_t c : {int64_t(0), n - singles}) bias.see(singles_at(row(r) + 4 * c));
  const bool is_short = n <= biased_steps * singles;
  if (!bias.choose(is_short ? n / singles + 1 : biased_steps, is_short)) return float_row_sums(sums, a, row_bytes, rows, n);
  Words changed{};
  if (is_short) {
    const double error = short_float_rows(sums, bias, &changed, row(0), row_bytes, rows, n);
    return bias.has_left(changed) ? float_row_sums(sums, a, row_bytes, rows, n) : error;
  }
  const Words number = Words(bias.number);
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
      all += total(above) + total(below);
    }
    return all;
  });
  return bias.has_left(changed) ? float_row_sums(sums, a, row_bytes, rows, n) : error_of(bias, n);
}

// Adds some rows of K registers of columns; of the last one the columns before `unused` are left out.
template <int K>
DLT_FN void add_columns(double* sums, const SingleBias& bias, Words* changed, const char* from, int64_t row_bytes, int64_t rows,
                        int64_t n, int64_t unused) {
  const Words number = Words(bias.number);
  SingleSums local[K];
  for (int k = 0; k < K; ++k) local[k] = SingleSums(bias);
  for (int64_t r = 0; r < rows; ++r, from += row_bytes)
    for (int k = 0; k < K; ++k)
      local[k].deposit(K > 1 || n == singles ? singles_at(from + k * register_bytes) : part_of(from, n), changed, number);
  for (int k = 0; k < K; ++k) {
    const Floats above = wide(local[k].sums - bias.number), below = wide(local[k].rests);
    double* const to = sums + k * singles;
    if (K > 1 || n - unused == singles) {
      save(to, load(to) + (above.low + below.low));
      save(to + lanes, load(to + lanes) + (above.high + below.high));
    } else {
      double last[singles];
      save(last, above.low + below.low);
      save(last + lanes, above.high + below.high);
      for (int64_t c = unused; c < n; ++c) to[c] += last[c];
    }
  }
}
double float_columns(double* sums, const void* a, int64_t row_bytes, int64_t rows, int64_t n) {
  constexpr int together = register_bytes == 64 ? 4 : 2;
  const char* const from = static_cast<const char*>(a);
  SingleBias bias;
  for (const int64_t r : {int64_t(0), rows / 2, rows - 1})
    for (int64_t c = 0; c + singles <= n; c += 4 * singles) bias.see(singles_at(from + r * row_bytes + 4 * c));
  if (!bias.choose(biased_steps, false)) return float_column_sums(sums, a, row_bytes, rows, n);
  Words changed{};
  for (int64_t c = 0; c < n; ++c) sums[c] = 0;
  for (int64_t r = 0; r < rows; r += biased_steps) {
    const char* const row = from + r * row_bytes;
    const int64_t count = rows - r < biased_steps ? rows - r : biased_steps;
    int64_t c = 0;
    for (; c + together * singles <= n; c += together * singles)
      add_columns<together>(sums + c, bias, &changed, row + 4 * c, row_bytes, count, singles, 0);
    for (; c < n; c += singles) {
      const int64_t at = c > n - singles && n >= singles ? n - singles : c;  // whole registers, where there is one
      add_columns<1>(sums + at, bias, &changed, row + 4 * at, row_bytes, count, n < singles ? n : singles, c - at);
    }
  }
  return bias.has_left(changed) ? float_column_sums(sums, a, row_bytes, rows, n) : error_of(bias, rows);
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
