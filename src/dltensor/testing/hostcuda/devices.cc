// SPDX-License-Identifier: Apache-2.0
// Devices and their attributes, contexts, error names, and the lookup of functions.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "machine.h"

namespace dlt::cuda {
namespace {

struct NamedError {
  int value;
  const char* name;
};
#define HOSTCUDA_ERROR_NAME(name, value, original) {value, #original},
const NamedError constants[] = {DLT_CUDA_CONSTANTS(HOSTCUDA_ERROR_NAME)};

int attribute_of(int attribute) {
  switch (attribute) {
    case kComputeCapabilityMajor: return machine.capability / 10;
    case kComputeCapabilityMinor: return machine.capability % 10;
    case kMultiprocessorCount: return 132;
    case kMaxThreadsPerMultiprocessor: return 2048;
    case kMaxThreadsPerBlock:
    case kMaxBlockDimX:
    case kMaxBlockDimY: return 1024;
    case kMaxBlockDimZ: return 64;
    case kMaxGridDimX: return 2147483647;
    case kMaxGridDimY:
    case kMaxGridDimZ: return 65535;
    case kDescriptorsSupported: return machine.descriptors;
    case kWarpSize: return 32;
    case kSharedMemoryPerBlock: return 48 << 10;
    case kSharedMemoryPerMultiprocessor: return 228 << 10;
    case kTotalConstantMemory: return 64 << 10;
    case kRegistersPerBlock:
    case kRegistersPerMultiprocessor: return 65536;
    case kL2CacheSize: return 50 << 20;
    case kMemoryPoolsSupported:
    case kVirtualMemorySupported:
    case kUnifiedAddressing:
    case kManagedMemory:
    case kConcurrentManagedAccess:
    case kStreamPrioritiesSupported:
    case 40:           // asynchronous engines
    case 90: return 1;  // compute preemption
    default: return 0;
  }
}

bool is_device(int device) { return device >= 0 && device < machine.device_count; }

}  // namespace
}  // namespace dlt::cuda

using namespace dlt::cuda;

#define HOSTCUDA_DEVICE(device) \
  HOSTCUDA_STARTED;             \
  if (!is_device(device)) return kInvalidDevice

HOSTCUDA_EXPORT CUresult cuInit(unsigned) {
  HOSTCUDA_ENTER;
  if (machine.started) return kSuccess;
  if (machine.device_count == 0) return kNoDevice;
  if (!start_memory()) return kOutOfMemory;
  for (int d = 0; d < machine.device_count; ++d) {
    machine.contexts.push_back(std::make_unique<ContextHandle>());
    machine.contexts.back()->device = d;
    machine.legacy.push_back(std::make_unique<StreamHandle>());
    machine.legacy.back()->device = d;
    machine.pools.push_back(new PoolHandle{d, {}});
    machine.all_pools.insert(machine.pools.back());
  }
  machine.streams.resize(machine.device_count);
  machine.per_thread.resize(machine.device_count);
  machine.left_behind.resize(machine.device_count);
  machine.started = true;
  return kSuccess;
}

HOSTCUDA_SIMPLE(cuDriverGetVersion, (int* version), *version = machine.driver_version)
HOSTCUDA_EXPORT CUresult cuGetErrorName(CUresult error, const char** text) {
  *text = nullptr;
  for (const NamedError& e : constants)
    if (e.value == error && (!strncmp(e.name, "CUDA_ERROR", 10) || !strcmp(e.name, "CUDA_SUCCESS"))) {
      *text = e.name;
      return kSuccess;
    }
  return kInvalidValue;  // and the text is null, as in CUDA
}
HOSTCUDA_EXPORT CUresult cuGetErrorString(CUresult error, const char** text) { return cuGetErrorName(error, text); }

HOSTCUDA_SIMPLE(cuDeviceGetCount, (int* count), HOSTCUDA_STARTED; *count = machine.device_count)
HOSTCUDA_SIMPLE(cuDeviceGet, (CUdevice * device, int ordinal), HOSTCUDA_DEVICE(ordinal); *device = ordinal)
HOSTCUDA_SIMPLE(cuDeviceGetName, (char* name, int length, CUdevice device), HOSTCUDA_DEVICE(device);
                snprintf(name, static_cast<size_t>(length), "dltensor CUDA emulator"))
HOSTCUDA_SIMPLE(cuDeviceTotalMem_v2, (size_t* bytes, CUdevice device), HOSTCUDA_DEVICE(device); *bytes = machine.device_bytes)
HOSTCUDA_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  HOSTCUDA_ENTER;
  HOSTCUDA_DEVICE(device);
  *uuid = {};
  uuid->bytes[15] = static_cast<char>(machine.first_device + device + 1);
  return kSuccess;
}
HOSTCUDA_SIMPLE(cuDeviceGetPCIBusId, (char* text, int length, CUdevice device), HOSTCUDA_DEVICE(device);
                snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", machine.first_device + device + 1))
HOSTCUDA_SIMPLE(cuDeviceGetAttribute, (int* value, int attribute, CUdevice device), HOSTCUDA_DEVICE(device);
                *value = attribute_of(attribute))
HOSTCUDA_EXPORT CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice) {
  *major = machine.capability / 10;
  *minor = machine.capability % 10;
  return kSuccess;
}
HOSTCUDA_SIMPLE(cuDeviceCanAccessPeer, (int* can, CUdevice device, CUdevice peer), HOSTCUDA_DEVICE(device);
                HOSTCUDA_DEVICE(peer); *can = device != peer)

HOSTCUDA_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  HOSTCUDA_ENTER;
  HOSTCUDA_DEVICE(device);
  *context = machine.contexts[device].get();
  ++(*context)->references;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  HOSTCUDA_ENTER;
  HOSTCUDA_DEVICE(device);
  if (machine.contexts[device]->references == 0) return kInvalidContext;
  --machine.contexts[device]->references;
  return kSuccess;
}
// Destroys all memory, streams and modules of the context for all libraries. Here it stays destroyed until
// hostcuda_fail_no_more(); on a device the next retain creates a new one with another id.
HOSTCUDA_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  HOSTCUDA_ENTER;
  HOSTCUDA_DEVICE(device);
  ++machine.contexts[device]->resets;
  lose_context(kContextIsDestroyed);
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  HOSTCUDA_ENTER;
  HOSTCUDA_DEVICE(device);
  *flags = 0;
  *active = machine.contexts[device]->references > 0;
  return kSuccess;
}
// Not locked, not counted: it is called before every operation.
HOSTCUDA_EXPORT CUresult cuCtxGetCurrent(CUcontext* context) {
  if (forked) return kNotInitialized;
  *context = current();
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  HOSTCUDA_ENTER;
  ContextStack& stack = context_stack;
  if (context && stack.depth == 0) ++stack.depth;
  if (context) stack.at[stack.depth - 1] = context;
  else if (stack.depth) --stack.depth;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) {
  HOSTCUDA_ENTER_ALONE;
  if (!context) return kInvalidContext;
  ContextStack& stack = context_stack;
  if (stack.depth == ContextStack::most) return kOutOfMemory;
  stack.at[stack.depth++] = context;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  HOSTCUDA_ENTER_ALONE;
  ContextStack& stack = context_stack;
  if (!stack.depth) return kInvalidContext;
  --stack.depth;
  if (context) *context = stack.at[stack.depth];
  return kSuccess;
}
HOSTCUDA_SIMPLE(cuCtxGetDevice, (CUdevice * device), HOSTCUDA_CONTEXT; *device = current()->device)
HOSTCUDA_SIMPLE(cuCtxGetFlags, (unsigned* flags), HOSTCUDA_CONTEXT; *flags = 0)
HOSTCUDA_EXPORT CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  const ContextHandle& asked = context ? *context : *current();
  *id = static_cast<unsigned long long>(asked.device + 1 + asked.resets * 1000);
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuCtxSynchronize() {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  HOSTCUDA_NOT_IN_CAPTURE;
  // From every thread: a context with captured streams cannot be synchronized.
  bool captured = false;
  for (StreamHandle* stream : all_streams(current()->device))
    if (stream->capture) stream->capture->invalid = captured = true;
  if (captured) return kCaptureUnsupported;
  ++machine.statistics.synchronisations;
  synchronize_device(current()->device);
  trim_pools(current()->device);
  return machine.lost;
}
HOSTCUDA_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  return current()->peers.insert(peer->device).second ? kSuccess : kPeerAccessAlreadyEnabled;
}
HOSTCUDA_EXPORT CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return kSuccess;
}

// NVRTC 13 opens libcuda.so.1 itself and asks for a private table; without this entry it crashes.
HOSTCUDA_EXPORT CUresult cuGetExportTable(const void** table, const void*) {
  *table = nullptr;
  return kNotFound;
}

// Returns the newest version of a function that the driver has; names are without their version.
HOSTCUDA_EXPORT CUresult cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t, int* found) {
  static void* const self = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&cuInit), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  *function = nullptr;
  for (const char* suffix : {"_v4", "_v3", "_v2", ""}) {
    if (!strcmp(name, "cuEventElapsedTime") && version < 12080 && *suffix) continue;
    if ((*function = dlsym(self, (std::string(name) + suffix).c_str()))) break;
  }
  if (found) *found = *function ? 0 : 1;
  return *function ? kSuccess : kNotFound;
}
HOSTCUDA_EXPORT CUresult cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
