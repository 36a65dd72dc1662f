// SPDX-License-Identifier: Apache-2.0
// The functions in the struct of our arrays: they map a handle to an array and a C++ failure to a status and a message.
// No exception escapes.
#include <stddef.h>
#include <string.h>

#include "native/opaque/import.h"
#include "native/opaque/array.h"
#include "native/opaque/errors.h"

namespace dlt::opaque {
namespace {

// The message is set in the calling library, where the caller reads it. An error without a text (its allocation
// failed) gets a static one.
dlt_status_t report_error(const void* handle, const void* caller, const DetailedStatus& status) noexcept {
  if (status.ok()) return DLT_SUCCESS;
  const Slot* slot = slot_of(handle);
  const Host* host = slot ? slot->host.load(std::memory_order_acquire) : nullptr;
  if (!host) host = host_of_caller(caller);
  // The data of a foreign error (an exception to raise again) would be deleted with it: if this host already has that
  // error, it is kept.
  void* stored = nullptr;
  if (status.data && host->calls.last_error(nullptr, nullptr, &stored) == DLT_SUCCESS && stored == status.data)
    return DLT_CALLBACK_ERROR;
  const char* text = status.message.empty() ? "unknown C++ exception or no memory left" : status.message.c_str();
  host->calls.set_last_error(text, error_source, nullptr, nullptr);
  return DLT_CALLBACK_ERROR;
}

DetailedStatus no_array(const char* function, const void* handle) {
  if (!handle) return failure(std::string_view(function), ": expected an array, got NULL");
  return failure(std::string_view(function), ": not a dltensor array, or one that was destroyed");
}

DetailedStatus no_place(const char* function) {
  return failure(std::string_view(function), ": expected a pointer for the result, got NULL");
}

// For functions that work on the array itself.
template <class Body>
dlt_status_t on_array(const char* function, const void* handle, const void* caller, Body&& body) noexcept {
  return report_error(handle, caller, guard_exceptions([&]() -> DetailedStatus {
                        Pinned array(handle);
                        return array ? body(*array, array.slot()) : no_array(function, handle);
                      }));
}

// For queries: `read` copies from the slot; the copy is valid if the handle is still live afterwards.
template <class Read>
dlt_status_t from_slot(const char* function, const void* handle, const void* caller, bool place, Read&& read) noexcept {
  if (place) [[likely]]
    if (const Slot* slot = slot_of(handle)) [[likely]] {
      auto store = read(slot);
      if (is_live(slot, handle)) [[likely]] {
        store();
        return DLT_SUCCESS;
      }
    }
  return report_error(handle, caller,
                      guard_exceptions([&] { return place ? no_array(function, handle) : no_place(function); }));
}

void destroy(void* handle) { retire(handle); }

dlt_status_t origin(const void* handle, dlt_data_origin_t* out) {
  const void* caller = __builtin_return_address(0);
  dlt_data_origin_t number = 0;
  dlt_status_t status = from_slot("origin", handle, caller, out, [&](const Slot* slot) {
    const Host* host = slot->host.load(std::memory_order_acquire);
    number = number_at(slot->origin.load(std::memory_order_acquire), host ? host : host_of_caller(caller));
    return [] {};
  });
  // 0: the host has set its error already.
  if (status != DLT_SUCCESS || number == 0) return DLT_CALLBACK_ERROR;
  *out = number;
  return DLT_SUCCESS;
}

dlt_status_t device(const void* handle, DLDevice* out) {
  return from_slot("device", handle, __builtin_return_address(0), out, [out](const Slot* slot) {
    uint64_t bits = slot->device.load(std::memory_order_acquire);
    return [out, bits] { memcpy(out, &bits, sizeof(bits)); };
  });
}

dlt_status_t dtype(const void* handle, DLDataType* out) {
  return from_slot("dtype", handle, __builtin_return_address(0), out, [out](const Slot* slot) {
    uint32_t bits = slot->dtype.load(std::memory_order_acquire);
    return [out, bits] { memcpy(out, &bits, sizeof(bits)); };
  });
}

dlt_status_t shape(const void* handle, const uintptr_t** out, uintptr_t* count) {
  return from_slot("shape", handle, __builtin_return_address(0), out && count, [out, count](const Slot* slot) {
    uint64_t word = slot->shape.load(std::memory_order_acquire);
    return [out, count, word] {
      *count = word >> 56;
      *out = *count ? reinterpret_cast<const uintptr_t*>(word << 8 >> 8) : nullptr;
    };
  });
}

dlt_status_t as_dlpack(void* handle, DLManagedTensorVersioned** out, DLDevice device, const int64_t* stream,
                       DLPackVersion max_version) {
  return on_array("as_dlpack", handle, __builtin_return_address(0),
                  [&](Array& array, Slot*) { return export_managed(array, out, device, stream, max_version); });
}

dlt_status_t from_dlpack(const void* handle, DLManagedTensorVersioned* tensor, dlt_array_t* out) {
  const void* caller = __builtin_return_address(0);
  // Ownership passes with the call, also on failure.
  bool taken = false;
  dlt_status_t status = on_array("from_dlpack", handle, caller, [&](Array& array, Slot*) {
    taken = true;
    return import_managed(array, tensor, out);
  });
  if (!taken) call_deleter(tensor);
  return status;
}

dlt_status_t reshape(void* handle, const uintptr_t* shape, uintptr_t count) {
  return on_array("reshape", handle, __builtin_return_address(0),
                  [&](Array& array, Slot* slot) { return reshape(array, slot, shape, count); });
}

dlt_status_t swap_axes(void* handle, uintptr_t axis_1, uintptr_t axis_2) {
  return on_array("swap_axes", handle, __builtin_return_address(0),
                  [&](Array& array, Slot* slot) { return swap_axes(array, slot, axis_1, axis_2); });
}

dlt_status_t create(const void* handle, const uintptr_t* shape, uintptr_t count, dlt_array_t fill, dlt_array_t* out) {
  dlt_status_t status = on_array("create", handle, __builtin_return_address(0),
                                 [&](Array& array, Slot*) { return create(array, shape, count, fill, out); });
  if (fill.destroy) fill.destroy(fill.ptr);
  return status;
}

dlt_status_t copy(const void* handle, DLDevice device, dlt_array_t* out) {
  return on_array("copy", handle, __builtin_return_address(0), [&](Array& array, Slot*) { return copy(array, device, out); });
}

dlt_status_t move_data(void* handle, const void* input, const dlt_data_movement_t* movements, uintptr_t count) {
  return on_array("move_data", handle, __builtin_return_address(0), [&](Array& array, Slot*) {
    Pinned from(input);
    if (!from) return failure("move_data: the input is not a dltensor array, or one that was destroyed");
    return move_data(array, *from, movements, count);
  });
}

}  // namespace

dlt_array_t with_functions(void* handle) noexcept {
  return {handle, destroy, origin, device, dtype, as_dlpack, from_dlpack, shape, reshape, swap_axes, create, copy, move_data};
}

}  // namespace dlt::opaque

dlt_status_t dlt_array_from_dlpack(DLManagedTensorVersioned* tensor, const char* origin, const dlt_host_t* host,
                                   dlt_array_t* new_array) {
  using namespace dlt::opaque;
  DetailedStatus status = guard_exceptions([&]() -> DetailedStatus {
    if (!new_array) return invalid("array_from_dlpack: expected a pointer for the array, got NULL");
    const Host* answers_to = nullptr;
    if (host && !(answers_to = host_with(*host)))
      return invalid("array_from_dlpack: expected a host with four functions, one of at most ", most_hosts);
    const Origin* named = origin_named(origin ? origin : "dltensor");
    if (!named) return invalid("array_from_dlpack: expected the name of an origin in UTF-8, of at most 65535 bytes");
    return adopt_tensor("array_from_dlpack", tensor, named, answers_to, new_array);
  });
  if (!status.ok()) call_deleter(tensor);
  return set_last_error_of(status);
}

dlt_status_t dlt_array_create(const uintptr_t* shape, uintptr_t shape_count, DLDataType dtype, dlt_array_t* new_array) {
  using namespace dlt::opaque;
  // The message is set in the calling library, as for the functions of the struct.
  return report_error(nullptr, __builtin_return_address(0), guard_exceptions([&]() -> DetailedStatus {
                        if (!new_array) return failure("array_create: expected a pointer for the array, got NULL");
                        return make_zeros("array_create", dtype, shape, shape_count, origin_named("dltensor"), new_array);
                      }));
}
