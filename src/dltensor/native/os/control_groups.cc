// SPDX-License-Identifier: Apache-2.0
// Groups as /proc/self/cgroup names them, in both versions.
#include "native/os/control_groups.h"

#if defined(__linux__)
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace dlt::os {
namespace {

// Returns whether a list such as "cpu,cpuacct" has a name.
bool lists(const char* names, const char* name) noexcept {
  const size_t length = strlen(name);
  for (const char* at = names; (at = strstr(at, name)); at += length)
    if ((at == names || at[-1] == ',') && (at[length] == '\0' || at[length] == ',')) return true;
  return false;
}

// The smallest limit from a group up to the root. Inside a container the path may be the host's and not exist; the
// mounted root is then the container's own.
size_t smallest_limit(const char* mount, const char* group, bool unified, size_t (*limit_of)(const char*, bool)) noexcept {
  size_t limit = SIZE_MAX;
  char folder[1024];
  for (size_t length = strlen(group);; --length) {
    if (length > 0 && group[length - 1] == '/') continue;
    const int written = snprintf(folder, sizeof folder, "%s%.*s", mount, static_cast<int>(length), group);
    if (written > 0 && static_cast<size_t>(written) < sizeof folder)
      if (const size_t there = limit_of(folder, unified); there < limit) limit = there;
    while (length > 0 && group[length - 1] != '/') --length;
    if (length == 0) return limit;
  }
}

}  // namespace

bool read_text(const char* folder, const char* name, char* text, size_t dims) noexcept {
  char path[1100];
  const int written = snprintf(path, sizeof path, "%s/%s", folder, name);
  const int file = written > 0 && static_cast<size_t>(written) < sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return false;
  size_t length = 0;
  for (ssize_t n; length + 1 < dims && (n = read(file, text + length, dims - 1 - length)) > 0;)
    length += static_cast<size_t>(n);
  close(file);
  text[length] = '\0';
  return length > 0;
}

// Lines "4:memory:/group" and "0::/group".
size_t control_group_limit(const char* controller, size_t (*limit_of)(const char* folder, bool unified)) noexcept {
  char text[4096];
  if (!read_text("/proc/self", "cgroup", text, sizeof text)) return SIZE_MAX;
  size_t limit = SIZE_MAX;
  char* rest = nullptr;
  for (char* line = strtok_r(text, "\n", &rest); line; line = strtok_r(nullptr, "\n", &rest)) {
    char* controllers = strchr(line, ':');
    char* group = controllers ? strchr(controllers + 1, ':') : nullptr;
    if (!group) continue;
    *group++ = '\0';
    ++controllers;
    const bool unified = *controllers == '\0';
    if (!unified && !lists(controllers, controller)) continue;
    char mount[64] = "/sys/fs/cgroup";
    if (!unified) snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controller);
    if (const size_t there = smallest_limit(mount, group, unified, limit_of); there < limit) limit = there;
  }
  return limit;
}

}  // namespace dlt::os

#endif
