// SPDX-License-Identifier: Apache-2.0
// Quantizes a tensor: parts of it are read for their largest magnitudes, and once more, out of the caches, for their codes.
#include "native/cpu/quantize/quantize.h"

#include <string.h>

#include <atomic>

#include "native/cpu/copy/packed.h"
#include "native/cpu/elementwise/streamed_rows.h"
#include "native/cpu/quantize/block_layout.h"
#include "native/cpu/quantize/kernels.h"
#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

// The largest element of a dtype, 0 of those without a format, and the digits of its fraction.
struct Element {
  float largest;
  int mantissa;
};
template <class T>
Element element_of() {
  if constexpr (requires { T::largest; }) return {to_float(T{uint8_t(T::largest)}), T::mantissa};
  else if constexpr (requires { T::highest; }) return {T::is_signed ? float(T::highest) : 0.0f, 0};
  else return {0, 0};
}
Element element_of(int type) {
  if (type == type_int8) return {127, 0};
#define DLT_CASE(name, c, code, bits, format) \
  if (type == type_##name) return element_of<c>();
  DLT_STORAGE_DTYPES(DLT_CASE)
#undef DLT_CASE
  return {0, 0};
}

// Elements of a part: as many as the first cache holds. Those of a block that is still read twice out of the caches.
constexpr int64_t part_elements = 4096, most_block = 1 << 16;
constexpr int64_t shared_from = 1 << 18;  // elements from which threads are used
constexpr int64_t streamed_from = int64_t(16) << 20;  // bytes of codes that are stored past the caches
constexpr int64_t least_streamed = 1024;  // of them, at a time

// Elements of a task where tasks are run from the end: what they read ahead is in the caches only within a task, and long tasks
// leave few beginnings.
int64_t reversed_task(int64_t n) {
  const int64_t even = n / (int64_t(num_threads()) * 16) / 8 * 8;
  return smaller(larger(even, most_block / 4), most_block);
}

// Calls work(first element, first block, blocks, their length) for parts of contiguous blocks; those of a long block are one each.
template <class Work>
void each_part(int64_t blocks, int64_t block, const Work& work) {
  if (block > part_elements) {
    for (int64_t i = 0; i < blocks; ++i)
      for (int64_t at = 0; at < block; at += part_elements)
        work(i * block + at, i, int64_t(1), smaller(part_elements, block - at));
    return;
  }
  const int64_t most = larger(part_elements / larger(block, 1), 1);
  for (int64_t i = 0; i < blocks; i += most) work(i * block, i, smaller(most, blocks - i), block);
}

struct Quantizer {
  const QuantizeCall& call;
  const QuantizeKernels& loops;
  const float* x;
  char* values;
  char* scales;
  int bits;  // of a packed code, or 8
  PowerRule rule;
  float most;  // the largest element
  BlockLayout layout;
  int64_t rows = 1, columns = 1, lines = 1, block = 1;  // of scales; lines of a row; elements of a block in a line
  int64_t segment = 1;  // blocks of a row that are one task
  bool streams = false;
  float tensor_scale = 1;
  uint32_t* all = nullptr;  // the largest magnitudes, where they are found before everything else
  std::atomic<uint32_t> largest{0};  // finite one of the tensor
  std::atomic<bool> failed{false};

  int64_t segments() const { return ceil_divide(columns, segment); }
  int64_t line_of(int64_t row, int64_t index) const;
  void find_largest(uint32_t* out, int64_t row, int64_t first, int64_t blocks) const;
  void make_scales(float* numbers, const uint32_t* found, int64_t at, int64_t blocks) const;
  // The codes of contiguous blocks from element `start` on.
  void encode(const float* numbers, int64_t start, int64_t blocks, int64_t length) const;
  void quantize_segment(int64_t index);
  void find_segment(int64_t index);
};

// The element at which line `index` of those begins that share a row of scales.
int64_t Quantizer::line_of(int64_t row, int64_t index) const {
  int64_t line = 0, step = 1;
  for (int d = layout.ndim - 2; d >= 0; --d) {
    const int64_t count = layout.of[0].count[d], length = layout.of[0].block[d];
    line += (row % count * length + index % length) * step;
    step *= layout.extent[d];
    row /= count;
    index /= length;
  }
  return line * layout.extent[layout.ndim - 1];
}

void Quantizer::find_largest(uint32_t* out, int64_t row, int64_t first, int64_t blocks) const {
  memset(out, 0, size_t(blocks) * sizeof *out);
  for (int64_t i = 0; i < lines; ++i) loops.largest(out, x + line_of(row, i) + first * block, blocks, block);
}

void Quantizer::make_scales(float* numbers, const uint32_t* found, int64_t at, int64_t blocks) const {
  auto* const bytes = reinterpret_cast<uint8_t*>(scales) + at;
  switch (call.kind) {
    case ScaleKind::power: return loops.powers(bytes, numbers, found, blocks, rule.carry, rule.top);
    case ScaleKind::two_level: return loops.two_level(bytes, numbers, found, blocks, tensor_scale, most);
    case ScaleKind::ratio: break;
  }
  loops.ratios(numbers, found, blocks, most);
  memcpy(scales + at * int64_t(sizeof(float)), numbers, size_t(blocks) * sizeof(float));
}

void Quantizer::encode(const float* numbers, int64_t start, int64_t blocks, int64_t length) const {
  const encode_t encode = call.kind == ScaleKind::power ? loops.multiplied[call.type] : loops.divided[call.type];
  alignas(64) uint8_t codes[part_elements];
  each_part(blocks, length, [&](int64_t at, int64_t number, int64_t count, int64_t elements) {
    const int64_t n = count * elements;
    const bool past = streams && n >= least_streamed;
    uint8_t* const to = bits == 8 && !past ? reinterpret_cast<uint8_t*>(values) + start + at : codes;
    encode(to, x + start + at, numbers + number, count, elements);
    if (bits != 8) pack_elements(values, start + at, bits, codes, n);
    else if (past) stream_row(kernels(), values + start + at, reinterpret_cast<const char*>(codes), n);
  });
}

void Quantizer::quantize_segment(int64_t index) {
  const int64_t row = index / segments(), first = index % segments() * segment, blocks = smaller(segment, columns - first);
  const int64_t part = lines == 1 ? larger(part_elements / block, 1) : blocks;
  uint32_t found[part_elements];
  float numbers[part_elements];
  BlockRef memory;
  uint32_t* magnitudes = found;
  float* each = numbers;
  if (part > part_elements) {
    if ((memory.block = allocate(size_t(part) * 8)) == nullptr) return failed.store(true);
    magnitudes = static_cast<uint32_t*>(memory.block->data);
    each = reinterpret_cast<float*>(magnitudes + part);
  }
  for (int64_t i = first; i < first + blocks; i += part) {
    const int64_t count = smaller(part, first + blocks - i), at = row * columns + i;
    if (all == nullptr) find_largest(magnitudes, row, i, count);
    make_scales(each, all != nullptr ? all + at : magnitudes, at, count);
    for (int64_t k = 0; k < lines; ++k) encode(each, line_of(row, k) + i * block, count, block);
  }
  if (streams) end_streaming(kernels());
}

// For formats that need the largest magnitude of all before the first scale.
void Quantizer::find_segment(int64_t index) {
  const int64_t row = index / segments(), first = index % segments() * segment, blocks = smaller(segment, columns - first);
  uint32_t* const out = all + row * columns + first;
  find_largest(out, row, first, blocks);
  const uint32_t finite = loops.largest_finite(out, blocks);
  for (uint32_t seen = largest.load(); seen < finite && !largest.compare_exchange_weak(seen, finite);) continue;
}

// Blocks that are longer than the caches: parts of each on all threads.
void find_long_blocks(Quantizer& q, bool shared) {
  const int64_t parts = ceil_divide(q.block, most_block);
  for (int64_t i = 0; i < q.columns; ++i) {
    std::atomic<uint32_t> most{0};
    parallel_if(shared, parts, [&](int64_t part) {
      const int64_t at = part * most_block;
      uint32_t found = 0;
      q.loops.largest(&found, q.x + i * q.block + at, 1, smaller(most_block, q.block - at));
      for (uint32_t seen = most.load(); seen < found && !most.compare_exchange_weak(seen, found);) continue;
    });
    q.all[i] = most.load();
  }
}

// `is_apart`: parts share no byte.
Status quantize_long_blocks(Quantizer& q, bool shared, bool is_apart) {
  BlockRef memory;
  DLT_TRY(allocate(size_t(q.columns) * 8, &memory));
  q.all = static_cast<uint32_t*>(memory.block->data);
  auto* const numbers = reinterpret_cast<float*>(q.all + q.columns);
  find_long_blocks(q, shared);
  q.make_scales(numbers, q.all, 0, q.columns);
  const int64_t length = reversed_task(q.block), parts = ceil_divide(q.block, length);
  // From the end: what was read last is still in the caches.
  for (int64_t i = q.columns - 1; i >= 0; --i)
    parallel_if(shared && is_apart, parts, [&](int64_t reversed) {
      const int64_t at = (parts - 1 - reversed) * length;
      q.encode(numbers + i, i * q.block + at, 1, smaller(length, q.block - at));
      if (q.streams) end_streaming(kernels());
    });
  return success;
}

// Blocks of a task: where rows of scales are few, parts of a row, which begin with a byte.
int64_t choose_segment(const Quantizer& q, bool shared) {
  if (q.layout.ndim == 1) {
    const int64_t length = q.call.kind == ScaleKind::two_level ? reversed_task(q.columns * q.block) : most_block / 4;
    return larger(length / q.block / 8 * 8, q.block % 8 == 0 ? larger(length / q.block, 1) : 8);
  }
  if (!shared || q.rows >= num_threads() * 4) return q.columns;
  return smaller(ceil_divide(ceil_divide(q.columns, ceil_divide(num_threads() * 4, q.rows)), 8) * 8, q.columns);
}

}  // namespace

bool quantizes(ScaleKind kind, int type) noexcept {
  if (kind == ScaleKind::two_level) return type == type_float4_e2m1fn;
  if (type < 0) return false;  // of several lanes, or unknown
  const QuantizeKernels& loops = *kernels().quantize;
  return (kind == ScaleKind::power ? loops.multiplied : loops.divided)[type] != nullptr;
}
float largest_element(int type) noexcept { return element_of(type).largest; }

PowerRule power_rule(ScaleRule rule, int type) noexcept {
  const Element element = element_of(type);
  const uint32_t bits = bits_as<uint32_t>(element.largest);
  const uint32_t half = uint32_t(1) << (22 - element.mantissa), rest = 0x7fffff - (bits & 0x7fffff);
  return {rule == ScaleRule::floor ? 0 : rule == ScaleRule::even ? half : rest, int32_t(bits >> 23) - 127};
}

Status cpu::quantize(const QuantizeCall& call, const EngineOperand& x, const EngineOperand& values, const EngineOperand& scale,
                     const EngineOperand* tensor_scale, const LaunchContext&) noexcept {
  const int64_t n = numel(x.tensor->ndim, x.tensor->shape);
  const float most = largest_element(call.type);
  if (tensor_scale != nullptr) *static_cast<float*>(tensor_scale->tensor->data) = 1;
  if (n == 0) return success;
  Quantizer q{call,
              *kernels().quantize,
              static_cast<const float*>(x.tensor->data),
              static_cast<char*>(values.tensor->data),
              static_cast<char*>(scale.tensor->data),
              type_table[call.type].dtype.bits,
              power_rule(call.rule, call.type),
              most,
              block_layout(*x.tensor, &scale.tensor, 1)};
  const BlockLayout& layout = q.layout;
  const int last = layout.ndim - 1;
  q.columns = layout.of[0].count[last];
  q.block = layout.of[0].block[last];
  for (int d = 0; d < last; ++d) q.rows *= layout.of[0].count[d];
  q.lines = layout.lines() / q.rows;
  q.streams = q.bits == 8 && n >= streamed_from;
  const bool shared = n >= shared_from;
  // Tasks write bytes of their own where lines and parts of them are whole bytes.
  const bool is_apart = q.bits == 8 || (layout.ndim > 1        ? layout.extent[last] % 8 == 0
                                        : q.block > most_block ? q.block % 8 == 0 || q.columns == 1
                                                               : true);
  if (layout.ndim == 1 && q.block > most_block && call.kind != ScaleKind::two_level)
    return quantize_long_blocks(q, shared, is_apart);
  q.segment = choose_segment(q, shared);
  const int64_t tasks = q.rows * q.segments();
  BlockRef memory;
  if (call.kind == ScaleKind::two_level) {
    DLT_TRY(allocate(size_t(q.rows * q.columns) * 4, &memory));
    q.all = static_cast<uint32_t*>(memory.block->data);
    parallel_if(shared, tasks, [&](int64_t i) { q.find_segment(i); });
    q.tensor_scale = ratio_scale(q.largest.load(), most * largest_element(type_float8_e4m3fn));
    *static_cast<float*>(tensor_scale->tensor->data) = q.tensor_scale;
  }
  parallel_if(shared && is_apart, tasks, [&](int64_t i) { q.quantize_segment(q.all != nullptr ? tasks - 1 - i : i); });
  return q.failed.load() ? no_temporary() : success;
}

}  // namespace dlt
