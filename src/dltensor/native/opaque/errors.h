// SPDX-License-Identifier: Apache-2.0
// The last error of each thread, inside the library; the public functions are declared in array.h.
#pragma once
#include <string>
#include <string_view>

#include "native/opaque/detailed_status.h"

namespace dlt::opaque {

// The origin of errors that this library sets itself.
inline constexpr const char* error_source = "dltensor";

// Escapes NULs and bytes that are not UTF-8 as \xNN; truncates long texts.
std::string escape_utf8(std::string_view bytes);

// For functions of the C interface: sets the last error unless `status` is success, and returns its code.
dlt_status_t set_last_error_of(const DetailedStatus& status) noexcept;

// Runs `body`, which returns a DetailedStatus, and converts C++ exceptions to a status.
template <class Body>
DetailedStatus guard_exceptions(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    DetailedStatus status;
    status.fault = Fault::memory;
    status.message.assign("out of memory");  // fits the string itself: nothing to allocate
    return status;
  } catch (const std::exception& error) {
    DetailedStatus status;
    status.fault = Fault::internal;
    try {
      status.message = error.what();
    } catch (...) {
    }
    return status;
  } catch (...) {
    DetailedStatus status;
    status.fault = Fault::internal;
    return status;
  }
}

}  // namespace dlt::opaque
