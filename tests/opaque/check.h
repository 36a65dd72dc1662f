/* SPDX-License-Identifier: Apache-2.0 */
/* What the native tests share: checks that count, tensors to begin with, and a list of cases to choose from by name. */
#ifndef DLTENSOR_TESTS_CHECK_H_
#define DLTENSOR_TESTS_CHECK_H_

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dltensor/array.h"

static int check_made = 0, check_failed = 0;

#define CHECK(condition)                                                      \
  do {                                                                        \
    __atomic_add_fetch(&check_made, 1, __ATOMIC_RELAXED);                     \
    if (!(condition)) {                                                       \
      __atomic_add_fetch(&check_failed, 1, __ATOMIC_RELAXED);                 \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                         \
  } while (0)

static inline const char* last_message(void) {
  const char* message = NULL;
  dlt_last_error(&message, NULL, NULL);
  return message;
}

/* The call fails, and the error of this thread says why. */
#define FAILS(status, words)                                                                    \
  do {                                                                                          \
    dlt_set_last_error("nothing yet", "test", NULL, NULL);                                      \
    CHECK((status) != DLT_SUCCESS);                                                             \
    if (!strstr(last_message(), words)) fprintf(stderr, "  the message: %s\n", last_message()); \
    CHECK(strstr(last_message(), words) != NULL);                                               \
  } while (0)

#define WORKS(status)                                                         \
  do {                                                                        \
    dlt_status_t works_status = (status);                                     \
    if (works_status) fprintf(stderr, "  the message: %s\n", last_message()); \
    CHECK(works_status == DLT_SUCCESS);                                       \
  } while (0)

static const DLDevice cpu = {kDLCPU, 0};
static const DLPackVersion newest = {1, 3};
static const DLDataType f64 = {kDLFloat, 64, 1}, f32 = {kDLFloat, 32, 1}, i32 = {kDLInt, 32, 1};

/* A tensor over the caller's memory, as any library exports it; `returned` counts calls of the deleter. */
static int returned = 0;
typedef struct {
  DLManagedTensorVersioned tensor;
  int64_t dims[2 * DLT_ARRAY_MAX_NDIM];
} test_tensor;

static void test_deleter(DLManagedTensorVersioned* self) {
  __atomic_add_fetch(&returned, 1, __ATOMIC_RELAXED);
  free(self->manager_ctx);
}

static inline DLManagedTensorVersioned* tensor_over(void* data, DLDataType dtype, int32_t ndim, const int64_t* shape,
                                                    const int64_t* strides, uint64_t flags) {
  test_tensor* made = (test_tensor*)calloc(1, sizeof(test_tensor));
  if (ndim) memcpy(made->dims, shape, (size_t)ndim * sizeof(int64_t));
  if (strides) memcpy(made->dims + ndim, strides, (size_t)ndim * sizeof(int64_t));
  made->tensor.version = newest;
  made->tensor.manager_ctx = made;
  made->tensor.deleter = test_deleter;
  made->tensor.flags = flags;
  made->tensor.dl_tensor.data = data;
  made->tensor.dl_tensor.device = cpu;
  made->tensor.dl_tensor.ndim = ndim;
  made->tensor.dl_tensor.dtype = dtype;
  made->tensor.dl_tensor.shape = ndim ? made->dims : NULL;
  made->tensor.dl_tensor.strides = strides ? made->dims + ndim : NULL;
  return &made->tensor;
}

static inline dlt_array_t array_over(void* data, DLDataType dtype, int32_t ndim, const int64_t* shape, const int64_t* strides,
                                     uint64_t flags) {
  dlt_array_t array;
  memset(&array, 0, sizeof(array));
  WORKS(dlt_array_from_dlpack(tensor_over(data, dtype, ndim, shape, strides, flags), "test", NULL, &array));
  return array;
}

static inline dlt_array_t scalar_over(void* data, DLDataType dtype) { return array_over(data, dtype, 0, NULL, NULL, 0); }

static inline void end_array(dlt_array_t* array) {
  if (array->destroy) array->destroy(array->ptr);
  memset(array, 0, sizeof(*array));
}

static inline DLManagedTensorVersioned* export_of(dlt_array_t array) {
  DLManagedTensorVersioned* tensor = NULL;
  WORKS(array.as_dlpack(array.ptr, &tensor, cpu, NULL, newest));
  return tensor;
}

typedef struct {
  const char* name;
  void (*run)(void);
} test_case;

/* No argument: every case. "--list": their names. Else the ones named. */
static inline int run_cases(const test_case* cases, size_t count, int argc, char** argv) {
  int ran = 0;
  for (size_t i = 0; i < count; i++) {
    int chosen = argc < 2;
    for (int k = 1; k < argc; k++) chosen |= strcmp(argv[k], cases[i].name) == 0;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
      puts(cases[i].name);
      ran = check_made = 1;
    } else if (chosen) {
      int before = check_made;
      cases[i].run();
      ran++;
      if (check_made == before) {
        fprintf(stderr, "%s checked nothing\n", cases[i].name);
        return 3;
      }
    }
  }
  if (!ran || !check_made) {
    fprintf(stderr, "nothing ran\n");
    return 3;
  }
  return check_failed ? 1 : 0;
}

#endif
