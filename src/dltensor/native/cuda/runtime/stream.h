// SPDX-License-Identifier: Apache-2.0
// Streams, ours and foreign ones, the current stream of each thread, events, and the order between streams.
// Memory that a stream keeps for reuse is in memory.h.
#pragma once
#include <atomic>

#include "native/cuda/runtime/device.h"
#include "native/memory/size_classes.h"

namespace dlt::cuda {

struct Memory;
struct Recording;
struct ThreadState;
}  // namespace dlt::cuda
namespace dlt {
struct Block;
}
namespace dlt::cuda {

// Held for a few instructions only, never over a call into the driver.
class SpinLock {
 public:
  void lock() noexcept {
    while (flag_.exchange(true, std::memory_order_acquire))
      while (flag_.load(std::memory_order_relaxed)) relax();
  }
  void unlock() noexcept { flag_.store(false, std::memory_order_release); }

 private:
  static void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  std::atomic<bool> flag_{false};
};

// `constinit`: read without a call, since nothing is to be initialised.
extern constinit thread_local ThreadState* thread_state_pointer __attribute__((tls_model("initial-exec")));

// The lock of a stream, which one thread uses as a rule: the first one that takes it owns it, and takes it again without a
// locked instruction, as long as no other thread comes. It stores `busy_` and then looks whether it is the owner still; the
// other thread takes the ownership away, issues a process-wide barrier, and waits until the owner is not busy. From then on
// it is a SpinLock.
class StreamLock {
 public:
  void lock() noexcept {
    const ThreadState* const me = thread_state_pointer;
    if (me && owner_.load(std::memory_order_relaxed) == me) [[likely]] {
      busy_.store(true, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (owner_.load(std::memory_order_acquire) == me) [[likely]] {
        by_owner_ = true;
        return;
      }
      busy_.store(false, std::memory_order_release);
    }
    lock_shared();
  }
  void unlock() noexcept {
    if (by_owner_) [[likely]] {
      by_owner_ = false;
      busy_.store(false, std::memory_order_release);
    } else {
      lock_.unlock();
    }
  }

 private:
  void lock_shared() noexcept;
  std::atomic<const ThreadState*> owner_{nullptr};  // null: not taken yet
  std::atomic<bool> busy_{false};
  bool by_owner_ = false;  // how it is held now
  SpinLock lock_;          // of all but the owner
};

// One for each stream that was ever used here; never freed, so that blocks may point to it. When the stream is
// destroyed it becomes an alias of the device's service stream, which has waited for it.
struct Stream {
  std::atomic<CUstream> handle{nullptr};
  Device* device = nullptr;
  uint64_t id = 0;        // CUDA's id, 0 when unknown: distinguishes a new stream from an old one at the same address
  bool ours = false;      // made by us
  uint64_t thread = 0;    // of a per-thread default stream: number of the thread whose stream it is
  std::atomic<bool> counted{false};  // no other library has the handle: all work on it is counted
  std::atomic<bool> alive{true};
  int priority = 0;
  uint32_t index = 0;     // in `waited` of the others
  std::atomic<uint64_t> work{0};  // operations enqueued so far, of streams that are ours
  mutable std::atomic<int64_t> askers{0};  // see LastingHandle
  mutable std::atomic<CUstream> doomed{nullptr};

  StreamLock lock;  // of what follows
  Memory* idle[size_classes] = {};
  std::atomic<bool> owned{false};  // `owners` has entries
  int64_t named = 0;     // entries in lists of users
  int64_t wrappers = 0;  // objects of users that hold it, of streams of others
  std::vector<Block*> owners;  // what keeps a stream of others alive while memory names it
  int64_t live_blocks = 0, cached_bytes = 0, driver_allocations = 0;
  // Read without the lock, too. `room`: how many live bytes cannot be a new peak of the device.
  std::atomic<int64_t> live_bytes{0}, room{0};
  std::atomic<Recording*> recording{nullptr};  // what a capture of ours on it uses, changed under the lock
  std::vector<uint64_t> waited;  // by index: how much of that stream's work this one has waited for

  // The caller holds the lock. Returns whether the device may have a new peak.
  bool add_live(int64_t bytes) noexcept {
    const int64_t live = live_bytes.load(std::memory_order_relaxed) + bytes;
    live_bytes.store(live, std::memory_order_relaxed);
    return live > room.load(std::memory_order_relaxed);
  }

  uintptr_t number() const noexcept { return reinterpret_cast<uintptr_t>(handle.load(std::memory_order_relaxed)); }
  bool is_default() const noexcept { return number() <= 2; }
  bool is_legacy() const noexcept { return number() <= 1; }
  bool is_per_thread() const noexcept { return number() == 2; }
  // Several threads may share a stream. Foreign work is not counted, so that the count of such a stream says nothing.
  void count_work() noexcept {
    if (ours) work.fetch_add(1, std::memory_order_release);
  }
};

// The record of a raw handle (0 and 1: the legacy default stream, 2: the per-thread one).
DLT_API Status stream_of(int device, CUstream handle, Stream** out) noexcept;

// A non-blocking stream. Lower priorities are more urgent; out of range is clamped by the driver.
DLT_API Status create_stream(int device, int priority, Stream** out) noexcept;
// Returns at once; work that is enqueued still runs, and memory of the stream is reused only after it.
DLT_API Status destroy_stream(Stream* stream) noexcept;
DLT_API Status synchronize_stream(Stream* stream) noexcept;
// success: all done; Fault::not_ready: not yet.
DLT_API Status query_stream(Stream* stream) noexcept;
DLT_API Status is_capturing(const Stream& stream, bool* capturing) noexcept;

// The handle to name a stream by in a call of this thread. Handle 2 means the caller's own default stream: for that of
// another thread it is the legacy stream, which waits for every blocking stream and every blocking stream for it.
CUstream handle_here(const Stream& stream) noexcept;

// The same of a stream that another thread may destroy meanwhile: the driver destroys it when nobody asks it any more.
class LastingHandle {
 public:
  explicit LastingHandle(const Stream& stream) noexcept : stream_(stream) {
    stream.askers.fetch_add(1);
    handle_ = handle_here(stream);
  }
  LastingHandle(const LastingHandle&) = delete;
  LastingHandle& operator=(const LastingHandle&) = delete;
  ~LastingHandle() {
    if (stream_.askers.fetch_sub(1) == 1) destroy_doomed(stream_);
  }
  operator CUstream() const noexcept { return handle_; }
  // Destroys the handle that the stream had before, if one is left to be destroyed.
  static CUresult destroy_doomed(const Stream& stream) noexcept;

 private:
  const Stream& stream_;
  CUstream handle_;
};

// The state of captures in a stream.
struct Capture {
  bool active = false;   // it is being captured
  bool implied = false;  // a blocking stream is being captured: work on this one, the legacy stream, would spoil that
  uint64_t id = 0;
  bool any() const noexcept { return active || implied; }
};
CUresult capture_of(const Stream& stream, Capture* out) noexcept;
// Returns what capture_of() does, for work that `func` enqueues: fails where that would spoil the capture of another stream.
Status check_capture(const char* func, const Stream& stream, Capture* out) noexcept;

// The handle is given to others, who may enqueue work on the stream: from now on waits for it are never left out.
DLT_API CUstream share_handle(Stream& stream) noexcept;

// An object of ours holds a stream of another library, and no longer. `owner` keeps the stream alive; it is released by the
// latter, or when the last memory that names the stream is.
DLT_API void hold_stream(Stream& stream) noexcept;
DLT_API void release_stream_owner(Stream& stream, Block* owner) noexcept;
// Called when memory no longer names a stream that may be at its end.
void end_stream_if_unused(Stream& stream) noexcept;

// The calling thread's current stream of a device; the legacy default stream unless set.
DLT_API Status current_stream(int device, Stream** out) noexcept;
DLT_API void set_current_stream(Stream* stream) noexcept;

// `waiter` waits for all work that `on` has now. Nothing is enqueued when that work is known to be done.
DLT_API Status order_after(Stream& waiter, Stream& on) noexcept;

// `waiter` waits for all work that its context has now, on every stream: of consumers whose streams must not be asked any
// more. Drivers before 12.5 know no such event: there it waits for the blocking streams. Fails while a stream is captured.
Status order_after_context(Stream& waiter) noexcept;

// Returns whether a raw handle is a stream of that device.
bool stream_is_on(const Device& device, CUstream handle) noexcept;

// The stream records of a device in order of their making: the first one from number `*next` on, which moves on past
// it; null when there are no more.
Stream* next_stream(const Device& device, size_t* next) noexcept;

// The stream for internal work that belongs to no other stream.
Status service_stream(Device& device, Stream** out) noexcept;

// Events that users hold.
DLT_API Status create_event(int device, bool timing, bool blocking, CUevent* out) noexcept;
DLT_API void destroy_event(int device, CUevent event) noexcept;
DLT_API Status record_event(CUevent event, Stream* stream) noexcept;
DLT_API Status wait_event(Stream* stream, CUevent event) noexcept;
DLT_API Status query_event(int device, CUevent event) noexcept;
DLT_API Status synchronize_event(int device, CUevent event) noexcept;
DLT_API Status elapsed_time(int device, CUevent start, CUevent end, float* milliseconds) noexcept;

}  // namespace dlt::cuda
