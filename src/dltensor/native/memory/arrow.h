// SPDX-License-Identifier: Apache-2.0
// Export by Arrow's C data interface: its structs, and how they are made and released. Import is in _core/arrow.pyx.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "native/export.h"
#include "native/memory/block.h"

// Arrow's specification asks for exactly this guard, so that a program may include several declarations.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
}
#endif

#ifndef ARROW_C_DEVICE_DATA_INTERFACE
#define ARROW_C_DEVICE_DATA_INTERFACE
typedef int32_t ArrowDeviceType;  // the numbers of DLPack
extern "C" {
struct ArrowDeviceArray {
  struct ArrowArray array;
  int64_t device_id;
  ArrowDeviceType device_type;
  void* sync_event;
  int64_t reserved[3];
};
}
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
extern "C" {
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
}
#endif

namespace dlt {

// A tensor as Arrow describes it: `length` elements of `format`, or as many lists of `list_size` of them each.
struct ArrowLayout {
  const char* format;     // of an element, such as "f"; copied, at most 3 letters
  int64_t length;
  int64_t list_size;      // -1: the elements themselves
  const char* metadata;   // Arrow's encoding of keys and values, or null; copied
  size_t metadata_bytes;
};

// Both return false when out of memory; nothing has changed then. The structs may be released by any thread, at any time,
// without Python; children may be moved out and outlive their parent, as the specification has it.
DLT_API bool export_arrow_schema(const ArrowLayout& layout, ArrowSchema* out) noexcept;
// `block` gets a reference, which ends with the last struct that was made.
DLT_API bool export_arrow_array(const ArrowLayout& layout, const void* data, Block* block, ArrowArray* out) noexcept;

}  // namespace dlt
