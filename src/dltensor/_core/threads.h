// SPDX-License-Identifier: Apache-2.0
// Data that threads without a GIL share: a value that is computed once and then read by all, and flags that are set once.
#pragma once
#include <atomic>

namespace dlt {

// An address, published by one store when what it points to is complete; null before. What was published stays as it is.
template <class T>
class Published {
 public:
  T* get() const noexcept { return value_.load(std::memory_order_acquire); }
  void set(T* value) noexcept { value_.store(value, std::memory_order_release); }
  // Publishes the value unless another thread was first; whether it is this one.
  bool offer(T* value) noexcept {
    T* none = nullptr;
    return value_.compare_exchange_strong(none, value, std::memory_order_acq_rel);
  }

 private:
  std::atomic<T*> value_{nullptr};
};

// A flag that is set once; who sees it sees all that was stored before.
class Flag {
 public:
  bool is_set() const noexcept { return set_.load(std::memory_order_acquire); }
  void set() noexcept { set_.store(true, std::memory_order_release); }
  // Sets it; true for the first caller only.
  bool claim() noexcept { return !is_set() && !set_.exchange(true, std::memory_order_acq_rel); }

 private:
  std::atomic<bool> set_{false};
};

}  // namespace dlt
