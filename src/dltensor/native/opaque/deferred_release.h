// SPDX-License-Identifier: Apache-2.0
// Objects that only some threads may release, kept until such a thread drains them. Never blocks, and holds no lock
// while foreign code runs. The objects are opaque here.
#pragma once
#include "native/export.h"

namespace dlt::opaque {

// Keeps `thing` until drain() and calls the wake-up, from any thread. Out of memory it is leaked.
DLT_API void defer(void* thing) noexcept;

// Runs `call_deleter` for all deferred objects.
DLT_API void drain(void (*call_deleter)(void* thing) noexcept) noexcept;

// Returns whether anything is deferred: a hint without synchronization.
DLT_API bool has_pending() noexcept;

// Sets the wake-up: `call` must not block and must not call back. Null disables it; no call of the old one is running
// when this returns.
DLT_API void set_wakeup(void (*call)() noexcept) noexcept;

}  // namespace dlt::opaque
