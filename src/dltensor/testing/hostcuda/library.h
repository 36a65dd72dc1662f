// SPDX-License-Identifier: Apache-2.0
// Parts of the emulated cuBLAS, cuFFT and cuSOLVER: work enqueued on streams of the driver, and typed elements.
// Each is a library of its own, as the original is.
#pragma once
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include <complex>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "native/cuda/runtime/abi.h"

#define HOSTCUDA_EXPORT extern "C" __attribute__((visibility("default")))

namespace dlt::cuda {

template <class Function>
Function driver_function(const char* name) {
  return reinterpret_cast<Function>(dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), name));
}

// Returns false if the driver refuses the work. It is kept for the life of the process: a graph runs it at each launch.
inline bool enqueue_work(CUstream stream, std::function<void()> work) {
  static std::mutex guard;
  static std::deque<std::function<void()>> all;
  static const auto launch = driver_function<int (*)(CUstream, CUhostFn, void*)>("cuLaunchHostFunc");
  std::lock_guard<std::mutex> hold(guard);
  all.push_back(std::move(work));
  const auto run = [](void* data) { (*static_cast<std::function<void()>*>(data))(); };
  return launch && launch(stream, run, &all.back()) == 0;
}

// Elements of kBlasR32F, kBlasR64F, kBlasC32F and kBlasC64F as a wider complex number.
template <class Number>
Number load_element(const void* data, int type, int64_t at) {
  switch (type) {
    case kBlasR32F: return static_cast<const float*>(data)[at];
    case kBlasR64F: return static_cast<const double*>(data)[at];
    case kBlasC32F: return Number(static_cast<const std::complex<float>*>(data)[at]);
    default: return Number(static_cast<const std::complex<double>*>(data)[at]);
  }
}
template <class Number>
void store_element(void* data, int type, int64_t at, Number value) {
  switch (type) {
    case kBlasR32F: static_cast<float*>(data)[at] = float(value.real()); return;
    case kBlasR64F: static_cast<double*>(data)[at] = double(value.real()); return;
    case kBlasC32F: static_cast<std::complex<float>*>(data)[at] = std::complex<float>(value); return;
    default: static_cast<std::complex<double>*>(data)[at] = std::complex<double>(value);
  }
}

}  // namespace dlt::cuda
