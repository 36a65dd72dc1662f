// SPDX-License-Identifier: Apache-2.0
// The macro that exports a symbol from libdltensor.so. All other symbols are hidden.
#pragma once
#define DLT_API __attribute__((visibility("default")))
