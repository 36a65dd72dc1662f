// SPDX-License-Identifier: Apache-2.0
// Our arrays: a tensor and its block behind the struct of array.h. Also the interface for the Python layers;
// calls of foreign arrays are in call.h.
#pragma once
#include <shared_mutex>

#include "dltensor/array.h"
#include "native/export.h"
#include "native/memory/block.h"
#include "native/opaque/geometry.h"
#include "native/opaque/handles.h"
#include "native/opaque/host.h"
#include "native/opaque/detailed_status.h"

namespace dlt::opaque {

// Dimensions and strides, never changed once made. An array keeps all layouts it ever had until its end, so
// that a returned shape pointer stays valid; an equal layout is reused.
struct Layout {
  Layout* older;
  int32_t ndim;
  int64_t* strides() noexcept { return dims() + ndim; }
  int64_t* dims() noexcept { return reinterpret_cast<int64_t*>(this + 1); }
};

// Locks: `guard` is held shared to read elements or layout, exclusive to change them. No foreign code (a deleter,
// a function of another array, a host) is called under it. Two guards are taken in the order of their addresses.
struct Array {
  // Never change:
  DLDevice device;
  DLDataType dtype;
  uint64_t flags;  // READ_ONLY, IS_SUBBYTE_TYPE_PADDED
  const Origin* origin;
  const Host* host;  // null: the caller's library

  std::shared_mutex guard;
  Layout* layout;  // an element of the list
  Layout* newest;  // the head of the list
  void* data;
  uint64_t byte_offset;  // of handles only
  Block* block;
  // The source of the array, as long as the array still equals it.
  void* owner;
  void (*release_owner)(void* owner) noexcept;

  Element element() const noexcept { return element_of(dtype, flags); }
  bool readonly() const noexcept { return flags & DLPACK_FLAG_BITMASK_READ_ONLY; }
  // Needs the guard; valid while it is held.
  DLTensor view() const noexcept;
};

// The parts of an array. A tensor in the engine's form: valid, strides not NULL, byte_offset added to data.
struct ArraySpec {
  const DLTensor* view;
  Block* block;
  uint64_t flags;
  const Origin* origin;
  const Host* host;                             // null: the caller's library
  void* owner;                                  // may be null
  void (*release_owner)(void* owner) noexcept;  // called once, on any thread; acquires the GIL itself
};

// On success the array takes over the caller's reference to the block, and the owner. On failure nothing has changed.
DLT_API DetailedStatus make(const ArraySpec& spec, dlt_array_t* out);

// An array around a managed tensor, which is validated first. On failure the caller still owns the tensor.
DLT_API DetailedStatus adopt_tensor(const char* function, DLManagedTensorVersioned* tensor, const Origin* origin,
                                    const Host* host, dlt_array_t* out);

// A new array of zeros in host memory.
DetailedStatus make_zeros(const char* function, DLDataType dtype, const uintptr_t* shape, uintptr_t count, const Origin* origin,
                          dlt_array_t* out);

// Returns whether the array is one of ours and still live.
DLT_API bool is_ours(const dlt_array_t& array) noexcept;

// The owner it was created with, after `keep(owner)`; null when there is none, or when the array no longer equals
// its source (reshaped, axes swapped). The owner is alive while `keep` runs; `keep` must not wait for the GIL.
DLT_API void* owner_of(const dlt_array_t& array, void (*keep)(void* owner)) noexcept;

// Functions that handles.cc calls: after the last unpin of a destroyed array, and to fill the slot of a new one.
void end(Array* array) noexcept;
void show(const Array& array, Slot* slot) noexcept;

// The functions of the struct, on a pinned array.
DetailedStatus export_managed(Array& array, DLManagedTensorVersioned** out, DLDevice device, const int64_t* stream,
                              DLPackVersion max_version);
DetailedStatus import_managed(const Array& array, DLManagedTensorVersioned* tensor, dlt_array_t* out);
DetailedStatus reshape(Array& array, Slot* slot, const uintptr_t* shape, uintptr_t count);
DetailedStatus swap_axes(Array& array, Slot* slot, uintptr_t axis_1, uintptr_t axis_2);
DetailedStatus create(const Array& array, const uintptr_t* shape, uintptr_t count, const dlt_array_t& fill, dlt_array_t* out);
DetailedStatus copy(Array& array, DLDevice device, dlt_array_t* out);
DetailedStatus move_data(Array& output, Array& input, const dlt_data_movement_t* movements, uintptr_t count);

// The struct with our functions in it, around a handle.
dlt_array_t with_functions(void* handle) noexcept;

}  // namespace dlt::opaque
