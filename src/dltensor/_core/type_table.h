// SPDX-License-Identifier: Apache-2.0
// Facts that are remembered of types: how objects of each are read. Lock-free, with or without a GIL.
//
// A place in the table is one word: the version of a type, and the number of the description that fits it. No two types ever
// bear the same version, and a class that is patched gets a new one, so the version alone says whose word it is. Descriptions
// are never changed and never freed, and equal ones are one: a reader that has found the word has everything, whatever other
// threads store there.
#pragma once
#include <Python.h>

#include <atomic>
#include <cstdint>

#include "dltensor/dlpack.h"

namespace dlt {

struct TypeEntry {
  int path;       // an ImportPath of dlpack.pxd
  int signature;  // of __dlpack__: the one that worked
  bool immutable;
  bool known;         // a class of a package whose __dlpack_device__ agrees with what it exports
  bool agreed;        // which an object of this class has shown
  bool torch;         // a torch tensor
  bool obeyed;        // a torch tensor of a class with its own way of being exported
  bool wraps_arrays;  // converted by __array__ only, and with ufuncs of its own: of Dask, xarray, pandas, pint
  DLPackExchangeAPI* table;

  bool operator==(const TypeEntry&) const = default;
};

// The version of a type; 0: it has none now. Another thread may give it one.
inline uint32_t type_version(void* type) noexcept {
  return __atomic_load_n(&static_cast<PyTypeObject*>(type)->tp_version_tag, __ATOMIC_RELAXED);
}

// The same, where a type that has none gets one, if there are any left.
inline uint32_t assigned_version(void* type) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  PyUnstable_Type_AssignVersionTag(static_cast<PyTypeObject*>(type));
#endif
  return type_version(type);
}

class TypeTable {
 public:
  // Facts that are remembered of a type, or null. Runs no Python code.
  const TypeEntry* find(void* type) const noexcept {
    const std::atomic<uint64_t>* pair = pair_of(type);
    const uint32_t version = type_version(type);
    const uint64_t first = pair[0].load(std::memory_order_acquire);
    if (static_cast<uint32_t>(first) == version && version) [[likely]]
      return &descriptions_[first >> 32].entry;
    const uint64_t second = pair[1].load(std::memory_order_acquire);
    if (static_cast<uint32_t>(second) == version && version) return &descriptions_[second >> 32].entry;
    return nullptr;
  }

  // Remembers what was found out while a type had `version`. The older word of the pair goes. When two threads meet here one
  // word may be lost, and its type is studied again.
  const TypeEntry* remember(void* type, uint32_t version, const TypeEntry& found) noexcept {
    const int64_t number = number_of(found);
    if (number < 0) {  // no room for another description: until the thread studies the next type
      static thread_local TypeEntry last;
      last = found;
      return &last;
    }
    if (version && version == type_version(type)) {
      std::atomic<uint64_t>* pair = pair_of(type);
      const uint64_t word = static_cast<uint64_t>(number) << 32 | version;
      uint64_t before = pair[0].load(std::memory_order_relaxed);
      if (static_cast<uint32_t>(before) != version && before) pair[1].store(before, std::memory_order_release);
      pair[0].store(word, std::memory_order_release);
    }
    return &descriptions_[number].entry;
  }

  // Adds to what is remembered of a type: the signature that worked, and whether an object agreed with its device.
  void amend(void* type, int signature, bool agreed) noexcept {
    const TypeEntry* known = find(type);
    if (!known || (known->signature == signature && known->agreed == agreed)) return;
    TypeEntry changed = *known;
    changed.signature = signature;
    changed.agreed = agreed;
    const int64_t number = number_of(changed);
    if (number < 0) return;
    std::atomic<uint64_t>* pair = pair_of(type);
    for (int i = 0; i < 2; ++i) {
      uint64_t word = pair[i].load(std::memory_order_relaxed);
      const uint64_t version = static_cast<uint32_t>(word);
      if (word && &descriptions_[word >> 32].entry == known && version == type_version(type))
        pair[i].compare_exchange_strong(word, static_cast<uint64_t>(number) << 32 | version, std::memory_order_release);
    }
  }

 private:
  static constexpr int places = 512;
  static constexpr uint32_t most = 2048;

  struct Description {
    TypeEntry entry;
    std::atomic<bool> is_complete;
  };

  // Two places per type, so that two types that map to one place do not evict each other alternately.
  static size_t place_of(void* type) noexcept {
    return reinterpret_cast<uintptr_t>(type) * uint64_t{0x9E3779B97F4A7C15} >> 55 & ~uint64_t{1};
  }
  const std::atomic<uint64_t>* pair_of(void* type) const noexcept { return &words_[place_of(type)]; }
  std::atomic<uint64_t>* pair_of(void* type) noexcept { return &words_[place_of(type)]; }

  // The number of a description, which is added if it is new; -1 where there is no room. Descriptions differ in a few flags
  // and in the exchange table, and tables live as long as the process, so there are few. Two threads may add equal ones.
  int64_t number_of(const TypeEntry& wanted) noexcept {
    const uint32_t count = count_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < count && i < most; ++i) {
      if (descriptions_[i].is_complete.load(std::memory_order_acquire) && descriptions_[i].entry == wanted) return i;
    }
    if (count >= most) return -1;
    const uint32_t mine = count_.fetch_add(1, std::memory_order_acq_rel);
    if (mine >= most) return -1;
    descriptions_[mine].entry = wanted;
    descriptions_[mine].is_complete.store(true, std::memory_order_release);
    return mine;
  }

  std::atomic<uint64_t> words_[places]{};
  Description descriptions_[most]{};
  std::atomic<uint32_t> count_{0};
};

}  // namespace dlt
