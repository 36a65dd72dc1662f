/* SPDX-License-Identifier: Apache-2.0 */
/* Callers without Python, as a library for tests in Python: threads, calls at exit, and late destructors. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dltensor/array.h"

static const DLDevice cpu = {kDLCPU, 0};
static const DLPackVersion newest = {1, 3};

/* Every question and an export; how many of them failed. */
static int ask(const dlt_array_t* a) {
  dlt_data_origin_t origin;
  DLDevice device;
  DLDataType dtype;
  const uintptr_t* shape;
  uintptr_t count;
  DLManagedTensorVersioned* tensor = NULL;
  int failed = a->origin(a->ptr, &origin) != 0;
  failed += a->device(a->ptr, &device) != 0;
  failed += a->dtype(a->ptr, &dtype) != 0;
  failed += a->shape(a->ptr, &shape, &count) != 0;
  if (a->as_dlpack(a->ptr, &tensor, cpu, NULL, newest) != 0) failed++;
  else tensor->deleter(tensor);
  return failed;
}

enum { ASK, DESTROY, MIXED };

typedef struct {
  dlt_array_t* array;
  int what;
  int rounds;
  int failed;
} Job;

static void* work(void* given) {
  Job* job = given;
  for (int i = 0; i < job->rounds; i++) {
    if (job->what == ASK) job->failed += ask(job->array);
    if (job->what == DESTROY) {
      dlt_array_t gone = *job->array;
      gone.destroy(gone.ptr);
    }
    if (job->what == MIXED) {
      dlt_array_t copy;
      job->failed += ask(job->array);
      if (job->array->copy(job->array->ptr, cpu, &copy) != 0) {
        job->failed++;
        continue;
      }
      for (int twice = 0; twice < 2; twice++) job->failed += copy.swap_axes(copy.ptr, 0, 1) != 0;
      dlt_data_movement_t movement = {0, 0, 0, 0, 1};
      job->failed += copy.move_data(copy.ptr, job->array->ptr, &movement, 1) != 0;
      job->failed += job->array->swap_axes(job->array->ptr, 7, 7) == 0;
      copy.destroy(copy.ptr);
    }
  }
  return NULL;
}

/* `count` threads do `what` at once; how many calls failed. */
int in_threads(dlt_array_t* array, int what, int count, int rounds) {
  pthread_t threads[64];
  Job jobs[64];
  int failed = 0;
  for (int i = 0; i < count; i++) {
    jobs[i] = (Job){array, what, rounds, 0};
    pthread_create(&threads[i], NULL, work, &jobs[i]);
  }
  for (int i = 0; i < count; i++) {
    pthread_join(threads[i], NULL);
    failed += jobs[i].failed;
  }
  return failed;
}

typedef int32_t (*Function)(void);
typedef struct {
  Function function;
  int32_t status;
  char message[256];
} Call;

static void* call(void* given) {
  Call* one = given;
  one->status = one->function();
  dlt_copy_last_error(one->message, sizeof(one->message), NULL);
  return NULL;
}

/* The status of `function` on a thread of its own, and what that thread's last error says. */
int32_t call_in_thread(Function function, char* message, size_t capacity) {
  Call one = {function, 0, ""};
  pthread_t thread;
  pthread_create(&thread, NULL, call, &one);
  pthread_join(thread, NULL);
  snprintf(message, capacity, "%s", one.message);
  return one.status;
}

/* -- late calls -- */

static dlt_array_t late_array;
static DLManagedTensorVersioned* late_export;
static int late_mode = 0;

static void use_late(void) {
  double first = *(double*)late_export->dl_tensor.data;
  int failed = ask(&late_array);
  late_export->deleter(late_export);
  late_array.destroy(late_array.ptr);
  dlt_set_last_error("late", "test", NULL, NULL); /* deletes what Python left there */
  DLDevice device;
  failed += late_array.device(late_array.ptr, &device) == 0; /* it is gone */
  printf("late: %d failed, first %g\n", failed, first);
  fflush(stdout);
  if (failed) _exit(9);
}

static void at_exit(void) {
  if (late_mode == 1) use_late();
}

__attribute__((destructor)) static void at_unload(void) {
  if (late_mode == 2) use_late();
}

int prepare_late(const dlt_array_t* array, int mode) {
  late_array = *array;
  late_mode = mode;
  if (mode == 1) atexit(at_exit);
  return array->as_dlpack(array->ptr, &late_export, cpu, NULL, newest);
}

void finish_late(void) { use_late(); }

/* A thread that ends arrays one by one, slowly, until the process is gone. */
static void* end_slowly(void* given) {
  dlt_array_t* arrays = given;
  for (int i = 0; arrays[i].ptr; i++) {
    arrays[i].destroy(arrays[i].ptr);
    usleep(100);
  }
  return NULL;
}

int start_ending(const dlt_array_t* arrays, size_t count) {
  dlt_array_t* copy = calloc(count + 1, sizeof(*copy));
  memcpy(copy, arrays, count * sizeof(*copy));
  pthread_t thread;
  return pthread_create(&thread, NULL, end_slowly, copy) || pthread_detach(thread);
}
