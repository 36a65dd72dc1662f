// SPDX-License-Identifier: Apache-2.0
// Hosts: the loaded libraries that number origins and keep errors, ours among them; and which one is calling.
#pragma once
#include <stdint.h>

#include <atomic>
#include <string>

#include "native/export.h"
#include "native/opaque/detailed_status.h"

namespace dlt::opaque {

inline constexpr int most_hosts = 16;

// A host is never removed: its library is not unloaded while we may call it.
struct Host {
  dlt_host_t calls;
  int index;
};

// An origin by name. Each host has its own number for it, which is requested once.
struct Origin {
  std::string name;
  std::atomic<dlt_data_origin_t> numbers[most_hosts];
};

DLT_API const Host* own_host() noexcept;

// Null when most_hosts are known already, or when a function is missing.
DLT_API const Host* host_with(const dlt_host_t& calls) noexcept;

// The host of a return address: the one that the code there is linked to, else a loaded
// libmetatensor.so (its Python wrapper calls through an unrelated library), else ours.
const Host* host_of_caller(const void* return_address) noexcept;

// Every host known so far, ours first; returns how many.
DLT_API int known_hosts(const Host* (&out)[most_hosts]) noexcept;

// Null when out of memory, or when our own registry refuses the name.
DLT_API const Origin* origin_named(const char* name) noexcept;

// 0 when the host refuses the name: its last error then has the reason.
DLT_API dlt_data_origin_t number_at(const Origin* origin, const Host* host) noexcept;

}  // namespace dlt::opaque
