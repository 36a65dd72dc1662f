// SPDX-License-Identifier: Apache-2.0
// What a call on the CUDA side answers: a kind of fault that maps to one Python exception, and words. No driver here.
#pragma once
#include <exception>
#include <new>

#include "native/export.h"

namespace dlt::cuda {

// Row: enumerator, the exception that Python raises for it.
// clang-format off
#define DLT_CUDA_FAULTS(X)  \
  X(none, "")               \
  X(device, "DeviceError")  \
  X(memory, "MemoryError")  \
  X(value, "ValueError")    \
  X(type, "TypeError")      \
  X(buffer, "BufferError")  \
  X(not_ready, "")
// clang-format on

#define DLT_CUDA_FAULT_ENUMERATOR(name, exception) name,
enum class Fault : int { DLT_CUDA_FAULTS(DLT_CUDA_FAULT_ENUMERATOR) };
#undef DLT_CUDA_FAULT_ENUMERATOR

// Cheap to return and to test; the words of the last fault of this thread are in message().
struct [[nodiscard]] Status {
  Fault fault = Fault::none;
  bool ok() const noexcept { return fault == Fault::none; }
};

inline constexpr Status success{};

// Words of the calling thread's last fault. Never null; valid until its next fault.
DLT_API const char* message() noexcept;

// Formats the words and returns the fault.
Status fail(Fault fault, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));

// Runs `body`, a part of `function` that returns a Status and may build texts and tables. That there is no memory for them
// is a fault like any other: no exception leaves the engine.
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

// Hands a status up: `DLT_CUDA_TRY(call());`
#define DLT_CUDA_TRY(expression)                                                \
  do {                                                                          \
    if (::dlt::cuda::Status status_ = (expression); !status_.ok()) [[unlikely]] \
      return status_;                                                           \
  } while (0)

}  // namespace dlt::cuda
