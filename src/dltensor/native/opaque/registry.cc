// SPDX-License-Identifier: Apache-2.0
// The names of origins and their numbers. Names are never removed, so a number keeps its meaning.
#include <string.h>

#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "native/fork.h"
#include "native/no_destructor.h"
#include "native/opaque/errors.h"

namespace dlt::opaque {
namespace {

constexpr size_t longest_name = 65535;
constexpr size_t most_origins = 1 << 20;
constexpr std::string_view unregistered = "unregistered origin";

struct Registry {
  std::mutex guard;
  std::deque<std::string> names{std::string(unregistered)};  // by number; a deque never moves what it holds
  std::unordered_map<std::string_view, dlt_data_origin_t> numbers{{unregistered, 0}};
};

Registry& registry() {
  static NoDestructor<Registry> instance;
  return *instance;
}
[[gnu::init_priority(fork_order_innermost)]] const ForkHandlers over_fork =
    hold_over_fork<[]() -> std::mutex& { return registry().guard; }>();

DetailedStatus number_of(const char* name, dlt_data_origin_t* origin) {
  if (!name) return invalid("register_data_origin: expected a name, got NULL");
  if (!origin) return invalid("register_data_origin: expected a pointer for the id, got NULL");
  size_t length = strnlen(name, longest_name + 1);
  if (length > longest_name)
    return invalid("register_data_origin: expected a name of at most ", longest_name, " bytes, got a longer one");
  std::string_view text(name, length);
  if (std::string readable = escape_utf8(text); readable != text)
    return invalid("register_data_origin: expected a name in UTF-8, got '", std::string_view(readable), "'");
  Registry& all = registry();
  std::lock_guard lock(all.guard);
  if (auto found = all.numbers.find(text); found != all.numbers.end()) {
    *origin = found->second;
    return {};
  }
  if (all.names.size() > most_origins)
    return invalid("register_data_origin: ", most_origins, " origins are registered already, which is the limit");
  dlt_data_origin_t fresh = all.names.size();
  all.names.emplace_back(text);
  try {
    all.numbers.emplace(all.names.back(), fresh);
  } catch (...) {
    all.names.pop_back();
    throw;
  }
  *origin = fresh;
  return {};
}

DetailedStatus name_of(dlt_data_origin_t origin, char* buffer, size_t size) {
  if (!buffer) return invalid("get_data_origin: expected a buffer for the name, got NULL");
  Registry& all = registry();
  const std::string* name;
  {
    std::lock_guard lock(all.guard);
    name = &all.names[origin < all.names.size() ? origin : 0];
  }
  if (size <= name->size()) {
    return failed_with(Fault::buffer_size, "get_data_origin: the name and its NUL need ", name->size() + 1,
                       " bytes, the buffer has ", size, "; give a larger one");
  }
  memcpy(buffer, name->c_str(), name->size() + 1);
  return {};
}

}  // namespace

}  // namespace dlt::opaque

dlt_status_t dlt_register_data_origin(const char* name, dlt_data_origin_t* origin) {
  return dlt::opaque::set_last_error_of(dlt::opaque::guard_exceptions([&] { return dlt::opaque::number_of(name, origin); }));
}

dlt_status_t dlt_get_data_origin(dlt_data_origin_t origin, char* buffer, uintptr_t buffer_size) {
  return dlt::opaque::set_last_error_of(
      dlt::opaque::guard_exceptions([&] { return dlt::opaque::name_of(origin, buffer, buffer_size); }));
}

uint32_t dlt_array_abi_version(void) { return DLT_ARRAY_ABI_VERSION; }
size_t dlt_array_struct_size(void) { return sizeof(dlt_array_t); }
