// SPDX-License-Identifier: Apache-2.0
// From the 96-byte layout to the 104-byte one and back: a wrapper around the old struct, and functions that
// translate each call to the other layout.
#include <mutex>
#include <new>
#include <unordered_set>

#include "native/fork.h"
#include "native/no_destructor.h"
#include "native/opaque/import.h"
#include "native/opaque/array.h"
#include "native/opaque/call.h"
#include "native/opaque/errors.h"
#include "native/opaque/host.h"

namespace dlt::opaque {
namespace {

// The input of move_data is a bare pointer that may not be a wrapper, so live wrappers are registered by address.
class Boxes {
 public:
  void add(const void* box) {
    std::lock_guard lock(guard_);
    living_.insert(box);
  }
  bool remove(const void* box) noexcept {
    std::lock_guard lock(guard_);
    return living_.erase(box) == 1;
  }
  bool has(const void* box) noexcept {
    std::lock_guard lock(guard_);
    return living_.count(box) == 1;
  }
  std::mutex& guard() noexcept { return guard_; }

 private:
  std::mutex guard_;
  std::unordered_set<const void*> living_;
};

Boxes& boxes() noexcept {
  static NoDestructor<Boxes> instance;
  return *instance;
}
[[gnu::init_priority(fork_order_innermost)]] const ForkHandlers over_fork =
    hold_over_fork<[]() -> std::mutex& { return boxes().guard(); }>();

// The host that was passed with an array, or null. A wrapped struct of the old layout is another library's: ours would
// have been unwrapped.
const Host* explicit_host(const dlt_array_t& array) noexcept {
  const Slot* slot = is_ours(array) ? slot_of(array.ptr) : nullptr;
  return slot ? slot->host.load(std::memory_order_acquire) : nullptr;
}
const Host* explicit_host(const dlt_array_v1_t&) noexcept { return nullptr; }

// Report to the host that was passed with the wrapped array, else to the caller's.
dlt_status_t report_error(const Host* host, const void* caller, const char* message) noexcept {
  (host ? host : host_of_caller(caller))->calls.set_last_error(message, error_source, nullptr, nullptr);
  return DLT_CALLBACK_ERROR;
}
dlt_status_t report_error(const Host* host, const void* caller, const DetailedStatus& status) noexcept {
  if (status.ok()) return DLT_SUCCESS;
  return report_error(host, caller, status.message.empty() ? "out of memory" : status.message.c_str());
}

// Inner: the wrapped struct. Members common to both layouts are passed on unchanged.
template <class Inner>
struct Box {
  Inner inner;

  static const Inner& of(const void* ptr) noexcept { return static_cast<const Box*>(ptr)->inner; }

  static void destroy(void* ptr) {
    if (!ptr || !boxes().remove(ptr)) return;
    Inner inner = of(ptr);
    delete static_cast<Box*>(ptr);
    if (inner.destroy) inner.destroy(inner.ptr);
  }
  static dlt_status_t origin(const void* ptr, dlt_data_origin_t* out) { return of(ptr).origin(of(ptr).ptr, out); }
  static dlt_status_t device(const void* ptr, DLDevice* out) { return of(ptr).device(of(ptr).ptr, out); }
  static dlt_status_t dtype(const void* ptr, DLDataType* out) { return of(ptr).dtype(of(ptr).ptr, out); }
  static dlt_status_t as_dlpack(void* ptr, DLManagedTensorVersioned** out, DLDevice device, const int64_t* stream,
                                DLPackVersion max_version) {
    return of(ptr).as_dlpack(of(ptr).ptr, out, device, stream, max_version);
  }
  static dlt_status_t shape(const void* ptr, const uintptr_t** shape, uintptr_t* count) {
    return of(ptr).shape(of(ptr).ptr, shape, count);
  }
  static dlt_status_t reshape(void* ptr, const uintptr_t* shape, uintptr_t count) {
    return of(ptr).reshape(of(ptr).ptr, shape, count);
  }
  static dlt_status_t swap_axes(void* ptr, uintptr_t axis_1, uintptr_t axis_2) {
    return of(ptr).swap_axes(of(ptr).ptr, axis_1, axis_2);
  }
  static dlt_status_t move_data(void* output, const void* input, const dlt_data_movement_t* movements, uintptr_t count) {
    if (!boxes().has(input)) {
      static const char message[] = "move_data: the output was converted from another layout, the input was not; convert both";
      return report_error(explicit_host(of(output)), __builtin_return_address(0), message);
    }
    return of(output).move_data(of(output).ptr, of(input).ptr, movements, count);
  }

  // The members that both layouts have; a function that is missing stays missing.
  template <class Outer>
  static Outer shell(const Inner& inner, Box* box) noexcept {
    Outer outer = {};
    outer.ptr = box;
    outer.destroy = destroy;
    if (inner.origin) outer.origin = origin;
    if (inner.device) outer.device = device;
    if (inner.dtype) outer.dtype = dtype;
    if (inner.as_dlpack) outer.as_dlpack = as_dlpack;
    if (inner.shape) outer.shape = shape;
    if (inner.reshape) outer.reshape = reshape;
    if (inner.swap_axes) outer.swap_axes = swap_axes;
    if (inner.move_data) outer.move_data = move_data;
    return outer;
  }
};

using OldBox = Box<dlt_array_v1_t>;  // behind a new struct
using NewBox = Box<dlt_array_t>;     // behind an old struct

// A registered wrapper with the struct in it.
template <class Inner>
Box<Inner>* boxed(const Inner& inner) {
  auto* box = new Box<Inner>{inner};
  try {
    boxes().add(box);
  } catch (...) {
    delete box;
    throw;
  }
  return box;
}

// Unwraps: the wrapper is destroyed, the struct is returned.
template <class Inner>
Inner unboxed(void* ptr) noexcept {
  Inner inner = Box<Inner>::of(ptr);
  boxes().remove(ptr);
  delete static_cast<Box<Inner>*>(ptr);
  return inner;
}

DetailedStatus to_old(const dlt_array_t& array, dlt_array_v1_t* out);
DetailedStatus to_new(const dlt_array_v1_t& array, dlt_array_t* out);

// `convert` converts the result of the inner function to the outer layout; when that fails, the result is destroyed.
template <class Created, class Outer>
DetailedStatus hand_over(Created& created, Outer* out, DetailedStatus (*convert)(const Created&, Outer*)) {
  DetailedStatus status = guard_exceptions([&] { return convert(created, out); });
  if (!status.ok() && created.destroy) created.destroy(created.ptr);
  return status;
}

// `create` of an outer struct: the fill becomes one of the inner layout, the result one of the outer layout.
template <class Inner, class Outer, DetailedStatus (*to_inner)(const Outer&, Inner*),
          DetailedStatus (*to_outer)(const Inner&, Outer*)>
dlt_status_t create(const void* ptr, const uintptr_t* shape, uintptr_t count, Outer fill, Outer* out) {
  const void* caller = __builtin_return_address(0);
  const Inner& inner = Box<Inner>::of(ptr);
  Inner inner_fill, created = {};
  if (DetailedStatus status = hand_over(fill, &inner_fill, to_inner); !status.ok())
    return report_error(explicit_host(inner), caller, status);
  dlt_status_t code = inner.create(inner.ptr, shape, count, inner_fill, &created);
  return code == DLT_SUCCESS ? report_error(explicit_host(inner), caller, hand_over(created, out, to_outer)) : code;
}

// The device of the inner array, which `copy` needs.
template <class Inner>
dlt_status_t device_of(const Inner& inner, const void* caller, DLDevice* here) {
  *here = {};
  if (inner.device) return inner.device(inner.ptr, here);
  return report_error(explicit_host(inner), caller,
                      guard_exceptions([] { return failure("copy: the array's function 'device' is NULL"); }));
}

dlt_status_t old_copy(const void* ptr, DLDevice device, dlt_array_t* out) {
  const void* caller = __builtin_return_address(0);
  const dlt_array_v1_t& inner = OldBox::of(ptr);
  // The old `copy` has no device argument: only the array's own device may be requested.
  DLDevice here;
  if (dlt_status_t code = device_of(inner, caller, &here); code != DLT_SUCCESS) return code;
  if (here.device_type != device.device_type || here.device_id != device.device_id)
    return report_error(explicit_host(inner), caller, guard_exceptions([&] {
                          return failure("copy: an array of the 96-byte layout on ", here, " cannot be copied to ", device);
                        }));
  dlt_array_v1_t created = {};
  dlt_status_t code = inner.copy(inner.ptr, &created);
  return code == DLT_SUCCESS ? report_error(explicit_host(inner), caller, hand_over(created, out, to_new)) : code;
}

dlt_status_t old_from_dlpack(const void*, DLManagedTensorVersioned* tensor, dlt_array_t*) {
  const void* caller = __builtin_return_address(0);
  call_deleter(tensor);
  return report_error(
      nullptr, caller, guard_exceptions([] {
        return failure("from_dlpack: an array of the 96-byte layout cannot import a tensor; use dlt_array_from_dlpack");
      }));
}

dlt_status_t new_copy(const void* ptr, dlt_array_v1_t* out) {
  const void* caller = __builtin_return_address(0);
  const dlt_array_t& inner = NewBox::of(ptr);
  DLDevice here;
  if (dlt_status_t code = device_of(inner, caller, &here); code != DLT_SUCCESS) return code;
  dlt_array_t created = {};
  dlt_status_t code = inner.copy(inner.ptr, here, &created);
  return code == DLT_SUCCESS ? report_error(explicit_host(inner), caller, hand_over(created, out, to_old)) : code;
}

// A wrapped struct is unwrapped, so that converting back gives the same struct. A view of a wrapper becomes a view
// of the wrapped struct, and the wrapper keeps its owner.
template <class Inner, class Boxed>
bool opened(const Boxed& array, Inner* out) noexcept {
  if (array.device != Box<Inner>::device || !boxes().has(array.ptr)) return false;
  if (array.destroy) {
    *out = unboxed<Inner>(array.ptr);
  } else {
    *out = Box<Inner>::of(array.ptr);
    out->destroy = nullptr;
  }
  return true;
}

// A struct that was never filled: every array has at least one of these.
template <class Struct>
bool is_nothing(const Struct& array) noexcept {
  return !array.origin && !array.device && !array.dtype && !array.as_dlpack && !array.shape;
}

DetailedStatus to_new(const dlt_array_v1_t& array, dlt_array_t* out) {
  if (opened(array, out)) return {};
  auto* box = boxed(array);
  dlt_array_t created = OldBox::shell<dlt_array_t>(array, box);
  created.from_dlpack = old_from_dlpack;
  if (array.create) created.create = create<dlt_array_v1_t, dlt_array_t, to_old, to_new>;
  if (array.copy) created.copy = old_copy;
  *out = created;
  return {};
}

DetailedStatus to_old(const dlt_array_t& array, dlt_array_v1_t* out) {
  if (opened(array, out)) return {};
  auto* box = boxed(array);
  dlt_array_v1_t created = NewBox::shell<dlt_array_v1_t>(array, box);
  if (array.create) created.create = create<dlt_array_t, dlt_array_v1_t, to_new, to_old>;
  if (array.copy) created.copy = new_copy;
  *out = created;
  return {};
}

}  // namespace
}  // namespace dlt::opaque

dlt_status_t dlt_array_from_v1(dlt_array_v1_t array, dlt_array_t* new_array) {
  using namespace dlt::opaque;
  return set_last_error_of(guard_exceptions([&]() -> DetailedStatus {
    if (!new_array) return invalid("array_from_v1: expected a pointer for the array, got NULL");
    if (is_nothing(array)) return invalid("array_from_v1: expected an array, got a struct without functions");
    return to_new(array, new_array);
  }));
}

dlt_status_t dlt_array_to_v1(dlt_array_t array, dlt_array_v1_t* new_array) {
  using namespace dlt::opaque;
  return set_last_error_of(guard_exceptions([&]() -> DetailedStatus {
    if (!new_array) return invalid("array_to_v1: expected a pointer for the array, got NULL");
    if (is_nothing(array)) return invalid("array_to_v1: expected an array, got a struct without functions");
    return to_old(array, new_array);
  }));
}
