// SPDX-License-Identifier: Apache-2.0
// Fourier transforms by cuFFT. A plan of a device and shape serves one call at a time, whatever its stream.
#include "native/cuda/linalg/fft.h"

#include <map>
#include <mutex>
#include <tuple>

#include "native/cuda/elementwise/plan.h"
#include "native/no_destructor.h"

namespace dlt::cuda {
namespace {

constexpr size_t most_plans = 64;  // kept; those of captured graphs besides

// Device, cuFFT's type, rank, sizes, batch.
using Key = std::tuple<int, int, int, long long, long long, long long, long long>;
struct FftPlan {
  cufftHandle handle = 0;
  size_t workspace = 0;
  uint64_t used = 0;
  bool captured = false;  // a graph has the tables of the plan: it lives as long as the process
};
using IdlePlans = std::multimap<Key, FftPlan>;
struct Plans {
  std::mutex mutex;
  IdlePlans idle;
  uint64_t uses = 0;
};
Plans& plans() noexcept {
  static NoDestructor<Plans> instance;
  return *instance;
}

Status check_fft(cufftResult result, const char* call) noexcept {
  if (result == 0) return success;
  return fail(result == kFftAllocFailed ? Fault::memory : Fault::device, "fft: %s failed with cuFFT result %d (%s)", call,
              result, library_path(Library::cufft));
}

// The caller holds the mutex.
void drop_oldest(Plans& all) {
  auto oldest = all.idle.end();
  size_t kept = 0;
  for (auto at = all.idle.begin(); at != all.idle.end(); ++at) {
    if (at->second.captured) continue;
    ++kept;
    if (oldest == all.idle.end() || at->second.used < oldest->second.used) oldest = at;
  }
  if (kept < most_plans) return;
  cufft.cufftDestroy(oldest->second.handle);  // waits for the work that uses its tables
  all.idle.erase(oldest);
}

Status make_plan(const FourierCall& call, int type, FftPlan* plan) noexcept {
  DLT_TRY(check_fft(cufft.cufftCreate(&plan->handle), "cufftCreate"));
  long long sizes[3] = {};
  for (int d = 0; d < call.rank; ++d) sizes[d] = call.size[d];
  const auto prepare = [&]() -> Status {
    DLT_TRY(check_fft(cufft.cufftSetAutoAllocation(plan->handle, 0), "cufftSetAutoAllocation"));
    return check_fft(cufft.cufftMakePlanMany64(plan->handle, call.rank, sizes, nullptr, 1, 0, nullptr, 1, 0, type, call.batch,
                                               &plan->workspace),
                     "cufftMakePlanMany64");
  };
  const Status status = prepare();
  if (!status.ok()) cufft.cufftDestroy(plan->handle);
  return status;
}

// A plan that one call has for itself. No mutex is held meanwhile: the allocator that a program has set may transform, too.
class BorrowedPlan {
 public:
  BorrowedPlan() = default;
  BorrowedPlan(const BorrowedPlan&) = delete;
  BorrowedPlan& operator=(const BorrowedPlan&) = delete;
  ~BorrowedPlan() {
    if (!node_) return;
    Plans& all = plans();
    std::lock_guard<std::mutex> hold(all.mutex);
    node_.mapped().used = ++all.uses;
    all.idle.insert(std::move(node_));  // the node has its memory already
  }
  Status take(const FourierCall& call, const Key& key, int type, bool capturing) {
    Plans& all = plans();
    {
      std::lock_guard<std::mutex> hold(all.mutex);
      if (const auto found = all.idle.find(key); found != all.idle.end()) node_ = all.idle.extract(found);
      else if (!capturing) drop_oldest(all);  // which waits for the device
    }
    if (!node_) {
      Beside beside;  // cuFFT allocates and copies its tables
      IdlePlans one;
      FftPlan& plan = one.emplace(key, FftPlan{})->second;
      DLT_TRY(make_plan(call, type, &plan));
      node_ = one.extract(one.begin());
    }
    node_.mapped().captured |= capturing;
    return success;
  }
  const FftPlan& operator*() const noexcept { return node_.mapped(); }
  const FftPlan* operator->() const noexcept { return &node_.mapped(); }

 private:
  IdlePlans::node_type node_;
};

// cuFFT's name of the transform, or -1.
int type_of_transform(int from, int to) noexcept {
  if (from == type_complex64 && to == type_complex64) return kFftC2C;
  if (from == type_complex128 && to == type_complex128) return kFftZ2Z;
  if (from == type_float32 && to == type_complex64) return kFftR2C;
  if (from == type_float64 && to == type_complex128) return kFftD2Z;
  if (from == type_complex64 && to == type_float32) return kFftC2R;
  if (from == type_complex128 && to == type_float64) return kFftZ2D;
  return -1;
}

cufftResult execute(const FftPlan& plan, int type, void* in, void* out, bool forward) noexcept {
  const int direction = forward ? kFftForward : kFftInverse;
  switch (type) {
    case kFftC2C: return cufft.cufftExecC2C(plan.handle, in, out, direction);
    case kFftZ2Z: return cufft.cufftExecZ2Z(plan.handle, in, out, direction);
    case kFftR2C: return cufft.cufftExecR2C(plan.handle, in, out);
    case kFftD2Z: return cufft.cufftExecD2Z(plan.handle, in, out);
    case kFftC2R: return cufft.cufftExecC2R(plan.handle, in, out);
    default: return cufft.cufftExecZ2D(plan.handle, in, out);
  }
}

}  // namespace

Status fourier(const FourierCall& call, const Operand& x, const Operand& out, const LaunchContext& context) noexcept {
  DLT_TRY(load_cufft());
  Stream& stream = *context.stream;
  int from, to;
  DLT_TRY(type_of("fft", *x.tensor, &from));
  DLT_TRY(type_of("fft", *out.tensor, &to));
  const int type = type_of_transform(from, to);
  if (type < 0 || call.rank < 1 || call.rank > 3) return fail(Fault::type, "fft: no transform of these dtypes and dimensions");
  const CUdeviceptr unit = to == type_complex128 || from == type_complex128 ? 16 : 8;  // of real numbers too
  if (address(*x.tensor) % unit != 0) [[unlikely]]
    return with_aligned(x, context, [&](const Operand& aligned) { return fourier(call, aligned, out, context); });
  bool capturing = false;
  DLT_TRY(is_capturing(stream, &capturing));
  return guarded("fft", [&]() -> Status {
    const auto size = [&](int d) { return d < call.rank ? static_cast<long long>(call.size[d]) : 0; };
    const Key key{stream.device->ordinal, type, call.rank, size(0), size(1), size(2), static_cast<long long>(call.batch)};
    Current current(*stream.device);
    BorrowedPlan plan;
    DLT_TRY(plan.take(call, key, type, capturing));
    Scratch workspace;  // where captured, memory of the graph
    DLT_TRY(workspace.make(plan->workspace > 0 ? plan->workspace : 1, stream));
    DLT_TRY(use(x.block, stream, type == kFftC2R || type == kFftZ2D));
    DLT_TRY(use(out.block, stream, true));
    DLT_TRY(check_fft(cufft.cufftSetStream(plan->handle, stream.handle), "cufftSetStream"));
    DLT_TRY(check_fft(cufft.cufftSetWorkArea(plan->handle, workspace.as<void>()), "cufftSetWorkArea"));
    DLT_TRY(check_fft(execute(*plan, type, reinterpret_cast<void*>(address(*x.tensor)),
                              reinterpret_cast<void*>(address(*out.tensor)), call.forward),
                      "cufftExec"));
    stream.count_work();
    return success;
  });
}

}  // namespace dlt::cuda
