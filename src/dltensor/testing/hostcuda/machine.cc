// SPDX-License-Identifier: Apache-2.0
// Control of the machine by tests: configuration, requested errors, counters.
#include "machine.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace dlt::cuda {

Machine machine;
constinit thread_local ContextStack context_stack{};
std::atomic<bool> any_fault{false};
std::atomic<bool> forked{false};

namespace {

struct Fault {
  std::string function;
  int64_t countdown;  // fails when it reaches 0
  int64_t times;
  int result;
};
std::vector<Fault> faults;

// A child of fork() has no driver, whatever its parent had.
const int fork_is_watched = pthread_atfork(nullptr, nullptr, [] {
  if (machine.started) forked = true;
});

// "*" excludes functions that undo a step that succeeded: callers cannot handle their failure.
bool matches(const Fault& fault, const char* function) {
  if (fault.function == "*") return strcmp(function, "cuCtxPopCurrent_v2") != 0;
  return fault.function == function;
}

// Functions that still work when a context is lost: queries of devices, and the stack of contexts.
bool survives(const char* function) {
  for (const char* start : {"cuInit", "cuDriver", "cuDevice", "cuCtxPush", "cuCtxPop", "cuCtxSetCurrent", "cuThreadExchange"})
    if (!strncmp(function, start, strlen(start))) return true;
  return false;
}

struct Switch {
  const char *key, *on, *off;
  bool Machine::* setting;
};
const Switch switches[] = {{"dead_streams", "abort", "error", &Machine::dead_streams_abort},
                           {"launches", "on", "off", &Machine::launches},
                           {"descriptors", "on", "off", &Machine::descriptors}};

bool configure(const std::string& key, const std::string& value) {
  Machine& m = machine;
  if (key == "order") {
    if (value == "eager") m.order = Machine::Order::eager;
    else if (value == "lazy") m.order = Machine::Order::lazy;
    else if (value.rfind("random", 0) == 0) {
      m.order = Machine::Order::random;
      m.chance.seed(value.size() > 7 ? static_cast<unsigned>(atoll(value.c_str() + 7)) : 0u);
    } else return false;
    if (m.order == Machine::Order::eager && m.started)
      for (int d = 0; d < m.device_count; ++d) synchronize_device(d);
    return true;
  }
  if (key == "threads") {
    m.watch = value.rfind("random", 0) == 0;
    if (m.watch) m.preemption.seed(value.size() > 7 ? static_cast<unsigned>(atoll(value.c_str() + 7)) : 0u);
    return m.watch || value == "whole";
  }
  for (const Switch& one : switches)
    if (key == one.key) return m.*one.setting = value == one.on, value == one.on || value == one.off;
  if (key == "cache") return m.cache = value, true;
  if (key == "include") return m.include = value, true;
  if (key == "header") return m.header = value, true;
  if (key == "compiler") return m.compiler = value, true;
  if (key == "compiler_flags") return m.compiler_flags = value, true;
  if (key == "memory") return m.device_bytes = static_cast<size_t>(atoll(value.c_str())), m.device_bytes > 0;
  if (key == "driver_version") return m.driver_version = atoi(value.c_str()), m.driver_version > 0;
  if (key == "capability") return m.capability = atoi(value.c_str()), m.capability > 0;
  if (key == "first_device") return m.first_device = atoi(value.c_str()), !m.started && m.first_device >= 0;
  if (key == "devices") {
    if (m.started) return false;  // their number is fixed at cuInit
    m.device_count = atoi(value.c_str());
    return m.device_count >= 0 && m.device_count <= 16;
  }
  return false;
}

// Settings that another process inherits: HOSTCUDA_ORDER=lazy and so on.
struct Environment {
  Environment() {
    for (const char* key :
         {"order", "threads", "dead_streams", "launches", "descriptors", "cache", "include", "header", "compiler",
          "compiler_flags", "memory", "driver_version", "capability", "first_device", "devices"}) {
      std::string name = "HOSTCUDA_";
      for (const char* c = key; *c; ++c) name += static_cast<char>(toupper(*c));
      if (const char* value = getenv(name.c_str()))
        if (!configure(key, value)) fprintf(stderr, "hostcuda: %s=%s is not understood\n", name.c_str(), value);
    }
  }
} environment;

}  // namespace

int enter(const char* function) {
  ++machine.statistics.calls;
  if (!any_fault.load(std::memory_order_relaxed)) return 0;
  if (machine.lost && survives(function)) return 0;
  if (machine.lost) return machine.lost;
  for (Fault& fault : faults)
    if (fault.times > 0 && matches(fault, function) && --fault.countdown <= 0) {
      --fault.times;
      if (is_lost(fault.result)) lose_context(fault.result);
      return fault.result;
    }
  return 0;
}

void lose_context(int result) {
  if (!machine.lost) machine.lost = result;
  any_fault = true;
}

}  // namespace dlt::cuda

using namespace dlt::cuda;

// Returns 0, or -1 when key or value is not known, or the machine has started.
HOSTCUDA_EXPORT int hostcuda_configure(const char* key, const char* value) {
  std::lock_guard<std::recursive_mutex> hold(machine.lock);
  return configure(key, value) ? 0 : -1;
}

// The nth call from now of `function` ("*": of any) returns `result`, and so do the `times - 1` calls after it.
HOSTCUDA_EXPORT void hostcuda_fail(const char* function, int64_t nth, int64_t times, int result) {
  std::lock_guard<std::recursive_mutex> hold(machine.lock);
  faults.push_back({function, nth, times, result});
  any_fault = true;
}

// Removes requested failures and restores a lost context, which no real driver can.
HOSTCUDA_EXPORT void hostcuda_fail_no_more() {
  std::lock_guard<std::recursive_mutex> hold(machine.lock);
  faults.clear();
  machine.lost = 0;
  any_fault = false;
}

HOSTCUDA_EXPORT void hostcuda_statistics(Statistics* out) {
  std::lock_guard<std::recursive_mutex> hold(machine.lock);
  *out = machine.statistics;
}

// The mangled name of the kernel launched last. Valid until the next launch.
HOSTCUDA_EXPORT const char* hostcuda_last_kernel() { return machine.last_kernel.c_str(); }

// Depth of the calling thread's stack of contexts: a library must leave it unchanged.
HOSTCUDA_EXPORT int hostcuda_context_depth() { return context_stack.depth; }

// Operations enqueued and not yet run.
HOSTCUDA_EXPORT int64_t hostcuda_pending() {
  std::lock_guard<std::recursive_mutex> hold(machine.lock);
  int64_t count = 0;
  for (const OperationPointer& operation : machine.pending) count += !operation->done;
  return count;
}

// Its presence shows that cuModuleLoadData also takes kernels as source, see modules.cc.
HOSTCUDA_EXPORT int hostcuda_takes_source() { return 1; }
