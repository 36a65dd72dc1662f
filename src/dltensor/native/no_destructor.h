// SPDX-License-Identifier: Apache-2.0
// Objects that last as long as the process: deleters and other threads use them until its very end.
#pragma once
#include <new>

namespace dlt {

// For function-local statics. Takes no memory of its own, so that making one cannot fail for want of it.
template <class T>
class NoDestructor {
 public:
  NoDestructor() { new (room_) T; }
  NoDestructor(const NoDestructor&) = delete;
  NoDestructor& operator=(const NoDestructor&) = delete;
  T& operator*() noexcept { return *std::launder(reinterpret_cast<T*>(room_)); }

 private:
  alignas(T) unsigned char room_[sizeof(T)];
};

}  // namespace dlt
