// SPDX-License-Identifier: Apache-2.0
// From a kernel's C++ expression to something that can be launched: NVRTC, lazily, one kernel a program, to machine
// code of the real architecture, kept on disk. Which kernel is right for an operation is not decided here.
#pragma once
#include <string>
#include <vector>

#include "native/cuda/runtime/device.h"

namespace dlt::cuda {

struct Kernel {
  CUfunction function = nullptr;
  int blocks_per_multiprocessor = 0;  // that run concurrently with `threads` threads
  int threads = 256;                  // of a block, by default
  int most_threads = 1024;            // of a block: its launch bound
};

// The folder of the package: holds native/ops/*.h and native/cuda/kernels/*.cuh. Needed before the first compile.
DLT_API Status set_source_folder(const char* path) noexcept;

// The folder of compiled kernels; "" keeps none. Unless set: $DLTENSOR_CACHE_DIR/cuda, $XDG_CACHE_HOME/dltensor/cuda
// or ~/.cache/dltensor/cuda. Files there are used only when folder and file belong to this user, no other user may
// write to them, and their content matches its hash.
DLT_API Status set_kernel_cache(const char* path) noexcept;

// A folder with kernels that were compiled beforehand (same files, in a folder for each major version of NVRTC).
DLT_API Status set_compiled_kernels(const char* path) noexcept;

// `header` relative to the source folder, `expression` as C++ names it in dlt::kernels: "fill::strided<float>". Without
// memory for the texts it throws std::bad_alloc: call it inside guarded().
Status get_kernel(Device& device, const std::string& header, const std::string& expression, Kernel* out);
// Kernels that one call needs, whose headers the first one includes: those that are neither known nor on disk are compiled as one
// program, so that the headers are read once. What fails here fails again in get_kernel(), which says why. Throws std::bad_alloc.
struct KernelText {
  std::string header, expression;
};
void prepare_kernels(Device& device, const std::vector<KernelText>& wanted);
// Gets a kernel of a user's text. A text that does not compile is a ValueError with the compiler's lines. `options` replace
// those of the package's own kernels; null keeps them.
Status get_user_kernel(Device& device, const std::string& text, const std::string& expression,
                       const std::vector<std::string>* options, Kernel* out);

// Compiles without a device, for tests: writes the image and the mangled name.
DLT_API Status compile_for(int major, int minor, const char* header, const char* expression, std::string* image,
                           std::string* name) noexcept;

struct CompilerStatistics {
  int64_t compiled, from_disk, refused;  // refused: cached files that did not pass the checks
  double seconds;
};
DLT_API CompilerStatistics compiler_statistics() noexcept;

}  // namespace dlt::cuda
