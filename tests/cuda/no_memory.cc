// SPDX-License-Identifier: Apache-2.0
// Everything that the CUDA engine does on the host, once for each allocation of it with just that allocation failing.
// Each time the process lives on, the fault is one of memory with a message, nothing is left behind, and then all
// works.
//
//   no_memory SOURCES FOLDER STEP [blas]    every STEPth allocation; "ok N" when all N went well; blas: products of cuBLAS
//                                           alone, whose workspace makes each step of the host driver slow
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <vector>

#include "native/cpu/elementwise/op_numbers.h"
#include "native/ops/elementwise/ops.h"
#include "native/cuda/compile/compiler.h"
#include "native/cuda/runtime/engine.h"

// ---- allocations that fail: of C++ and, by --wrap, of C. Linked with a C++ library of its own, the program gives its
// operators to no other library: the host driver's allocations do not count.

static int64_t countdown = 0;  // 0: none fails

static bool fails() { return countdown > 0 && --countdown == 0; }

extern "C" {
void* __real_malloc(size_t);
int __real_posix_memalign(void**, size_t, size_t);
void* __wrap_malloc(size_t bytes) { return fails() ? nullptr : __real_malloc(bytes); }
int __wrap_posix_memalign(void** out, size_t alignment, size_t bytes) {
  return fails() ? 12 : __real_posix_memalign(out, alignment, bytes);
}
}
void* operator new(size_t bytes) {
  void* memory = fails() ? nullptr : __real_malloc(bytes);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return fails() ? nullptr : __real_malloc(bytes); }
void operator delete(void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }

// ---- the scenario

namespace dlt::cuda {

static bool strict = false;  // nothing fails: every call must succeed
static const char* complaint = nullptr;

// Returns whether the call succeeded. A fault must be one of memory and say so.
static bool went(Status status) {
  if (status.ok()) return true;
  if (strict || status.fault != Fault::memory || !strstr(message(), "memory")) complaint = message();
  return false;
}
#define GO(call)             \
  do {                       \
    if (!went(call)) return; \
  } while (0)

struct Tensor {
  int64_t shape[2] = {6, 8}, strides[2] = {8, 1};
  DLTensor its{};
  Block* block = nullptr;
  ~Tensor() {
    if (block) release(block);
  }
  Status make(Stream& stream, int type) {
    its = {nullptr, {kDLCUDA, 0}, 2, type_table[type].dtype, shape, strides, 0};
    const Status status = cuda::allocate(stream, 6 * 8 * 8, &block);
    if (status.ok()) its.data = block->data;
    return status;
  }
  void transpose() {
    std::swap(shape[0], shape[1]);
    std::swap(strides[0], strides[1]);
  }
  Operand operand() { return {&its, block}; }
};

static int deleter_calls = 0;
static void deleter(void*) noexcept { ++deleter_calls; }

static void compute(Stream& stream, Stream& other) {
  Tensor a, b, out, wide, turned, mask;
  GO(a.make(stream, type_float32));
  GO(b.make(stream, type_float32));
  GO(out.make(stream, type_float32));
  GO(wide.make(other, type_float64));
  GO(turned.make(stream, type_float32));
  GO(mask.make(stream, type_bool));
  turned.transpose();
  turned.its.shape[0] = 6, turned.its.shape[1] = 8, turned.its.strides[0] = 1, turned.its.strides[1] = 6;
  const float two = 2;
  float host[48];
  GO(fill(&two, a.operand(), {&stream}));
  for (float& value : host) value = 3;
  GO(from_host(host, b.operand(), stream));
  const Operand in[2] = {a.operand(), b.operand()}, turned_in[2] = {a.operand(), turned.operand()};
  GO(elementwise({op_add, OpVariant::plain, type_float32}, in, 2, out.operand(), {&stream}));
  GO(to_host(host, out.operand(), stream));
  if (host[47] != 5) complaint = "2 + 3 is not 5";
  GO(copy(a.operand(), turned.operand(), {&stream}));
  GO(elementwise({op_multiply, OpVariant::plain, type_float32}, turned_in, 2, out.operand(), {&stream}));
  GO(cuda::cast(out.operand(), wide.operand(), {}, {&other}));
  GO(elementwise({op_less, OpVariant::plain, type_float32}, in, 2, mask.operand(), {&stream}));
  GO(choose(mask.operand(), a.operand(), b.operand(), out.operand(), {&stream}));
  Block* pinned = nullptr;
  CUevent event = nullptr;
  GO(to_pinned(out.operand(), stream, &pinned, &event));
  release(pinned);
  destroy_event(0, event);
}

static void multiply(Stream& stream, bool by_blas) {
  Tensor a, b, c;
  GO(a.make(stream, type_float32));
  GO(b.make(stream, type_float32));
  GO(c.make(stream, type_float32));
  const float one = 1;
  GO(fill(&one, a.operand(), {&stream}));
  GO(fill(&one, b.operand(), {&stream}));
  b.transpose();
  c.shape[1] = 6, c.strides[0] = 6;
  set_use_cublas(by_blas);
  const Scalar scale{Kind::real, 0, 0, 1, 0}, none{Kind::real, 0, 0, 0, 0};
  GO(gemm(a.operand(), b.operand(), c.operand(), scale, none, {&stream}));
  float host[36];
  GO(to_host(host, c.operand(), stream));
  if (host[35] != 8) complaint = "a product is wrong";
}

static void hold_foreign(Stream& stream, Stream& other) {
  static float memory[48];
  Block* block = nullptr;
  const int before = deleter_calls;
  GO(adopt_foreign(memory, stream, memory, deleter, &block));
  const bool used = went(use(block, other, false));
  release(block);
  (void)used;
  if (went(synchronize_device(0))) cuda::empty_cache(-1);
  if (deleter_calls != before + 1) complaint = "foreign memory was not given back once";
}

static void capture(Stream& stream) {
  const auto begin = reinterpret_cast<int (*)(CUstream, int)>(dlsym(driver.handle, "cuStreamBeginCapture_v2"));
  const auto end = reinterpret_cast<int (*)(CUstream, CUgraph*)>(dlsym(driver.handle, "cuStreamEndCapture"));
  const auto destroy = reinterpret_cast<int (*)(CUgraph)>(dlsym(driver.handle, "cuGraphDestroy"));
  CUgraph graph = nullptr;
  Current current(*stream.device);
  if (begin(stream.handle, 0) != 0) complaint = "the capture does not begin";
  for (int k = 0; k < 2; ++k) {
    Tensor a;
    if (went(a.make(stream, type_float32))) {
      const float two = 2;
      (void)went(fill(&two, a.operand(), {&stream}));
    }
  }
  if (end(stream.handle, &graph) == 0) destroy(graph);
}

static const char *sources, *folder;
static bool blas = false;

static void scenario() {
  GO(set_source_folder(sources));
  GO(set_kernel_cache(folder));
  GO(set_library_path(Library::nvrtc, "/nowhere/libnvrtc.so"));
  int count = 0;
  GO(device_count(&count));
  Stream *stream = nullptr, *first = nullptr, *second = nullptr;
  GO(current_stream(0, &stream));
  GO(create_stream(0, 0, &first));
  if (went(create_stream(0, 0, &second))) {
    if (blas) {
      multiply(*first, true);
    } else {
      compute(*first, *second);
      hold_foreign(*first, *second);
      capture(*first);
      multiply(*second, false);
    }
    (void)went(destroy_stream(second));
  }
  (void)went(destroy_stream(first));
  cuda::empty_cache(-1);
}

// 0: well; 1: not; 2: well, and fewer allocations than that are made.
static int one_run(int64_t nth) {
  countdown = nth;
  scenario();
  const bool reached = countdown == 0;
  countdown = 0;
  strict = true;
  if (!complaint) scenario();
  Usage usage_now{};
  if (!complaint && (!usage(0, &usage_now).ok() || usage_now.live_blocks || usage_now.waiting || memory_stats().live_blocks))
    complaint = "blocks were left behind";
  if (complaint) printf("allocation %lld: %s\n", static_cast<long long>(nth), complaint);
  fflush(stdout);
  return complaint ? 1 : reached ? 0 : 2;
}

}  // namespace dlt::cuda

int main(int count, char** arguments) {
  using namespace dlt::cuda;
  if (count < 4) return 2;
  sources = arguments[1];
  const int64_t step = atoll(arguments[3]);
  blas = count > 4;
  for (int64_t nth = 0;; nth += nth ? step : 1) {  // 0: none fails, which also fills the host driver's cache
    // Every other run finds the kernels on disk.
    char own[4096];
    snprintf(own, sizeof own, "%s/kernels-%lld", arguments[2], static_cast<long long>(nth % 2 ? nth : 0));
    folder = own;
    const pid_t child = fork();
    if (child == 0) _exit(one_run(nth));
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 2)) {
      printf("allocation %lld: status %x\n", static_cast<long long>(nth), static_cast<unsigned>(status));
      return 1;
    }
    if (nth && WEXITSTATUS(status) == 2) {
      printf("ok %lld\n", static_cast<long long>(nth));
      return 0;
    }
  }
}
