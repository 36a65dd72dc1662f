// SPDX-License-Identifier: Apache-2.0
// Parts of a tensor with scales of blocks as float32, in the first cache. What becomes of them is up to dequantize.cc and
// scaled_product.cc.
#pragma once
#include "native/cpu/copy/cast_pipeline.h"
#include "native/cpu/quantize/block_layout.h"
#include "native/cpu/quantize/kernels.h"
#include "native/cpu/quantize/quantize.h"

namespace dlt {

struct Dequantizer {
  static constexpr int64_t part_elements = 2048;
  struct Scratch {
    alignas(64) char first[part_elements * 8], second[part_elements * 8];
  };

  const Kernels& loops;
  const DLTensor& values;
  int type = -1;  // of the values
  int bits = 0;  // of a packed element, else 0
  BlockLayout layout{};
  const float* numbers[BlockLayout::most_operands] = {};  // of scales, or first of zero points
  bool subtracts = false;
  CastPipeline in{};  // to float32
  int64_t in_bytes = 0;
  bool looks_up = false;
  float table[16] = {};
  float factor = 1;  // that the table has too

  int64_t length() const { return layout.extent[layout.ndim - 1]; }  // of a line
  int64_t block() const { return layout.operands > 0 ? layout.of[0].block[layout.ndim - 1] : 1; }
  // The operands that the loop of these values takes, of those that there are.
  int fused_operands() const;
  // Elements from `first` on that are one part of a line that ends at `end`: whole blocks of the first operand, or a part of one.
  int64_t part_from(int64_t first, int64_t end) const;
  // Writes such a part to y; `past`: by stores past the caches, which fused loops have.
  void convert_part(float* y, int64_t line, int64_t first, int64_t n, Scratch& scratch, bool past) const;
  // Writes n elements of a line to y.
  void convert(float* y, int64_t line, int64_t first, int64_t n, Scratch& scratch) const;

 private:
  void combine(int operand, float* y, int64_t line, int64_t first, int64_t n) const;
};

// Zero points (null: none) and scales are float32. All in C order. Returns whether there are loops for the values.
bool read_blocks(const EngineOperand& values, const EngineOperand* zero, const EngineOperand* scales, int count,
                 Dequantizer* blocks) noexcept;

}  // namespace dlt
