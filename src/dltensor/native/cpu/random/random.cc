// SPDX-License-Identifier: Apache-2.0
// The division of random values among threads, permutations, and choices by weight. Loops over values are in kernels/random.cc.
#include "native/cpu/random/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <new>
#include <numeric>

#include "native/cpu/random/kernels.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/ops/random/shuffles.h"

namespace dlt {
namespace {

constexpr bool is_counts_counts = true, is_counts_reals = false;  // by the word of a row
constexpr int64_t share_from = 1 << 20;  // bytes
constexpr int64_t share = 1 << 16;  // values of a task: whole blocks

struct Work {
  draw_t kernel;
  const Draw& how;
  uint64_t position;
  int64_t n, width;
  uint64_t words;
  char* out;
  bool has_shares;
};

void draw_task(void* context, int64_t number) {
  const Work& work = *static_cast<const Work*>(context);
  const int64_t first = number * share, n = smaller(share, work.n - first);
  Draw part = work.how;
  if (part.arrays[0]) part.arrays[0] += first;
  if (part.arrays[1] && !work.has_shares) part.arrays[1] += first;
  work.kernel(work.out + first * work.width, part, work.position + uint64_t(first) * work.words, n, work.words == 2);
}

}  // namespace

bool contains(Domain domain, double value) noexcept {
  switch (domain) {
    case Domain::finite: return std::isfinite(value);
    case Domain::whole:
    case Domain::at_least_0: return value >= 0 && std::isfinite(value);
    case Domain::positive: return value > 0 && std::isfinite(value);
    case Domain::probability: return value >= 0 && value <= 1;
    case Domain::positive_probability: return value > 0 && value <= 1;
    case Domain::no_parameter: break;
  }
  return true;
}

const SampleRow sample_rows[] = {
#define DLT_ROW(name, result, blocks, a, domain_of_a, b, domain_of_b) \
  {#name, is_counts_##result, blocks, {{#a, Domain::domain_of_a, #domain_of_a}, {#b, Domain::domain_of_b, #domain_of_b}}},
    DLT_SAMPLES(DLT_ROW)
#undef DLT_ROW
};

bool draws(Distribution distribution, int type) noexcept {
  return type >= 0 && type < computed_types && kernels().random->draws[distribution][type] != nullptr;
}

uint64_t words_per_value(Distribution distribution, int type, uint64_t count) noexcept {
  if (distribution >= first_sample) return 4 * count;
  if (distribution == draw_integers) return count == 0 || count > uint64_t(1) << 32 ? 2 : 1;
  return type == type_float64 ? 2 : 1;
}

void draw(Distribution distribution, int type, const Draw& how, uint64_t position, int64_t n, void* out) noexcept {
  const bool has_shares = distribution == draw_multinomial;
  Work work{kernels().random->draws[distribution][type],
            how,
            position,
            n,
            type_table[type].bytes * (has_shares ? int64_t(how.count) + 1 : 1),
            words_per_value(distribution, type, how.count),
            static_cast<char*>(out),
            has_shares};
  if (n * work.width < share_from) return work.kernel(out, how, position, n, work.words == 2);
  parallel(ceil_divide(n, share), draw_task, &work);
}

Status cpu::draw(Distribution distribution, int type, int, const Draw& how, uint64_t position, int64_t n,
                 const EngineOperand& out, const LaunchContext&) noexcept {
  const auto data = [](const EngineOperand& x) { return static_cast<char*>(x.tensor->data) + x.tensor->byte_offset; };
  Draw with_arrays = how;
  for (int k = 0; k < 2 && how.parameters; ++k)
    if (how.parameters[k].tensor) with_arrays.arrays[k] = reinterpret_cast<const double*>(data(how.parameters[k]));
  dlt::draw(distribution, type, with_arrays, position, n, data(out));
  return success;
}

void philox_block(uint32_t* out, const uint32_t* counter, const uint32_t* key) noexcept {
  const philox::Words words = philox::block({{counter[0], counter[1], counter[2], counter[3]}}, key[0], key[1]);
  for (int k = 0; k < 4; ++k) out[k] = words.v[k];
}

namespace {

// Calls swap(last, other) for the first `steps` exchanges.
template <class Swap>
void each_swap(const Shuffle& all, int64_t steps, Swap swap) {
  constexpr int64_t part = 1024;
  const uint64_t words = shuffles::words_of(all.n);
  const Draw whole{all.sequence, 0, 0, 0, 0, words == 2 ? 0 : uint64_t(1) << 32, 0};
  uint64_t bits[part];
  for (int64_t first = 0; first < steps; first += part) {
    const int64_t count = smaller(part, steps - first);
    draw(draw_integers, type_uint64, whole, all.position + uint64_t(first) * words, count, bits);
    for (int64_t k = 0; k < count; ++k)
      swap(all.n - 1 - first - k, int64_t(shuffles::partner(all, uint64_t(first + k), bits[k])));
  }
}

// An array of 0 ... n - 1 of which only those elements are kept that have been written.
class Written {
 public:
  bool make(int64_t most) {
    bits_ = int(std::bit_width(uint64_t(most))) + 1;
    table_.reset(new (std::nothrow) Element[size_t(1) << bits_]);
    if (table_) std::fill_n(table_.get(), size_t(1) << bits_, Element{-1, 0});
    return table_ != nullptr;
  }
  int64_t at(int64_t index) const {
    const Element& element = find(index);
    return element.index == index ? element.value : index;
  }
  void set(int64_t index, int64_t value) { find(index) = {index, value}; }

 private:
  struct Element {
    int64_t index, value;
  };
  Element& find(int64_t index) const {
    const size_t mask = (size_t(1) << bits_) - 1;
    size_t place = size_t(uint64_t(index) * 0x9E3779B97F4A7C15u >> (64 - bits_));
    while (table_[place].index >= 0 && table_[place].index != index) place = (place + 1) & mask;
    return table_[place];
  }
  int bits_ = 0;
  std::unique_ptr<Element[]> table_;
};

}  // namespace

Status cpu::shuffle(const Shuffle& shuffle, const EngineOperand& to, const LaunchContext&) noexcept {
  const int64_t n = shuffle.n, count = shuffle.count;
  auto* out = reinterpret_cast<int64_t*>(static_cast<char*>(to.tensor->data) + to.tensor->byte_offset);
  if (!shuffle.from_end) {
    std::iota(out, out + n, int64_t(0));
    each_swap(shuffle, n - 1, [out](int64_t last, int64_t other) { std::swap(out[last], out[other]); });
    return success;
  }
  const auto no_memory = [&] {
    return fail(Fault::memory, "no memory for %lld of %lld indices", static_cast<long long>(count), static_cast<long long>(n));
  };
  if (count > n / 8) {
    const std::unique_ptr<int64_t[]> all(new (std::nothrow) int64_t[size_t(n)]);
    if (!all) return no_memory();
    std::iota(all.get(), all.get() + n, int64_t(0));
    each_swap(shuffle, smaller(count, n - 1),
              [&](int64_t last, int64_t other) { std::swap(all[size_t(last)], all[size_t(other)]); });
    std::reverse_copy(all.get() + n - count, all.get() + n, out);
    return success;
  }
  Written all;  // few of many need no memory for all of them
  if (!all.make(count)) return no_memory();
  each_swap(shuffle, count, [&](int64_t last, int64_t other) {
    *out++ = all.at(other);
    all.set(other, all.at(last));
  });
  return success;
}

void choose_weighted(const double* sums, int64_t n, const double* part, int64_t count, int64_t* out) noexcept {
  for (int64_t i = 0; i < count; ++i) {
    const double at = part[i] * sums[n - 1];
    // The product may be rounded up to the last sum: the first index that reaches it has a weight.
    const double* found = at < sums[n - 1] ? std::upper_bound(sums, sums + n, at) : std::lower_bound(sums, sums + n, at);
    out[i] = found - sums;
  }
}

bool smallest(const double* keys, int64_t n, int64_t count, int64_t* out) noexcept {
  const std::unique_ptr<int64_t[]> order(new (std::nothrow) int64_t[size_t(n)]);
  if (!order) return false;
  std::iota(order.get(), order.get() + n, int64_t(0));
  std::partial_sort(order.get(), order.get() + count, order.get() + n,
                    [&](int64_t a, int64_t b) { return keys[a] < keys[b] || (keys[a] == keys[b] && a < b); });
  std::copy(order.get(), order.get() + count, out);
  return true;
}

}  // namespace dlt
