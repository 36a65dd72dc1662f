// SPDX-License-Identifier: Apache-2.0
// Arrow's structs for tensors: a parent and its one child share an allocation, which the last release frees.
#include "native/memory/arrow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "native/memory/trace.h"

namespace dlt {
namespace {

// A child may be moved to another place and released after its parent, on another thread.
struct SchemaHolder {
  std::atomic<int> references;
  ArrowSchema child;
  ArrowSchema* children[1];
  char letter[4], format[32];
};

struct ArrayHolder {
  std::atomic<int> references;
  Block* block;
  ArrowArray child;
  ArrowArray* children[1];
  const void* list_buffers[1];
  const void* buffers[2];
};

template <class Holder>
bool is_last(Holder* holder) noexcept {
  return holder->references.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

// The children that are still there are released by their parent.
template <class Struct>
void release_children(Struct* self) noexcept {
  for (int64_t i = 0; i < self->n_children; ++i)
    if (self->children[i]->release) self->children[i]->release(self->children[i]);
}

void release_schema(ArrowSchema* self) {
  auto* holder = static_cast<SchemaHolder*>(self->private_data);
  release_children(self);
  self->release = nullptr;
  if (is_last(holder)) ::free(holder);
}

void release_array(ArrowArray* self) {
  auto* holder = static_cast<ArrayHolder*>(self->private_data);
  release_children(self);
  self->release = nullptr;
  if (!is_last(holder)) return;
  Block* block = holder->block;
  trace(Event::returned, block, holder);
  ::free(holder);
  release(block);
}

}  // namespace

bool export_arrow_schema(const ArrowLayout& layout, ArrowSchema* out) noexcept {
  auto* holder = static_cast<SchemaHolder*>(malloc(sizeof(SchemaHolder) + layout.metadata_bytes));
  if (!holder) return false;
  new (&holder->references) std::atomic<int>(1);
  auto* metadata = reinterpret_cast<char*>(holder + 1);
  if (layout.metadata_bytes) memcpy(metadata, layout.metadata, layout.metadata_bytes);
  snprintf(holder->letter, sizeof(holder->letter), "%s", layout.format);
  *out = {holder->letter, "", layout.metadata_bytes ? metadata : nullptr, 0, 0, nullptr, nullptr, release_schema, holder};
  if (layout.list_size < 0) return true;
  holder->references.store(2, std::memory_order_relaxed);
  holder->child = {holder->letter, "item", nullptr, 0, 0, nullptr, nullptr, release_schema, holder};
  holder->children[0] = &holder->child;
  snprintf(holder->format, sizeof(holder->format), "+w:%lld", static_cast<long long>(layout.list_size));
  out->format = holder->format;
  out->n_children = 1;
  out->children = holder->children;
  return true;
}

bool export_arrow_array(const ArrowLayout& layout, const void* data, Block* block, ArrowArray* out) noexcept {
  auto* holder = static_cast<ArrayHolder*>(malloc(sizeof(ArrayHolder)));
  if (!holder) return false;
  const bool lists = layout.list_size >= 0;
  new (&holder->references) std::atomic<int>(lists ? 2 : 1);
  holder->block = block;
  holder->buffers[0] = nullptr;  // no validity bitmap: nothing is missing
  holder->buffers[1] = data;
  holder->list_buffers[0] = nullptr;
  const int64_t count = lists ? layout.length * layout.list_size : layout.length;
  ArrowArray values = {count, 0, 0, 2, 0, holder->buffers, nullptr, nullptr, release_array, holder};
  if (lists) {
    holder->child = values;
    holder->children[0] = &holder->child;
    *out = {layout.length, 0, 0, 1, 1, holder->list_buffers, holder->children, nullptr, release_array, holder};
  } else {
    *out = values;
  }
  retain(block);
  trace(Event::lent, block, holder);
  return true;
}

}  // namespace dlt
