// SPDX-License-Identifier: Apache-2.0
// Limits of the control groups that this process is in (Linux). What is limited is said by the caller.
#pragma once
#include <stddef.h>

namespace dlt::os {

// A text file of the kernel, with a NUL. False when there is none.
bool read_text(const char* folder, const char* name, char* text, size_t dims) noexcept;

// The smallest limit of this process's group of a controller and of the groups above it; SIZE_MAX when there is none.
// `limit_of` gives that of one folder, of version 2 when `unified`.
size_t control_group_limit(const char* controller, size_t (*limit_of)(const char* folder, bool unified)) noexcept;

}  // namespace dlt::os
