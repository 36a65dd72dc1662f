// SPDX-License-Identifier: Apache-2.0
// Threads and the processors that they may use.
#pragma once
#include <pthread.h>
#include <stdint.h>

namespace dlt::os {

// The number of processors this process may use, at least 1: by its affinity and the time that its control groups have.
int allowed_processors() noexcept;

// The one that the caller runs on, or -1.
int current_processor() noexcept;

// Lets threads run wherever the caller may, except on one processor when it is not -1. Does nothing with a single
// processor, and on systems where threads cannot be bound.
void keep_off(const pthread_t* threads, int count, int processor) noexcept;

// The number by which the system's tools name the calling thread.
uint64_t thread_number() noexcept;

}  // namespace dlt::os
