// SPDX-License-Identifier: Apache-2.0
// The default dtype of the process, and whether a context of Python has another one. Python chooses and applies it.
#pragma once
#include <atomic>

#include "native/cpu/runtime/dtype.h"
#include "native/export.h"

namespace dlt {

// The dtype of real numbers that come without one: float32 or float64. While `contexts` is not 0, some context of Python
// has a choice of its own, and Python asks it.
struct DefaultReal {
  std::atomic<int> type, contexts;
};
DLT_API extern DefaultReal default_real;  // in dtype.cc

inline int process_default() noexcept { return default_real.type.load(std::memory_order_relaxed); }
inline void set_process_default(int type) noexcept { default_real.type.store(type, std::memory_order_relaxed); }
inline void count_contexts(int change) noexcept { default_real.contexts.fetch_add(change, std::memory_order_relaxed); }
inline bool has_context_defaults() noexcept { return default_real.contexts.load(std::memory_order_relaxed) != 0; }

}  // namespace dlt
