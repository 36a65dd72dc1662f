// SPDX-License-Identifier: Apache-2.0
// Finding and loading the CUDA libraries.
#include "native/cuda/runtime/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include "native/cuda/runtime/device.h"
#include "native/os/files.h"
#include "native/os/library.h"

namespace dlt::cuda {

DriverTable driver;
NvrtcTable nvrtc;
CublasTable cublas;
CufftTable cufft;
CusolverTable cusolver;

namespace {

struct Symbol {
  const char* name;
  size_t offset;
  bool required;
};

#define R true
#define O false
#define DLT_SYMBOL_D(need, name, parameters) {#name, offsetof(DriverTable, name), need},
#define DLT_SYMBOL_N(need, name, parameters) {#name, offsetof(NvrtcTable, name), need},
#define DLT_SYMBOL_B(need, name, parameters) {#name, offsetof(CublasTable, name), need},
#define DLT_SYMBOL_F(need, name, parameters) {#name, offsetof(CufftTable, name), need},
#define DLT_SYMBOL_S(need, name, parameters) {#name, offsetof(CusolverTable, name), need},
const Symbol driver_symbols[] = {DLT_CUDA_DRIVER_FUNCTIONS(DLT_SYMBOL_D)};
const Symbol nvrtc_symbols[] = {DLT_CUDA_NVRTC_FUNCTIONS(DLT_SYMBOL_N)};
const Symbol cublas_symbols[] = {DLT_CUDA_CUBLAS_FUNCTIONS(DLT_SYMBOL_B) DLT_CUDA_CUBLASLT_FUNCTIONS(DLT_SYMBOL_B)};
const Symbol cufft_symbols[] = {DLT_CUDA_CUFFT_FUNCTIONS(DLT_SYMBOL_F) DLT_CUDA_CUFFT_TRANSFORMS(DLT_SYMBOL_F)};
const Symbol cusolver_symbols[] = {DLT_CUDA_CUSOLVER_FUNCTIONS(DLT_SYMBOL_S) DLT_CUDA_CUSOLVER_ORTHOGONAL_ROWS(DLT_SYMBOL_S)};
#undef R
#undef O

// The differences between the libraries, as data.
struct Wanted {
  const char* title;
  const char* variable;
  const char* names[4];       // sonames, best first; the system's loader finds them
  const char* folders[4];     // where an installation outside the loader's path puts them
  const char* companions[4];  // opened first by full path from the same folder: no RPATH leads to them
  const char* remedy;
  int behind = 0;  // its major version is so much less than CUDA's
};

const Wanted wanted[] = {
    {"the CUDA driver",
     "DLTENSOR_CUDA_DRIVER",
     {"libcuda.so.1"},
     {"/usr/lib/wsl/lib"},
     {},
     "install the NVIDIA driver (nvidia-smi must work), give its path in DLTENSOR_CUDA_DRIVER, or use device=\"cpu\""},
    {"NVRTC",
     "DLTENSOR_CUDA_NVRTC",
     {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"},
     {"/usr/local/cuda/lib64", "/opt/cuda/lib64"},
     {"libnvrtc-builtins.so*"},
     "pip install 'dltensor[cuda]', or give its path in DLTENSOR_CUDA_NVRTC"},
    {"cuBLAS",
     "DLTENSOR_CUDA_CUBLAS",
     {"libcublas.so.13", "libcublas.so.12", "libcublas.so"},
     {"/usr/local/cuda/lib64", "/opt/cuda/lib64"},
     {"libcublasLt.so*"},
     "pip install 'dltensor[cuda-blas]', or give its path in DLTENSOR_CUDA_CUBLAS"},
    {"cuFFT",
     "DLTENSOR_CUDA_CUFFT",
     {"libcufft.so.12", "libcufft.so.11", "libcufft.so"},
     {"/usr/local/cuda/lib64", "/opt/cuda/lib64"},
     {"libnvJitLink.so*"},
     "pip install 'dltensor[cuda-fft]', give its path in DLTENSOR_CUDA_CUFFT, or compute on the host with .to(\"cpu\")",
     1},
    {"cuSOLVER",
     "DLTENSOR_CUDA_CUSOLVER",
     {"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so"},
     {"/usr/local/cuda/lib64", "/opt/cuda/lib64"},
     {"libnvJitLink.so*", "libcublasLt.so*", "libcublas.so*", "libcusparse.so*"},
     "pip install 'dltensor[cuda-linalg]', give its path in DLTENSOR_CUDA_CUSOLVER, or compute on the host with .to(\"cpu\")",
     1},
};

struct Attempt {
  bool done = false;
  bool absent = false;  // no library, or no device for it
  Fault fault = Fault::none;
  std::string words;  // of the failure
  std::vector<std::string> hints;  // paths from Python
  std::string found;
};

std::mutex lock;
Attempt attempts[std::size(wanted)];

void open_companions(const Wanted& w, const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return;
  for (const char* pattern : w.companions) {
    if (!pattern) continue;
    const std::string files = path.substr(0, slash + 1) + pattern;
    for (const std::string& file : os::files_matching(files))
      if (file.find(".alt") == std::string::npos) os::load_library(file.c_str());
  }
}

void* open_one(const Wanted& w, const std::string& path, Attempt& attempt, std::string& tried) {
  open_companions(w, path);
  if (void* handle = os::load_library(path.c_str())) {
    attempt.found = path;
    return handle;
  }
  const char* why = os::library_error();
  tried += tried.empty() ? "" : "; ";
  // The loader's message begins with the name.
  tried += why && strstr(why, path.c_str()) ? why : path + ": " + (why ? why : "unknown reason");
  return nullptr;
}

// The major version in "libnvrtc.so.13", and its place among others: what the driver's version can use comes first.
int rank(const std::string& path, int behind) {
  const size_t at = path.rfind(".so.");
  const int major = at == std::string::npos ? 0 : atoi(path.c_str() + at + 4) + behind, own = driver.version / 1000;
  if (!own) return -major;  // no driver: the newest
  return major == own ? -1000 : major < own ? own - major : 1000 + major;
}

std::vector<std::string> sorted_hints(const Attempt& attempt, int behind) {
  std::vector<std::string> hints = attempt.hints;
  std::stable_sort(hints.begin(), hints.end(),
                   [=](const std::string& a, const std::string& b) { return rank(a, behind) < rank(b, behind); });
  return hints;
}

void* open(Library library, std::string& tried) {
  const Wanted& w = wanted[static_cast<int>(library)];
  Attempt& attempt = attempts[static_cast<int>(library)];
  if (const char* forced = getenv(w.variable); forced && *forced) {
    if (!strcmp(forced, "off")) {
      tried = std::string(w.variable) + "=off disables it";
      return nullptr;
    }
    return open_one(w, forced, attempt, tried);  // a path given explicitly has no fallback
  }
  for (const std::string& hint : sorted_hints(attempt, w.behind))
    if (void* handle = open_one(w, hint, attempt, tried)) return handle;
  for (const char* name : w.names)
    if (name)
      if (void* handle = open_one(w, name, attempt, tried)) return handle;
  for (const char* folder : w.folders)
    for (const char* name : w.names)
      if (folder && name)
        if (void* handle = open_one(w, std::string(folder) + "/" + name, attempt, tried)) return handle;
  return nullptr;
}

// An attempt that failed for lack of memory does not count: the next call tries again.
Status finish(Attempt& attempt, Status status) {
  attempt.words = status.ok() ? "" : message();
  attempt.fault = status.fault;
  attempt.done = true;
  return status;
}

template <size_t n>
Status load(Library library, void* table, void** handle, const Symbol (&symbols)[n]) {
  const Wanted& w = wanted[static_cast<int>(library)];
  std::string tried;
  *handle = open(library, tried);
  attempts[static_cast<int>(library)].absent = !*handle;
  if (!*handle) return fail(Fault::device, "%s cannot be loaded. Tried: %s. Remedy: %s.", w.title, tried.c_str(), w.remedy);
  for (const Symbol& symbol : symbols) {
    void* address = os::find_symbol(*handle, symbol.name);
    if (!address && symbol.required)
      return fail(Fault::device, "%s (%s) has no function %s: it is too old for this package. Remedy: %s.", w.title,
                  attempts[static_cast<int>(library)].found.c_str(), symbol.name, w.remedy);
    memcpy(static_cast<char*>(table) + symbol.offset, &address, sizeof address);
  }
  return success;
}

Status start_driver() {
  DLT_TRY(load(Library::driver, &driver, &driver.handle, driver_symbols));
  const char* path = attempts[0].found.c_str();
  if (const int result = driver.cuInit(0); result != kSuccess) {
    const char* name = "unknown error";
    driver.cuGetErrorName(result, &name);
    attempts[0].absent = result == kNoDevice;
    return fail(Fault::device, "the CUDA driver (%s) does not start: cuInit gives %s (%d). Remedy: %s.", path, name, result,
                result == kNoDevice ? "no device is visible; check nvidia-smi and CUDA_VISIBLE_DEVICES"
                : result == kOutOfMemory
                    ? "the host has no memory or addresses left for it: raise the limit (ulimit -v), or free memory"
                    : "check nvidia-smi; after fork() use CUDA in one of the processes only");
  }
  driver.cuDriverGetVersion(&driver.version);
  if (driver.version < 11030)
    return fail(Fault::device, "the CUDA driver (%s) is for CUDA %d.%d, this package needs 11.3. Remedy: %s.", path,
                driver.version / 1000, driver.version % 1000 / 10, wanted[0].remedy);
  driver.takes_source = os::find_symbol(driver.handle, "hostcuda_takes_source") != nullptr;
  driver.compiler_log = reinterpret_cast<const char* (*)()>(os::find_symbol(driver.handle, "hostcuda_compiler_log"));
  return success;
}

Status start_nvrtc() {
  DLT_TRY(load(Library::nvrtc, &nvrtc, &nvrtc.handle, nvrtc_symbols));
  nvrtc.nvrtcVersion(&nvrtc.major, &nvrtc.minor);
  int count = 0;
  nvrtc.nvrtcGetNumSupportedArchs(&count);
  if (count > 0 && count <= 64) {
    nvrtc.nvrtcGetSupportedArchs(nvrtc.archs);
    nvrtc.arch_count = count;
  }
  return success;
}

Status once(Library library, Status (*start)()) noexcept {
  Attempt& attempt = attempts[static_cast<int>(library)];
  std::lock_guard<std::mutex> hold(lock);
  if (attempt.done) return attempt.fault == Fault::none ? success : fail(attempt.fault, "%s", attempt.words.c_str());
  return guarded("load", [&] { return finish(attempt, start()); });
}

}  // namespace

Status set_library_path(Library library, const char* path) noexcept {
  std::lock_guard<std::mutex> hold(lock);
  return guarded("set_library_path", [&] {
    auto& hints = attempts[static_cast<int>(library)].hints;
    if (path) hints.emplace_back(path);
    else hints.clear();
    return success;
  });
}

const char* library_path(Library library) noexcept {
  std::lock_guard<std::mutex> hold(lock);
  const Attempt& attempt = attempts[static_cast<int>(library)];
  return attempt.done && attempt.fault == Fault::none ? attempt.found.c_str() : "";
}

std::string expected_path(Library library) {
  std::lock_guard<std::mutex> hold(lock);
  if (const char* forced = getenv(wanted[static_cast<int>(library)].variable); forced && *forced)
    return strcmp(forced, "off") != 0 ? forced : "";
  const std::vector<std::string> hints = sorted_hints(attempts[static_cast<int>(library)],
                                                      wanted[static_cast<int>(library)].behind);
  return hints.empty() ? "" : hints.front();
}

Status load_driver() noexcept { return once(Library::driver, start_driver); }
bool driver_is_absent() noexcept {
  const std::lock_guard<std::mutex> hold(lock);
  return attempts[static_cast<int>(Library::driver)].absent;
}
Status load_nvrtc() noexcept { return once(Library::nvrtc, start_nvrtc); }
Status load_cublas() noexcept {
  return once(Library::cublas, [] { return load(Library::cublas, &cublas, &cublas.handle, cublas_symbols); });
}

Status load_cufft() noexcept {
  return once(Library::cufft, [] { return load(Library::cufft, &cufft, &cufft.handle, cufft_symbols); });
}

Status load_cusolver() noexcept {
  return once(Library::cusolver, [] { return load(Library::cusolver, &cusolver, &cusolver.handle, cusolver_symbols); });
}

Status check_slow(CUresult result, const char* call) noexcept {
  const char* name = nullptr;
  const char* words = nullptr;
  // Both are null for a number that the driver does not know.
  if (driver.cuGetErrorName(result, &name) != kSuccess || !name) name = "unknown error";
  if (driver.cuGetErrorString(result, &words) != kSuccess || !words) words = "the driver does not know this number";
  const int length = static_cast<int>(strcspn(call, "("));
  const char* remedy = "";
  Fault fault = Fault::device;
  switch (result) {
    case kOutOfMemory:
      fault = Fault::memory;
      remedy = "; free tensors or call dl.cuda.empty_cache()";
      break;
    case kCaptureUnsupported:
    case kCaptureInvalidated:
    case kCaptureMerge:
    case kCaptureUnmatched:
    case kCaptureUnjoined:
    case kCaptureIsolation:
    case kCaptureWrongThread:
    case kCaptureImplicit:
    case kCapturedEvent:
      fault = Fault::buffer;
      remedy = "; a CUDA graph is being captured: do this before or after the capture";
      break;
    case kInvalidHandle:
    case kInvalidContext: remedy = "; the stream, event or context was destroyed or belongs to another device"; break;
    case kNotInitialized:
    case kDeinitialized: remedy = "; after fork() use CUDA in one of the processes only, and not while Python ends"; break;
    case kUnsupportedPtx:
      remedy =
          "; NVRTC is newer than the driver and has no machine code for this device: update the driver, or install an "
          "nvidia-cuda-nvrtc that knows the device";
      break;
    case kLaunchOutOfResources: remedy = "; use fewer threads for each block, or less shared memory"; break;
    default: break;
  }
  if (result == kContextIsDestroyed || any_reset())
    remedy =
        "; another library has reset the device (cudaDeviceReset, numba.cuda.close): memory, streams and kernels of this "
        "process are gone from it; restart the process, and reset devices before their first use only";
  else if (is_lost(result)) remedy = "; a kernel of this process failed and the device's context is lost: restart the process";
  return fail(fault, "%.*s: %s (%d): %s%s", length, call, name, result, words, remedy);
}

}  // namespace dlt::cuda
