// SPDX-License-Identifier: Apache-2.0
// Chooses the intermediate types of a cast: never one that would round or clamp differently.
#include "native/cpu/copy/cast_pipeline.h"

#include "native/cpu/copy/kernels.h"

namespace dlt {
namespace {

bool is_small_integer(int type) {
  const DLDataType d = type_table[type].dtype;
  return d.bits < 8 && (d.code == kDLInt || d.code == kDLUInt);
}
bool whole(int type) {
  const Kind kind = type_table[type].kind;
  return kind == Kind::boolean || kind == Kind::signed_integer || kind == Kind::unsigned_integer;
}

// An arithmetic type that holds every value of a storage-only type.
int computed_type_of_storage(int type) {
  return is_small_integer(type) ? type_int8 : type_table[type].kind == Kind::complex ? type_complex64 : type_float32;
}

// The type from which a storage-only type is converted: int8 holds every value that fits into fewer bits, float64 every
// integer of 32 bits, float32 every float16 and bfloat16.
int computed_type_to_storage(int from, int to) {
  if (is_small_integer(to)) return type_int8;
  if (from == type_complex64) return type_float32;
  if (from == type_complex128) return type_float64;
  return whole(from) ? type_float64 : type_float32;
}

}  // namespace

bool find_pipeline(const CopyKernels& kernels, int from, int to, int mode, CastPipeline* pipeline) {
  pipeline->count = 0;
  pipeline->types[0] = from;
  if (from < 0 || to < 0) return false;
  bool was_float = false;
  for (int at = from; at != to;) {
    int next = to;
    if (kernels.casts[mode][at][to] == nullptr)
      next = at >= computed_types ? computed_type_of_storage(at) : computed_type_to_storage(at, to);
    // A float clamps on its way to any integer, also when the last step is one between integers.
    const int step_mode = was_float && whole(at) ? mode | cast_saturate : mode;
    const loop_t loop = kernels.casts[step_mode][at][next];
    if (loop == nullptr || pipeline->count == longest_pipeline) return false;
    was_float |= !whole(at);
    pipeline->loops[pipeline->count++] = loop;
    pipeline->types[pipeline->count] = next;
    at = next;
  }
  return true;
}

bool find_pipeline_through(const CopyKernels& kernels, int from, int through, int to, int mode, CastPipeline* pipeline) {
  CastPipeline more;
  if (!find_pipeline(kernels, from, through, mode, pipeline) || !find_pipeline(kernels, through, to, mode, &more) ||
      pipeline->count + more.count > longest_pipeline)
    return false;
  for (int k = 0; k < more.count; ++k) {
    pipeline->loops[pipeline->count++] = more.loops[k];
    pipeline->types[pipeline->count] = more.types[k + 1];
  }
  return true;
}

const void* run_pipeline(const CastPipeline& pipeline, void* to, const void* from, int64_t n, void* spare,
                         void* other) noexcept {
  for (int k = 0; k < pipeline.count; ++k) {
    void* next = k + 1 == pipeline.count ? to : k & 1 ? other : spare;
    pipeline.loops[k](next, from, nullptr, nullptr, n, 0);
    from = next;
  }
  return from;
}

}  // namespace dlt
