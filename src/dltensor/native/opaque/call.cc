// SPDX-License-Identifier: Apache-2.0
// Checked calls of foreign functions.
#include "native/opaque/call.h"

#include <string.h>

#include <functional>
#include <string_view>

#include "native/opaque/import.h"
#include "native/opaque/array.h"
#include "native/opaque/errors.h"
#include "native/opaque/geometry.h"

namespace dlt::opaque {
namespace {

// Success never clears an error, so the error after a failed call may be an older, unrelated one. The library the
// array reports to is often unknown as well. So each library's error is recorded before the call; the one that has
// changed afterwards belongs to the call.
class ErrorWatch {
 public:
  explicit ErrorWatch(const Host* only) noexcept {
    if (only) {
      hosts_[0] = only;
      count_ = 1;
    } else {
      count_ = known_hosts(hosts_);
    }
    for (int i = 0; i < count_; ++i) before_[i] = look(hosts_[i]);
  }

  DetailedStatus failure_of(const char* function, const char* slot, dlt_status_t code) const {
    DetailedStatus status = failure(std::string_view(function), ": the array's function '", std::string_view(slot),
                                    "' failed with status ", code);
    int found = -1;
    for (int i = 0; i < count_ && found < 0; ++i)
      if (Look now = look(hosts_[i]); !(now == before_[i])) found = i;
    // A repeated message looks unchanged, like an older, unrelated error: report it as possibly older.
    std::string_view separator = ": ";
    if (found < 0) {
      for (int i = 0; i < count_; ++i)
        if (before_[i].size > 0) found = found == -1 ? i : -2;
      separator = ", without a new message; the last one on this thread was: ";
    }
    if (found < 0) {
      status.message += ", without a message";
      return status;
    }
    const char *message = nullptr, *source = nullptr;
    hosts_[found]->calls.last_error(&message, &source, &status.data);
    status.host = hosts_[found];
    if (!message || !*message) {
      status.message += ", with an empty message";
      return status;
    }
    if (source) status.source = escape_utf8(source);
    // Messages of this library already begin with the name of the function.
    if (status.source == error_source && separator == ": " && std::string_view(message).starts_with(slot))
      status.message = escape_utf8(message);
    else status.message += concat(separator, std::string_view(escape_utf8(message)));
    return status;
  }

 private:
  struct Look {
    const char* message = nullptr;
    void* data = nullptr;
    size_t hash = 0, size = 0;
    bool operator==(const Look& other) const noexcept = default;
  };
  static Look look(const Host* host) noexcept {
    Look seen;
    const char* origin;
    if (host->calls.last_error(&seen.message, &origin, &seen.data) != DLT_SUCCESS || !seen.message) return {};
    std::string_view text(seen.message);
    seen.hash = std::hash<std::string_view>{}(text);
    seen.size = text.size();
    return seen;
  }

  const Host* hosts_[most_hosts];
  Look before_[most_hosts];
  int count_;
};

DetailedStatus missing(const char* function, const char* slot) {
  return failure(std::string_view(function), ": the array's function '", std::string_view(slot), "' is NULL");
}

// The library an array reports to, when the caller does not know: ours store it; for foreign arrays it is the library
// that contains their functions.
const Host* host_of(const dlt_array_t& array) noexcept {
  if (!is_ours(array)) return host_of_caller(reinterpret_cast<const void*>(array.origin));
  const Slot* slot = slot_of(array.ptr);
  const Host* host = slot ? slot->host.load(std::memory_order_acquire) : nullptr;
  return host ? host : own_host();
}

// Calls one function of the struct, or returns the reason of the failure.
template <class Function, class... Args>
DetailedStatus call(const char* function, const char* slot, const Host* host, Function slot_function, Args... args) {
  if (!slot_function) return missing(function, slot);
  // Registers that library, so that its errors are read.
  if (!host) host_of_caller(reinterpret_cast<const void*>(slot_function));
  ErrorWatch watch(host);
  dlt_status_t code = slot_function(args...);
  return code == DLT_SUCCESS ? DetailedStatus{} : watch.failure_of(function, slot, code);
}

DetailedStatus shape_of(const char* function, const dlt_array_t& array, const Host* host, int32_t* ndim, int64_t* shape) {
  const uintptr_t* dims = nullptr;
  uintptr_t count = DLT_ARRAY_MAX_NDIM + 1;  // what remains when the function returns success without writing a result
  if (DetailedStatus status = call(function, "shape", host, array.shape, static_cast<const void*>(array.ptr), &dims, &count);
      !status.ok())
    return status;
  if (count > DLT_ARRAY_MAX_NDIM)
    return failure(std::string_view(function), ": expected a shape of at most ", DLT_ARRAY_MAX_NDIM,
                   " dimensions from the array, got ", count);
  if (count > 0 && !dims)
    return failure(std::string_view(function), ": the array reports ", count, " dimensions and NULL for them");
  for (uintptr_t i = 0; i < count; ++i) {
    if (dims[i] > INT64_MAX)
      return failure(std::string_view(function), ": expected dimensions of at most ", INT64_MAX, ", got ", dims[i],
                     " for axis ", i);
    shape[i] = static_cast<int64_t>(dims[i]);
  }
  *ndim = static_cast<int32_t>(count);
  return {};
}

DetailedStatus name_of(const char* function, dlt_data_origin_t origin, const Host* host, std::string* name) {
  // 256 bytes suffice for every known name; longer ones get the registry's maximum.
  for (size_t space = 256; space <= 65536; space *= 256) {
    std::string buffer(space, '\0');
    dlt_status_t code = host->calls.get_data_origin(origin, buffer.data(), space);
    if (code == DLT_SUCCESS) {
      buffer.resize(strnlen(buffer.data(), space));
      *name = escape_utf8(buffer);
      return {};
    }
    if (code != DLT_BUFFER_SIZE_ERROR) break;
  }
  return failure(std::string_view(function), ": the array's origin ", origin, " has no name in its library");
}

// Device and dtype start from invalid values, so that success without a result is detected.
constexpr DLDevice no_device = {static_cast<DLDeviceType>(0), -1};

DetailedStatus new_array_of(const char* function, const char* slot, DetailedStatus status, const dlt_array_t& created,
                            dlt_array_t* out) {
  if (!status.ok()) return status;
  if (!created.shape || !created.as_dlpack)
    return failure(std::string_view(function), ": the array's function '", std::string_view(slot),
                   "' succeeded without returning a new array");
  *out = created;
  return {};
}

}  // namespace

DetailedStatus read_info(const dlt_array_t& array, const Host* host, ArrayInfo* info) {
  const char* function = "array";
  ArrayInfo got;
  const void* ptr = array.ptr;
  DLT_TRY(call(function, "origin", host, array.origin, ptr, &got.origin));
  got.device = no_device;
  DLT_TRY(call(function, "device", host, array.device, ptr, &got.device));
  if (!is_known(got.device.device_type))
    return failure("array: expected a device of DLPack 1.3 from the array, got ", got.device);
  // Detect a function of another slot, which may write more bytes than a dtype has.
  struct {
    DLDataType value = {};
    uint32_t guard = 0xD1D1D1D1;
  } dtype;
  DLT_TRY(call(function, "dtype", host, array.dtype, ptr, &dtype.value));
  if (dtype.guard != 0xD1D1D1D1)
    return failure("array: the array's function 'dtype' writes more than a dtype; is it a function of another slot?");
  got.dtype = dtype.value;
  if (!is_known(got.dtype)) return failure("array: expected a dtype of DLPack 1.3 from the array, got ", got.dtype);
  DLT_TRY(shape_of(function, array, host, &got.ndim, got.shape));
  DLT_TRY(name_of(function, got.origin, host ? host : host_of(array), &got.origin_name));
  *info = std::move(got);
  return {};
}

DetailedStatus export_tensor(const char* function, const dlt_array_t& array, const Host* host, DLDevice device,
                             const int64_t* stream, DLPackVersion max_version, DLManagedTensorVersioned** out) {
  DLManagedTensorVersioned* tensor = nullptr;
  if (DetailedStatus status = call(function, "as_dlpack", host, array.as_dlpack, array.ptr, &tensor, device, stream,
                                   max_version);
      !status.ok())
    return status;
  if (!tensor)
    return failure(std::string_view(function), ": the array's function 'as_dlpack' succeeded without returning a tensor");
  DetailedStatus status = check_tensor(function, tensor);
  if (status.ok()) {
    DLDevice got = tensor->dl_tensor.device;
    if (got.device_type != device.device_type || got.device_id != device.device_id)
      status = failure(std::string_view(function), ": expected a tensor on ", device, ", got one on ", got);
  }
  if (!status.ok()) {
    call_deleter(tensor);
    return status;
  }
  *out = tensor;
  return {};
}

DetailedStatus call_from_dlpack(const dlt_array_t& array, const Host* host, DLManagedTensorVersioned* tensor,
                                dlt_array_t* out) {
  if (!array.from_dlpack) call_deleter(tensor);
  dlt_array_t created = {};
  DetailedStatus status = call("from_dlpack", "from_dlpack", host, array.from_dlpack, static_cast<const void*>(array.ptr),
                               tensor, &created);
  return new_array_of("from_dlpack", "from_dlpack", std::move(status), created, out);
}

DetailedStatus call_reshape(const dlt_array_t& array, const Host* host, const uintptr_t* shape, uintptr_t count) {
  return call("reshape", "reshape", host, array.reshape, array.ptr, shape, count);
}

DetailedStatus call_swap_axes(const dlt_array_t& array, const Host* host, uintptr_t axis_1, uintptr_t axis_2) {
  return call("swap_axes", "swap_axes", host, array.swap_axes, array.ptr, axis_1, axis_2);
}

DetailedStatus call_create(const dlt_array_t& array, const Host* host, const uintptr_t* shape, uintptr_t count,
                           dlt_array_t fill, dlt_array_t* out) {
  if (!array.create) call_destroy(&fill);
  dlt_array_t created = {};
  DetailedStatus status = call("create", "create", host, array.create, static_cast<const void*>(array.ptr), shape, count, fill,
                               &created);
  return new_array_of("create", "create", std::move(status), created, out);
}

DetailedStatus call_copy(const dlt_array_t& array, const Host* host, DLDevice device, dlt_array_t* out) {
  dlt_array_t created = {};
  DetailedStatus status = call("copy", "copy", host, array.copy, static_cast<const void*>(array.ptr), device, &created);
  return new_array_of("copy", "copy", std::move(status), created, out);
}

DetailedStatus call_move_data(const dlt_array_t& output, const dlt_array_t& input, const Host* host,
                              const dlt_data_movement_t* movements, uintptr_t count) {
  // `input` is passed as a bare pointer, which only the same functions can interpret.
  if (output.move_data && output.move_data != input.move_data)
    return failure("move_data: expected an input whose functions are the output's, got an array of another library");
  return call("move_data", "move_data", host, output.move_data, output.ptr, static_cast<const void*>(input.ptr), movements,
              count);
}

void call_destroy(dlt_array_t* array) noexcept {
  dlt_array_t array_before = *array;
  *array = {};
  if (array_before.destroy) array_before.destroy(array_before.ptr);
}

}  // namespace dlt::opaque
