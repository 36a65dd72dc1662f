// SPDX-License-Identifier: Apache-2.0
// Things that only some threads may let go of, kept until one of those comes by. Nobody waits here, for no lock that
// is held while foreign code runs. What the things are is not known here.
#pragma once
#include "native/export.h"

namespace dlt::opaque {

// Keeps `thing` until drain(), and asks for somebody to come, from any thread. Out of memory it is leaked.
DLT_API void defer(void* thing) noexcept;

// Runs `call_deleter` for all that was left.
DLT_API void drain(void (*call_deleter)(void* thing) noexcept) noexcept;

// Is anything left? A glance, no promise.
DLT_API bool has_pending() noexcept;

// How to ask: `ask` must not wait and must not call back. Null ends the asking for good; no call of the old one runs
// any more when this returns.
DLT_API void set_wakeup(void (*ask)() noexcept) noexcept;

}  // namespace dlt::opaque
