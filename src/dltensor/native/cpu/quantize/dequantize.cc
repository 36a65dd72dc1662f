// SPDX-License-Identifier: Apache-2.0
// Dequantizes a tensor: parts of its lines become float32 in the first cache, take their zero points and scales, and are
// converted and stored past the caches. Loops that do all of it store past the caches themselves.
#include <string.h>

#include "native/cpu/copy/cast_pipeline.h"
#include "native/cpu/copy/kernels.h"
#include "native/cpu/copy/packed.h"
#include "native/cpu/elementwise/streamed_rows.h"
#include "native/cpu/quantize/block_layout.h"
#include "native/cpu/quantize/kernels.h"
#include "native/cpu/quantize/quantize.h"
#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

constexpr int64_t part_elements = 2048;
constexpr int64_t least_decoded_block = 16;  // of codes of 8 bits; shorter ones are converted first
constexpr int64_t task_elements = 1 << 16;  // of the parts of a line that one task has
constexpr int64_t shared_from = 1 << 18;  // elements from which threads are used
constexpr int64_t streamed_from = int64_t(16) << 20;  // bytes of output that are stored past the caches

struct Dequantizer {
  const Kernels& loops;
  const DLTensor& values;
  const DLTensor& out;
  int type;  // of the values
  int bits;  // of a packed element, else 0
  BlockLayout layout;
  const float* numbers[BlockLayout::most_operands];  // of scales, or first of zero points
  bool subtracts;
  CastPipeline in, from_float;  // conversions to float32 and from it
  int64_t in_bytes, out_bytes;
  bool streams;
  bool looks_up = false;
  float table[16] = {};
  float factor = 1;  // that the table has too

  // The operands that the loop of these values takes, of those that there are.
  int fused_operands() const {
    if (looks_up) return layout.operands > 1 && layout.is_one_block(1) ? 2 : 1;
    return loops.quantize->decode[type] != nullptr && layout.operands > 0 && !subtracts ? 1 : 0;
  }
  bool streams_from_registers(const char* to, int64_t block) const {
    return streams && loops.quantize->has_streams && from_float.count == 0 && layout.operands > 0 &&
           fused_operands() == layout.operands && block % 16 == 0 && reinterpret_cast<uintptr_t>(to) % 64 == 0;
  }
  void dequantize(int64_t line, int64_t first, int64_t end) const;
  void convert_part(float* y, int64_t line, int64_t first, int64_t n, char* spare, char* other, bool past) const;
  void combine(int operand, float* y, int64_t line, int64_t first, int64_t n) const;
};

// The blocks of one operand in a part of a line: the end of one, whole ones, and the beginning of another.
void Dequantizer::combine(int operand, float* y, int64_t line, int64_t first, int64_t n) const {
  const int last = layout.ndim - 1;
  const int64_t block = layout.of[operand].block[last];
  const float* each = numbers[operand] + layout.row_of(operand, line) * layout.of[operand].count[last] + first / block;
  const auto loop = operand == 0 && subtracts ? loops.quantize->subtract : loops.quantize->multiply;
  const int64_t head = smaller((block - first % block) % block, n);
  if (head > 0) {
    loop(y, y, each, 1, head);
    y += head, n -= head, ++each;
  }
  const int64_t whole = n / block;
  if (whole > 0) loop(y, y, each, whole, block);
  if (n % block > 0) loop(y + whole * block, y + whole * block, each + whole, 1, n % block);
}

// `past`: y is streamed; see streams_from_registers().
void Dequantizer::convert_part(float* y, int64_t line, int64_t first, int64_t n, char* spare, char* other, bool past) const {
  const int last = layout.ndim - 1;
  const int64_t at = line * layout.extent[last] + first;
  const int64_t block = layout.of[0].block[last];
  int done = 0;
  if (looks_up && block % 16 == 0 && at % 2 == 0 && n % (block > part_elements ? 16 : block) == 0) {
    const float* each = numbers[0] + layout.row_of(0, line) * layout.of[0].count[last] + first / block;
    const int64_t blocks = block > part_elements ? 1 : n / block;
    const auto* packed = static_cast<const uint8_t*>(values.data) + at / 2;
    loops.quantize->look_up(y, packed, table, each, factor, blocks, block > part_elements ? n : block, past);
    done = fused_operands();
  } else if (const auto decode = loops.quantize->decode[type];
             decode != nullptr && layout.operands > 0 && !subtracts && block >= least_decoded_block) {
    const float* each = numbers[0] + layout.row_of(0, line) * layout.of[0].count[last] + first / block;
    const int64_t blocks = block > part_elements ? 1 : n / block;
    decode(y, static_cast<const uint8_t*>(values.data) + at, each, blocks, n / blocks, past);
    done = 1;
  } else {
    const char* from = static_cast<const char*>(values.data) + at * in_bytes;
    if (bits != 0) {
      unpack_elements(other, values.data, at, bits, n);
      from = other;
    }
    // A pipeline of three loops would write to `other` while it reads it; there is none to float32.
    const void* done_at = run_pipeline(in, y, from, n, spare, other);
    if (done_at != y) memcpy(y, done_at, size_t(n) * sizeof *y);
  }
  for (; done < layout.operands; ++done) combine(done, y, line, first, n);
}

// Elements first to end of a line. A part of it ends where a block of the first operand does.
void Dequantizer::dequantize(int64_t line, int64_t first, int64_t end) const {
  alignas(64) float y[part_elements];
  alignas(64) char spare[part_elements * 8], other[part_elements * 8];
  const int last = layout.ndim - 1;
  const int64_t block = layout.operands > 0 ? layout.of[0].block[last] : 1;
  const int64_t most = block <= part_elements ? part_elements / block * block : part_elements;
  for (int64_t n; first < end; first += n) {
    n = smaller(most - (block <= part_elements ? first % block : 0), end - first);
    if (block > part_elements) n = smaller(n, block - first % block);
    char* const to = static_cast<char*>(out.data) + (line * layout.extent[last] + first) * out_bytes;
    const bool past = streams_from_registers(to, block);
    const bool is_direct = past || (from_float.count == 0 && !streams);
    float* const floats = is_direct ? reinterpret_cast<float*>(to) : y;
    convert_part(floats, line, first, n, spare, other, past);
    if (is_direct) continue;
    char* const results = streams ? spare : to;
    const auto* done = static_cast<const char*>(run_pipeline(from_float, results, floats, n, other, other));
    if (streams) stream_row(loops, to, done, n * out_bytes);
  }
}

// Every element of 4 bits as a float.
bool fill_table(int type, float* table) {
  for (uint8_t code = 0; code < 16; ++code) {
    if (type == type_float4_e2m1fn) table[code] = to_float(float4_e2m1fn{code});
    else if (type == type_int4) table[code] = to_float(int4{code});
    else if (type == type_uint4) table[code] = to_float(uint4{code});
    else return false;
  }
  return true;
}

}  // namespace

Status cpu::dequantize(const EngineOperand& values, const EngineOperand* zero, const EngineOperand* scales, int count,
                       const EngineOperand& out, const LaunchContext&) noexcept {
  const DLTensor& from = *values.tensor;
  const int type = find_type(from.dtype), to = find_type(out.tensor->dtype);
  const int64_t n = numel(from.ndim, from.shape);
  const DLTensor* operands[BlockLayout::most_operands];
  int operand_count = 0;
  if (zero != nullptr) operands[operand_count++] = zero->tensor;
  for (int k = 0; k < count; ++k) operands[operand_count++] = scales[k].tensor;
  Dequantizer d{kernels(), from, *out.tensor, type, 0, {}, {}, zero != nullptr, {}, {}, 0, 0, false};
  if (!find_pipeline(*d.loops.copy, type, type_float32, 0, &d.in) ||
      !find_pipeline(*d.loops.copy, type_float32, to, 0, &d.from_float))
    return undefined_for(type);
  if (n == 0) return success;
  d.layout = block_layout(from, operands, operand_count);
  for (int k = 0; k < operand_count; ++k) d.numbers[k] = static_cast<const float*>(operands[k]->data);
  const bool is_packed = from.dtype.bits < 8 && !values.padded;
  d.bits = is_packed ? from.dtype.bits : 0;
  d.in_bytes = is_packed ? 0 : type_table[type].bytes;
  d.out_bytes = type_table[to].bytes;
  d.streams = n * d.out_bytes >= streamed_from;
  d.looks_up = d.bits == 4 && operand_count > 0 && zero == nullptr && fill_table(type, d.table);
  if (d.looks_up && d.fused_operands() == 2) d.factor = d.numbers[1][0];
  // Parts of a line that are one task end where a block of the first operand ends, and begin with a byte of the values.
  const int64_t length = d.layout.extent[d.layout.ndim - 1],
                block = operand_count > 0 ? d.layout.of[0].block[d.layout.ndim - 1] : 1;
  const int64_t segment = block >= task_elements ? task_elements : task_elements / block * block;
  const int64_t segments = ceil_divide(length, segment), lines = d.layout.lines();
  const int64_t lines_of_task = larger(task_elements / length, 1);
  parallel_if(n >= shared_from, ceil_divide(lines, lines_of_task) * segments, [&](int64_t i) {
    const int64_t line = i / segments * lines_of_task, first = i % segments * segment;
    for (int64_t k = line; k < smaller(line + lines_of_task, lines); ++k)
      d.dequantize(k, first, smaller(first + segment, length));
    if (d.streams) end_streaming(d.loops);
  });
  return success;
}

}  // namespace dlt
