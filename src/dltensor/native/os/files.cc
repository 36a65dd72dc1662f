// SPDX-License-Identifier: Apache-2.0
// Files by POSIX, on Windows by its own calls.
#include "native/os/files.h"

#include <errno.h>
#include <fcntl.h>

#include <algorithm>

#if defined(_WIN32)
#include <direct.h>
#include <io.h>
#include <windows.h>
#else
#include <glob.h>
#include <sys/mman.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sys/vfs.h>
#endif

namespace dlt::os {

#if defined(_WIN32)

std::vector<std::string> files_matching(const std::string& pattern) {
  std::vector<std::string> files;
  WIN32_FIND_DATAA entry;
  const HANDLE search = FindFirstFileA(pattern.c_str(), &entry);
  if (search == INVALID_HANDLE_VALUE) return files;
  const std::string folder = pattern.substr(0, pattern.find_last_of("/\\") + 1);
  do files.push_back(folder + entry.cFileName);
  while (FindNextFileA(search, &entry));
  FindClose(search);
  std::sort(files.begin(), files.end());
  return files;
}

bool is_private(const struct stat&) noexcept { return true; }
bool make_private_folder(const char* path) noexcept { return _mkdir(path) == 0; }
int create_private_file(const char* path) noexcept {
  return _open(path, _O_WRONLY | _O_CREAT | _O_TRUNC | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
}

// Views begin at multiples of the granularity, which is larger than a page.
size_t page_bytes() noexcept {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwAllocationGranularity;
}

void* map_file_pages(int file, size_t bytes, uint64_t offset, Pages pages) noexcept {
  const auto handle = reinterpret_cast<HANDLE>(_get_osfhandle(file));
  const DWORD protection = pages == Pages::shared           ? PAGE_READWRITE
                           : pages == Pages::private_copies ? PAGE_WRITECOPY
                                                            : PAGE_READONLY;
  const DWORD access = pages == Pages::shared           ? FILE_MAP_ALL_ACCESS
                       : pages == Pages::private_copies ? FILE_MAP_COPY
                                                        : FILE_MAP_READ;
  const HANDLE mapping = CreateFileMappingA(handle, nullptr, protection, 0, 0, nullptr);
  void* base = nullptr;
  if (mapping != nullptr) {
    base = MapViewOfFile(mapping, access, static_cast<DWORD>(offset >> 32), static_cast<DWORD>(offset), bytes);
    CloseHandle(mapping);  // the view keeps it
  }
  if (base == nullptr) errno = GetLastError() == ERROR_NOT_ENOUGH_MEMORY ? ENOMEM : EACCES;
  return base;
}

void unmap_file_pages(void* base, size_t) noexcept { UnmapViewOfFile(base); }

#else

std::vector<std::string> files_matching(const std::string& pattern) {
  std::vector<std::string> files;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return files;
}

bool is_private(const struct stat& state) noexcept { return state.st_uid == geteuid() && !(state.st_mode & 022); }
bool make_private_folder(const char* path) noexcept { return mkdir(path, 0700) == 0; }
int create_private_file(const char* path) noexcept {
  return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
}

size_t page_bytes() noexcept { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

void* map_file_pages(int file, size_t bytes, uint64_t offset, Pages pages) noexcept {
  const int protection = pages == Pages::read_only ? PROT_READ : PROT_READ | PROT_WRITE;
  const int visible = pages == Pages::shared           ? MAP_SHARED
                      : pages == Pages::private_copies ? MAP_PRIVATE | MAP_NORESERVE
                                                       : MAP_PRIVATE;
  void* base = mmap(nullptr, bytes, protection, visible, file, static_cast<off_t>(offset));
  return base != MAP_FAILED ? base : nullptr;
}

void unmap_file_pages(void* base, size_t bytes) noexcept { munmap(base, bytes); }

#endif

uint32_t file_system_type(int file) noexcept {
#if defined(__linux__)
  struct statfs info{};
  return fstatfs(file, &info) == 0 ? static_cast<uint32_t>(info.f_type) : 0;
#else
  (void)file;
  return 0;
#endif
}

}  // namespace dlt::os
