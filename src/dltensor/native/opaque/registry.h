// SPDX-License-Identifier: Apache-2.0
// What fork() needs from the registry of origins; its functions are in array.h.
#pragma once

namespace dlt::opaque {

void registry_lock() noexcept;
void registry_unlock() noexcept;

}  // namespace dlt::opaque
