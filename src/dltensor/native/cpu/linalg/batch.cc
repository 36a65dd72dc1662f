// SPDX-License-Identifier: Apache-2.0
// Batches of matrices: small ones by the lanes of a register, small_batch at a time; larger ones one after the other, in blocks or by a
// LAPACK. Batches are shared among threads.
#include "native/cpu/linalg/batch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <atomic>

#include "native/cpu/runtime/engine.h"
#include "native/cpu/runtime/engine_table.h"
#include "native/cpu/linalg/factor.h"
#include "native/cpu/copy/kernels.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/linalg/lapack.h"
#include "native/cpu/linalg/product.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/cpu/linalg/bidiagonal.h"
#include "native/ops/linalg/determinants.h"
#include "native/memory/block.h"

namespace dlt {
namespace {

constexpr int64_t most_elements = small_side * small_side;
constexpr int64_t single_threaded = 128;  // rows up to which a LAPACK gains nothing by threads of its own

int kind_of_type(int type) {
  return type == type_float32 ? 0 : type == type_float64 ? 1 : type == type_complex64 ? 2 : type == type_complex128 ? 3 : -1;
}
constexpr int width_of[] = {4, 8, 8, 16}, part_width_of[] = {4, 8, 4, 8}, parts_of[] = {1, 1, 2, 2};

// The fault of the task that fails first. A text is that of the thread that set it, so that it is copied for the caller.
struct Failure {
  std::atomic<int> fault{0};
  char text[256];
  Failure() noexcept {}  // leaves `text` uninitialized
  void record(Status status) {
    int none = 0;
    if (!status.ok() && fault.compare_exchange_strong(none, int(status.fault))) snprintf(text, sizeof text, "%s", message());
  }
};

// One call, as its tasks see it. `work` computes `count` matrices from number `first`.
struct Task {
  Batch batch;
  int kind;
  int64_t m, n, k;  // the sides; k is a flag or a third side
  const void* a;
  void *out, *second, *third;
  int64_t step;  // matrices of a task
  void (*work)(const Task& task, int64_t first, int64_t count);
  std::atomic<bool> shared{false};
  mutable Failure failure{};

  const char* matrix(int64_t i) const { return static_cast<const char*>(a) + i * m * n * width_of[kind]; }
  const SmallMatrices& small() const { return kernels().linalg->small_matrices[kind]; }
};
void* at(void* data, int64_t bytes) { return data == nullptr ? nullptr : static_cast<char*>(data) + bytes; }

// `operations`: about how many one matrix takes.
Status run_batch(Task& task, double operations) {
  memset(task.batch.info, 0, size_t(task.batch.count));
  const int64_t tasks = ceil_divide(task.batch.count, task.step);
  task.shared = tasks > 1 && operations * double(task.batch.count) > 1e5;
  task.shared = task.shared && (task.step > 1 || operations < 2e7);
  parallel_if(task.shared, tasks, [&](int64_t i) {
    const int64_t first = i * task.step;
    if (task.failure.fault.load() == 0) task.work(task, first, smaller(task.step, task.batch.count - first));
  });
  const Fault fault = Fault(task.failure.fault.load());
  return fault == Fault::none ? success : fail(fault, "%s", task.failure.text);
}

// ---- small matrices

// Planes: element e of all matrices of a task, one after the other; of complex ones the parts apart.
struct Planes {
  alignas(64) double numbers[(most_elements + 2) * 2 * small_batch];
};

void move(int width, char* to, int64_t to_row, int64_t to_column, const char* from, int64_t from_row, int64_t from_column,
          int64_t rows, int64_t columns) {
  kernels().copy->moves[width_index(width)](to, to_row, to_column, from, from_row, from_column, rows, columns);
}

// `count` matrices of so many elements, from contiguous memory and back.
void load(const Task& task, Planes& planes, const void* from, int64_t elements, int64_t count) {
  const int width = part_width_of[task.kind];
  const int64_t numbers = elements * parts_of[task.kind];
  char* const to = reinterpret_cast<char*>(planes.numbers);
  const int lanes = 64 / width;
  if (count % lanes != 0)  // lanes of no matrix: ones and zeros, which take no time to be slow numbers
    for (int64_t e = 0; e < numbers; ++e)
      memset(to + (e * small_batch + count / lanes * lanes) * width, 0, size_t(lanes * width));
  // Rows of the result are contiguous: transposed in registers.
  move(width, to, small_batch * width, width, static_cast<const char*>(from), width, numbers * width, numbers, count);
}
void save(const Task& task, const Planes& planes, void* to, int64_t elements, int64_t count, int parts) {
  const int width = part_width_of[task.kind];
  const int64_t numbers = elements * parts;
  move(width, static_cast<char*>(to), numbers * width, width, reinterpret_cast<const char*>(planes.numbers), width,
       small_batch * width, count, numbers);
}
void save(const Task& task, const Planes& planes, void* to, int64_t elements, int64_t count) {
  save(task, planes, to, elements, count, parts_of[task.kind]);
}

void save_info(const Task& task, const Planes& flags, int64_t first, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    task.batch.info[first + i] = part_width_of[task.kind] == 4 ? reinterpret_cast<const float*>(flags.numbers)[i] != 0
                                                               : flags.numbers[i] != 0;
}

void solve_small(const Task& task, int64_t first, int64_t count) {
  Planes a, b, flags;
  char* const out = static_cast<char*>(task.out) + first * task.n * task.k * width_of[task.kind];
  load(task, a, task.matrix(first), task.n * task.n, count);
  load(task, b, out, task.n * task.k, count);
  task.small().solve(a.numbers, b.numbers, flags.numbers, int(task.n), int(task.k), count);
  save(task, b, out, task.n * task.k, count);
  save_info(task, flags, first, count);
}

void inverse_small(const Task& task, int64_t first, int64_t count) {
  Planes a, b, flags;
  load(task, a, task.matrix(first), task.n * task.n, count);
  task.small().inverse(a.numbers, b.numbers, flags.numbers, int(task.n), 0, count);
  save(task, b, at(task.out, first * task.n * task.n * width_of[task.kind]), task.n * task.n, count);
  save_info(task, flags, first, count);
}

void cholesky_small(const Task& task, int64_t first, int64_t count) {
  Planes a, flags;
  load(task, a, task.matrix(first), task.n * task.n, count);
  task.small().cholesky(a.numbers, nullptr, flags.numbers, int(task.n), int(task.k), count);
  save(task, a, at(task.out, first * task.n * task.n * width_of[task.kind]), task.n * task.n, count);
  save_info(task, flags, first, count);
}

void eigh_small(const Task& task, int64_t first, int64_t count) {
  Planes a, values, vectors;
  load(task, a, task.matrix(first), task.n * task.n, count);
  task.small().eigh(a.numbers, values.numbers, task.second == nullptr ? nullptr : vectors.numbers, int(task.n), 0, count);
  save(task, values, at(task.out, first * task.n * part_width_of[task.kind]), task.n, count, 1);
  if (task.second != nullptr)
    save(task, vectors, at(task.second, first * task.n * task.n * width_of[task.kind]), task.n * task.n, count);
}

void qr_small(const Task& task, int64_t first, int64_t count) {
  Planes a, q;
  const int64_t columns = task.k, width = width_of[task.kind];
  load(task, a, task.matrix(first), task.m * task.n, count);
  task.small().qr(a.numbers, q.numbers, int(task.m), int(task.n), int(columns), count);
  save(task, q, at(task.out, first * task.m * columns * width), task.m * columns, count);
  save(task, a, at(task.second, first * columns * task.n * width), columns * task.n, count);
}

// Decomposes the conjugate transpose of a wide matrix.
void svd_small(const Task& task, int64_t first, int64_t count) {
  Planes a, left, values, right, turned;
  const bool wide = task.m < task.n, complex = parts_of[task.kind] == 2;
  const int64_t m = task.m, n = task.n, least = smaller(m, n), most = std::max(m, n),
                plane = small_batch * part_width_of[task.kind];
  load(task, a, task.matrix(first), m * n, count);
  Planes* from = &a;
  if (wide) {
    const int64_t parts = parts_of[task.kind];
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        memcpy(reinterpret_cast<char*>(turned.numbers) + (j * m + i) * parts * plane,
               reinterpret_cast<const char*>(a.numbers) + (i * n + j) * parts * plane, size_t(parts * plane));
    for (int64_t e = 0; e < m * n && complex; ++e)
      for (int64_t i = 0; i < small_batch; ++i) {
        if (part_width_of[task.kind] == 4) {
          float& x = reinterpret_cast<float*>(turned.numbers)[(2 * e + 1) * small_batch + i];
          x = -x;
        } else {
          double& x = turned.numbers[(2 * e + 1) * small_batch + i];
          x = -x;
        }
      }
    from = &turned;
  }
  const int64_t columns = task.k ? most : least;  // of U of what is decomposed
  const bool vectors = task.out != nullptr;
  task.small().svd(from->numbers, vectors ? left.numbers : nullptr, values.numbers, right.numbers, int(most), int(least),
                   int(columns), wide, count);
  save(task, values, at(task.second, first * least * part_width_of[task.kind]), least, count, 1);
  if (!vectors) return;
  const int64_t u = task.k ? m * m : m * least, vh = task.k ? n * n : least * n, width = width_of[task.kind];
  save(task, left, at(task.out, first * u * width), u, count);
  save(task, right, at(task.third, first * vh * width), vh, count);
}

// ---- larger matrices

void solve_large(const Task& task, int64_t first, int64_t) {
  bool singular = false;
  task.failure.record(factorization(task.kind).solve(task.n, task.k, task.matrix(first),
                                                     at(task.out, first * task.n * task.k * width_of[task.kind]), &singular));
  task.batch.info[first] = singular;
}
void inverse_large(const Task& task, int64_t first, int64_t) {
  bool singular = false;
  task.failure.record(factorization(task.kind).inverse(task.n, task.matrix(first),
                                                       at(task.out, first * task.n * task.n * width_of[task.kind]), &singular));
  task.batch.info[first] = singular;
}
void cholesky_large(const Task& task, int64_t first, int64_t) {
  bool definite = true;
  task.failure.record(factorization(task.kind).cholesky(
      task.n, task.matrix(first), at(task.out, first * task.n * task.n * width_of[task.kind]), task.k != 0, &definite));
  task.batch.info[first] = !definite;
}
void qr_large(const Task& task, int64_t first, int64_t) {
  const int64_t width = width_of[task.kind];
  task.failure.record(factorization(task.kind).qr(task.m, task.n, task.k, task.matrix(first),
                                                  at(task.out, first * task.m * task.k * width),
                                                  at(task.second, first * task.k * task.n * width)));
}

struct Threads {
  const bool many;
  explicit Threads(const Task& task, bool wanted = true)
      : many(wanted && !task.shared.load() && std::min(task.m, task.n) > single_threaded) {
    if (many) lapack::set_threads(num_threads());
  }
  ~Threads() {
    if (many) lapack::set_threads(1);
  }
};
void eigh_large(const Task& task, int64_t first, int64_t) {
  const bool here = is_tridiagonalized_here(task.kind, task.n);
  const Threads threads(task, !here);
  bool ok = true;
  task.failure.record((here ? symmetric_eigenvalues : lapack::eigh)(
      task.kind, task.n, task.matrix(first), at(task.out, first * task.n * part_width_of[task.kind]),
      at(task.second, first * task.n * task.n * width_of[task.kind]), &ok));
  task.batch.info[first] = !ok;
}
void svd_large(const Task& task, int64_t first, int64_t) {
  const bool here = are_reduced_here(task.kind, task.m, task.n);
  const Threads threads(task, !here);  // LAPACK's threads wait by spinning: they would slow down ours
  bool ok = true;
  const int64_t least = smaller(task.m, task.n), width = width_of[task.kind];
  task.failure.record((here ? singular_values : lapack::svd)(task.kind, task.m, task.n, task.k != 0, task.matrix(first),
                                                             at(task.out, first * task.m * (task.k ? task.m : least) * width),
                                                             at(task.second, first * least * part_width_of[task.kind]),
                                                             at(task.third, first * task.n * (task.k ? task.n : least) * width),
                                                             &ok));
  task.batch.info[first] = !ok;
}
void eig_large(const Task& task, int64_t first, int64_t) {
  const Threads threads(task);
  bool ok = true;
  const int64_t width = 2 * part_width_of[task.kind];
  task.failure.record(lapack::eig(task.kind, task.n, task.matrix(first), at(task.out, first * task.n * width),
                                  at(task.second, first * task.n * task.n * width), &ok));
  task.batch.info[first] = !ok;
}

// ---- determinants

template <class F, int PARTS>
void finish(const void* pivots, int64_t n, void* sign, void* logarithm) {
  finish_determinant<F, PARTS>(static_cast<const F*>(pivots), n, static_cast<F*>(sign), static_cast<F*>(logarithm));
}
constexpr void (*finish_kind[])(const void*, int64_t, void*, void*) = {finish<float, 1>, finish<double, 1>, finish<float, 2>,
                                                                       finish<double, 2>};

void finish_one(const Task& task, int64_t i, const void* pivots) {
  finish_kind[task.kind](pivots, task.n, at(task.out, i * width_of[task.kind]), at(task.second, i * part_width_of[task.kind]));
}

// The products of a kernel for real matrices, where all of them are right.
template <class F>
bool take_products(const Task& task, const void* products, int64_t first, int64_t count) {
  const F* const from = static_cast<const F*>(products);
  bool right = true;
  for (int64_t i = 0; i < count; ++i) right &= from[small_batch + i] != 0;
  if (right) memcpy(static_cast<F*>(task.out) + first, from, size_t(count) * sizeof(F));
  return right;
}

void determinant_small(const Task& task, int64_t first, int64_t count) {
  Planes a, pivots;
  alignas(64) double products[2 * small_batch];
  char buffer[small_batch * (small_side + 1) * 16];
  load(task, a, task.matrix(first), task.n * task.n, count);
  const bool wanted = task.second == nullptr && parts_of[task.kind] == 1;
  task.small().pivots(a.numbers, pivots.numbers, wanted ? products : nullptr, int(task.n), 0, count);
  if (wanted && (task.kind == 0 ? take_products<float>(task, products, first, count)
                                : take_products<double>(task, products, first, count)))
    return;
  save(task, pivots, buffer, task.n + 1, count);
  for (int64_t i = 0; i < count; ++i) finish_one(task, first + i, buffer + i * (task.n + 1) * width_of[task.kind]);
}
void determinant_large(const Task& task, int64_t first, int64_t) {
  BlockRef memory;
  memory.block = allocate(size_t((task.n + 1) * width_of[task.kind]));
  if (memory.block == nullptr) return task.failure.record(no_temporary());
  const Status status = factorization(task.kind).pivots(task.n, task.matrix(first), memory.block->data);
  if (!status.ok()) return task.failure.record(status);
  finish_one(task, first, memory.block->data);
}

// A task over matrices of m x n, small or large.
Status start(Task& task, bool small, void (*by_lanes)(const Task&, int64_t, int64_t),
             void (*one)(const Task&, int64_t, int64_t), double operations) {
  if (task.kind < 0) return undefined_for(task.batch.type);
  if (task.batch.count == 0) return success;
  task.step = small ? small_batch : 1;
  task.work = small ? by_lanes : one;
  return run_batch(task, operations);
}

bool fits(int64_t m, int64_t n) { return m <= small_side && n <= small_side && m > 0 && n > 0; }
double cube(int64_t n) { return double(n) * double(n) * double(n); }

}  // namespace

Status solve(const Batch& batch, int64_t n, int64_t k, const void* a, void* b) noexcept {
  Task task{batch, kind_of_type(batch.type), n, n, k, a, b, nullptr, nullptr, 0, nullptr};
  return start(task, fits(n, k), solve_small, solve_large, cube(n) + double(n) * double(n) * double(k));
}
Status inverse(const Batch& batch, int64_t n, const void* a, void* out) noexcept {
  Task task{batch, kind_of_type(batch.type), n, n, 0, a, out, nullptr, nullptr, 0, nullptr};
  return start(task, fits(n, n), inverse_small, inverse_large, 2 * cube(n));
}
Status determinant(const Batch& batch, int64_t n, const void* a, void* sign, void* logarithm) noexcept {
  Task task{batch, kind_of_type(batch.type), n, n, 0, a, sign, logarithm, nullptr, 0, nullptr};
  return start(task, fits(n, n), determinant_small, determinant_large, cube(n));
}
Status cholesky(const Batch& batch, int64_t n, const void* a, void* out, bool upper) noexcept {
  Task task{batch, kind_of_type(batch.type), n, n, upper, a, out, nullptr, nullptr, 0, nullptr};
  return start(task, fits(n, n), cholesky_small, cholesky_large, cube(n) / 3);
}
Status qr(const Batch& batch, int64_t m, int64_t n, int64_t columns, const void* a, void* q, void* r) noexcept {
  Task task{batch, kind_of_type(batch.type), m, n, columns, a, q, r, nullptr, 0, nullptr};
  return start(task, fits(m, n), qr_small, qr_large, 3 * double(m) * double(n) * double(std::max(n, columns)));
}
Status eigh(const Batch& batch, int64_t n, const void* a, void* values, void* vectors) noexcept {
  Task task{batch, kind_of_type(batch.type), n, n, 0, a, values, vectors, nullptr, 0, nullptr};
  return start(task, fits(n, n), eigh_small, eigh_large, 20 * cube(n));
}
Status svd(const Batch& batch, int64_t m, int64_t n, bool full, const void* a, void* u, void* values, void* vh) noexcept {
  Task task{batch, kind_of_type(batch.type), m, n, full, a, u, values, vh, 0, nullptr};
  return start(task, fits(m, n), svd_small, svd_large, 20 * double(m) * double(n) * double(smaller(m, n)));
}
Status eig(const Batch& batch, int64_t n, const void* a, void* values, void* vectors) noexcept {
  Task task{batch, kind_of_type(batch.type), n, n, 0, a, values, vectors, nullptr, 0, nullptr};
  return start(task, false, nullptr, eig_large, 30 * cube(n));
}

namespace {

// A sum of products by 0 is 0, or NaN where one is not finite.
template <class F>
bool are_finite(const F* x, int64_t n) {
  constexpr int lanes = 64 / int(sizeof(F));
  F sums[lanes] = {};
  for (int64_t i = 0; i + lanes <= n; i += lanes)
    for (int k = 0; k < lanes; ++k) sums[k] += x[i + k] * 0;
  for (int64_t i = n / lanes * lanes; i < n; ++i) sums[0] += x[i] * 0;
  for (int k = 1; k < lanes; ++k) sums[0] += sums[k];
  return sums[0] == 0;
}

}  // namespace

bool all_finite(int type, int64_t n, const void* a) noexcept {
  const int kind = kind_of_type(type);
  const int64_t numbers = n * parts_of[kind];
  return part_width_of[kind] == 4 ? are_finite(static_cast<const float*>(a), numbers)
                                  : are_finite(static_cast<const double*>(a), numbers);
}

Status cpu::factor(const FactorCall& call, const EngineOperand& a, const EngineOperand* out, const EngineOperand* second,
                   const EngineOperand* third, const LaunchContext&) noexcept {
  const Batch batch{find_type(a.tensor->dtype), call.count, call.info};
  const auto data = [](const EngineOperand* x) { return x ? x->tensor->data : nullptr; };
  const void* const from = a.tensor->data;
  switch (call.factor) {
    case Factor::solve: return solve(batch, call.n, call.k, from, data(out));
    case Factor::inverse: return inverse(batch, call.n, from, data(out));
    case Factor::determinant: return determinant(batch, call.n, from, data(out), data(second));
    case Factor::cholesky: return cholesky(batch, call.n, from, data(out), call.flag);
    case Factor::qr: return qr(batch, call.m, call.n, call.k, from, data(out), data(second));
    case Factor::eigh: return eigh(batch, call.n, from, data(out), data(second));
    case Factor::svd: return svd(batch, call.m, call.n, call.flag, from, data(out), data(second), data(third));
  }
  __builtin_unreachable();
}

}  // namespace dlt
