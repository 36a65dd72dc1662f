// SPDX-License-Identifier: Apache-2.0
// Structs of Arrow that are ours now: moved out of their capsules, released once, by whichever thread is last.
#pragma once
#include "_core/interop/gil.h"
#include "native/memory/arrow.h"

namespace dlt {

// Moves a struct out: the producer's becomes a released one, as the specification has it. Of two threads that take it at
// once, one gets a released struct.
template <class Struct>
inline Struct take_arrow(Struct* from) noexcept {
  Struct taken = *from;
  taken.release = __atomic_exchange_n(&from->release, nullptr, __ATOMIC_ACQ_REL);
  return taken;
}

// A foreign release callback may touch Python, so it is called as deleters are.
template <class Struct>
inline void release_arrow(Struct* self) noexcept {
  if (self->release) with_python([self] { self->release(self); });
}

// The `free` of a block over the buffers of an array of Arrow.
inline void free_arrow(Block* block) noexcept {
  auto* array = static_cast<ArrowArray*>(block->owner);
  recycle(block);
  release_arrow(array);
  ::free(array);
}

}  // namespace dlt
