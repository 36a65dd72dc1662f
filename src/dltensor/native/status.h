// SPDX-License-Identifier: Apache-2.0
// The status that functions of the engine return: a kind of fault, and the text of the calling thread's last one.
#pragma once
#include <exception>
#include <new>

#include "dltensor/array.h"
#include "native/export.h"

namespace dlt {

// Row: enumerator, the exception that Python raises for it ("": the caller decides), the code in the C interface.
// clang-format off
#define DLT_FAULTS(X)                                              \
  X(none,        "",            DLT_SUCCESS)                       \
  X(device,      "DeviceError", DLT_CALLBACK_ERROR)                \
  X(memory,      "MemoryError", DLT_INTERNAL_ERROR)                \
  X(value,       "ValueError",  DLT_INVALID_PARAMETER_ERROR)       \
  X(index,       "IndexError",  DLT_INVALID_PARAMETER_ERROR)       \
  X(type,        "TypeError",   DLT_INVALID_PARAMETER_ERROR)       \
  X(buffer,      "BufferError", DLT_CALLBACK_ERROR)                \
  X(buffer_size, "ValueError",  DLT_BUFFER_SIZE_ERROR)             \
  X(callback,    "",            DLT_CALLBACK_ERROR)                \
  X(internal,    "",            DLT_INTERNAL_ERROR)                \
  X(not_ready,   "",            DLT_INTERNAL_ERROR)
// clang-format on

#define DLT_FAULT_ENUMERATOR(name, exception, code) name,
enum class Fault : int { DLT_FAULTS(DLT_FAULT_ENUMERATOR) };
#undef DLT_FAULT_ENUMERATOR

struct FaultRow {
  const char* exception;
  dlt_status_t code;
};
DLT_API extern const FaultRow fault_table[];
DLT_API extern const int fault_count;

// Cheap to return and to test; the text is in message().
struct [[nodiscard]] Status {
  Fault fault = Fault::none;
  bool ok() const noexcept { return fault == Fault::none; }
};

inline constexpr Status success{};

// Text of the calling thread's last fault. Never null; valid until the thread's next fault.
DLT_API const char* message() noexcept;

// Formats the text and returns the fault.
Status fail(Fault fault, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));

// Runs `body`, a part of `function` that returns a Status and may build texts and tables. Memory that runs out there is a
// fault like any other: no exception leaves the engine. Not for what is compiled without exceptions, where clang refuses `try`.
#ifdef __cpp_exceptions
template <class Body>
Status guarded(const char* function, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(Fault::memory, "%s: the host is out of memory", function);
  } catch (const std::exception& error) {
    return fail(Fault::device, "%s: %s", function, error.what());
  }
}
#endif

// Returns a failed status, of any type that has ok(), to the caller: `DLT_TRY(call());`
#define DLT_TRY(expression)                                      \
  do {                                                           \
    if (auto status_ = (expression); !status_.ok()) [[unlikely]] \
      return status_;                                            \
  } while (0)

}  // namespace dlt
