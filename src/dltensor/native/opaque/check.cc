// SPDX-License-Identifier: Apache-2.0
// dlt_array_check: validates the functions of any array. Queries are called on the array itself; functions that change
// an array are tried on a small one that its library creates.
#include <string.h>

#include "native/memory/managed.h"
#include "native/opaque/import.h"
#include "native/opaque/call.h"
#include "native/opaque/errors.h"
#include "native/opaque/geometry.h"

namespace dlt::opaque {
namespace {

constexpr const char* function = "array_check";
constexpr DLPackVersion newest = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};

// An array created here, destroyed with its scope.
struct OwnedArray {
  dlt_array_t array = {};
  OwnedArray() = default;
  OwnedArray(const OwnedArray&) = delete;
  OwnedArray& operator=(const OwnedArray&) = delete;
  ~OwnedArray() { call_destroy(&array); }
};

// True if one struct has the same two functions in two of its slots as another, in whatever order. As bits: slots have
// different types.
template <class First, class Second>
bool same_pair(First a, Second b, First x, Second y) noexcept {
  uintptr_t pair[2], other[2];
  memcpy(&pair[0], &a, sizeof a);
  memcpy(&pair[1], &b, sizeof b);
  memcpy(&other[0], &x, sizeof x);
  memcpy(&other[1], &y, sizeof y);
  return (pair[0] == other[0] && pair[1] == other[1]) || (pair[0] == other[1] && pair[1] == other[0]);
}

// The new array with the functions of the struct under test, where they are known to apply.
dlt_array_t as_checked(const dlt_array_t& created, const dlt_array_t& array) noexcept {
  dlt_array_t probe = created;
  if (same_pair(array.reshape, array.swap_axes, created.reshape, created.swap_axes))
    probe.reshape = array.reshape, probe.swap_axes = array.swap_axes;
  if (same_pair(array.origin, array.device, created.origin, created.device))
    probe.origin = array.origin, probe.device = array.device;
  return probe;
}

DetailedStatus check_members(const dlt_array_t& array) {
  struct Member {
    const char* name;
    bool is_set;
  };
  for (Member member : {Member{"reshape", array.reshape != nullptr}, Member{"swap_axes", array.swap_axes != nullptr},
                        Member{"create", array.create != nullptr}, Member{"copy", array.copy != nullptr},
                        Member{"move_data", array.move_data != nullptr}, Member{"from_dlpack", array.from_dlpack != nullptr}})
    if (!member.is_set)
      return failure(std::string_view(function), ": the array's function '", std::string_view(member.name), "' is NULL");
  if (memcmp(&array.reshape, &array.swap_axes, sizeof array.reshape) == 0)
    return failure("array_check: 'reshape' and 'swap_axes' are one function");
  if (memcmp(&array.origin, &array.device, sizeof array.origin) == 0)
    return failure("array_check: 'origin' and 'device' are one function");
  return {};
}

DetailedStatus check_export(const dlt_array_t& array, const Host* host, const ArrayInfo& info) {
  DLManagedTensorVersioned* tensor;
  DLT_TRY(export_tensor(function, array, host, info.device, nullptr, newest, &tensor));
  const DLTensor& view = tensor->dl_tensor;
  DetailedStatus status;
  if (memcmp(&view.dtype, &info.dtype, sizeof(DLDataType)) != 0)
    status = failure("array_check: the array reports dtype ", info.dtype, ", its exported tensor ", view.dtype);
  else if (view.ndim != info.ndim ||
           (view.ndim && memcmp(view.shape, info.shape, static_cast<size_t>(view.ndim) * sizeof(int64_t)) != 0))
    status = failure("array_check: the array reports shape ", Dims{info.shape, info.ndim}, ", its exported tensor ",
                     Dims{view.shape, view.ndim});
  call_deleter(tensor);
  return status;
}

DetailedStatus expect_shape(const dlt_array_t& array, const Host* host, const char* name, const char* other, int64_t rows,
                            int64_t columns) {
  ArrayInfo now;
  DLT_TRY(read_info(array, host, &now));
  const int64_t expected[2] = {rows, columns};
  if (now.ndim == 2 && memcmp(now.shape, expected, sizeof expected) == 0) return {};
  return failure("array_check: expected the shape ", Dims{expected, 2}, " after '", std::string_view(name), "', got ",
                 Dims{now.shape, now.ndim}, "; is '", std::string_view(other), "' in this slot?");
}

// Detects swapped slots: both functions take a pointer or number and a number. `reshape` is called first: if swapped, it
// receives an axis as an address, which is refused; `swap_axes` would use an address as an axis.
DetailedStatus check_layout(const dlt_array_t& array, const Host* host, int64_t count) {
  const uintptr_t shape[2] = {1, static_cast<uintptr_t>(count)};
  if (DetailedStatus status = call_reshape(array, host, shape, 2); !status.ok())
    return failure("array_check: 'reshape' to ", Dims{reinterpret_cast<const int64_t*>(shape), 2},
                   " failed; is 'swap_axes' in this slot? ", std::string_view(status.message));
  DLT_TRY(expect_shape(array, host, "reshape", "swap_axes", 1, count));
  if (DetailedStatus status = call_swap_axes(array, host, 0, 1); !status.ok())
    return failure("array_check: 'swap_axes' of 0 and 1 failed; is 'reshape' in this slot? ", std::string_view(status.message));
  return expect_shape(array, host, "swap_axes", "reshape", count, 1);
}

// An array of the same library with six elements. False when that library cannot create it, which is not an error.
bool make_known(const dlt_array_t& array, const Host* host, DLDeviceType type, OwnedArray* created) {
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  Block* block = allocate(6 * sizeof(double));
  if (!block) return false;
  memset(block->data, 0, 6 * sizeof(double));
  const DLTensor view = {block->data, {type, 0}, 2, {kDLFloat, 64, 1}, shape, strides, 0};
  DLManagedTensorVersioned* tensor = export_managed(view, block, 0);
  release(block);
  return tensor && call_from_dlpack(array, host, tensor, &created->array).ok();
}

// Detects swapped slots: both functions write eight bytes, which are equal for an array on the CPU of origin 1. On another
// device they differ: the origin does not change.
DetailedStatus check_origin(const dlt_array_t& array, const Host* host, const ArrayInfo& info) {
  OwnedArray pinned;
  ArrayInfo now;
  if (!make_known(array, host, kDLCUDAHost, &pinned) || !read_info(as_checked(pinned.array, array), host, &now).ok()) return {};
  if (now.origin == info.origin) return {};
  return failure("array_check: expected the origin ", info.origin, " of an array that 'from_dlpack' made, got ", now.origin,
                 "; are 'origin' and 'device' swapped?");
}

DetailedStatus check(const dlt_array_t& array, const Host* host) {
  DLT_TRY(check_members(array));
  ArrayInfo info;
  DLT_TRY(read_info(array, host, &info));
  DLT_TRY(check_export(array, host, info));
  OwnedArray known;
  int64_t count = 6;
  if (make_known(array, host, kDLCPU, &known)) {
    DLT_TRY(check_origin(array, host, info));
  } else if (!call_copy(array, host, info.device, &known.array).ok() || !count_of(info.ndim, info.shape, &count)) {
    return {};  // a library that creates no arrays: nothing more can be tested
  }
  return check_layout(as_checked(known.array, array), host, count);
}

}  // namespace
}  // namespace dlt::opaque

dlt_status_t dlt_array_check(const dlt_array_t* array, const dlt_host_t* host) {
  using namespace dlt::opaque;
  return set_last_error_of(guard_exceptions([&]() -> DetailedStatus {
    if (!array) return invalid("array_check: expected an array, got NULL");
    const Host* answers_to = host ? host_with(*host) : nullptr;
    if (host && !answers_to) return invalid("array_check: expected a host with four functions");
    return check(*array, answers_to);
  }));
}
