// SPDX-License-Identifier: Apache-2.0
// Parts of lines become float32 and take their zero points and scales.
#include "native/cpu/quantize/dequantizer.h"

#include <string.h>

#include "native/cpu/copy/kernels.h"
#include "native/cpu/copy/packed.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"

namespace dlt {
namespace {

constexpr int64_t least_decoded_block = 16;  // of codes of 8 bits; shorter ones are converted first

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

int Dequantizer::fused_operands() const {
  if (looks_up) return layout.operands > 1 && layout.is_one_block(1) ? 2 : 1;
  return loops.quantize->decode[type] != nullptr && layout.operands > 0 && !subtracts ? 1 : 0;
}

int64_t Dequantizer::part_from(int64_t first, int64_t end) const {
  const int64_t whole = block(), offset = first % whole, left = end - first;
  if (whole > part_elements || offset != 0 || left < whole) return smaller(smaller(part_elements, whole - offset), left);
  return smaller(part_elements, left) / whole * whole;
}

// The blocks of one operand in a part of a line: the end of one, whole ones, and the beginning of another.
void Dequantizer::combine(int operand, float* y, int64_t line, int64_t first, int64_t n) const {
  const int last = layout.ndim - 1;
  const int64_t length = layout.of[operand].block[last];
  const float* each = numbers[operand] + layout.row_of(operand, line) * layout.of[operand].count[last] + first / length;
  const auto loop = operand == 0 && subtracts ? loops.quantize->subtract : loops.quantize->multiply;
  const int64_t head = smaller((length - first % length) % length, n);
  if (head > 0) {
    loop(y, y, each, 1, head);
    y += head, n -= head, ++each;
  }
  const int64_t whole = n / length;
  if (whole > 0) loop(y, y, each, whole, length);
  if (n % length > 0) loop(y + whole * length, y + whole * length, each + whole, 1, n % length);
}

void Dequantizer::convert_part(float* y, int64_t line, int64_t first, int64_t n, Scratch& scratch, bool past) const {
  const int last = layout.ndim - 1;
  const int64_t at = line * length() + first;
  const int64_t blocks = larger(n / block(), 1), elements = n / blocks;
  const float* const each = layout.operands > 0
                                ? numbers[0] + layout.row_of(0, line) * layout.of[0].count[last] + first / block()
                                : nullptr;
  int done = 0;
  if (looks_up && elements % 16 == 0 && at % 2 == 0) {
    const auto* packed = static_cast<const uint8_t*>(values.data) + at / 2;
    loops.quantize->look_up(y, packed, table, each, factor, blocks, elements, past);
    done = fused_operands();
  } else if (const auto decode = loops.quantize->decode[type];
             decode != nullptr && layout.operands > 0 && !subtracts && block() >= least_decoded_block) {
    decode(y, static_cast<const uint8_t*>(values.data) + at, each, blocks, elements, past);
    done = 1;
  } else {
    const char* from = static_cast<const char*>(values.data) + at * in_bytes;
    if (bits != 0) {
      unpack_elements(scratch.second, values.data, at, bits, n);
      from = scratch.second;
    }
    // A pipeline of three loops would write to what it reads; there is none to float32.
    const void* done_at = run_pipeline(in, y, from, n, scratch.first, scratch.second);
    if (done_at != y) memcpy(y, done_at, size_t(n) * sizeof *y);
  }
  for (; done < layout.operands; ++done) combine(done, y, line, first, n);
}

void Dequantizer::convert(float* y, int64_t line, int64_t first, int64_t n, Scratch& scratch) const {
  for (const int64_t end = first + n; first < end; first += n, y += n) {
    n = part_from(first, end);
    convert_part(y, line, first, n, scratch, false);
  }
}

bool read_blocks(const EngineOperand& values, const EngineOperand* zero, const EngineOperand* scales, int count,
                 Dequantizer* blocks) noexcept {
  Dequantizer& d = *blocks;
  const DLTensor* operands[BlockLayout::most_operands];
  int operand_count = 0;
  if (zero != nullptr) operands[operand_count++] = zero->tensor;
  for (int k = 0; k < count; ++k) operands[operand_count++] = scales[k].tensor;
  d.type = find_type(d.values.dtype);
  d.subtracts = zero != nullptr;
  if (!find_pipeline(*d.loops.copy, d.type, type_float32, 0, &d.in)) return false;
  if (numel(d.values.ndim, d.values.shape) == 0) return true;
  d.layout = block_layout(d.values, operands, operand_count);
  for (int k = 0; k < operand_count; ++k) d.numbers[k] = static_cast<const float*>(operands[k]->data);
  const bool is_packed = d.values.dtype.bits < 8 && !values.padded;
  d.bits = is_packed ? d.values.dtype.bits : 0;
  d.in_bytes = is_packed ? 0 : type_table[d.type].bytes;
  d.looks_up = d.bits == 4 && operand_count > 0 && zero == nullptr && fill_table(d.type, d.table);
  if (d.looks_up && d.fused_operands() == 2) d.factor = d.numbers[1][0];
  return true;
}

}  // namespace dlt
