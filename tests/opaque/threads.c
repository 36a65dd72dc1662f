/* SPDX-License-Identifier: Apache-2.0 */
/* Eight threads without any interpreter on the same arrays; made to run under a thread sanitizer. */
#include "check.h"

enum { thread_count = 8, rounds = 10000 };

static dlt_array_t shared, target;
static double memory[60], into[60], value = 7;

static unsigned next_random(unsigned* state) { return *state = *state * 1664525u + 1013904223u; }

/* Shapes change under the readers, so each answer is only held to be one of the two that are possible. */
static int fine_shape(const uintptr_t* shape, uintptr_t count) {
  return count == 3 && shape[1] == 5 && shape[0] * shape[2] == 12 && (shape[0] == 3 || shape[0] == 4);
}

static void* mix(void* argument) {
  unsigned state = (unsigned)(uintptr_t)argument;
  int failures = 0;
  for (int i = 0; i < rounds; i++) {
    const uintptr_t* shape = NULL;
    uintptr_t count = 0;
    DLDevice device;
    DLDataType dtype;
    dlt_data_origin_t origin;
    DLManagedTensorVersioned* t = NULL;
    dlt_array_t made;
    static const uintptr_t dims[2] = {2, 2};
    dlt_data_movement_t movement = {next_random(&state) % 3, next_random(&state) % 3, 0, 0, 4};
    switch (next_random(&state) >> 16 & 15) {
      case 0: failures += shared.origin(shared.ptr, &origin) != 0 || origin == 0; break;
      case 1: failures += shared.device(shared.ptr, &device) != 0 || device.device_type != kDLCPU; break;
      case 2: failures += shared.dtype(shared.ptr, &dtype) != 0 || dtype.bits != 64; break;
      case 3:
      case 4: failures += shared.shape(shared.ptr, &shape, &count) != 0 || !fine_shape(shape, count); break;
      case 5:
      case 6:
        failures += shared.as_dlpack(shared.ptr, &t, cpu, NULL, newest) != 0 || !t;
        if (t) {
          failures += t->dl_tensor.shape[0] * t->dl_tensor.shape[2] != 12;
          t->deleter(t);
        }
        break;
      case 7: failures += shared.swap_axes(shared.ptr, 0, 2) != 0; break;
      case 8: failures += shared.swap_axes(shared.ptr, 0, 3) == 0; break;
      case 9:
        failures += shared.copy(shared.ptr, cpu, &made) != 0;
        made.destroy(made.ptr);
        break;
      case 10:
        made = scalar_over(&value, f64);
        failures += shared.create(shared.ptr, dims, 2, made, &made) != 0;
        made.destroy(made.ptr);
        break;
      case 11: failures += target.move_data(target.ptr, target.ptr, &movement, 1) != 0; break;
      case 12: /* both directions at once: no deadlock */
        failures += target.move_data(target.ptr, shared.ptr, &movement, 1) < 0;
        break;
      case 13: failures += shared.move_data(shared.ptr, target.ptr, &movement, 1) < 0; break;
      case 14: failures += shared.reshape(shared.ptr, (uintptr_t[]){61}, 1) == 0; break;
      default: {
        char name[24];
        snprintf(name, sizeof(name), "origin %u", next_random(&state) % 50);
        failures += dlt_register_data_origin(name, &origin) != 0 || dlt_get_data_origin(origin, name, 24) != 0;
      }
    }
  }
  __atomic_add_fetch(&check_failed, failures, __ATOMIC_RELAXED);
  CHECK(failures == 0);
  return NULL;
}

static void mixed_calls_from_eight_threads(void) {
  for (int i = 0; i < 60; i++) memory[i] = into[i] = i;
  shared = array_over(memory, f64, 3, (int64_t[]){3, 5, 4}, NULL, 0);
  target = array_over(into, f64, 3, (int64_t[]){3, 5, 4}, NULL, 0);
  pthread_t threads[thread_count];
  for (uintptr_t t = 0; t < thread_count; t++) pthread_create(&threads[t], NULL, mix, (void*)(t + 1));
  for (int t = 0; t < thread_count; t++) pthread_join(threads[t], NULL);
  end_array(&shared);
  end_array(&target);
}

/* All threads query while one destroys: each call either works or reports that the array was destroyed. */
static void* ask_until_gone(void* argument) {
  dlt_array_t* a = (dlt_array_t*)argument;
  for (;;) {
    DLManagedTensorVersioned* t = NULL;
    DLDevice device;
    if (a->as_dlpack(a->ptr, &t, cpu, NULL, newest) != 0) break;
    if (*(double*)t->dl_tensor.data != 7) CHECK(!"the value went first");
    t->deleter(t);
    if (a->device(a->ptr, &device) != 0) break;
  }
  CHECK(strstr(last_message(), "destroyed") != NULL);
  return NULL;
}

static void destroy_while_others_ask(void) {
  for (int round = 0; round < 100; round++) {
    double value = 7;
    dlt_array_t view, a = scalar_over(&value, f64);
    WORKS(a.copy(a.ptr, cpu, &view));
    end_array(&a);
    pthread_t threads[4];
    for (int t = 0; t < 4; t++) pthread_create(&threads[t], NULL, ask_until_gone, &view);
    pthread_t ender;
    returned = 0;
    pthread_create(&ender, NULL, (void* (*)(void*))(void (*)(void))view.destroy, view.ptr);
    pthread_join(ender, NULL);
    for (int t = 0; t < 4; t++) pthread_join(threads[t], NULL);
    view.destroy(view.ptr);
  }
}

/* An end from within an end: the deleter of one array's tensor destroys another. */
static dlt_array_t second;
static void end_second(DLManagedTensorVersioned* self) {
  second.destroy(second.ptr);
  test_deleter(self);
}
static void an_array_may_end_within_another(void) {
  double x = 0;
  returned = 0;
  second = scalar_over(&x, f64);
  DLManagedTensorVersioned* t = tensor_over(&x, f64, 0, NULL, NULL, 0);
  t->deleter = end_second;
  dlt_array_t first;
  WORKS(dlt_array_from_dlpack(t, "test", NULL, &first));
  end_array(&first);
  CHECK(returned == 2);
}

int main(int argc, char** argv) {
  static const test_case cases[] = {
#define CASE(name) {#name, name}
      CASE(mixed_calls_from_eight_threads), CASE(destroy_while_others_ask), CASE(an_array_may_end_within_another)};
  return run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
