// SPDX-License-Identifier: Apache-2.0
// Dequantizes a tensor: parts of its lines are converted in the first cache and stored past the caches. Loops that do all of it
// store past the caches themselves.
#include "native/cpu/elementwise/streamed_rows.h"
#include "native/cpu/quantize/dequantizer.h"
#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"

namespace dlt {
namespace {

constexpr int64_t task_elements = 1 << 16;  // of the parts of a line that one task has
constexpr int64_t shared_from = 1 << 18;  // elements from which threads are used
constexpr int64_t streamed_from = int64_t(16) << 20;  // bytes of output that are stored past the caches

struct Output {
  const Dequantizer& from;
  char* data;
  CastPipeline from_float;
  int64_t bytes;  // of an element
  bool streams;

  // Elements first to end of a line.
  void write(int64_t line, int64_t first, int64_t end) const;
};

void Output::write(int64_t line, int64_t first, int64_t end) const {
  alignas(64) float y[Dequantizer::part_elements];
  Dequantizer::Scratch scratch;
  const bool is_fused = from.loops.quantize->has_streams && from_float.count == 0 && from.layout.operands > 0 &&
                        from.fused_operands() == from.layout.operands && from.block() % 16 == 0;
  for (int64_t n; first < end; first += n) {
    n = from.part_from(first, end);
    char* const to = data + (line * from.length() + first) * bytes;
    const bool past = streams && is_fused && reinterpret_cast<uintptr_t>(to) % 64 == 0;
    const bool is_direct = past || (from_float.count == 0 && !streams);
    float* const floats = is_direct ? reinterpret_cast<float*>(to) : y;
    from.convert_part(floats, line, first, n, scratch, past);
    if (is_direct) continue;
    char* const results = streams ? scratch.first : to;
    const auto* done = static_cast<const char*>(run_pipeline(from_float, results, floats, n, scratch.second, scratch.second));
    if (streams) stream_row(from.loops, to, done, n * bytes);
  }
}

}  // namespace

Status cpu::dequantize(const EngineOperand& values, const EngineOperand* zero, const EngineOperand* scales, int count,
                       const EngineOperand& out, const LaunchContext&) noexcept {
  const int64_t n = numel(values.tensor->ndim, values.tensor->shape);
  const int type = find_type(out.tensor->dtype);
  Dequantizer d{kernels(), *values.tensor};
  Output to{d, static_cast<char*>(out.tensor->data), {}, type_table[type].bytes, n * type_table[type].bytes >= streamed_from};
  if (!read_blocks(values, zero, scales, count, &d) || !find_pipeline(*d.loops.copy, type_float32, type, 0, &to.from_float))
    return undefined_for(d.type);
  if (n == 0) return success;
  // Parts of a line that are one task end where a block of the first operand ends, and begin with a byte of the values.
  const int64_t length = d.length(), block = d.block();
  const int64_t segment = block >= task_elements ? task_elements : task_elements / block * block;
  const int64_t segments = ceil_divide(length, segment), lines = d.layout.lines();
  const int64_t lines_of_task = larger(task_elements / length, 1);
  parallel_if(n >= shared_from, ceil_divide(lines, lines_of_task) * segments, [&](int64_t i) {
    const int64_t line = i / segments * lines_of_task, first = i % segments * segment;
    for (int64_t k = line; k < smaller(line + lines_of_task, lines); ++k) to.write(k, first, smaller(first + segment, length));
    if (to.streams) end_streaming(d.loops);
  });
  return success;
}

}  // namespace dlt
