// SPDX-License-Identifier: Apache-2.0
// Streams rows of results: strips of them are computed in the first cache and stored past it, while operands are read ahead.
#include "native/cpu/elementwise/streaming.h"

#include <string.h>

#include "native/cpu/copy/kernels.h"
#include "native/cpu/elementwise/tiling.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"

namespace dlt {

void stream_row(const Kernels& kernels, char* to, const char* from, int64_t bytes) {
  const int64_t head = smaller(int64_t(-reinterpret_cast<uintptr_t>(to) & 63), bytes);
  if (head > 0) memcpy(to, from, size_t(head));
  if (bytes > head) kernels.copy->stream(to + head, from + head, size_t(bytes - head));
}

void end_streaming(const Kernels& kernels) { kernels.copy->stream_end(); }

bool has_short_strips(const StridedLoop& w) { return strip_tuning().pairs == Pairs::heavy && w.weight > 1; }

streamed_t loop_without_strip(const StridedLoop& w, const Kernels& kernels, const StreamedRun& run, bool repeats) {
  const StripTuning& tuning = strip_tuning();
  if (w.inputs != 2 || w.loop == nullptr || run.scalars != 0) return nullptr;
  if (repeats ? run.n * w.loop_width < tuning.crowded_row : !tuning.from_registers) return nullptr;
  for (const StreamedLoop& row : kernels.elementwise->streamed)
    if (row.loop == w.loop) return row.streamed;
  return nullptr;
}

void stream_run(const StridedLoop& w, const Kernels& kernels, StreamedRun run, char* strip) {
  const StripTuning& tuning = strip_tuning();
  const int64_t most = (has_short_strips(w) ? tuning.bytes / 2 : tuning.bytes) / w.loop_width;
  const int64_t off = int64_t(-reinterpret_cast<uintptr_t>(run.to) & 63);
  int64_t part = off % w.loop_width == 0 ? off / w.loop_width : 0;  // up to the first whole cache line
  for (int64_t done = 0; done < run.n; part = most) {
    part = smaller(part > 0 ? part : most, run.n - done);
    if (w.real_loop != nullptr) w.real_loop(strip, run.from[0], w.scalar, run.from[2], part, run.scalars);
    else w.loop(strip, run.from[0], run.from[1], run.from[2], part, run.scalars);
    for (int k = 0; k < 3; ++k) {
      if (!(run.prefetched >> k & 1)) continue;
      // Past the end of all runs too: a prefetch does not fault.
      const int64_t bytes = part * run.steps[k], distance = tuning.ahead * bytes, end = run.n * run.steps[k];
      const bool inside = done * run.steps[k] + distance < end;
      const uintptr_t ahead = reinterpret_cast<uintptr_t>(run.from[k]) +
                              uintptr_t(inside ? distance : distance - end + run.turns[k]);
      for (int64_t at = 0; at < bytes; at += cache_line)
        __builtin_prefetch(reinterpret_cast<const void*>(ahead + uintptr_t(at)));
    }
    stream_row(kernels, run.to, strip, part * w.loop_width);
    run.to += part * w.loop_width;
    for (int k = 0; k < 3; ++k)
      if (run.steps[k] != 0) run.from[k] += part * run.steps[k];
    done += part;
  }
}

}  // namespace dlt
