// SPDX-License-Identifier: Apache-2.0
// Factorizations of matrices of up to 8 x 8 for each instruction set; native/ops/linalg/small_matrices.h has what they compute.
#include "native/cpu/linalg/kernels.h"
#include "native/cpu/linalg/kernels/lanes.h"
#include "native/cpu/runtime/sizes.h"

namespace dlt::DLT_LEVEL {
namespace {
constexpr int64_t capacity = small_batch;
}
}  // namespace dlt::DLT_LEVEL

#include "native/ops/linalg/small_matrices.h"

namespace dlt::DLT_LEVEL {
namespace {

template <int COUNT>
struct doubles_of {
  typedef double type __attribute__((vector_size(COUNT * 8)));
};

// The product of n + 1 numbers, in double, and where no part of it comes near the ends of the range of exponents: as
// plain_product() of matrices.cc has it.
template <class E>
DLT_FN void multiply_pivots(void* products, const E* pivots, int n, int64_t at) {
  using V = typename E::V;
  using Wide = typename doubles_of<pack<typename E::Float>::lanes>::type;
  Wide product = Wide{} + 1;
  mask_of<Wide> inside = product == product;
  for (int c = 0; c <= n; ++c) {
    const Wide a = __builtin_convertvector(pivots[c].re, Wide), factor = a < 0 ? -a : a;
    product = product * a;
    const Wide most = product < 0 ? -product : product;
    inside &= (most > Wide{} + 1e-140) & (most < Wide{} + 1e140) & (factor > Wide{} + 1e-140) & (factor < Wide{} + 1e140);
  }
  auto* const to = static_cast<typename E::Float*>(products);
  write_lanes(to, __builtin_convertvector(product, V), at);
  write_lanes(to + capacity, __builtin_convertvector(inside ? Wide{} + 1 : Wide{}, V), at);
}

// The diagonal of U into the first n elements of `out`, then the sign of the permutation. Of real matrices, also their product
// into `products`, and 1 where it is right.
template <int N, class E>
void pivots_lanes(void* planes, void* out, void* products, int n, int, int64_t at) {
  if constexpr (N > 0) n = N;
  E pivots[small_side + 1];
  find_pivots<N>(planes, pivots, n, at);
  write(out, pivots, at, n + 1);
  if constexpr (E::parts == 1)
    if (products != nullptr) multiply_pivots(products, pivots, n, at);
}

// ---- the table

template <class F>
int64_t groups(int64_t count) {
  return ceil_divide(count, pack<F>::lanes) * pack<F>::lanes;
}

// Sides of which there is a loop of its own. Of processors with v2 alone the size counts more.
#if defined(__x86_64__) && !defined(__AVX2__)
constexpr bool sides_apart = false;
#else
constexpr bool sides_apart = true;
#endif

#define DLT_BY_SIDE(name)                                                     \
  template <class E>                                                          \
  void name(void* a, void* b, void* c, int n, int k, int64_t count) {         \
    constexpr int step = pack<typename E::Float>::lanes;                      \
    for (int64_t at = 0; at < groups<typename E::Float>(count); at += step) { \
      if constexpr (sides_apart && E::parts == 1) switch (n) {                \
          case 2: name##_lanes<2, E>(a, b, c, n, k, at); continue;            \
          case 3: name##_lanes<3, E>(a, b, c, n, k, at); continue;            \
          case 4: name##_lanes<4, E>(a, b, c, n, k, at); continue;            \
        }                                                                     \
      name##_lanes<0, E>(a, b, c, n, k, at);                                  \
    }                                                                         \
  }
DLT_BY_SIDE(solve)
DLT_BY_SIDE(inverse)
DLT_BY_SIDE(pivots)
DLT_BY_SIDE(cholesky)
DLT_BY_SIDE(eigh)
#undef DLT_BY_SIDE

template <class E>
void qr(void* a, void* q, int m, int n, int columns, int64_t count) {
  for (int64_t at = 0; at < groups<typename E::Float>(count); at += pack<typename E::Float>::lanes)
    qr_lanes<E>(a, q, m, n, columns, at);
}
template <class E>
void svd(void* a, void* left, void* values, void* right, int m, int n, int columns, bool wide, int64_t count) {
  for (int64_t at = 0; at < groups<typename E::Float>(count); at += pack<typename E::Float>::lanes)
    svd_lanes<E>(a, left, values, right, m, n, columns, wide, at);
}

template <class E>
constexpr SmallMatrices table = {solve<E>, inverse<E>, pivots<E>, cholesky<E>, eigh<E>, qr<E>, svd<E>};

}  // namespace

void fill_small_matrices(LinalgKernels* kernels) {
  kernels->small_matrices[0] = table<RealLanes<float>>;
  kernels->small_matrices[1] = table<RealLanes<double>>;
  kernels->small_matrices[2] = table<ComplexLanes<float>>;
  kernels->small_matrices[3] = table<ComplexLanes<double>>;
}

}  // namespace dlt::DLT_LEVEL
