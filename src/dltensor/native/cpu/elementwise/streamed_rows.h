// SPDX-License-Identifier: Apache-2.0
// Rows of results that are stored past the caches.
#pragma once
#include <stdint.h>

namespace dlt {

struct Kernels;

// The bytes of a row of output, by non-temporal stores: whole cache lines only; the bytes before and after them are stored
// normally.
void stream_row(const Kernels& kernels, char* to, const char* from, int64_t bytes);
// Waits until what this thread has stored so is in memory.
void end_streaming(const Kernels& kernels);

}  // namespace dlt
