// SPDX-License-Identifier: Apache-2.0
// cuSOLVER for the functions that the package calls: textbook algorithms. Column-major, in long double, so that results are
// reference values. Arguments are checked.
#include <cmath>

#include "library.h"

namespace dlt::cuda {

struct cusolverDnContext {
  CUstream stream = nullptr;
};
struct cusolverDnParams {};

namespace {

// More digits than double has: eigenvalues are those of a matrix that is shifted.
using Real = long double;
using Number = std::complex<Real>;
constexpr int success = 0, not_initialized = 1, invalid_value = 3, execution_failed = 6;
constexpr size_t device_need = 768, host_need = 64;

bool is_wide(int type) { return type == kBlasR64F || type == kBlasC64F; }
bool is_known(int type) { return type == kBlasR32F || is_wide(type) || type == kBlasC32F; }
int part_of(int type) { return is_wide(type) ? kBlasR64F : kBlasR32F; }

Number load(const void* data, int type, int64_t at) { return load_element<Number>(data, type, at); }
void store(void* data, int type, int64_t at, Number value) { store_element(data, type, at, value); }

// A matrix by columns.
struct Matrix {
  int64_t m, n;
  std::vector<Number> data;
  Matrix(int64_t rows, int64_t columns) : m(rows), n(columns), data(static_cast<size_t>(rows * columns)) {}
  Matrix(const void* from, int type, int64_t rows, int64_t columns, int64_t lead) : Matrix(rows, columns) {
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < m; ++i) (*this)(i, j) = load(from, type, i + j * lead);
  }
  Number& operator()(int64_t i, int64_t j) { return data[static_cast<size_t>(i + j * m)]; }
  void save(void* to, int type, int64_t lead) {
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < m; ++i) store(to, type, i + j * lead, (*this)(i, j));
  }
};
Matrix identity(int64_t m, int64_t n) {
  Matrix result(m, n);
  for (int64_t i = 0; i < std::min(m, n); ++i) result(i, i) = 1;
  return result;
}

int factor_lu(Matrix& a, int64_t* pivots) {
  int info = 0;
  for (int64_t c = 0; c < std::min(a.m, a.n); ++c) {
    int64_t best = c;
    for (int64_t r = c + 1; r < a.m; ++r)
      if (std::abs(a(r, c)) > std::abs(a(best, c))) best = r;
    pivots[c] = best + 1;
    for (int64_t j = 0; j < a.n; ++j) std::swap(a(c, j), a(best, j));
    if (a(c, c) == Real(0)) {
      if (!info) info = int(c + 1);
      continue;
    }
    for (int64_t r = c + 1; r < a.m; ++r) {
      a(r, c) /= a(c, c);
      for (int64_t j = c + 1; j < a.n; ++j) a(r, j) -= a(r, c) * a(c, j);
    }
  }
  return info;
}

void solve_lu(Matrix& a, const int64_t* pivots, bool transposed, Matrix& b) {
  const int64_t n = a.n;
  for (int64_t j = 0; j < b.n; ++j) {
    if (!transposed) {
      for (int64_t c = 0; c < n; ++c) std::swap(b(c, j), b(pivots[c] - 1, j));
      for (int64_t r = 0; r < n; ++r)
        for (int64_t c = 0; c < r; ++c) b(r, j) -= a(r, c) * b(c, j);
      for (int64_t r = n - 1; r >= 0; --r) {
        for (int64_t c = r + 1; c < n; ++c) b(r, j) -= a(r, c) * b(c, j);
        b(r, j) /= a(r, r);
      }
      continue;
    }
    for (int64_t r = 0; r < n; ++r) {
      for (int64_t c = 0; c < r; ++c) b(r, j) -= a(c, r) * b(c, j);
      b(r, j) /= a(r, r);
    }
    for (int64_t r = n - 1; r >= 0; --r)
      for (int64_t c = r + 1; c < n; ++c) b(r, j) -= a(c, r) * b(c, j);
    for (int64_t c = n - 1; c >= 0; --c) std::swap(b(c, j), b(pivots[c] - 1, j));
  }
}

// Factor the lower triangle, or the upper one as its conjugate transpose.
int factor_cholesky(Matrix& a, bool upper) {
  const auto at = [&](int64_t i, int64_t j) { return upper ? std::conj(a(j, i)) : a(i, j); };
  const auto set = [&](int64_t i, int64_t j, Number x) { (upper ? a(j, i) : a(i, j)) = upper ? std::conj(x) : x; };
  for (int64_t c = 0; c < a.n; ++c) {
    Real d = at(c, c).real();
    for (int64_t k = 0; k < c; ++k) d -= std::norm(at(c, k));
    if (!(d > 0) || !std::isfinite(d)) return int(c + 1);
    d = std::sqrt(d);
    set(c, c, d);
    for (int64_t r = c + 1; r < a.n; ++r) {
      Number x = at(r, c);
      for (int64_t k = 0; k < c; ++k) x -= at(r, k) * std::conj(at(c, k));
      set(r, c, x / d);
    }
  }
  return 0;
}

void factor_qr(Matrix& a, std::vector<Number>& taus) {
  for (int64_t c = 0; c < std::min(a.m, a.n); ++c) {
    Real tail = 0;
    for (int64_t r = c + 1; r < a.m; ++r) tail += std::norm(a(r, c));
    const Number alpha = a(c, c);
    if (tail == 0 && alpha.imag() == 0) {
      taus.push_back(0);
      continue;
    }
    const Real norm = std::sqrt(std::norm(alpha) + tail), beta = alpha.real() >= 0 ? -norm : norm;
    const Number tau = (beta - alpha) / beta;
    taus.push_back(tau);
    for (int64_t r = c + 1; r < a.m; ++r) a(r, c) /= alpha - beta;
    a(c, c) = beta;
    for (int64_t j = c + 1; j < a.n; ++j) {
      Number w = a(c, j);
      for (int64_t r = c + 1; r < a.m; ++r) w += std::conj(a(r, c)) * a(r, j);
      w *= std::conj(tau);
      a(c, j) -= w;
      for (int64_t r = c + 1; r < a.m; ++r) a(r, j) -= a(r, c) * w;
    }
  }
}

Matrix reflections(Matrix& a, int64_t columns, const std::vector<Number>& taus) {
  Matrix q = identity(a.m, columns);
  for (auto c = static_cast<int64_t>(taus.size()) - 1; c >= 0; --c)
    for (int64_t j = 0; j < columns; ++j) {
      Number w = q(c, j);
      for (int64_t r = c + 1; r < a.m; ++r) w += std::conj(a(r, c)) * q(r, j);
      w *= taus[static_cast<size_t>(c)];
      q(c, j) -= w;
      for (int64_t r = c + 1; r < a.m; ++r) q(r, j) -= a(r, c) * w;
    }
  return q;
}

// Make columns p and q of `a` orthogonal, and rotate those of `v` alike.
bool orthogonalize(Matrix& a, Matrix& v, int64_t p, int64_t q) {
  Real alpha = 0, beta = 0;
  Number inner = 0;
  for (int64_t i = 0; i < a.m; ++i) {
    alpha += std::norm(a(i, p)), beta += std::norm(a(i, q));
    inner += std::conj(a(i, p)) * a(i, q);
  }
  const Real size = std::abs(inner);
  if (size <= 1e-18L * std::sqrt(alpha * beta) || size == 0) return false;
  const Number phase = std::conj(inner) / size;
  const Real zeta = (beta - alpha) / (2 * size);
  const Real t = (zeta >= 0 ? Real(1) : Real(-1)) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta)), c = 1 / std::sqrt(1 + t * t),
             s = c * t;
  for (Matrix* m : {&a, &v})
    for (int64_t i = 0; i < m->m; ++i) {
      const Number x = (*m)(i, p), y = (*m)(i, q) * phase;
      (*m)(i, p) = c * x - s * y;
      (*m)(i, q) = s * x + c * y;
    }
  return true;
}

// Singular value decomposition a = U diag(s) V^H with m >= n: `a` becomes U diag(s), s descends.
void decompose(Matrix& a, Matrix& v, std::vector<Real>& s) {
  v = identity(a.n, a.n);
  for (int sweep = 0; sweep < 80; ++sweep) {
    bool moved = false;
    for (int64_t p = 0; p < a.n; ++p)
      for (int64_t q = p + 1; q < a.n; ++q) moved |= orthogonalize(a, v, p, q);
    if (!moved) break;
  }
  s.assign(static_cast<size_t>(a.n), 0);
  for (int64_t j = 0; j < a.n; ++j) {
    for (int64_t i = 0; i < a.m; ++i) s[static_cast<size_t>(j)] += std::norm(a(i, j));
    s[static_cast<size_t>(j)] = std::sqrt(s[static_cast<size_t>(j)]);
  }
  for (int64_t i = 0; i < a.n; ++i)
    for (int64_t j = i + 1; j < a.n; ++j) {
      if (!(s[static_cast<size_t>(j)] > s[static_cast<size_t>(i)])) continue;
      std::swap(s[static_cast<size_t>(i)], s[static_cast<size_t>(j)]);
      for (int64_t k = 0; k < a.m; ++k) std::swap(a(k, i), a(k, j));
      for (int64_t k = 0; k < v.m; ++k) std::swap(v(k, i), v(k, j));
    }
}

// Eigenvalues of a Hermitian matrix, as singular values of it shifted to be positive.
void diagonalize(Matrix& a, Matrix& vectors, std::vector<Real>& values) {
  Real shift = 0;
  for (const Number& x : a.data) shift += std::abs(x);
  const int64_t n = a.n;
  for (int64_t i = 0; i < n; ++i) a(i, i) += shift;
  std::vector<Real> s;
  Matrix v(n, n);
  decompose(a, v, s);
  for (int64_t j = 0; j < n; ++j) {
    values.push_back(s[static_cast<size_t>(n - 1 - j)] - shift);
    for (int64_t i = 0; i < n; ++i) vectors(i, j) = v(i, n - 1 - j);
  }
}

int enqueue(cusolverDnHandle_t handle, std::function<void()> work) {
  return enqueue_work(handle->stream, std::move(work)) ? success : execution_failed;
}

// The workspace of a call, which cuSOLVER overwrites.
struct Workspace {
  void *device, *host;
  size_t device_bytes, host_bytes;
  bool is_enough() const { return device && device_bytes >= device_need && host && host_bytes >= host_need; }
  void scribble() const {
    memset(device, 0xab, device_need);
    memset(host, 0xab, host_need);
  }
};
size_t batch_need(int64_t n, int64_t count) { return static_cast<size_t>(n * n * count * 8); }
int needs(size_t* device_bytes, size_t* host_bytes) {
  *device_bytes = device_need, *host_bytes = host_need;
  return success;
}

}  // namespace
}  // namespace dlt::cuda

using namespace dlt::cuda;

HOSTCUDA_EXPORT int cusolverDnCreate(cusolverDnHandle_t* handle) {
  *handle = new cusolverDnContext;
  return success;
}
HOSTCUDA_EXPORT int cusolverDnCreateParams(cusolverDnParams_t* params) {
  *params = new cusolverDnParams;
  return success;
}
HOSTCUDA_EXPORT int cusolverDnSetStream(cusolverDnHandle_t handle, CUstream stream) {
  if (!handle) return not_initialized;
  handle->stream = stream;
  return success;
}

HOSTCUDA_EXPORT int cusolverDnXgetrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, int, const void*,
                                                int64_t, int, size_t* device_bytes, size_t* host_bytes) {
  return needs(device_bytes, host_bytes);
}
HOSTCUDA_EXPORT int cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n, int type,
                                     void* a, int64_t lda, int64_t* pivots, int compute, void* device, size_t device_bytes,
                                     void* host, size_t host_bytes, int* info) {
  const Workspace w{device, host, device_bytes, host_bytes};
  if (!handle || !params || m < 1 || n < 1 || lda < m || !is_known(type) || compute != type || !pivots || !info ||
      !w.is_enough())
    return invalid_value;
  return enqueue(handle, [=] {
    w.scribble();
    Matrix x(a, type, m, n, lda);
    *info = factor_lu(x, pivots);
    x.save(a, type, lda);
  });
}
HOSTCUDA_EXPORT int cusolverDnXgetrs(cusolverDnHandle_t handle, cusolverDnParams_t params, int transpose, int64_t n,
                                     int64_t columns, int type_a, const void* a, int64_t lda, const int64_t* pivots, int type_b,
                                     void* b, int64_t ldb, int* info) {
  if (!handle || !params || (transpose != kBlasNoTranspose && transpose != kBlasTranspose) || n < 1 || columns < 1 || lda < n ||
      ldb < n || !is_known(type_a) || type_a != type_b || !info)
    return invalid_value;
  return enqueue(handle, [=] {
    Matrix x(a, type_a, n, n, lda), y(b, type_b, n, columns, ldb);
    solve_lu(x, pivots, transpose == kBlasTranspose, y);
    y.save(b, type_b, ldb);
    *info = 0;
  });
}

HOSTCUDA_EXPORT int cusolverDnXpotrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int, int64_t, int, const void*, int64_t,
                                                int, size_t* device_bytes, size_t* host_bytes) {
  return needs(device_bytes, host_bytes);
}
HOSTCUDA_EXPORT int cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int triangle, int64_t n, int type,
                                     void* a, int64_t lda, int compute, void* device, size_t device_bytes, void* host,
                                     size_t host_bytes, int* info) {
  const Workspace w{device, host, device_bytes, host_bytes};
  if (!handle || !params || (triangle != kBlasLower && triangle != kBlasUpper) || n < 1 || lda < n || !is_known(type) ||
      compute != type || !info || !w.is_enough())
    return invalid_value;
  return enqueue(handle, [=] {
    w.scribble();
    Matrix x(a, type, n, n, lda);
    *info = factor_cholesky(x, triangle == kBlasUpper);
    x.save(a, type, lda);
  });
}

HOSTCUDA_EXPORT int cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, int, const void*,
                                                int64_t, int, const void*, int, size_t* device_bytes, size_t* host_bytes) {
  return needs(device_bytes, host_bytes);
}
HOSTCUDA_EXPORT int cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n, int type,
                                     void* a, int64_t lda, int type_tau, void* tau, int compute, void* device,
                                     size_t device_bytes, void* host, size_t host_bytes, int* info) {
  const Workspace w{device, host, device_bytes, host_bytes};
  if (!handle || !params || m < 1 || n < 1 || lda < m || !is_known(type) || type_tau != type || compute != type || !tau ||
      !info || !w.is_enough())
    return invalid_value;
  return enqueue(handle, [=] {
    w.scribble();
    Matrix x(a, type, m, n, lda);
    std::vector<Number> taus;
    factor_qr(x, taus);
    x.save(a, type, lda);
    for (size_t i = 0; i < taus.size(); ++i) store(tau, type, static_cast<int64_t>(i), taus[i]);
    *info = 0;
  });
}
#define HOSTCUDA_ORTHOGONAL(name, type)                                                                                     \
  HOSTCUDA_EXPORT int name##_bufferSize(cusolverDnHandle_t, int, int, int, const void*, int, const void*, int* elements) {  \
    *elements = device_need / 4;                                                                                            \
    return success;                                                                                                         \
  }                                                                                                                         \
  HOSTCUDA_EXPORT int name(cusolverDnHandle_t handle, int m, int n, int k, void* a, int lda, const void* tau, void* device, \
                           int elements, int* info) {                                                                       \
    if (!handle || k < 0 || n < k || m < n || lda < m || !device || elements < int(device_need / 4)) return invalid_value;  \
    return enqueue(handle, [=] {                                                                                            \
      memset(device, 0xab, device_need);                                                                                    \
      Matrix x(a, type, m, k, lda);                                                                                         \
      std::vector<Number> taus;                                                                                             \
      for (int i = 0; i < k; ++i) taus.push_back(load(tau, type, i));                                                       \
      reflections(x, n, taus).save(a, type, lda);                                                                           \
      *info = 0;                                                                                                            \
    });                                                                                                                     \
  }
HOSTCUDA_ORTHOGONAL(cusolverDnSorgqr, kBlasR32F)
HOSTCUDA_ORTHOGONAL(cusolverDnDorgqr, kBlasR64F)
HOSTCUDA_ORTHOGONAL(cusolverDnCungqr, kBlasC32F)
HOSTCUDA_ORTHOGONAL(cusolverDnZungqr, kBlasC64F)

HOSTCUDA_EXPORT int cusolverDnXsyevd_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int, int, int64_t, int, const void*,
                                                int64_t, int, const void*, int, size_t* device_bytes, size_t* host_bytes) {
  return needs(device_bytes, host_bytes);
}
HOSTCUDA_EXPORT int cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t params, int vectors, int triangle, int64_t n,
                                     int type, void* a, int64_t lda, int type_w, void* values, int compute, void* device,
                                     size_t device_bytes, void* host, size_t host_bytes, int* info) {
  const Workspace w{device, host, device_bytes, host_bytes};
  if (!handle || !params || (vectors != kSolverVectors && vectors != kSolverNoVectors) ||
      (triangle != kBlasLower && triangle != kBlasUpper) || n < 1 || lda < n || !is_known(type) || type_w != part_of(type) ||
      compute != type || !values || !info || !w.is_enough())
    return invalid_value;
  return enqueue(handle, [=] {
    w.scribble();
    Matrix x(a, type, n, n, lda), columns(n, n);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        if (i == j) x(i, i) = x(i, i).real();
        else if (triangle == kBlasUpper) x(i, j) = std::conj(x(j, i));
        else x(j, i) = std::conj(x(i, j));
      }
    std::vector<Real> found;
    diagonalize(x, columns, found);
    for (int64_t i = 0; i < n; ++i) store(values, type_w, i, found[static_cast<size_t>(i)]);
    if (vectors == kSolverNoVectors)
      for (Number& each : columns.data) each = 12345;  // undefined content
    columns.save(a, type, lda);
    *info = 0;
  });
}

HOSTCUDA_EXPORT int cusolverDnXsyevBatched_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int, int, int64_t n, int,
                                                      const void*, int64_t, int, const void*, int, size_t* device_bytes,
                                                      size_t* host_bytes, int64_t count) {
  needs(device_bytes, host_bytes);
  *device_bytes += batch_need(n, count);
  return success;
}
HOSTCUDA_EXPORT int cusolverDnXsyevBatched(cusolverDnHandle_t handle, cusolverDnParams_t params, int vectors, int triangle,
                                           int64_t n, int type, void* a, int64_t lda, int type_w, void* values, int compute,
                                           void* device, size_t device_bytes, void* host, size_t host_bytes, int* info,
                                           int64_t count) {
  // The real one refuses more matrices than that.
  if (count < 1 || count >= 1 << 15 || device_bytes < device_need + batch_need(n, count)) return invalid_value;
  const int64_t bytes = (is_wide(type) ? 8 : 4) * (type == kBlasC32F || type == kBlasC64F ? 2 : 1);
  for (int64_t i = 0; i < count; ++i) {
    const int status = cusolverDnXsyevd(handle, params, vectors, triangle, n, type, static_cast<char*>(a) + i * n * lda * bytes,
                                        lda, type_w, static_cast<char*>(values) + i * n * (is_wide(type) ? 8 : 4), compute,
                                        device, device_bytes, host, host_bytes, info + i);
    if (status != success) return status;
  }
  return success;
}

// `columns` orthonormal columns, the first of them those of `x` divided by their lengths; a QR factorization has the
// columns that x lacks.
Matrix left_vectors(Matrix x, const std::vector<Real>& lengths, int64_t columns) {
  for (int64_t j = 0; j < x.n; ++j)
    for (int64_t i = 0; i < x.m; ++i)
      x(i, j) = lengths[static_cast<size_t>(j)] > 0 ? x(i, j) / lengths[static_cast<size_t>(j)] : 0;
  Matrix copied = x;
  std::vector<Number> taus;
  factor_qr(copied, taus);
  Matrix q = reflections(copied, columns, taus);
  for (int64_t j = 0; j < x.n; ++j)
    if (lengths[static_cast<size_t>(j)] > 0)
      for (int64_t i = 0; i < x.m; ++i) q(i, j) = x(i, j);
  return q;
}

HOSTCUDA_EXPORT int cusolverDnXgesvd_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, signed char, signed char, int64_t,
                                                int64_t, int, const void*, int64_t, int, const void*, int, const void*, int64_t,
                                                int, const void*, int64_t, int, size_t* device_bytes, size_t* host_bytes) {
  return needs(device_bytes, host_bytes);
}
HOSTCUDA_EXPORT int cusolverDnXgesvd(cusolverDnHandle_t handle, cusolverDnParams_t params, signed char left, signed char right,
                                     int64_t m, int64_t n, int type, void* a, int64_t lda, int type_s, void* s, int type_u,
                                     void* u, int64_t ldu, int type_vt, void* vt, int64_t ldvt, int compute, void* device,
                                     size_t device_bytes, void* host, size_t host_bytes, int* info) {
  const Workspace w{device, host, device_bytes, host_bytes};
  if (!handle || !params || left != right || (left != 'N' && left != 'S' && left != 'A') || n < 1 || m < n || lda < m ||
      !is_known(type) || type_s != part_of(type) || type_u != type || type_vt != type || compute != type || !s || !info ||
      (left != 'N' && (!u || !vt || ldu < m || ldvt < n)) || !w.is_enough())
    return invalid_value;
  return enqueue(handle, [=] {
    w.scribble();
    Matrix x(a, type, m, n, lda), v(n, n);
    std::vector<Real> found;
    decompose(x, v, found);
    for (int64_t j = 0; j < n; ++j) store(s, type_s, j, found[static_cast<size_t>(j)]);
    *info = 0;
    if (left == 'N') return;
    left_vectors(x, found, left == 'A' ? m : n).save(u, type, ldu);
    Matrix adjoint(n, n);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) adjoint(i, j) = std::conj(v(j, i));
    adjoint.save(vt, type, ldvt);
  });
}
