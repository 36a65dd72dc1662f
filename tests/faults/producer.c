/* SPDX-License-Identifier: Apache-2.0 */
/* A producer of managed tensors that may lie about anything, and that counts what consumers do with them. Only what
 * cannot be written through ctypes is here: deleters, capsule destructors, table functions, foreign threads. Built on
 * demand by producer.py. A deleted struct is overwritten but never freed, so that a second call is counted, not
 * fatal. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "dltensor/dlpack.h"

/* The few functions of Python that are needed, declared here so that no Python headers have to be installed. */
extern int PyCapsule_IsValid(void* capsule, const char* name);
extern void* PyCapsule_GetPointer(void* capsule, const char* name);
extern const char* PyCapsule_GetName(void* capsule);
extern int PyGILState_Check(void);
extern int PyGILState_Ensure(void);
extern void PyGILState_Release(int state);
extern void* PyErr_Occurred(void);
extern void PyErr_SetString(void* type, const char* message);
extern void* PyExc_BufferError;
extern int PyRun_SimpleString(const char* command);
extern int Py_IsInitialized(void);

#define MAX_DIMS 64

/* What a consumer did with one struct. */
typedef struct {
  atomic_int deleted;          /* calls of its deleter */
  atomic_int with_error;       /* of them: with a Python exception pending */
  atomic_int without_gil;      /* of them: without the GIL */
  atomic_int after_finalizing; /* of them: when there was no interpreter any more */
} record;

/* Lies behind every struct handed out; `versioned` and `legacy` are the same memory under two layouts. */
typedef struct made {
  union {
    DLManagedTensorVersioned versioned;
    DLManagedTensor legacy;
    char space[128];
  } managed;
  record seen;
  int64_t shape[MAX_DIMS];
  int64_t strides[MAX_DIMS];
  unsigned char* data;
  size_t size;
} made;

static void count(made* m) {
  if (!Py_IsInitialized()) {
    atomic_fetch_add(&m->seen.after_finalizing, 1);
  } else if (!PyGILState_Check()) {
    atomic_fetch_add(&m->seen.without_gil, 1);
  } else if (PyErr_Occurred() != NULL) {
    atomic_fetch_add(&m->seen.with_error, 1);
  }
  /* Who reads on after this reads nonsense, and the test sees it. */
  for (int axis = 0; axis < MAX_DIMS; axis++) m->shape[axis] = m->strides[axis] = -7777;
  if (m->data != NULL) memset(m->data, 0xdd, m->size);
  atomic_fetch_add(&m->seen.deleted, 1);
}

void fault_delete_versioned(DLManagedTensorVersioned* self) { count((made*)self); }
void fault_delete_legacy(DLManagedTensor* self) { count((made*)self); }

/* Deleters of bad manners: one runs Python code, one returns with an exception set. */
void fault_delete_running_python(void* self) {
  const int state = PyGILState_Ensure();
  count((made*)self);
  PyRun_SimpleString("sum(range(10))\n");
  PyGILState_Release(state);
}
void fault_delete_raising(void* self) {
  const int state = PyGILState_Ensure();
  count((made*)self);
  PyErr_SetString(PyExc_BufferError, "raised inside a deleter");
  PyGILState_Release(state);
}

made* fault_make(size_t bytes) {
  made* m = (made*)calloc(1, sizeof(made));
  if (m == NULL) return NULL;
  m->size = bytes;
  if (bytes > 0 && posix_memalign((void**)&m->data, 256, bytes) != 0) {
    free(m);
    return NULL;
  }
  return m;
}
int64_t* fault_shape(made* m) { return m->shape; }
int64_t* fault_strides(made* m) { return m->strides; }
void* fault_data(made* m) { return m->data; }
int fault_deleted(made* m) { return atomic_load(&m->seen.deleted); }
int fault_with_error(made* m) { return atomic_load(&m->seen.with_error); }
int fault_without_gil(made* m) { return atomic_load(&m->seen.without_gil); }

/* As the standard wants it: the deleter, unless a consumer imported the struct and renamed the capsule. */
void fault_end_capsule(void* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    DLManagedTensorVersioned* m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (m->deleter != NULL) m->deleter(m);
  } else if (PyCapsule_IsValid(capsule, "dltensor")) {
    DLManagedTensor* m = PyCapsule_GetPointer(capsule, "dltensor");
    if (m->deleter != NULL) m->deleter(m);
  }
}

/* The exchange table. What its functions do is set beforehand, per process: 0 hand out `next`, 1 fail without an
 * exception, 2 succeed with NULL, 3 fail with a BufferError. */
static DLManagedTensorVersioned* next;
static int manner;
static atomic_int table_calls;

void fault_table_will(DLManagedTensorVersioned* managed, int how) {
  next = managed;
  manner = how;
}
int fault_table_calls(void) { return atomic_load(&table_calls); }

int fault_from_object(void* object, DLManagedTensorVersioned** out) {
  (void)object;
  atomic_fetch_add(&table_calls, 1);
  if (manner == 1) return -1;
  if (manner == 3) {
    PyErr_SetString(PyExc_BufferError, "the producer says why");
    return -1;
  }
  if (manner == 2) {
    *out = NULL;
    return 0;
  }
  *out = next;
  return 0;
}
int fault_view_object(void* object, DLTensor* out) {
  (void)object;
  atomic_fetch_add(&table_calls, 1);
  if (manner == 1) return -1;
  if (manner == 3) {
    PyErr_SetString(PyExc_BufferError, "the producer says why");
    return -1;
  }
  if (manner == 2) {
    memset(out, 0, sizeof(*out));
    return 0;
  }
  *out = next->dl_tensor;
  return 0;
}
int fault_to_object(DLManagedTensorVersioned* tensor, void** out) {
  (void)tensor;
  *out = NULL;
  PyErr_SetString(PyExc_BufferError, "this producer takes nothing");
  return -1;
}
int fault_allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                   void (*SetError)(void* context, const char* kind, const char* message)) {
  (void)prototype;
  *out = NULL;
  SetError(context, "MemoryError", "this producer allocates nothing");
  return -1;
}
int fault_stream(DLDeviceType type, int32_t id, void** out) {
  (void)type;
  (void)id;
  *out = NULL;
  return 0;
}

/* Foreign structs, deleted by threads that Python knows nothing of. Called through ctypes.CDLL, so no thread in
 * this process needs to hold the GIL while they run. */
typedef struct {
  void** structs;
  size_t from, to;
  int legacy;
} share;

static void delete_one(void* managed, int legacy) {
  if (legacy) {
    DLManagedTensor* m = managed;
    if (m->deleter != NULL) m->deleter(m);
  } else {
    DLManagedTensorVersioned* m = managed;
    if (m->deleter != NULL) m->deleter(m);
  }
}
static void* delete_share(void* argument) {
  const share* s = argument;
  for (size_t i = s->from; i < s->to; i++) delete_one(s->structs[i], s->legacy);
  return NULL;
}
int fault_delete_on_threads(void** structs, size_t number, int threads, int legacy) {
  pthread_t thread[64];
  share work[64];
  if (threads < 1 || threads > 64) return -1;
  for (int i = 0; i < threads; i++) {
    work[i].structs = structs;
    work[i].from = number * (size_t)i / (size_t)threads;
    work[i].to = number * (size_t)(i + 1) / (size_t)threads;
    work[i].legacy = legacy;
    if (pthread_create(&thread[i], NULL, delete_share, &work[i]) != 0) return -1;
  }
  for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
  return 0;
}
