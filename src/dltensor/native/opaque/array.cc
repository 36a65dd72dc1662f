// SPDX-License-Identifier: Apache-2.0
// Our arrays: created, queried, reshaped, copied, exported. The functions of the struct are in slots.cc, move_data in
// move.cc.
#include "native/opaque/array.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <mutex>
#include <new>
#include <utility>

#include "native/layout/layout.h"
#include "native/layout/reshape.h"
#include "native/memory/managed.h"
#include "native/opaque/import.h"
#include "native/opaque/call.h"
#include "native/opaque/errors.h"
#include "native/opaque/strided.h"
#include "native/opaque/transfer.h"
#include "native/tables.h"

namespace dlt::opaque {
namespace {

constexpr uint64_t kept_flags = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;

bool same(DLDevice a, DLDevice b) noexcept { return a.device_type == b.device_type && a.device_id == b.device_id; }

Layout* make_layout(int32_t ndim, const int64_t* shape, const int64_t* strides, Layout* older) noexcept {
  size_t dims = static_cast<size_t>(ndim) * sizeof(int64_t);
  auto* layout = static_cast<Layout*>(malloc(sizeof(Layout) + 2 * dims));
  if (!layout) return nullptr;
  layout->older = older;
  layout->ndim = ndim;
  if (dims) {
    memcpy(layout->dims(), shape, dims);
    memcpy(layout->strides(), strides, dims);
  }
  return layout;
}

// Return an equal layout that the array has had, or add a new one. NULL when out of memory.
Layout* layout_like(Layout* newest, int32_t ndim, const int64_t* shape, const int64_t* strides) noexcept {
  size_t dims = static_cast<size_t>(ndim) * sizeof(int64_t);
  for (Layout* layout = newest; layout; layout = layout->older)
    if (layout->ndim == ndim &&
        (ndim == 0 || (memcmp(layout->dims(), shape, dims) == 0 && memcmp(layout->strides(), strides, dims) == 0)))
      return layout;
  return make_layout(ndim, shape, strides, newest);
}

uint64_t shape_word(Layout* layout) noexcept {
  // Addresses of this process have 56 bits at most; the top byte holds the number of dimensions, at most 64.
  return static_cast<uint64_t>(layout->ndim) << 56 | reinterpret_cast<uint64_t>(layout->dims());
}

uint64_t bits_of(DLDevice device) noexcept {
  uint64_t bits;
  memcpy(&bits, &device, sizeof(bits));
  return bits;
}

DetailedStatus out_of_memory(const char* function) {
  return failed_with(Fault::memory, std::string_view(function), ": out of memory");
}

// An array of the same kind around a block of compact elements; takes ownership of the block, also on failure.
DetailedStatus make_like(const char* function, const Array& array, DLDevice device, int32_t ndim, int64_t* shape, Block* block,
                         dlt_array_t* out) {
  int64_t strides[DLT_ARRAY_MAX_NDIM];
  contiguous_strides(ndim, shape, strides);
  DLTensor view = {block->data, device, ndim, array.dtype, shape, strides, 0};
  uint64_t flags = array.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  DetailedStatus status = make({&view, block, flags, array.origin, array.host, nullptr, nullptr}, out);
  if (!status.ok()) {
    release(block);
    status.message = concat(std::string_view(function), ": ", std::string_view(status.message));
  }
  return status;
}

// The array differs from its source now, so the source no longer represents it.
struct PendingRelease {
  void* owner = nullptr;
  void (*release_owner)(void*) noexcept = nullptr;
  Block* block = nullptr;
  // Runs after the lock is released: both may run foreign code.
  ~PendingRelease() {
    if (owner && release_owner) release_owner(owner);
    if (block) release(block);
  }
};

void change(Array& array, Slot* slot, Layout* layout, PendingRelease* released) noexcept {
  array.layout = layout;
  if (layout->older == array.newest) array.newest = layout;
  slot->shape.store(shape_word(layout), std::memory_order_release);
  released->owner = std::exchange(array.owner, nullptr);
  released->release_owner = array.release_owner;
}

}  // namespace

DLTensor Array::view() const noexcept {
  return {data, device, layout->ndim, dtype, layout->dims(), layout->strides(), byte_offset};
}

DetailedStatus make(const ArraySpec& spec, dlt_array_t* out) {
  const DLTensor& view = *spec.view;
  if (!is_known(view.device.device_type)) return failure("array: expected a device of DLPack 1.3, got ", view.device);
  if (!is_known(view.dtype)) return failure("array: expected a dtype of DLPack 1.3, got ", view.dtype);
  auto* array = new (std::nothrow) Array;
  if (!array) return out_of_memory("array");
  array->layout = array->newest = make_layout(view.ndim, view.shape, view.strides, nullptr);
  if (!array->layout || reinterpret_cast<uint64_t>(array->layout) >> 56) {
    free(array->layout);
    delete array;
    return out_of_memory("array");
  }
  array->device = view.device;
  array->dtype = view.dtype;
  array->flags = spec.flags & kept_flags;
  array->origin = spec.origin;
  array->host = spec.host;
  array->data = view.data;
  array->byte_offset = view.byte_offset;
  array->block = spec.block;
  array->owner = spec.owner;
  array->release_owner = spec.release_owner;
  void* handle = new_handle(array);
  if (!handle) {
    free(array->layout);
    delete array;
    return failure("array: no handle left, ", live_handles(), " arrays are alive");
  }
  *out = with_functions(handle);
  return {};
}

void show(const Array& array, Slot* slot) noexcept {
  uint32_t dtype;
  memcpy(&dtype, &array.dtype, sizeof(dtype));
  slot->device.store(bits_of(array.device), std::memory_order_release);
  slot->dtype.store(dtype, std::memory_order_release);
  slot->shape.store(shape_word(array.layout), std::memory_order_release);
  slot->origin.store(array.origin, std::memory_order_release);
  slot->host.store(array.host, std::memory_order_release);
}

void end(Array* array) noexcept {
  PendingRelease released{array->owner, array->release_owner, array->block};
  for (Layout* layout = array->newest; layout;) {
    Layout* older = layout->older;
    free(layout);
    layout = older;
  }
  delete array;
}

DetailedStatus make_zeros(const char* function, DLDataType dtype, const uintptr_t* shape, uintptr_t count, const Origin* origin,
                          dlt_array_t* out) {
  if (!is_known(dtype)) return failure(std::string_view(function), ": expected a dtype of DLPack 1.3, got ", dtype);
  Element element = element_of(dtype, 0);
  int64_t dims[DLT_ARRAY_MAX_NDIM], strides[DLT_ARRAY_MAX_NDIM], elements;
  size_t bytes;
  DLT_TRY(read_shape(function, shape, count, element, dims, &elements, &bytes));
  auto ndim = static_cast<int32_t>(count);
  Block* block;
  DLT_TRY(allocate_on(function, {kDLCPU, 0}, bytes, &block));
  memset(block->data, 0, bytes);
  contiguous_strides(ndim, dims, strides);
  DLTensor view = {block->data, {kDLCPU, 0}, ndim, dtype, dims, strides, 0};
  DetailedStatus status = make({&view, block, 0, origin, nullptr, nullptr, nullptr}, out);
  if (!status.ok()) release(block);
  return status;
}

bool is_ours(const dlt_array_t& array) noexcept {
  // All functions must be ours: a struct with a replaced function counts as foreign. `destroy` is null in views.
  static const dlt_array_t functions = with_functions(nullptr);
  return memcmp(&array.origin, &functions.origin, sizeof(functions) - offsetof(dlt_array_t, origin)) == 0 && slot_of(array.ptr);
}

void* owner_of(const dlt_array_t& array, void (*keep)(void*)) noexcept {
  if (!is_ours(array)) return nullptr;
  Pinned pinned(array.ptr);
  if (!pinned) return nullptr;
  std::shared_lock lock(pinned->guard);
  if (pinned->owner && keep) keep(pinned->owner);
  return pinned->owner;
}

DetailedStatus export_managed(Array& array, DLManagedTensorVersioned** out, DLDevice device, const int64_t* stream,
                              DLPackVersion max_version) {
  if (!out) return failure("as_dlpack: expected a pointer for the tensor, got NULL");
  if (max_version.major < DLPACK_MAJOR_VERSION)
    return failure("as_dlpack: expected a reader of DLPack 1.0 or later, got max_version ", max_version.major, ".",
                   max_version.minor);
  if (!is_known(device.device_type)) return failure("as_dlpack: expected a device of DLPack 1.3, got ", device);
  DLT_TRY(order_on("as_dlpack", device, stream));
  DLManagedTensorVersioned* exported;
  uint64_t flags = array.flags;
  // Pinned memory is the host's memory all the same: on the CPU it needs another name, no copy.
  bool shared = same(device, array.device) ||
                (device.device_type == kDLCPU && device.device_id == 0 && is_host(array.device.device_type));
  if (shared) {
    std::shared_lock lock(array.guard);
    DLTensor view = array.view();
    view.device = device;
    exported = export_managed(view, array.block, flags);
  } else {
    if (device.device_type != kDLCPU || device.device_id != 0)
      return failure("as_dlpack: the array is on ", array.device, " and cannot be brought to ", device, " here");
    std::shared_lock lock(array.guard);
    DLTensor view = array.view();
    Block* block;
    DLT_TRY(gather("as_dlpack", view, array.element(), device, &block));
    int64_t strides[DLT_ARRAY_MAX_NDIM];
    contiguous_strides(view.ndim, view.shape, strides);
    view.data = block->data;
    view.strides = strides;
    view.device = device;
    flags = (flags & ~DLPACK_FLAG_BITMASK_READ_ONLY) | DLPACK_FLAG_BITMASK_IS_COPIED;
    exported = export_managed(view, block, flags);
    release(block);
  }
  if (!exported) return out_of_memory("as_dlpack");
  if (max_version.major == DLPACK_MAJOR_VERSION && max_version.minor < exported->version.minor)
    exported->version.minor = max_version.minor;
  *out = exported;
  return {};
}

DetailedStatus import_managed(const Array& array, DLManagedTensorVersioned* tensor, dlt_array_t* out) {
  DetailedStatus status;
  if (!out) status = failure("from_dlpack: expected a pointer for the array, got NULL");
  else status = adopt_tensor("from_dlpack", tensor, array.origin, array.host, out);
  if (!status.ok()) call_deleter(tensor);
  return status;
}

DetailedStatus adopt_tensor(const char* function, DLManagedTensorVersioned* tensor, const Origin* origin, const Host* host,
                            dlt_array_t* out) {
  DLT_TRY(check_tensor(function, tensor));
  int64_t strides[DLT_ARRAY_MAX_NDIM];
  DLTensor view = normalized(tensor->dl_tensor, strides);
  Block* block = block_around(tensor);
  if (!block) return out_of_memory(function);
  DetailedStatus status = make({&view, block, tensor->flags, origin, host, nullptr, nullptr}, out);
  // The caller still owns the tensor: only the header is freed.
  if (!status.ok()) recycle(block);
  return status;
}

DetailedStatus reshape(Array& array, Slot* slot, const uintptr_t* shape, uintptr_t count) {
  int64_t dims[DLT_ARRAY_MAX_NDIM], strides[DLT_ARRAY_MAX_NDIM], elements;
  size_t bytes;
  DLT_TRY(read_shape("reshape", shape, count, array.element(), dims, &elements, &bytes));
  auto ndim = static_cast<int32_t>(count);
  PendingRelease released;
  std::lock_guard lock(array.guard);
  DLTensor view = array.view();
  int64_t present;
  if (!count_of(view.ndim, view.shape, &present) || present != elements)
    return failure("reshape: expected a shape of ", present, " elements like ", Dims{view.shape, view.ndim}, ", got ",
                   Dims{dims, ndim}, " of ", elements);
  void* data = array.data;
  Block* block = nullptr;
  if (!reshape_strides(view.ndim, view.shape, view.strides, ndim, dims, strides)) {
    DLT_TRY(gather("reshape", view, array.element(), array.device, &block));
    data = block->data;
    contiguous_strides(ndim, dims, strides);
  }
  Layout* layout = layout_like(array.newest, ndim, dims, strides);
  if (!layout) {
    released.block = block;
    return out_of_memory("reshape");
  }
  if (layout == array.layout && !block) return {};
  change(array, slot, layout, &released);
  array.data = data;
  if (block) released.block = std::exchange(array.block, block);
  return {};
}

DetailedStatus swap_axes(Array& array, Slot* slot, uintptr_t axis_1, uintptr_t axis_2) {
  PendingRelease released;
  std::lock_guard lock(array.guard);
  DLTensor view = array.view();
  auto ndim = static_cast<uintptr_t>(view.ndim);
  if (axis_1 >= ndim || axis_2 >= ndim)
    return failure("swap_axes: expected axes below ", ndim, ", got ", axis_1, " and ", axis_2, " for the shape ",
                   Dims{view.shape, view.ndim});
  if (axis_1 == axis_2) return {};
  int64_t shape[DLT_ARRAY_MAX_NDIM], strides[DLT_ARRAY_MAX_NDIM];
  memcpy(shape, view.shape, ndim * sizeof(int64_t));
  memcpy(strides, view.strides, ndim * sizeof(int64_t));
  std::swap(shape[axis_1], shape[axis_2]);
  std::swap(strides[axis_1], strides[axis_2]);
  Layout* layout = layout_like(array.newest, view.ndim, shape, strides);
  if (!layout) return out_of_memory("swap_axes");
  if (layout != array.layout) change(array, slot, layout, &released);
  return {};
}

DetailedStatus create(const Array& array, const uintptr_t* shape, uintptr_t count, const dlt_array_t& fill, dlt_array_t* out) {
  if (!out) return failure("create: expected a pointer for the array, got NULL");
  Element element = array.element();
  int64_t dims[DLT_ARRAY_MAX_NDIM], elements;
  size_t bytes;
  DLT_TRY(read_shape("create", shape, count, element, dims, &elements, &bytes));

  // The fill may be a foreign array: use its functions.
  DLManagedTensorVersioned* scalar;
  if (DetailedStatus status = export_tensor("create: fill_value", fill, nullptr, {kDLCPU, 0}, nullptr,
                                            {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, &scalar);
      !status.ok())
    return status;
  struct Scalar {
    DLManagedTensorVersioned* tensor;
    ~Scalar() { call_deleter(tensor); }
  } keeper{scalar};
  const DLTensor& value = scalar->dl_tensor;
  if (value.ndim != 0)
    return failure("create: expected a fill_value of no dimensions, got the shape ", Dims{value.shape, value.ndim},
                   "; reshape it to ()");
  if (memcmp(&value.dtype, &array.dtype, sizeof(DLDataType)) != 0)
    return failure("create: expected a fill_value of the array's dtype ", array.dtype, ", got ", value.dtype,
                   "; no conversion is done");
  if (element_of(value.dtype, scalar->flags).bits != element.bits)
    return failure("create: expected a fill_value whose ", array.dtype, " takes ", element.bits, " bits like the array's, ",
                   "got one of ", element_of(value.dtype, scalar->flags).bits, " bits (padded or packed)");

  Block* block;
  DLT_TRY(allocate_on("create", array.device, bytes, &block));
  if (!element.whole_bytes() && bytes) static_cast<char*>(block->data)[bytes - 1] = 0;
  fill_elements(block->data, elements, static_cast<char*>(value.data) + value.byte_offset, element);
  return make_like("create", array, array.device, static_cast<int32_t>(count), dims, block, out);
}

DetailedStatus copy(Array& array, DLDevice device, dlt_array_t* out) {
  if (!out) return failure("copy: expected a pointer for the array, got NULL");
  if (!is_known(device.device_type)) return failure("copy: expected a device of DLPack 1.3, got ", device);
  Block* block;
  int32_t ndim;
  int64_t shape[DLT_ARRAY_MAX_NDIM];
  {
    std::shared_lock lock(array.guard);
    DLTensor view = array.view();
    DLT_TRY(gather("copy", view, array.element(), device, &block));
    ndim = view.ndim;
    if (ndim) memcpy(shape, view.shape, static_cast<size_t>(ndim) * sizeof(int64_t));
  }
  return make_like("copy", array, device, ndim, shape, block, out);
}

}  // namespace dlt::opaque
