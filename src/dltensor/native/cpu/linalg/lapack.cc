// SPDX-License-Identifier: Apache-2.0
// Finding a LAPACK in a library that Python names, and calling it. Our matrices are by rows, LAPACK's by columns: it sees the
// transposes, whose eigenvalues and singular values are the same.
#include "native/cpu/linalg/lapack.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <atomic>

#include "native/cpu/runtime/engine.h"
#include "native/cpu/copy/kernels.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/linalg/batch.h"
#include "native/cpu/linalg/blas.h"
#include "native/memory/block.h"
#include "native/os/library.h"

namespace dlt {
namespace {

using lapack::most_rows;

// Symbols by kind: float32, float64, complex64, complex128. Fortran passes everything by address, and the lengths of texts
// after all other arguments.
struct Library {
  void* syevd[4];
  void* gesdd[4];
  void* geev[4];
  void *bdsdc[2], *stedc[2];
  void (*set_threads)(int);
};
Library found;
std::atomic<const Library*> in_use{nullptr};

Status missing() { return fail(Fault::device, "no LAPACK is loaded; install scipy-openblas32"); }

// Memory for a call: pieces are aligned to 64 bytes.
struct Pieces {
  BlockRef memory;
  char* next = nullptr;
  size_t size = 0;
  size_t add(int64_t count, int64_t width) {
    const size_t at = size;
    size += (size_t(std::max<int64_t>(count, 1) * width) + 63) / 64 * 64;
    return at;
  }
  bool reserve() {
    memory.block = allocate(size);
    return memory.block != nullptr;
  }
  template <class T = void>
  T* at(size_t offset) const {
    return reinterpret_cast<T*>(static_cast<char*>(memory.block->data) + offset);
  }
};

constexpr int width_of[] = {4, 8, 8, 16}, real_width_of[] = {4, 8, 4, 8};
bool is_kind_complex(int kind) { return kind >= 2; }

// The number that a query left at the start of a workspace, at least 1.
int query_result(int kind, const void* value) {
  const double size = real_width_of[kind] == 4 ? double(*static_cast<const float*>(value)) * (1 + 0x1p-20) + 1
                                               : *static_cast<const double*>(value);
  return size < 1 ? 1 : size > INT_MAX ? INT_MAX : int(size);
}

constexpr char by_numpy[] = "DLTENSOR_LAPACK=numpy selects NumPy's, which may count in 64 bits";
Status too_large(int64_t most, const char* unit, int64_t count, const char* remedy) {
  return fail(Fault::value, "LAPACK, which counts in 32 bits, takes at most %lld %s, got %lld; %s",
              static_cast<long long>(most), unit, static_cast<long long>(count), remedy);
}

void transpose(int64_t width, char* to, const char* from, int64_t rows, int64_t columns) {
  kernels().copy->moves[width_index(width)](to, rows * width, width, from, width, columns * width, columns, rows);
}

template <class F>
void conjugate(void* data, int64_t count) {
  F* const a = static_cast<F*>(data);
  for (int64_t i = 0; i < count; ++i) a[2 * i + 1] = -a[2 * i + 1];
}
void conjugate_all(int kind, void* data, int64_t count) {
  if (kind == 2) conjugate<float>(data, count);
  if (kind == 3) conjugate<double>(data, count);
}

}  // namespace

bool set_lapack(const char* path) noexcept {
  in_use.store(nullptr);
  if (path == nullptr) return true;
  void* library = os::load_library(path);
  if (library == nullptr) return false;
  const char* const letters[] = {"s", "d", "c", "z"};
  for (int kind = 0; kind < 4; ++kind) {
    found.syevd[kind] = find_in_blas(library, letters[kind], is_kind_complex(kind) ? "heevd_" : "syevd_");
    found.gesdd[kind] = find_in_blas(library, letters[kind], "gesdd_");
    found.geev[kind] = find_in_blas(library, letters[kind], "geev_");
    if (!found.syevd[kind] || !found.gesdd[kind] || !found.geev[kind]) return false;
    if (is_kind_complex(kind)) continue;
    found.bdsdc[kind] = find_in_blas(library, letters[kind], "bdsdc_");
    found.stedc[kind] = find_in_blas(library, letters[kind], "stedc_");
    if (!found.bdsdc[kind] || !found.stedc[kind]) return false;
  }
  found.set_threads = reinterpret_cast<void (*)(int)>(find_in_blas(library, "", "openblas_set_num_threads"));
  in_use.store(&found, std::memory_order_release);
  lapack::set_threads(1);  // more are for single large matrices
  return true;
}

namespace lapack {

void set_threads(int count) noexcept {
  const Library* library = in_use.load(std::memory_order_acquire);
  if (library != nullptr && library->set_threads != nullptr) library->set_threads(count);
}

Status eigh(int kind, int64_t n, const void* from, void* values, void* vectors, bool* ok) noexcept {
  const Library* library = in_use.load(std::memory_order_acquire);
  if (library == nullptr) return missing();
  if (n > most_rows) return too_large(most_rows, "rows", n, by_numpy);
  const bool complex = is_kind_complex(kind);
  const int size = int(n), query = -1;
  const char job = vectors != nullptr ? 'V' : 'N', triangle = 'U';  // of the transpose: our lower one
  int info = 0, integers = 0;
  double first[2] = {}, reals[1] = {};
  Pieces pieces;
  const size_t at = pieces.add(n * n, width_of[kind]);
  const auto call = [&](void* a, void* work, int count, void* real_work, int real_count, int* int_work, int int_count) {
    if (complex)
      reinterpret_cast<void (*)(const char*, const char*, const int*, void*, const int*, void*, void*, const int*, void*,
                                const int*, int*, const int*, int*, size_t, size_t)>(library->syevd[kind])(
          &job, &triangle, &size, a, &size, values, work, &count, real_work, &real_count, int_work, &int_count, &info, 1, 1);
    else
      reinterpret_cast<void (*)(const char*, const char*, const int*, void*, const int*, void*, void*, const int*, int*,
                                const int*, int*, size_t, size_t)>(library->syevd[kind])(
          &job, &triangle, &size, a, &size, values, work, &count, int_work, &int_count, &info, 1, 1);
  };
  call(nullptr, first, query, reals, query, &integers, query);
  const int count = query_result(kind, first), real_count = complex ? query_result(kind, reals) : 0,
            int_count = std::max(integers, 1);
  const size_t work = pieces.add(count, width_of[kind]), real_work = pieces.add(real_count, real_width_of[kind]),
               int_work = pieces.add(int_count, 4);
  if (!pieces.reserve()) return no_temporary();
  memcpy(pieces.at(at), from, size_t(n * n * width_of[kind]));
  call(pieces.at(at), pieces.at(work), count, pieces.at(real_work), real_count, pieces.at<int>(int_work), int_count);
  *ok = info == 0;
  if (vectors != nullptr) {
    // Columns of eigenvectors of the transpose, which is the conjugate.
    transpose(width_of[kind], static_cast<char*>(vectors), pieces.at<char>(at), n, n);
    conjugate_all(kind, vectors, n * n);
  }
  return success;
}

Status svd(int kind, int64_t m, int64_t n, bool full, const void* from, void* u, void* values, void* vh, bool* ok) noexcept {
  const Library* library = in_use.load(std::memory_order_acquire);
  if (library == nullptr) return missing();
  const bool complex = is_kind_complex(kind);
  const int64_t least = std::min(m, n), most = std::max(m, n);
  // The longer side is squared only where all of its vectors are asked for.
  if (least > most_rows) return too_large(most_rows, "singular values", least, by_numpy);
  if (full && most > most_rows)
    return too_large(most_rows, "rows and columns with full_matrices=True", most, "pass full_matrices=False");
  if (most > INT_MAX / least) return too_large(INT_MAX, "elements", m * n, by_numpy);
  // The transpose: its U is the transpose of our vh, which by columns is our vh by rows.
  const int rows = int(n), columns = int(m), query = -1, u_rows = int(n), v_rows = int(full ? m : least), one = 1;
  const char job = u == nullptr ? 'N' : full ? 'A' : 'S';
  int info = 0;
  int integer = 0;
  double first[2] = {}, real[2] = {};  // which a query may write to
  Pieces pieces;
  const size_t at = pieces.add(m * n, width_of[kind]), integers = pieces.add(8 * least, 4);
  const int64_t real_count = complex ? std::max(5 * least * least + 5 * least, 2 * most * least + 2 * least * least + least)
                                     : 0;
  const size_t reals = pieces.add(real_count + 7 * least, real_width_of[kind]);
  const auto call = [&](void* a, void* work, int count, void* real_work, int* int_work) {
    const int* const u_step = u == nullptr ? &one : &u_rows;
    const int* const v_step = u == nullptr ? &one : &v_rows;
    if (complex)
      reinterpret_cast<void (*)(const char*, const int*, const int*, void*, const int*, void*, void*, const int*, void*,
                                const int*, void*, const int*, void*, int*, int*, size_t)>(library->gesdd[kind])(
          &job, &rows, &columns, a, &rows, values, vh, u_step, u, v_step, work, &count, real_work, int_work, &info, 1);
    else
      reinterpret_cast<void (*)(const char*, const int*, const int*, void*, const int*, void*, void*, const int*, void*,
                                const int*, void*, const int*, int*, int*, size_t)>(library->gesdd[kind])(
          &job, &rows, &columns, a, &rows, values, vh, u_step, u, v_step, work, &count, int_work, &info, 1);
  };
  call(nullptr, first, query, real, &integer);
  const int count = query_result(kind, first);
  const size_t work = pieces.add(count, width_of[kind]);
  if (!pieces.reserve()) return no_temporary();
  memcpy(pieces.at(at), from, size_t(m * n * width_of[kind]));
  call(pieces.at(at), pieces.at(work), count, pieces.at(reals), pieces.at<int>(integers));
  *ok = info == 0;
  return success;
}

Status tridiagonal_eigh(int kind, int64_t n, void* values, void* beside, void* vectors, bool* ok) noexcept {
  const Library* library = in_use.load(std::memory_order_acquire);
  if (library == nullptr) return missing();
  const char job = vectors != nullptr ? 'I' : 'N';
  const int size = int(n), count = int(1 + 4 * n + n * n), int_count = int(3 + 5 * n);
  int info = 0;
  Pieces pieces;
  const size_t work = pieces.add(count, real_width_of[kind]), integers = pieces.add(int_count, 4);
  if (!pieces.reserve()) return no_temporary();
  reinterpret_cast<void (*)(const char*, const int*, void*, void*, void*, const int*, void*, const int*, int*, const int*, int*,
                            size_t)>(library->stedc[kind])(&job, &size, values, beside, vectors, &size, pieces.at(work), &count,
                                                           pieces.at<int>(integers), &int_count, &info, 1);
  *ok = info == 0;
  return success;
}

Status bidiagonal_svd(int kind, int64_t n, void* values, void* above, void* u, int64_t u_step, void* vt, int64_t vt_step,
                      bool* ok) noexcept {
  const Library* library = in_use.load(std::memory_order_acquire);
  if (library == nullptr) return missing();
  const char upper = 'U', job = u != nullptr ? 'I' : 'N';
  const int size = int(n), one = 1, u_rows = u != nullptr ? int(u_step) : one, vt_rows = u != nullptr ? int(vt_step) : one;
  int info = 0;
  Pieces pieces;
  const size_t work = pieces.add(u != nullptr ? 3 * n * n + 4 * n : 4 * n, real_width_of[kind]),
               integers = pieces.add(8 * n, 4);
  if (!pieces.reserve()) return no_temporary();
  reinterpret_cast<void (*)(const char*, const char*, const int*, void*, void*, void*, const int*, void*, const int*, void*,
                            int*, void*, int*, int*, size_t, size_t)>(library->bdsdc[kind])(
      &upper, &job, &size, values, above, u, &u_rows, vt, &vt_rows, nullptr, nullptr, pieces.at(work), pieces.at<int>(integers),
      &info, 1, 1);
  *ok = info == 0;
  return success;
}

namespace {

// Eigenvectors of a real matrix as geev stores them, by rows: a pair of conjugate ones as real and imaginary parts.
template <class F>
void unpack(int64_t n, const F* re, const F* im, const F* from, F* values, F* vectors) {
  for (int64_t j = 0; j < n; ++j) {
    values[2 * j] = re[j];
    values[2 * j + 1] = im[j];
    if (vectors == nullptr) continue;
    const bool paired = im[j] != 0, second = im[j] < 0;
    const F *const real = from + (second ? j - 1 : j) * n, *const imaginary = paired ? real + n : nullptr;
    for (int64_t i = 0; i < n; ++i) {
      vectors[2 * (i * n + j)] = real[i];
      vectors[2 * (i * n + j) + 1] = !paired ? F(0) : second ? -imaginary[i] : imaginary[i];
    }
  }
}

}  // namespace

Status eig(int kind, int64_t n, const void* from, void* values, void* vectors, bool* ok) noexcept {
  const Library* library = in_use.load(std::memory_order_acquire);
  if (library == nullptr) return missing();
  if (n > most_rows) return too_large(most_rows, "rows", n, by_numpy);
  const bool complex = is_kind_complex(kind);
  const int size = int(n), query = -1, one = 1;
  const char none = 'N', job = vectors != nullptr ? 'V' : 'N';
  int info = 0;
  double first[2] = {}, reals[2] = {};  // which a query may write to
  Pieces pieces;
  const size_t at = pieces.add(n * n, width_of[kind]), right = pieces.add(vectors != nullptr ? n * n : 1, width_of[kind]);
  const size_t re = pieces.add(2 * n, real_width_of[kind]), im = pieces.add(n, real_width_of[kind]);
  const auto call = [&](void* a, void* right_vectors, void* work, int count, void* real, void* imaginary) {
    if (complex)
      reinterpret_cast<void (*)(const char*, const char*, const int*, void*, const int*, void*, void*, const int*, void*,
                                const int*, void*, const int*, void*, int*, size_t, size_t)>(library->geev[kind])(
          &none, &job, &size, a, &size, values, nullptr, &one, right_vectors, &size, work, &count, real, &info, 1, 1);
    else
      reinterpret_cast<void (*)(const char*, const char*, const int*, void*, const int*, void*, void*, void*, const int*, void*,
                                const int*, void*, const int*, int*, size_t, size_t)>(library->geev[kind])(
          &none, &job, &size, a, &size, real, imaginary, nullptr, &one, right_vectors, &size, work, &count, &info, 1, 1);
  };
  call(nullptr, nullptr, first, query, reals, reals);
  const int count = query_result(kind, first);
  const size_t work = pieces.add(count, width_of[kind]);
  if (!pieces.reserve()) return no_temporary();
  transpose(width_of[kind], pieces.at<char>(at), static_cast<const char*>(from), n, n);
  call(pieces.at(at), pieces.at(right), pieces.at(work), count, pieces.at(re), pieces.at(im));
  *ok = info == 0;
  if (!*ok) return success;
  if (complex) {
    if (vectors != nullptr) transpose(width_of[kind], static_cast<char*>(vectors), pieces.at<char>(right), n, n);
  } else if (kind == 0) {
    unpack(n, pieces.at<float>(re), pieces.at<float>(im), pieces.at<float>(right), static_cast<float*>(values),
           static_cast<float*>(vectors));
  } else {
    unpack(n, pieces.at<double>(re), pieces.at<double>(im), pieces.at<double>(right), static_cast<double*>(values),
           static_cast<double*>(vectors));
  }
  return success;
}

}  // namespace lapack
}  // namespace dlt
