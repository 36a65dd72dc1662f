// SPDX-License-Identifier: Apache-2.0
// Finding the BLAS in a library that Python names.
#include "native/cpu/blas.h"

#include <dlfcn.h>
#include <stdio.h>

#include "native/cpu/gemm.h"

namespace dlt {
namespace {

Blas found;
std::atomic<const Blas*> in_use{nullptr};

// scipy-openblas32 prefixes its names; a system's BLAS does not.
void* find(void* library, const char* name) {
  const char* const prefixes[] = {"scipy_", ""};
  for (const char* prefix : prefixes) {
    char symbol[64];
    snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
    if (void* address = dlsym(library, symbol)) return address;
  }
  return nullptr;
}

template <class F>
bool find_into(F* pointer, void* library, const char* name) {
  *pointer = reinterpret_cast<F>(find(library, name));
  return *pointer != nullptr;
}

}  // namespace

const Blas* blas() noexcept { return in_use.load(std::memory_order_acquire); }
bool has_blas() noexcept { return blas() != nullptr; }

bool set_blas(const char* path) noexcept {
  in_use.store(nullptr);
  if (path == nullptr) return true;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  if (!find_into(&found.sgemm, library, "cblas_sgemm") || !find_into(&found.dgemm, library, "cblas_dgemm") ||
      !find_into(&found.cgemm, library, "cblas_cgemm") || !find_into(&found.zgemm, library, "cblas_zgemm"))
    return false;
  // One thread for each call: our pool shares the work out. Its own threads wait for each other by spinning, which on a
  // busy machine takes a hundred times the work itself, and they do not survive a fork.
  void (*set_threads)(int);
  if (find_into(&set_threads, library, "openblas_set_num_threads")) set_threads(1);
  in_use.store(&found, std::memory_order_release);
  return true;
}

}  // namespace dlt
