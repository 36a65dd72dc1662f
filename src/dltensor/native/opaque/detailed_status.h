// SPDX-License-Identifier: Apache-2.0
// The result of a call: success, or a code and a message; and text for shapes, dtypes and devices.
#pragma once
#include <stdint.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dltensor/array.h"
#include "native/status.h"

namespace dlt::opaque {

struct Host;

struct DetailedStatus : Status {
  std::string message;
  // For an error set by a foreign function: its library, and the data attached to it (a Python exception, for example).
  // `data` lives until the next error on this thread.
  std::string source;
  void* data = nullptr;
  const Host* host = nullptr;  // whose error it is

  dlt_status_t code() const noexcept { return fault_table[int(fault)].code; }
};

void append(std::string& text, std::string_view part);
void append(std::string& text, DLDevice device);
void append(std::string& text, DLDataType dtype);
void append_number(std::string& text, long long number);
void append_number(std::string& text, unsigned long long number);

struct Dims {
  const int64_t* values;
  int32_t count;
};
void append(std::string& text, Dims dims);

template <class T>
  requires std::is_integral_v<T>
void append(std::string& text, T number) {
  using Wide = std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>;
  append_number(text, static_cast<Wide>(number));
}

template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string text;
  (append(text, parts), ...);
  return text;
}

// A status of `fault`, and the two usual ones: a function failed, an argument is wrong.
template <class... Parts>
DetailedStatus failed_with(Fault fault, const Parts&... parts) {
  DetailedStatus status;
  status.fault = fault;
  status.message = concat(parts...);
  return status;
}

template <class... Parts>
DetailedStatus failure(const Parts&... parts) {
  return failed_with(Fault::callback, parts...);
}

template <class... Parts>
DetailedStatus invalid(const Parts&... parts) {
  return failed_with(Fault::value, parts...);
}

// Returns whether DLPack 1.3 defines a value. Others are refused at import and so never passed to a library that would crash.
bool is_known(DLDeviceType type) noexcept;
bool is_known(DLDataType dtype) noexcept;

}  // namespace dlt::opaque
