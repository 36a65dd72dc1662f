// SPDX-License-Identifier: Apache-2.0
// A memory barrier on all threads of the process, so that the fast path of rarely contended code needs no locked
// instruction.
#pragma once

namespace dlt {

// Returns whether the system has it (Linux 4.3 and later, unless a sandbox forbids the call).
bool has_process_barrier() noexcept;

// When it returns, every other thread has passed a full barrier since the call. False when the system refused.
bool process_barrier() noexcept;

}  // namespace dlt
