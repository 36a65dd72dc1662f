// SPDX-License-Identifier: Apache-2.0
// Environment variables of the package: one way to read them, one line on stderr for a value that cannot be used.
#pragma once
#include <stdint.h>

#include "native/export.h"

namespace dlt {

// The value of a variable; null when it is not set, or empty.
DLT_API const char* environment(const char* name) noexcept;

// Says that a value is ignored: "dltensor: NAME=VALUE is ignored; expected EXPECTED".
DLT_API void reject_environment(const char* name, const char* value, const char* expected) noexcept;

// A whole number from `low` to `high`. Any other value is rejected; `otherwise` is returned then and when the variable
// is not set.
DLT_API int64_t environment_number(const char* name, int64_t low, int64_t high, int64_t otherwise) noexcept;

// 1 is on; 0 and a missing value are off. Everything else is rejected.
DLT_API bool environment_switch(const char* name) noexcept;

}  // namespace dlt
