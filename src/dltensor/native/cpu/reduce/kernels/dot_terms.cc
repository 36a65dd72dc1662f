// SPDX-License-Identifier: Apache-2.0
// Terms of exact sums of products: the products in float64, and what rounding takes from them. No sums here.
#include "native/cpu/reduce/kernels.h"
#include "native/cpu/runtime/kernels/level.h"
#include "native/ops/arithmetic.h"

namespace dlt::DLT_LEVEL {
namespace {

// The product of two float32 has at most 48 bits.
void find_products(double* products, double*, const void* a, const void* b, int64_t n) {
  const loose_t<float>* const x = static_cast<const loose_t<float>*>(a);
  const loose_t<float>* const y = static_cast<const loose_t<float>*>(b);
  DLT_EACH products[i] = double(x[i]) * double(y[i]);
}

void find_terms(double* products, double* rests, const void* a, const void* b, int64_t n) {
  const loose_t<double>* const x = static_cast<const loose_t<double>*>(a);
  const loose_t<double>* const y = static_cast<const loose_t<double>*>(b);
  DLT_EACH {
    const double product = x[i] * y[i], rest = fused(x[i], y[i], -product);
    products[i] = product;
    // The sign of 0 is the one that changes no sum.
    rests[i] = product - product == 0 && rest != 0 ? rest : -0.0;
  }
}

}  // namespace

void fill_terms(ReduceKernels* kernels) {
  kernels->terms[type_float32] = find_products;
  kernels->terms[type_float64] = find_terms;
}

}  // namespace dlt::DLT_LEVEL
