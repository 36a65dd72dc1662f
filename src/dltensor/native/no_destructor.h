// SPDX-License-Identifier: Apache-2.0
// Objects that last as long as the process: deleters and other threads use them until its very end.
#pragma once
#include <new>

namespace dlt {

// For function-local statics. Allocates nothing, so that construction cannot fail.
template <class T>
class NoDestructor {
 public:
  NoDestructor() { new (storage_) T; }
  NoDestructor(const NoDestructor&) = delete;
  NoDestructor& operator=(const NoDestructor&) = delete;
  T& operator*() noexcept { return *std::launder(reinterpret_cast<T*>(storage_)); }

 private:
  alignas(T) unsigned char storage_[sizeof(T)];
};

}  // namespace dlt
