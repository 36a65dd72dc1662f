// SPDX-License-Identifier: Apache-2.0
// Events that users hold.
#include "native/cuda/memory/recording.h"
#include "native/cuda/runtime/index_checks.h"

namespace dlt::cuda {

Status create_event(int ordinal, bool timing, bool blocking, CUevent* out) noexcept {
  Device* device = nullptr;
  DLT_TRY(device_of(ordinal, &device));
  Current current(*device);
  DLT_CU(cuEventCreate(out, (timing ? 0u : kEventDisableTiming) | (blocking ? kEventBlockingSync : 0u)));
  return success;
}

void destroy_event(int ordinal, CUevent event) noexcept {
  Device* device = nullptr;
  if (!event || !device_of(ordinal, &device).ok()) return;
  Current current(*device);
  driver.cuEventDestroy_v2(event);
}

Status record_event(CUevent event, Stream* stream) noexcept {
  Capture capture;
  DLT_TRY(check_capture("record", *stream, &capture));
  Current current(*stream->device);
  DLT_CU(cuEventRecord(event, handle_here(*stream)));
  return success;
}

Status wait_event(Stream* stream, CUevent event) noexcept {
  Capture capture;
  DLT_TRY(check_capture("wait", *stream, &capture));
  Current current(*stream->device);
  DLT_CU(cuStreamWaitEvent(handle_here(*stream), event, 0));
  stream->count_work();
  return join_recording(*stream);
}

Status query_event(int ordinal, CUevent event) noexcept {
  Device* device = nullptr;
  DLT_TRY(device_of(ordinal, &device));
  Current current(*device);
  Beside beside;
  const CUresult result = driver.cuEventQuery(event);
  if (result == kNotReady) return {Fault::not_ready};
  return check(result, "cuEventQuery");
}

Status synchronize_event(int ordinal, CUevent event) noexcept {
  Device* device = nullptr;
  DLT_TRY(device_of(ordinal, &device));
  {
    Current current(*device);
    Beside beside;
    DLT_CU(cuEventSynchronize(event));
  }
  give_back_finished();
  return raise_late_index(*device);
}

Status elapsed_time(int ordinal, CUevent start, CUevent end, float* milliseconds) noexcept {
  Device* device = nullptr;
  DLT_TRY(device_of(ordinal, &device));
  Current current(*device);
  DLT_CU(cuEventElapsedTime(milliseconds, start, end));
  return success;
}

}  // namespace dlt::cuda
