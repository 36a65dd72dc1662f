// SPDX-License-Identifier: Apache-2.0
// Finding a BLAS in a library that Python names, and calling it: each piece of the product is one single-threaded call,
// and our thread pool distributes the pieces. Its own threads wait for each other by spinning, which on a busy machine
// takes a hundred times the work itself, and they do not survive a fork.
#include "native/cpu/linalg/blas.h"

#include <limits.h>
#include <stdio.h>

#include <atomic>
#include <initializer_list>

#include "native/cpu/runtime/features.h"
#include "native/cpu/linalg/gemm.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/cpu/runtime/sizes.h"
#include "native/os/library.h"

namespace dlt {
namespace {

struct Blas {
  enum : int { row_major = 101, as_is = 111, transposed = 112 };
  void (*sgemm)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
  void (*dgemm)(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
  void (*cgemm)(int, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
  void (*zgemm)(int, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
};

Blas found;
std::atomic<const Blas*> in_use{nullptr};

template <class F>
bool find_into(F* pointer, void* library, const char* name) {
  *pointer = reinterpret_cast<F>(find_in_blas(library, "", name));
  return *pointer != nullptr;
}

// The order in which a BLAS may read it: 111 by rows, 112 by columns, 0 not at all.
int order_of(const Matrix& m, int64_t width, int* step) {
  const auto fits = [&](int64_t inner, int64_t outer, int64_t inner_extent, int64_t outer_extent) {
    if (inner_extent > 1 && inner != width) return false;
    const int64_t lead = outer_extent > 1 ? outer / width : inner_extent;
    if (lead < (inner_extent > 1 ? inner_extent : 1) || lead > INT_MAX) return false;
    if (outer_extent > 1 && outer % width != 0) return false;
    *step = int(lead > 0 ? lead : 1);
    return true;
  };
  if (fits(m.column, m.row, m.columns, m.rows)) return Blas::as_is;
  if (fits(m.row, m.column, m.rows, m.columns)) return Blas::transposed;
  return 0;
}

bool multiply_once(const Blas& blas, const Product& p) {
  if (p.c.rows > INT_MAX || p.c.columns > INT_MAX || p.a.columns > INT_MAX) return false;
  int step_a, step_b, step_c;
  const int a = order_of(p.a, p.width, &step_a), b = order_of(p.b, p.width, &step_b);
  if (a == 0 || b == 0 || order_of(p.c, p.width, &step_c) != Blas::as_is) return false;
  const int m = int(p.c.rows), n = int(p.c.columns), k = int(p.a.columns);
  const void *from_a = p.a.data, *from_b = p.b.data;
  const double one[2] = {1, 0}, zero[2] = {0, 0};
  const float one_f[2] = {1, 0}, zero_f[2] = {0, 0};
  switch (p.type) {
    case type_float32:
      blas.sgemm(Blas::row_major, a, b, m, n, k, 1, static_cast<const float*>(from_a), step_a,
                 static_cast<const float*>(from_b), step_b, 0, reinterpret_cast<float*>(p.c.data), step_c);
      return true;
    case type_float64:
      blas.dgemm(Blas::row_major, a, b, m, n, k, 1, static_cast<const double*>(from_a), step_a,
                 static_cast<const double*>(from_b), step_b, 0, reinterpret_cast<double*>(p.c.data), step_c);
      return true;
    case type_complex64:
      blas.cgemm(Blas::row_major, a, b, m, n, k, one_f, from_a, step_a, from_b, step_b, zero_f, p.c.data, step_c);
      return true;
    default:
      blas.zgemm(Blas::row_major, a, b, m, n, k, one, from_a, step_a, from_b, step_b, zero, p.c.data, step_c);
      return true;
  }
}

// A product in pieces of c, each a call of the BLAS on one thread.
struct Shares {
  const Blas* blas;
  const Product* p;
  int64_t step;
  bool by_rows;
  std::atomic<bool> refused{false};
};

void run_share(Shares& shares, int64_t index) {
  Product q = *shares.p;
  const int64_t at = index * shares.step;
  if (shares.by_rows) {
    const int64_t rows = smaller(shares.step, q.c.rows - at);
    q.c = q.c.part(at, 0, rows, q.c.columns);
    q.a = q.a.part(at, 0, rows, q.a.columns);
  } else {
    const int64_t columns = smaller(shares.step, q.c.columns - at);
    q.c = q.c.part(0, at, q.c.rows, columns);
    q.b = q.b.part(0, at, q.b.rows, columns);
  }
  if (!multiply_once(*shares.blas, q)) shares.refused.store(true);
}

}  // namespace

void* find_in_blas(void* library, const char* letter, const char* name) noexcept {
  for (const char* prefix : {"scipy_", ""}) {
    char symbol[64];
    snprintf(symbol, sizeof symbol, "%s%s%s", prefix, letter, name);
    if (void* address = os::find_symbol(library, symbol)) return address;
  }
  return nullptr;
}

bool has_blas() noexcept { return in_use.load(std::memory_order_acquire) != nullptr; }

bool set_blas(const char* path) noexcept {
  in_use.store(nullptr);
  if (path == nullptr) return true;
  void* library = os::load_library(path);
  if (library == nullptr) return false;
  if (!find_into(&found.sgemm, library, "cblas_sgemm") || !find_into(&found.dgemm, library, "cblas_dgemm") ||
      !find_into(&found.cgemm, library, "cblas_cgemm") || !find_into(&found.zgemm, library, "cblas_zgemm"))
    return false;
  void (*set_threads)(int);
  if (find_into(&set_threads, library, "openblas_set_num_threads")) set_threads(1);
  in_use.store(&found, std::memory_order_release);
  return true;
}

bool prefers_blas(const Product& p) noexcept {
  const bool is_float = type_table[p.type].kind == Kind::real || type_table[p.type].kind == Kind::complex;
  return is_float && p.work() >= least_blas_work && has_blas();
}

bool multiply_blas(const Product& p) noexcept {
  const Blas* blas = in_use.load(std::memory_order_acquire);
  if (blas == nullptr || p.a_type != p.type || p.b_type != p.type) return false;
  const int64_t threads = num_threads();
  Shares shares{blas, &p, 0, p.c.rows >= p.c.columns};
  const int64_t extent = shares.by_rows ? p.c.rows : p.c.columns;
  // More pieces than threads balance the load; each piece packs the other operand again.
  const int64_t pieces = p.work() >= int64_t(1) << 30 ? threads * 2 : threads;
  if (threads < 2 || p.work() < int64_t(1) << 22 || extent < pieces * 32) return multiply_once(*blas, p);
  shares.step = ceil_divide(ceil_divide(extent, pieces), 16) * 16;
  parallel(ceil_divide(extent, shares.step), [&](int64_t i) { run_share(shares, i); });
  return !shares.refused.load();
}

}  // namespace dlt
