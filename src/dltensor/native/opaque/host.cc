// SPDX-License-Identifier: Apache-2.0
// Finding hosts among the loaded libraries. Nothing gets loaded here, and what was found stays loaded.
#include "native/opaque/host.h"

#include <string.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include "native/fork.h"
#include "native/no_destructor.h"
#include "native/opaque/errors.h"
#include "native/os/library.h"

namespace dlt::opaque {
namespace {

constexpr const char* other_library = "libmetatensor.so";

constexpr dlt_host_t own_calls = {dlt_register_data_origin, dlt_get_data_origin, dlt_last_error, dlt_set_last_error};

struct Hosts {
  std::mutex guard;
  Host list[most_hosts] = {{own_calls, 0}};
  std::atomic<int> count = 1;
  std::unordered_map<std::string, std::unique_ptr<Origin>> origins;
};

Hosts& hosts() noexcept {
  static NoDestructor<Hosts> instance;
  return *instance;
}
[[gnu::init_priority(fork_order_innermost)]] const ForkHandlers over_fork =
    hold_over_fork<[]() -> std::mutex& { return hosts().guard; }>();

bool same(const dlt_host_t& a, const dlt_host_t& b) noexcept {
  return a.register_data_origin == b.register_data_origin && a.get_data_origin == b.get_data_origin &&
         a.last_error == b.last_error && a.set_last_error == b.set_last_error;
}

template <class Function>
bool look_up(void* library, const char* prefix, const char* name, Function* out) {
  char symbol[64] = "";
  strncat(symbol, prefix, 8);
  strncat(symbol, name, 50);
  void* found = os::find_symbol(library, symbol);
  memcpy(out, &found, sizeof(found));
  return found != nullptr;
}

bool look_up(void* library, const char* prefix, dlt_host_t* out) {
  return look_up(library, prefix, "register_data_origin", &out->register_data_origin) &&
         look_up(library, prefix, "get_data_origin", &out->get_data_origin) &&
         look_up(library, prefix, "last_error", &out->last_error) &&
         look_up(library, prefix, "set_last_error", &out->set_last_error);
}

// The library that `address` is in, or what that library was linked to: dlsym looks through both.
const Host* host_around(const void* address) noexcept {
  const void *base, *own_base = nullptr;
  const char* path;
  if (os::library_around(&own_calls, &own_base, &path), !os::library_around(address, &base, &path)) return nullptr;
  if (base == own_base) return own_host();
  // The handle is kept, so that the library stays loaded. The program itself may be known by another name.
  void* library = os::loaded_library(path);
  if (!library) library = os::loaded_library(nullptr);
  dlt_host_t found;
  if (!library || (!look_up(library, "mts_", &found) && !look_up(library, "dlt_", &found))) return nullptr;
  return host_with(found);
}

const Host* other_host() noexcept {
  static std::atomic<const Host*> known = nullptr;
  if (const Host* host = known.load(std::memory_order_acquire)) return host;
  void* library = os::loaded_library(other_library);
  dlt_host_t found;
  if (!library || !look_up(library, "mts_", &found)) return nullptr;
  const Host* host = host_with(found);
  known.store(host, std::memory_order_release);
  return host;
}

// Return addresses seen before. A slot is written once, host before address.
struct Caller {
  std::atomic<const void*> address;
  std::atomic<const Host*> host;  // null: the code there belongs to none
};
constexpr size_t callers_dims = 256;
Caller callers[callers_dims];

size_t place_of(const void* address) noexcept { return (reinterpret_cast<uintptr_t>(address) * 0x9E3779B97F4A7C15u) >> 56; }

void remember_caller(const void* address, const Host* host) noexcept {
  std::lock_guard lock(hosts().guard);
  for (size_t i = 0, at = place_of(address); i < 8; ++i, at = (at + 1) % callers_dims) {
    const void* registered = callers[at].address.load(std::memory_order_relaxed);
    if (registered == address) return;
    if (registered) continue;
    callers[at].host.store(host, std::memory_order_relaxed);
    callers[at].address.store(address, std::memory_order_release);
    return;
  }
}

}  // namespace

const Host* own_host() noexcept { return &hosts().list[0]; }

const Host* host_with(const dlt_host_t& calls) noexcept {
  if (!calls.register_data_origin || !calls.get_data_origin || !calls.last_error || !calls.set_last_error) return nullptr;
  Hosts& all = hosts();
  std::lock_guard lock(all.guard);
  int count = all.count.load(std::memory_order_relaxed);
  for (int i = 0; i < count; ++i)
    if (same(all.list[i].calls, calls)) return &all.list[i];
  if (count == most_hosts) return nullptr;
  all.list[count] = {calls, count};
  all.count.store(count + 1, std::memory_order_release);
  return &all.list[count];
}

const Host* host_of_caller(const void* return_address) noexcept {
  const Host* host = nullptr;
  bool seen = false;
  for (size_t i = 0, at = place_of(return_address); i < 8 && !seen; ++i, at = (at + 1) % callers_dims) {
    const void* registered = callers[at].address.load(std::memory_order_acquire);
    if (!registered) break;
    if (registered == return_address) {
      host = callers[at].host.load(std::memory_order_relaxed);
      seen = true;
    }
  }
  if (!seen) {
    host = host_around(return_address);
    remember_caller(return_address, host);
  }
  if (!host) host = other_host();
  return host ? host : own_host();
}

int known_hosts(const Host* (&out)[most_hosts]) noexcept {
  Hosts& all = hosts();
  int count = all.count.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) out[i] = &all.list[i];
  return count;
}

const Origin* origin_named(const char* name) noexcept {
  try {
    Hosts& all = hosts();
    std::string key(name);
    {
      std::lock_guard lock(all.guard);
      if (auto found = all.origins.find(key); found != all.origins.end()) return found->second.get();
    }
    // Our own registry validates the name, outside the lock.
    if (dlt_data_origin_t number; dlt_register_data_origin(name, &number) != DLT_SUCCESS) return nullptr;
    std::lock_guard lock(all.guard);
    auto& origin = all.origins[key];
    if (!origin) {
      origin = std::make_unique<Origin>();
      origin->name = key;
    }
    return origin.get();
  } catch (...) {
    return nullptr;
  }
}

dlt_data_origin_t number_at(const Origin* origin, const Host* host) noexcept {
  auto& stored = const_cast<std::atomic<dlt_data_origin_t>&>(origin->numbers[host->index]);
  dlt_data_origin_t number = stored.load(std::memory_order_relaxed);
  // Two threads may both ask: a host gives one name one number.
  if (number == 0 && host->calls.register_data_origin(origin->name.c_str(), &number) == DLT_SUCCESS)
    stored.store(number, std::memory_order_relaxed);
  return number;
}

}  // namespace dlt::opaque

dlt_status_t dlt_find_host(const char* library, dlt_host_t* host) {
  using namespace dlt::opaque;
  return set_last_error_of(guard_exceptions([&]() -> DetailedStatus {
    if (!library || !host) return invalid("find_host: expected the name of a library and a place for the result, got NULL");
    void* found = dlt::os::loaded_library(library);
    if (!found)
      return invalid("find_host: expected a library that is loaded, '", std::string_view(library), "' is not; load it first");
    dlt_host_t calls;
    if (!look_up(found, "mts_", &calls) && !look_up(found, "dlt_", &calls)) {
      dlt::os::release_library(found);
      return invalid("find_host: '", std::string_view(library),
                     "' has neither the mts_ nor the dlt_ functions for origins and errors");
    }
    *host = calls;
    return {};
  }));
}
