// SPDX-License-Identifier: Apache-2.0
// Arithmetic and rounding of float16 and bfloat16 in one pass: converted, computed and rounded in registers. The same
// bits as through float32 buffers, which every other op on them uses.
#include "native/cpu/elementwise/kernels/loops.h"
#include "native/cpu/runtime/kernels/halves.h"

namespace dlt::DLT_LEVEL {

#if defined(__F16C__)
namespace {

// clang-format off
#define DLT_HALF_OPS(X) \
  X(add, 2) X(ceil, 1) X(divide, 2) X(floor, 1) X(maximum, 2) X(minimum, 2) X(multiply, 2) X(reciprocal, 1) X(round, 1) \
  X(sign, 1) X(sqrt, 1) X(square, 1) X(subtract, 2) X(trunc, 1)
// clang-format on
constexpr int block = 64;  // elements, of which the compiler makes registers

template <class T>
DLT_FN void load_block(float* to, const char* from) {
  for (int j = 0; j < block; j += 2 * lanes) {
    floats first, second;
    load_pair<T>(&first, &second, from + 2 * j);
    keep_floats(to + j, first);
    keep_floats(to + j + lanes, second);
  }
}

template <class Body, int OPERANDS, class T>
void half_loop(void* out, const void* a, const void* b, const void*, int64_t n, unsigned scalars) {
  const char* const from[2] = {static_cast<const char*>(a), static_cast<const char*>(b)};
  alignas(64) float x[2][block], results[block];
  alignas(64) uint16_t rest[block] = {};
  for (int k = 0; k < OPERANDS; ++k) {
    if (!(scalars >> k & 1)) continue;
    for (uint16_t& each : rest) memcpy(&each, from[k], sizeof each);
    load_block<T>(x[k], reinterpret_cast<const char*>(rest));
  }
  for (int64_t i = 0; i < n; i += block) {
    const int64_t count = n - i < block ? n - i : block;
    for (int k = 0; k < OPERANDS; ++k) {
      if (scalars >> k & 1) continue;
      const char* const at = from[k] + 2 * i;
      load_block<T>(x[k], count < block ? static_cast<const char*>(memcpy(rest, at, size_t(count) * 2)) : at);
    }
    for (int j = 0; j < block; ++j) {
      if constexpr (OPERANDS == 1) results[j] = Body::of(x[0][j]);
      else results[j] = Body::of(x[0][j], x[1][j]);
    }
    char* const to = static_cast<char*>(out) + 2 * i;
    char* const at = count < block ? reinterpret_cast<char*>(rest) : to;
    for (int j = 0; j < block; j += 2 * lanes)
      save_pair<T>(at + 2 * j, floats_from(results + j), floats_from(results + j + lanes));
    if (count < block) memcpy(to, rest, size_t(count) * 2);
  }
}

struct body_root {
  DLT_FN static float of(float a) { return ops::root(a); }
};

template <class T>
void fill_type(ElementwiseKernels* kernels, int type) {
#define DLT_FILL(name, operands) kernels->ops[op_##name][type] = half_loop<body_##name, operands, T>;
  DLT_HALF_OPS(DLT_FILL)
#undef DLT_FILL
}

}  // namespace

void fill_halves(ElementwiseKernels* kernels) {
  fill_type<float16>(kernels, type_float16);
  fill_type<bfloat16>(kernels, type_bfloat16);
  kernels->half_roots[0] = half_loop<body_root, 1, float16>;
  kernels->half_roots[1] = half_loop<body_root, 1, bfloat16>;
}
#else
void fill_halves(ElementwiseKernels*) {}
#endif

}  // namespace dlt::DLT_LEVEL
