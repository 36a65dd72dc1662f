// SPDX-License-Identifier: Apache-2.0
// Reading environment variables. Their meaning is defined where they are used.
#include "native/environment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace dlt {

const char* environment(const char* name) noexcept {
  const char* value = getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

void reject_environment(const char* name, const char* value, const char* expected) noexcept {
  // Only the start of the value, without control characters.
  char shown[64];
  size_t n = 0;
  for (; value[n] != '\0' && n < sizeof shown - 1; ++n) shown[n] = value[n] >= ' ' && value[n] != 0x7f ? value[n] : '?';
  shown[n] = '\0';
  fprintf(stderr, "dltensor: %s=%s%s is ignored; expected %s\n", name, shown, value[n] != '\0' ? "..." : "", expected);
}

int64_t environment_number(const char* name, int64_t low, int64_t high, int64_t otherwise) noexcept {
  const char* value = environment(name);
  if (value == nullptr) return otherwise;
  char* end = nullptr;
  errno = 0;
  const long long number = strtoll(value, &end, 10);
  if (errno == 0 && *end == '\0' && end != value && number >= low && number <= high) return number;
  char expected[96];
  snprintf(expected, sizeof expected, "a whole number from %" PRId64 " to %" PRId64, low, high);
  reject_environment(name, value, expected);
  return otherwise;
}

bool environment_switch(const char* name) noexcept {
  const char* value = environment(name);
  if (value == nullptr || strcmp(value, "0") == 0) return false;
  if (strcmp(value, "1") != 0) reject_environment(name, value, "0 or 1");
  return strcmp(value, "1") == 0;
}

}  // namespace dlt
