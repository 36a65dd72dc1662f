// SPDX-License-Identifier: Apache-2.0
// Shared libraries by dlopen(), on Windows by LoadLibrary().
#include "native/os/library.h"

#if defined(_WIN32)
#include <windows.h>

#include <stdio.h>
#else
#include <dlfcn.h>
#endif

namespace dlt::os {

#if defined(_WIN32)

void* load_library(const char* path) noexcept { return reinterpret_cast<void*>(LoadLibraryA(path)); }

void* loaded_library(const char* path) noexcept {
  HMODULE found = nullptr;
  return GetModuleHandleExA(0, path, &found) ? reinterpret_cast<void*>(found) : nullptr;
}

void release_library(void* library) noexcept { FreeLibrary(static_cast<HMODULE>(library)); }

void* find_symbol(void* library, const char* name) noexcept {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

const char* library_error() noexcept {
  thread_local char text[64];
  snprintf(text, sizeof text, "system error %lu", static_cast<unsigned long>(GetLastError()));
  return text;
}

bool library_around(const void* address, const void** base, const char** path) noexcept {
  thread_local char name[MAX_PATH];
  HMODULE found = nullptr;
  constexpr DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (!GetModuleHandleExA(flags, static_cast<const char*>(address), &found)) return false;
  const DWORD length = GetModuleFileNameA(found, name, sizeof name);
  if (length == 0 || length == sizeof name) return false;
  *base = reinterpret_cast<const void*>(found);
  *path = name;
  return true;
}

#else

void* load_library(const char* path) noexcept { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }

void* loaded_library(const char* path) noexcept { return dlopen(path, path != nullptr ? RTLD_LAZY | RTLD_NOLOAD : RTLD_LAZY); }

void release_library(void* library) noexcept { dlclose(library); }

void* find_symbol(void* library, const char* name) noexcept { return dlsym(library, name); }

const char* library_error() noexcept { return dlerror(); }

bool library_around(const void* address, const void** base, const char** path) noexcept {
  Dl_info info;
  if (!dladdr(address, &info)) return false;
  *base = info.dli_fbase;
  *path = info.dli_fname;
  return true;
}

#endif

}  // namespace dlt::os
