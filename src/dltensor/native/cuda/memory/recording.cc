// SPDX-License-Identifier: Apache-2.0
// Recordings of the memory that captures use, see recording.h.
#include "native/cuda/memory/recording.h"

#include <algorithm>

#include "native/cuda/memory/parts.h"
#include "native/no_destructor.h"

namespace dlt::cuda {
namespace {

struct Active {
  std::mutex mutex;
  std::vector<Recording*> all;
  std::atomic<size_t> count{0};
};
Active& active() noexcept {
  static NoDestructor<Active> instance;
  return *instance;
}

// The caller holds the mutex.
Status attach(Recording& recording, Stream& stream) noexcept {
  DLT_TRY(guarded("capture", [&] { return recording.streams.push_back(&stream), success; }));
  std::lock_guard hold(stream.lock);
  stream.recording = &recording;
  return success;
}

template <class Change>
Status record(Block* block, Stream& stream, Change&& change) noexcept {
  std::lock_guard hold(stream.lock);
  Recording* const recording = stream.recording.load(std::memory_order_relaxed);
  if (!recording || !device_memory_of(block) || is_of_capture(block, recording->device, recording->id)) return success;
  return guarded("capture", [&] {
    std::lock_guard hold_blocks(recording->lock);
    const auto [entry, added] = recording->blocks.try_emplace(block);
    if (added) retain(block);
    change(entry->second);
    return success;
  });
}

}  // namespace

Status start_recording(Recording& recording, Stream& origin) noexcept {
  Active& a = active();
  std::lock_guard<std::mutex> hold(a.mutex);
  DLT_TRY(guarded("capture", [&] { return a.all.push_back(&recording), success; }));
  a.count = a.all.size();
  return attach(recording, origin);
}

Status join_recording(Stream& stream) noexcept {
  Active& a = active();
  if (a.count.load(std::memory_order_acquire) == 0 || stream.is_legacy()) return success;
  Capture capture;
  DLT_TRY(check(capture_of(stream, &capture), "cuStreamIsCapturing"));
  if (!capture.active) return success;
  std::lock_guard<std::mutex> hold(a.mutex);
  for (Recording* recording : a.all)
    if (recording->id == capture.id && stream.recording.load(std::memory_order_relaxed) != recording)
      return attach(*recording, stream);
  return success;
}

void stop_recording(Recording& recording) noexcept {
  Active& a = active();
  std::lock_guard<std::mutex> hold(a.mutex);
  std::erase(a.all, &recording);
  a.count = a.all.size();
  for (Stream* stream : recording.streams) {
    std::lock_guard hold_stream(stream->lock);
    stream->recording = nullptr;
  }
  recording.streams.clear();
}

Status record_use(Block* block, Stream& stream, bool write) noexcept {
  return record(block, stream, [&](Recording::Usage& usage) { usage.written |= write; });
}

Status record_export(Block* block, Stream& consumer) noexcept {
  return record(block, consumer, [](Recording::Usage& usage) { usage.exported = true; });
}

Status use_recorded(const Recording& recording, Stream& stream) noexcept {
  std::vector<MemoryUse> uses;
  DLT_TRY(guarded("launch", [&] {
    for (const auto& [block, usage] : recording.blocks)
      if (Memory* const memory = device_memory_of(block)) uses.push_back({memory, usage.written || usage.exported});
    // Its results, and what it needs in between, which the next launch writes again.
    for (Memory* memory = memory_of_capture(recording.device, recording.id); memory; memory = memory->captured_before)
      uses.push_back({memory, true});
    return success;
  }));
  return use_together(uses, stream);
}

void release_recorded(Recording& recording) noexcept {
  for (const auto& [block, usage] : recording.blocks) release(block);
  recording.blocks.clear();
}

}  // namespace dlt::cuda
