// SPDX-License-Identifier: Apache-2.0
// Memory allocated while a stream is captured into a graph. The graph contains addresses, and replays use them after
// the tensors are freed: such memory is not reused before the graph and all its executables are destroyed.
#include <map>
#include <new>

#include "native/cuda/memory/parts.h"
#include "native/cuda/memory/source.h"
#include "native/no_destructor.h"

namespace dlt::cuda {

// All memory of one capture. Inside it, blocks that were released are reused in stream order.
struct CapturePool {
  uint64_t id = 0;
  Device* device = nullptr;
  Memory* all = nullptr;   // through captured_before
  Memory* idle = nullptr;  // through next
  int64_t live = 0;
  std::vector<Block*> inputs;  // exported to consumers that are captured: replays use them after the exports have ended
  std::atomic<bool> graph_gone{false};
  CapturePool* next = nullptr;  // in the list of captures that end
  Stream* service = nullptr;    // where their memory is returned
};

namespace {

struct Pools {
  std::mutex mutex;
  std::map<std::pair<int, uint64_t>, CapturePool*> by_id;
};
Pools& pools() noexcept {
  static NoDestructor<Pools> instance;
  return *instance;
}

// Called by the driver when the graph is destroyed; may not call back into it.
void graph_destroyed(void* pool) { static_cast<CapturePool*>(pool)->graph_gone.store(true, std::memory_order_release); }

void put_idle(Memory* memory) noexcept {
  memory->next = memory->capture->idle;
  memory->capture->idle = memory;
}

void free_captured_block(Block* block) noexcept {
  auto* memory = static_cast<Memory*>(block->owner);
  recycle(block);
  // The users stay in the list: work outside of the capture may still be under way when the graph is gone.
  const bool sole = memory->sole.load(std::memory_order_relaxed) == memory->home;
  Pools& p = pools();
  std::lock_guard<std::mutex> hold(p.mutex);
  --memory->capture->live;
  // Used on several streams of one capture: without a wait in the graph the next user could start too early, so the
  // block is not reused.
  if (sole) put_idle(memory);
}

// The caller holds the mutex.
Status pool_of(Stream& stream, CapturePool** out) noexcept {
  int state = kCaptureNone;
  uint64_t id = 0;
  CUgraph graph = nullptr;
  if (driver.cuStreamGetCaptureInfo_v2) DLT_CU(cuStreamGetCaptureInfo_v2(stream.handle, &state, &id, &graph, nullptr, nullptr));
  CapturePool** place = nullptr;
  DLT_TRY(guarded("allocate", [&] { return place = &pools().by_id[{stream.device->ordinal, id}], success; }));
  CapturePool*& pool = *place;
  if (!pool) {
    if (!(pool = new (std::nothrow) CapturePool)) return fail(Fault::memory, "allocate: the host is out of memory");
    pool->id = id;
    pool->device = stream.device;
    CUuserObject object = nullptr;
    if (graph && driver.cuUserObjectCreate && driver.cuGraphRetainUserObject &&
        driver.cuUserObjectCreate(&object, pool, graph_destroyed, 1, kUserObjectNoDestructorSync) == kSuccess)
      driver.cuGraphRetainUserObject(graph, object, 1, kGraphUserObjectMove);
    // Without user objects (drivers before 11.4) the end of the graph is not reported: the memory is never freed.
  }
  *out = pool;
  return success;
}

// Device memory with a stable address, allocated outside the capture. It may run Python code: no lock is held.
Status take(Stream& stream, size_t bytes, Source* out) noexcept {
  Stream* service = nullptr;
  DLT_TRY(service_stream(*stream.device, &service));
  DLT_TRY(take_memory(*service, bytes, out));
  Beside beside;
  const CUresult result = driver.cuStreamSynchronize(service->handle);
  if (result != kSuccess) give_back(*out, *service);
  return check(result, "cuStreamSynchronize");
}

}  // namespace

Status allocate_captured(Stream& stream, size_t bytes, Block** out) noexcept {
  const WithoutPython without;
  Pools& p = pools();
  Current current(*stream.device);
  std::unique_lock<std::mutex> hold(p.mutex);
  CapturePool* pool = nullptr;
  DLT_TRY(pool_of(stream, &pool));
  Memory* memory = nullptr;
  for (Memory** link = &pool->idle; *link && !memory;) {
    if (fits(**link, bytes) && (*link)->home == &stream) {
      memory = *link;
      *link = memory->next;
    } else {
      link = &(*link)->next;
    }
  }
  if (!memory) {
    Source source;
    // Created first: memory of the driver cannot be freed during a capture.
    if (!(memory = new (std::nothrow) Memory)) return fail(Fault::memory, "allocate: the host is out of memory");
    hold.unlock();
    if (const Status status = take(stream, bytes, &source); !status.ok()) {
      delete memory;
      return status;
    }
    hold.lock();
    memory->kind = Memory::Kind::captured;
    memory->pointer = reinterpret_cast<void*>(source.pointer);
    memory->bytes = source.bytes;
    memory->allocator = source.allocator;
    memory->size_class = Class::of(memory->bytes);
    memory->device = stream.device;
    memory->home = memory->writer = &stream;
    count_naming(stream, 1);
    memory->capture = pool;
    memory->captured_before = pool->all;
    pool->all = memory;
  }
  memory->asked = bytes;
  memory->sole.store(&stream, std::memory_order_relaxed);
  Block* block = adopt(memory->pointer, memory, free_captured_block);
  if (!block) {
    put_idle(memory);
    return fail(Fault::memory, "allocate: the host is out of memory");
  }
  ++pool->live;
  block->bytes = bytes;
  *out = block;
  return success;
}

Status keep_for_graph(Block* block, Stream& stream) noexcept {
  // Without user objects the end of the graph is not reported: the block would never be freed.
  if (!driver.cuUserObjectCreate || !driver.cuGraphRetainUserObject) return success;
  Pools& p = pools();
  Current current(*stream.device);
  std::lock_guard<std::mutex> hold(p.mutex);
  CapturePool* pool = nullptr;
  DLT_TRY(pool_of(stream, &pool));
  DLT_TRY(guarded("__dlpack__", [&] { return pool->inputs.push_back(block), success; }));
  retain(block);
  return success;
}

void reap_captures() noexcept {
  Pools& p = pools();
  CapturePool* gone = nullptr;
  {
    std::lock_guard<std::mutex> hold(p.mutex);
    std::erase_if(p.by_id, [&](const auto& entry) {
      CapturePool* pool = entry.second;
      if (!pool || pool->live || !pool->graph_gone.load(std::memory_order_acquire)) return false;
      if (!service_stream(*pool->device, &pool->service).ok()) return false;  // another time
      pool->next = gone;
      gone = pool;
      return true;
    });
  }
  while (CapturePool* pool = gone) {
    gone = pool->next;
    // The driver reports the end of a graph only after its last run: of the graph nothing is left to wait for.
    while (Memory* memory = pool->all) {
      pool->all = memory->captured_before;
      give_back_captured(memory, *pool->service);
    }
    for (Block* block : pool->inputs) {
      end_export(*device_memory_of(block));
      release(block);
    }
    delete pool;
  }
}

bool is_of_capture(const Block* block, const Device& device, uint64_t id) noexcept {
  if (!is_captured(block)) return false;
  const CapturePool* pool = static_cast<const Memory*>(block->owner)->capture;
  return pool->device == &device && pool->id == id;
}

Memory* memory_of_capture(const Device& device, uint64_t id) noexcept {
  Pools& p = pools();
  std::lock_guard<std::mutex> hold(p.mutex);
  const auto found = p.by_id.find({device.ordinal, id});
  return found != p.by_id.end() && found->second ? found->second->all : nullptr;
}

bool is_captured(const Block* block) noexcept { return block->free == free_captured_block; }

int64_t captured_bytes(int device) noexcept {
  Pools& p = pools();
  std::lock_guard<std::mutex> hold(p.mutex);
  int64_t bytes = 0;
  for (const auto& [key, pool] : p.by_id)
    if (pool && key.first == device)
      for (const Memory* memory = pool->all; memory; memory = memory->captured_before)
        bytes += static_cast<int64_t>(memory->bytes);
  return bytes;
}

}  // namespace dlt::cuda
