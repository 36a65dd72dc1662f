// SPDX-License-Identifier: Apache-2.0
// A libnccl.so.2 over the host driver: collectives between up to four processes of one machine, through a file in /dev/shm. It
// enqueues what NCCL would on the stream of the call, and waits for no other stream. Signatures are those of nccl.h.
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <random>
#include <string>

#include "library.h"

using namespace dlt::cuda;

namespace {

constexpr int most_ranks = 4;
constexpr size_t most_bytes = 64 << 10;  // of one message
enum Result { success = 0, internal_error = 3, invalid_argument = 4, invalid_usage = 5 };
constexpr size_t item_bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};  // by ncclDataType_t
enum Type { i8, u8, i32, u32, i64, u64, f16, f32, f64, bf16 };
enum Op { sum, product, maximum, minimum, average };

struct Common {
  std::atomic<int> joined;
  std::atomic<uint64_t> written[most_ranks], read[most_ranks];  // the number of the last collective
  char part[most_ranks][most_bytes];
  struct Box {
    std::atomic<uint64_t> sent, taken;
    char data[most_bytes];
  } boxes[most_ranks][most_ranks];  // by sender and receiver
};

struct Comm {
  Common* common;
  int ranks, rank, device;
  uint64_t calls = 0;
};

thread_local std::string last_error;
thread_local int depth = 0;
thread_local std::vector<std::function<int()>> sends, others;  // of a group

int fail(Result result, const std::string& words) {
  last_error = words;
  return result;
}

template <class Ready>
bool wait_for(Ready&& ready) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!ready())
    if (sched_yield(); std::chrono::steady_clock::now() > end) return false;
  return true;
}

bool all_reached(const Comm& comm, const std::atomic<uint64_t>* numbers, uint64_t number) {
  for (int r = 0; r < comm.ranks; ++r)
    if (numbers[r] < number) return false;
  return true;
}

// A pageable destination: the driver waits for this stream.
int fetch(void* to, const void* from, size_t bytes, CUstream stream) {
  static const auto copy = driver_function<int (*)(void*, CUdeviceptr, size_t, CUstream)>("cuMemcpyDtoHAsync_v2");
  return copy(to, reinterpret_cast<CUdeviceptr>(from), bytes, stream) ? fail(internal_error, "a copy failed") : success;
}

int deliver(void* to, const void* from, size_t bytes, CUstream stream) {
  static const auto copy = driver_function<int (*)(CUdeviceptr, const void*, size_t, CUstream)>("cuMemcpyHtoDAsync_v2");
  return copy(reinterpret_cast<CUdeviceptr>(to), from, bytes, stream) ? fail(internal_error, "a copy failed") : success;
}

double load(const char* data, int type, size_t i) {
  switch (type) {
    case i32: return reinterpret_cast<const int32_t*>(data)[i];
    case i64: return static_cast<double>(reinterpret_cast<const int64_t*>(data)[i]);
    case f32: return reinterpret_cast<const float*>(data)[i];
    case f64: return reinterpret_cast<const double*>(data)[i];
    default: {
      const uint32_t bits = uint32_t{reinterpret_cast<const uint16_t*>(data)[i]} << 16;
      float value;
      memcpy(&value, &bits, sizeof value);
      return value;
    }
  }
}

void store(char* data, int type, size_t i, double value) {
  switch (type) {
    case i32: reinterpret_cast<int32_t*>(data)[i] = static_cast<int32_t>(value); return;
    case i64: reinterpret_cast<int64_t*>(data)[i] = static_cast<int64_t>(value); return;
    case f32: reinterpret_cast<float*>(data)[i] = static_cast<float>(value); return;
    case f64: reinterpret_cast<double*>(data)[i] = value; return;
    default: {
      const float narrow = static_cast<float>(value);  // exact numbers only: it is cut off
      uint32_t bits;
      memcpy(&bits, &narrow, sizeof bits);
      reinterpret_cast<uint16_t*>(data)[i] = static_cast<uint16_t>(bits >> 16);
    }
  }
}

double combine(int op, double a, double b) {
  switch (op) {
    case product: return a * b;
    case maximum: return a > b ? a : b;
    case minimum: return a < b ? a : b;
    default: return a + b;
  }
}

// Elements `first` and on of all parts, reduced.
std::vector<char> reduced(const Comm& comm, int type, int op, size_t first, size_t count) {
  std::vector<char> out(count * item_bytes[type]);
  for (size_t i = 0; i < count; ++i) {
    double value = load(comm.common->part[0], type, first + i);
    for (int r = 1; r < comm.ranks; ++r) value = combine(op, value, load(comm.common->part[r], type, first + i));
    store(out.data(), type, i, op == average ? value / comm.ranks : value);
  }
  return out;
}

// Writes this rank's part, waits for the others, and delivers what `join` makes of all parts.
template <class Join>
int exchange(Comm& comm, const void* send, size_t bytes, void* out, CUstream stream, Join&& join) {
  Common& common = *comm.common;
  const uint64_t number = ++comm.calls;
  if (bytes > most_bytes) return fail(internal_error, "the double takes messages of up to 64 KiB");
  if (!wait_for([&] { return all_reached(comm, common.read, number - 1); })) return fail(internal_error, "a rank is missing");
  if (send)
    if (const int failed = fetch(common.part[comm.rank], send, bytes, stream)) return failed;
  common.written[comm.rank] = number;
  if (!wait_for([&] { return all_reached(comm, common.written, number); })) return fail(internal_error, "a rank is missing");
  const std::vector<char> made = join();
  common.read[comm.rank] = number;
  return deliver(out, made.data(), made.size(), stream);
}

// Now, or at the end of the group.
int run(std::vector<std::function<int()>>& queue, std::function<int()> call) {
  if (depth) return queue.push_back(std::move(call)), success;
  return call();
}

int check(const Comm* comm, int type, int op) {
  if (!comm) return fail(invalid_argument, "comm argument is NULL");
  if (type < 0 || type > 11) return fail(invalid_argument, "Invalid datatype " + std::to_string(type));
  if (op > average) return fail(invalid_argument, "Invalid op " + std::to_string(op));
  if (op >= 0 && type != i32 && type != i64 && type != f32 && type != f64 && type != bf16)
    return fail(internal_error, "the double does not reduce this type");
  return success;
}

int check_peer(const Comm* comm, int type, int peer) {
  if (const int failed = check(comm, type, -1)) return failed;
  if (peer >= 0 && peer < comm->ranks) return success;
  return fail(invalid_argument, "Invalid rank " + std::to_string(peer) + " (nranks = " + std::to_string(comm->ranks) + ")");
}

}  // namespace

struct UniqueId {
  char name[128];
};

HOSTCUDA_EXPORT int ncclGetVersion(int* version) { return *version = 23000, success; }
HOSTCUDA_EXPORT const char* ncclGetErrorString(int result) {
  return result == success ? "no error" : result == invalid_argument ? "invalid argument" : "internal error";
}
HOSTCUDA_EXPORT const char* ncclGetLastError(Comm*) { return last_error.c_str(); }
HOSTCUDA_EXPORT int ncclCommGetAsyncError(Comm*, int* result) { return *result = success, success; }
HOSTCUDA_EXPORT int ncclGetUniqueId(UniqueId* id) {
  *id = {};
  snprintf(id->name, sizeof id->name, "/dev/shm/fake_nccl-%d-%u", getpid(), std::random_device{}());
  return success;
}

HOSTCUDA_EXPORT int ncclCommInitRankScalable(Comm** out, int ranks, int rank, int, UniqueId* id, void*) {
  if (ranks < 1 || ranks > most_ranks || rank < 0 || rank >= ranks)
    return fail(invalid_argument, "Invalid rank requested : " + std::to_string(rank) + "/" + std::to_string(ranks));
  const int file = open(id->name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof(Common)) != 0) return fail(internal_error, "no file of the communicator");
  void* memory = mmap(nullptr, sizeof(Common), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return fail(internal_error, "no memory of the communicator");
  static const auto device_of = driver_function<int (*)(int*)>("cuCtxGetDevice");
  *out = new Comm{static_cast<Common*>(memory), ranks, rank, 0};
  if (device_of(&(*out)->device)) return fail(invalid_usage, "no context is current");
  Common& common = *(*out)->common;
  ++common.joined;
  if (!wait_for([&] { return common.joined == ranks; })) return fail(internal_error, "a rank is missing");
  unlink(id->name);
  return success;
}
HOSTCUDA_EXPORT int ncclCommDestroy(Comm* comm) {
  munmap(comm->common, sizeof(Common));
  delete comm;
  return success;
}
HOSTCUDA_EXPORT int ncclCommCount(const Comm* comm, int* count) { return *count = comm->ranks, success; }
HOSTCUDA_EXPORT int ncclCommUserRank(const Comm* comm, int* rank) { return *rank = comm->rank, success; }
HOSTCUDA_EXPORT int ncclCommCuDevice(const Comm* comm, int* device) { return *device = comm->device, success; }

HOSTCUDA_EXPORT int ncclGroupStart() { return ++depth, success; }
HOSTCUDA_EXPORT int ncclGroupEnd() {
  if (!depth) return fail(invalid_usage, "ncclGroupEnd: not in a group call");
  if (--depth) return success;
  int result = success;
  for (auto* queue : {&sends, &others}) {
    for (const auto& call : *queue)
      if (const int failed = call()) result = failed;
    queue->clear();
  }
  return result;
}

HOSTCUDA_EXPORT int ncclAllReduce(const void* send, void* out, size_t count, int type, int op, Comm* comm, CUstream stream) {
  if (const int failed = check(comm, type, op)) return failed;
  return run(others, [=] {
    return exchange(*comm, send, count * item_bytes[type], out, stream, [&] { return reduced(*comm, type, op, 0, count); });
  });
}
HOSTCUDA_EXPORT int ncclReduceScatter(const void* send, void* out, size_t count, int type, int op, Comm* comm,
                                      CUstream stream) {
  if (const int failed = check(comm, type, op)) return failed;
  return run(others, [=] {
    return exchange(*comm, send, count * item_bytes[type] * static_cast<size_t>(comm->ranks), out, stream,
                    [&] { return reduced(*comm, type, op, count * static_cast<size_t>(comm->rank), count); });
  });
}
HOSTCUDA_EXPORT int ncclBroadcast(const void* send, void* out, size_t count, int type, int root, Comm* comm, CUstream stream) {
  if (const int failed = check_peer(comm, type, root)) return failed;
  return run(others, [=] {
    const size_t bytes = count * item_bytes[type];
    return exchange(*comm, comm->rank == root ? send : nullptr, bytes, out, stream,
                    [&] { return std::vector<char>(comm->common->part[root], comm->common->part[root] + bytes); });
  });
}
HOSTCUDA_EXPORT int ncclAllGather(const void* send, void* out, size_t count, int type, Comm* comm, CUstream stream) {
  if (const int failed = check(comm, type, -1)) return failed;
  return run(others, [=] {
    const size_t bytes = count * item_bytes[type];
    return exchange(*comm, send, bytes, out, stream, [&] {
      std::vector<char> all;
      for (int r = 0; r < comm->ranks; ++r) all.insert(all.end(), comm->common->part[r], comm->common->part[r] + bytes);
      return all;
    });
  });
}
HOSTCUDA_EXPORT int ncclSend(const void* send, size_t count, int type, int peer, Comm* comm, CUstream stream) {
  if (const int failed = check_peer(comm, type, peer)) return failed;
  return run(sends, [=] {
    Common::Box& box = comm->common->boxes[comm->rank][peer];
    if (!wait_for([&] { return box.taken == box.sent; })) return fail(internal_error, "a rank is missing");
    if (const int failed = fetch(box.data, send, count * item_bytes[type], stream)) return failed;
    ++box.sent;
    return static_cast<int>(success);
  });
}
HOSTCUDA_EXPORT int ncclRecv(void* out, size_t count, int type, int peer, Comm* comm, CUstream stream) {
  if (const int failed = check_peer(comm, type, peer)) return failed;
  return run(others, [=] {
    Common::Box& box = comm->common->boxes[peer][comm->rank];
    if (!wait_for([&] { return box.sent > box.taken; })) return fail(internal_error, "a rank is missing");
    const std::vector<char> data(box.data, box.data + count * item_bytes[type]);
    ++box.taken;
    return deliver(out, data.data(), data.size(), stream);
  });
}
