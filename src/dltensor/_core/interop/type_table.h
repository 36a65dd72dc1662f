// SPDX-License-Identifier: Apache-2.0
// Cache of how objects of a type are read. Lookup only; see `classify_type` in dlpack.pyx. Lock-free, with or without a GIL.
//
// A slot is one word: the version tag of a type, and the number of its entry. No two types ever have the same version tag, and a
// class that is patched gets a new one, so the version tag alone identifies the type. Entries are never changed and never
// freed, and equal ones are stored once: a reader that has found the word has everything, whatever other threads store.
#pragma once
#include <Python.h>

#include <atomic>
#include <cstdint>

#include "dltensor/dlpack.h"

namespace dlt {

struct TypeEntry {
  int path;  // an ImportPath of dlpack.pxd
  int signature;  // the signature of __dlpack__ that worked
  bool is_immutable;
  bool is_known_package;  // __dlpack_device__ of this package agrees with what it exports
  bool device_agrees;  // an object of this class has shown that
  bool is_torch;  // a tensor of torch
  bool overrides_export;  // a tensor of torch whose class has its own way to be exported
  bool wraps_arrays;  // converted by __array__ only, and with ufuncs of its own: of Dask, xarray, pandas, pint
  DLPackExchangeAPI* table;

  bool operator==(const TypeEntry&) const = default;
};

// Returns the version tag of a type; 0 if it has none. Another thread may assign it one.
inline uint32_t type_version(void* type) noexcept {
  return __atomic_load_n(&static_cast<PyTypeObject*>(type)->tp_version_tag, __ATOMIC_RELAXED);
}

// Returns the version tag, and assigns one to a type that has none, if there are any left.
inline uint32_t assigned_version(void* type) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  PyUnstable_Type_AssignVersionTag(static_cast<PyTypeObject*>(type));
#endif
  return type_version(type);
}

class TypeTable {
 public:
  // Returns the entry of a type, or null. Runs no Python code.
  const TypeEntry* find(void* type) const noexcept {
    const std::atomic<uint64_t>* slots = slots_of(type);
    const uint32_t version = type_version(type);
    const uint64_t first = slots[0].load(std::memory_order_acquire);
    if (static_cast<uint32_t>(first) == version && version) [[likely]]
      return &entries_[first >> 32].entry;
    const uint64_t second = slots[1].load(std::memory_order_acquire);
    if (static_cast<uint32_t>(second) == version && version) return &entries_[second >> 32].entry;
    return nullptr;
  }

  // Caches what was found out while a type had `version`, in place of the older one of its two slots. When two threads do so at a
  // time one word may be lost, and that type is classified again.
  const TypeEntry* remember(void* type, uint32_t version, const TypeEntry& entry) noexcept {
    const int64_t number = number_of(entry);
    if (number < 0) {  // the table is full: the entry lasts until the thread classifies the next type
      static thread_local TypeEntry last;
      last = entry;
      return &last;
    }
    if (version && version == type_version(type)) {
      std::atomic<uint64_t>* slots = slots_of(type);
      const uint64_t word = static_cast<uint64_t>(number) << 32 | version;
      uint64_t before = slots[0].load(std::memory_order_relaxed);
      if (static_cast<uint32_t>(before) != version && before) slots[1].store(before, std::memory_order_release);
      slots[0].store(word, std::memory_order_release);
    }
    return &entries_[number].entry;
  }

  // Updates the cached entry of a type: the signature that worked, and whether an object agreed with its device.
  void update_entry(void* type, int signature, bool device_agrees) noexcept {
    const TypeEntry* cached = find(type);
    if (!cached || (cached->signature == signature && cached->device_agrees == device_agrees)) return;
    TypeEntry changed = *cached;
    changed.signature = signature;
    changed.device_agrees = device_agrees;
    const int64_t number = number_of(changed);
    if (number < 0) return;
    std::atomic<uint64_t>* slots = slots_of(type);
    for (int i = 0; i < 2; ++i) {
      uint64_t word = slots[i].load(std::memory_order_relaxed);
      const uint64_t version = static_cast<uint32_t>(word);
      if (word && &entries_[word >> 32].entry == cached && version == type_version(type))
        slots[i].compare_exchange_strong(word, static_cast<uint64_t>(number) << 32 | version, std::memory_order_release);
    }
  }

 private:
  static constexpr int slot_count = 512;
  static constexpr uint32_t capacity = 2048;

  struct StoredEntry {
    TypeEntry entry;
    std::atomic<bool> is_complete;
  };

  // Two slots per type, so that two types with one hash do not evict each other alternately.
  static size_t hash_of(void* type) noexcept {
    return reinterpret_cast<uintptr_t>(type) * uint64_t{0x9E3779B97F4A7C15} >> 55 & ~uint64_t{1};
  }
  const std::atomic<uint64_t>* slots_of(void* type) const noexcept { return &words_[hash_of(type)]; }
  std::atomic<uint64_t>* slots_of(void* type) noexcept { return &words_[hash_of(type)]; }

  // Returns the number of an entry, which is added if it is new; -1 when the table is full. Entries differ in a few flags and in
  // the exchange table, and tables live as long as the process, so there are few. Two threads may add equal ones.
  int64_t number_of(const TypeEntry& wanted) noexcept {
    const uint32_t count = count_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < count && i < capacity; ++i) {
      if (entries_[i].is_complete.load(std::memory_order_acquire) && entries_[i].entry == wanted) return i;
    }
    if (count >= capacity) return -1;
    const uint32_t number = count_.fetch_add(1, std::memory_order_acq_rel);
    if (number >= capacity) return -1;
    entries_[number].entry = wanted;
    entries_[number].is_complete.store(true, std::memory_order_release);
    return number;
  }

  std::atomic<uint64_t> words_[slot_count]{};
  StoredEntry entries_[capacity]{};
  std::atomic<uint32_t> count_{0};
};

}  // namespace dlt
