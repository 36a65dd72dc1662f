// SPDX-License-Identifier: Apache-2.0
// cuFFT for the functions that the package calls: sums of all terms in double, so that results are reference values. Arguments
// are checked, and all memory that cuFFT may overwrite is overwritten.
#include <map>
#include <memory>
#include <numbers>

#include "library.h"

namespace dlt::cuda {
namespace {

using Number = std::complex<double>;
constexpr int success = 0, invalid_plan = 1, invalid_type = 3, invalid_value = 4, execution_failed = 6, no_workspace = 14;
constexpr size_t workspace_bytes = 512;

// Tables that cuFFT has on the device: invalid once the plan is destroyed, in graphs too.
struct Tables {
  std::vector<int64_t> sizes;
  std::vector<std::vector<Number>> roots;  // exp(-2 pi i k / n) of each dimension
};
struct Plan {
  std::shared_ptr<Tables> tables;
  int type = 0;
  int64_t batch = 0;
  CUstream stream = nullptr;
  void* workspace = nullptr;
  bool automatic = true;
};

struct Job {
  std::shared_ptr<Tables> tables;
  int type;
  int64_t batch;
  void *in, *out, *workspace;
  bool forward;
};

std::map<int, Plan> plans;
std::mutex lock;
int last = 100;

bool wide(int type) { return type >= kFftZ2Z; }
bool real_in(int type) { return type == kFftR2C || type == kFftD2Z; }
bool real_out(int type) { return type == kFftC2R || type == kFftZ2D; }
int element_type(bool real, bool is_wide) { return real ? (is_wide ? kBlasR64F : kBlasR32F) : is_wide ? kBlasC64F : kBlasC32F; }

// Transform one dimension of an array in C order, in place.
void transform(std::vector<Number>& x, int64_t n, int64_t inner, const std::vector<Number>& roots, bool forward) {
  std::vector<Number> line(static_cast<size_t>(n));
  const int64_t all = static_cast<int64_t>(x.size());
  for (int64_t start = 0; start < all; ++start) {
    if (start / inner % n != 0) continue;
    for (int64_t k = 0; k < n; ++k) {
      Number sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        const Number root = roots[static_cast<size_t>(i * k % n)];
        sum += x[static_cast<size_t>(start + i * inner)] * (forward ? root : std::conj(root));
      }
      line[static_cast<size_t>(k)] = sum;
    }
    for (int64_t k = 0; k < n; ++k) x[static_cast<size_t>(start + k * inner)] = line[static_cast<size_t>(k)];
  }
}

void run(const Job& j) {
  memset(j.workspace, 0xab, workspace_bytes);
  const std::vector<int64_t>& sizes = j.tables->sizes;
  const int64_t last_size = sizes.back(), half = last_size / 2 + 1;
  int64_t lines = 1;
  for (size_t d = 0; d + 1 < sizes.size(); ++d) lines *= sizes[d];
  const int64_t in_line = real_out(j.type) ? half : last_size, out_line = real_in(j.type) ? half : last_size;
  const int in_type = element_type(real_in(j.type), wide(j.type)), out_type = element_type(real_out(j.type), wide(j.type));
  for (int64_t batch = 0; batch < j.batch; ++batch) {
    std::vector<Number> x(static_cast<size_t>(lines * last_size));
    const auto input = [&](int64_t line, int64_t i) {
      return load_element<Number>(j.in, in_type, (batch * lines + line) * in_line + i);
    };
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t i = 0; i < last_size; ++i)
        x[static_cast<size_t>(line * last_size + i)] = i < in_line ? input(line, i) : std::conj(input(line, last_size - i));
    int64_t inner = 1;
    for (size_t d = sizes.size(); d-- > 0; inner *= sizes[d]) transform(x, sizes[d], inner, j.tables->roots[d], j.forward);
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t i = 0; i < out_line; ++i)
        store_element(j.out, out_type, (batch * lines + line) * out_line + i, x[static_cast<size_t>(line * last_size + i)]);
  }
  if (real_out(j.type)) memset(j.in, 0xcd, static_cast<size_t>(j.batch * lines * in_line) * (wide(j.type) ? 16 : 8));
}

Plan* find(int number) {
  const auto found = plans.find(number);
  return found == plans.end() ? nullptr : &found->second;
}

int enqueue(int number, int type, void* in, void* out, int direction) {
  std::lock_guard<std::mutex> hold(lock);
  Plan* const plan = find(number);
  if (!plan || !plan->tables) return invalid_plan;
  if (plan->type != type) return invalid_type;
  const uintptr_t unit = wide(type) ? 16 : 8;
  if (!in || !out || reinterpret_cast<uintptr_t>(in) % unit || reinterpret_cast<uintptr_t>(out) % unit) return invalid_value;
  if (direction != kFftForward && direction != kFftInverse) return invalid_value;
  if (plan->automatic || !plan->workspace) return no_workspace;
  const Job job{plan->tables, type, plan->batch, in, out, plan->workspace, direction == kFftForward};
  plan->workspace = nullptr;  // each stream has its own
  return enqueue_work(plan->stream, [job] { run(job); }) ? success : execution_failed;
}

}  // namespace
}  // namespace dlt::cuda

using namespace dlt::cuda;

HOSTCUDA_EXPORT int cufftCreate(cufftHandle* plan) {
  CUcontext context = nullptr;
  if (driver_function<int (*)(CUcontext*)>("cuCtxGetCurrent")(&context) || !context) return invalid_value;
  std::lock_guard<std::mutex> hold(lock);
  plans[*plan = ++last];
  return success;
}
HOSTCUDA_EXPORT int cufftDestroy(cufftHandle plan) {
  driver_function<int (*)()>("cuCtxSynchronize")();  // as freeing memory does
  std::lock_guard<std::mutex> hold(lock);
  Plan* const found = find(plan);
  if (!found) return invalid_plan;
  if (found->tables)
    for (auto& roots : found->tables->roots) roots.assign(roots.size(), Number(__builtin_nan(""), 0));
  plans.erase(plan);
  return success;
}
HOSTCUDA_EXPORT int cufftSetAutoAllocation(cufftHandle plan, int automatic) {
  std::lock_guard<std::mutex> hold(lock);
  Plan* const found = find(plan);
  if (!found || found->tables) return invalid_plan;  // before the plan is made
  found->automatic = automatic != 0;
  return success;
}
HOSTCUDA_EXPORT int cufftMakePlanMany64(cufftHandle plan, int rank, long long* sizes, long long* in_sizes, long long, long long,
                                        long long* out_sizes, long long, long long, int type, long long batch,
                                        size_t* workspace) {
  std::lock_guard<std::mutex> hold(lock);
  Plan* const found = find(plan);
  if (!found || found->tables) return invalid_plan;
  if (rank < 1 || rank > 3 || batch < 1 || in_sizes || out_sizes) return invalid_value;
  auto tables = std::make_shared<Tables>();
  for (int d = 0; d < rank; ++d) {
    if (sizes[d] < 1) return invalid_value;
    std::vector<Number> roots(static_cast<size_t>(sizes[d]));
    for (long long k = 0; k < sizes[d]; ++k)
      roots[static_cast<size_t>(k)] = std::polar(1.0, -2 * std::numbers::pi * double(k) / double(sizes[d]));
    tables->sizes.push_back(sizes[d]);
    tables->roots.push_back(std::move(roots));
  }
  for (const int known : {kFftC2C, kFftR2C, kFftC2R, kFftZ2Z, kFftD2Z, kFftZ2D})
    if (type == known) {
      found->tables = std::move(tables);
      found->type = type, found->batch = batch;
      *workspace = workspace_bytes;
      return success;
    }
  return invalid_type;
}
HOSTCUDA_EXPORT int cufftSetStream(cufftHandle plan, CUstream stream) {
  std::lock_guard<std::mutex> hold(lock);
  Plan* const found = find(plan);
  if (!found) return invalid_plan;
  found->stream = stream;
  return success;
}
HOSTCUDA_EXPORT int cufftSetWorkArea(cufftHandle plan, void* workspace) {
  std::lock_guard<std::mutex> hold(lock);
  Plan* const found = find(plan);
  if (!found || !found->tables) return invalid_plan;
  if (reinterpret_cast<uintptr_t>(workspace) % 256) return invalid_value;
  found->workspace = workspace;
  return success;
}
HOSTCUDA_EXPORT int cufftExecC2C(cufftHandle plan, void* in, void* out, int direction) {
  return enqueue(plan, kFftC2C, in, out, direction);
}
HOSTCUDA_EXPORT int cufftExecZ2Z(cufftHandle plan, void* in, void* out, int direction) {
  return enqueue(plan, kFftZ2Z, in, out, direction);
}
HOSTCUDA_EXPORT int cufftExecR2C(cufftHandle plan, void* in, void* out) { return enqueue(plan, kFftR2C, in, out, kFftForward); }
HOSTCUDA_EXPORT int cufftExecD2Z(cufftHandle plan, void* in, void* out) { return enqueue(plan, kFftD2Z, in, out, kFftForward); }
HOSTCUDA_EXPORT int cufftExecC2R(cufftHandle plan, void* in, void* out) { return enqueue(plan, kFftC2R, in, out, kFftInverse); }
HOSTCUDA_EXPORT int cufftExecZ2D(cufftHandle plan, void* in, void* out) { return enqueue(plan, kFftZ2D, in, out, kFftInverse); }
