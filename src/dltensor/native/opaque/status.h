// SPDX-License-Identifier: Apache-2.0
// What a step came to: nothing, or a code and a sentence. And how shapes, dtypes and devices are put in words.
#pragma once
#include <stdint.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dltensor/array.h"

namespace dlt::opaque {

struct Host;

struct Status {
  int32_t code = DLT_SUCCESS;
  std::string message;
  // Of an error that somebody else's function set: who says so, and what hangs on it (a Python exception, say).
  // `data` lives until the next error on this thread.
  std::string source;
  void* data = nullptr;
  const Host* host = nullptr;  // whose error it is

  bool ok() const noexcept { return code == DLT_SUCCESS; }
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
std::string words(const Parts&... parts) {
  std::string text;
  (append(text, parts), ...);
  return text;
}

template <class... Parts>
[[nodiscard]] Status failure(const Parts&... parts) {
  Status status;
  status.code = DLT_CALLBACK_ERROR;
  status.message = words(parts...);
  return status;
}

template <class... Parts>
[[nodiscard]] Status invalid(const Parts&... parts) {
  Status status;
  status.code = DLT_INVALID_PARAMETER_ERROR;
  status.message = words(parts...);
  return status;
}

// What DLPack 1.3 knows. Other values are refused on the way in and so never handed to a library that would crash.
bool is_known(DLDeviceType type) noexcept;
bool is_known(DLDataType dtype) noexcept;

}  // namespace dlt::opaque
