// SPDX-License-Identifier: Apache-2.0
// Parts of torch's C++ that this package uses: the owners of a storage, and the function that describes a tensor.
// torch_fields.py proves each first.
#pragma once
#include "_core/interop/gil.h"

namespace dlt {

// torch 2.10 and later keep one word after the vtable of a storage: owners in the lower half, weak references in the upper
// one, and in the top bit whether the storage has a Python object. That object is one of the owners. torch gives it a
// reference of its own when a second owner comes, and takes it back when the second to last one goes.
struct TorchStorage {
  void* functions;
  std::atomic<uint64_t> owners;
};
constexpr uint64_t torch_has_object = uint64_t{1} << 63;

inline uint32_t lonely_owners(uint64_t word) noexcept { return word & torch_has_object ? 2 : 1; }

// Adds an owner to the storage of a tensor, whose address is at `field` of its implementation, and clears the byte that allows
// it to be resized. Null without a storage, and where torch would have more to do than to count.
inline char* retain_storage(const char* implementation, ptrdiff_t field, ptrdiff_t resizable) noexcept {
  char* storage = *reinterpret_cast<char* const*>(implementation + field);
  if (!storage) return nullptr;
  auto& owners = reinterpret_cast<TorchStorage*>(storage)->owners;
  uint64_t word = owners.load(std::memory_order_relaxed);
  do {
    if (uint32_t(word) < lonely_owners(word)) return nullptr;
  } while (!owners.compare_exchange_weak(word, word + 1, std::memory_order_relaxed));
  if (storage[resizable]) storage[resizable] = 0;
  return storage;
}

// Removes an owner. False where torch would have more to do than to count.
inline bool release_counted(void* address) noexcept {
  auto& owners = static_cast<TorchStorage*>(address)->owners;
  uint64_t word = owners.load(std::memory_order_relaxed);
  do {
    if (uint32_t(word) <= lonely_owners(word)) return false;
  } while (!owners.compare_exchange_weak(word, word - 1, std::memory_order_acq_rel));
  return true;
}

// Sets of dispatch keys, each one word; 0 means that a place is free. Threads may add and ask at any time.
class PlainKeys {
 public:
  bool has(uint64_t keys) const noexcept {
    for (const auto& known : known_) {
      const uint64_t word = known.load(std::memory_order_relaxed);
      if (word == keys) return keys != 0;
      if (!word) return false;
    }
    return false;
  }
  void add(uint64_t keys) noexcept {
    for (auto& known : known_) {
      uint64_t word = 0;
      if (known.compare_exchange_strong(word, keys, std::memory_order_relaxed) || word == keys) return;
    }
  }

 private:
  std::atomic<uint64_t> known_[8]{};
};

// `torch.UntypedStorage._new_with_weak_ptr`: from the address of a storage to its Python object.
inline PyObject* torch_storage_object = nullptr;

// Removes an owner by means of the Python object, which torch makes where there is none. Our owner is then never the last
// one: the object is, and torch frees the storage with it. Without memory for the object the storage is leaked.
inline void release_by_object(void* address) noexcept {
  PyObject* number = PyLong_FromVoidPtr(address);
  PyObject* object = number ? PyObject_CallOneArg(torch_storage_object, number) : nullptr;
  Py_XDECREF(number);
  if (object && object != Py_None) {
    uint64_t left = static_cast<TorchStorage*>(address)->owners.fetch_sub(1, std::memory_order_acq_rel) - 1;
    if ((left & torch_has_object) && uint32_t(left) == 1) Py_DECREF(object);  // torch does so when one owner is left
  }
  Py_XDECREF(object);
}

inline void release_storage(void* address) noexcept {
  if (release_counted(address)) [[likely]]
    return;
  with_python([address] { release_by_object(address); });
}

// The `free` of a block that keeps a storage alive.
inline void free_storage(Block* block) noexcept {
  void* address = block->owner;
  recycle(block);
  release_storage(address);
}

// `at::toDLPackNonOwning(const at::Tensor&, DLTensor*)`, which the exchange table calls too, after looking the tensor up
// and taking a reference to it. Nonzero when it throws: the table then says why.
using TorchDescribe = void (*)(const void* tensor, DLTensor* out);
#if defined(__cpp_exceptions)  // the module that calls it has them
inline int describe_torch(TorchDescribe function, const void* tensor, DLTensor* out) noexcept {
  try {
    function(tensor, out);
    return 0;
  } catch (...) {
    return -1;
  }
}
#endif

}  // namespace dlt
