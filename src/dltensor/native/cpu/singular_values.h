// SPDX-License-Identifier: Apache-2.0
// The singular value decomposition of one large real matrix; LAPACK, which is called by one thread, does a part of it.
#pragma once
#include <stdint.h>

#include "native/status.h"

namespace dlt {

// Whether this is the faster way for a dtype number `kind` of factored_types; elsewhere LAPACK's whole decomposition is.
bool are_reduced_here(int kind, int64_t m, int64_t n) noexcept;

// Of dtype number `kind` of factored_types; matrices are contiguous, by rows. Without u and vh only the values. `ok` is false
// where the iteration did not converge.
Status singular_values(int kind, int64_t m, int64_t n, bool full, const void* a, void* u, void* values, void* vh,
                       bool* ok) noexcept;

}  // namespace dlt
