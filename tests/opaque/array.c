/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface of arrays, case by case: layout, origins, errors, and every function of an array made from a tensor. */
#include "check.h"

#define SAME(a, b) (memcmp(&(a), &(b), sizeof(a)) == 0)

static void layout_and_values(void) {
  CHECK(sizeof(dlt_array_t) == 104 && sizeof(dlt_array_v1_t) == 96 && sizeof(dlt_data_movement_t) == 40);
  CHECK(dlt_array_struct_size() == sizeof(dlt_array_t) && dlt_array_abi_version() == DLT_ARRAY_ABI_VERSION);
  CHECK(DLT_SUCCESS == 0 && DLT_INVALID_PARAMETER_ERROR == 1 && DLT_IO_ERROR == 2 && DLT_SERIALIZATION_ERROR == 3);
  CHECK(DLT_BUFFER_SIZE_ERROR == 4 && DLT_CALLBACK_ERROR == 254 && DLT_INTERNAL_ERROR == 255);
  CHECK(offsetof(dlt_array_t, from_dlpack) == 48 && offsetof(dlt_array_t, move_data) == 96);
  CHECK(offsetof(dlt_array_v1_t, shape) == 48 && offsetof(dlt_array_v1_t, move_data) == 88);
}

/* --- origins */

static dlt_data_origin_t seen[8][200];
static void* register_many(void* argument) {
  dlt_data_origin_t* mine = (dlt_data_origin_t*)argument;
  for (int i = 0; i < 200; i++) {
    char name[32];
    snprintf(name, sizeof(name), "race %d", i);
    if (dlt_register_data_origin(name, &mine[i]) != DLT_SUCCESS) mine[i] = 0;
  }
  return NULL;
}

static void one_name_has_one_number(void) {
  dlt_data_origin_t a = 0, b = 0, c = 0;
  WORKS(dlt_register_data_origin("one", &a));
  WORKS(dlt_register_data_origin("one", &b));
  WORKS(dlt_register_data_origin("two", &c));
  CHECK(a >= 1 && a == b && a != c);
  pthread_t threads[8];
  for (int t = 0; t < 8; t++) pthread_create(&threads[t], NULL, register_many, seen[t]);
  for (int t = 0; t < 8; t++) pthread_join(threads[t], NULL);
  for (int t = 1; t < 8; t++) CHECK(memcmp(seen[t], seen[0], sizeof(seen[0])) == 0);
  for (int i = 0; i < 200; i++)
    for (int k = 0; k < i; k++)
      if (seen[0][i] == seen[0][k] || seen[0][i] == 0) CHECK(!"two names, one number");
}

static void names_never_leave_the_buffer(void) {
  dlt_data_origin_t id;
  char buffer[64];
  WORKS(dlt_register_data_origin("twelve bytes", &id));
  memset(buffer, '#', sizeof(buffer));
  WORKS(dlt_get_data_origin(id, buffer, 13));
  CHECK(strcmp(buffer, "twelve bytes") == 0 && buffer[13] == '#');
  memset(buffer, '#', sizeof(buffer));
  for (uintptr_t size = 0; size <= 12; size++) {
    CHECK(dlt_get_data_origin(id, buffer, size) == DLT_BUFFER_SIZE_ERROR);
    for (size_t i = 0; i < sizeof(buffer); i++)
      if (buffer[i] != '#') CHECK(!"written although the buffer is too small");
  }
  FAILS(dlt_get_data_origin(id, buffer, 5), "13 bytes");
  CHECK(dlt_get_data_origin(id, NULL, 64) == DLT_INVALID_PARAMETER_ERROR);
  WORKS(dlt_get_data_origin(0, buffer, sizeof(buffer)));
  CHECK(strcmp(buffer, "unregistered origin") == 0);
  WORKS(dlt_get_data_origin(UINT64_MAX, buffer, sizeof(buffer)));
  CHECK(strcmp(buffer, "unregistered origin") == 0);
}

static void odd_names_get_a_status(void) {
  dlt_data_origin_t id = 77;
  WORKS(dlt_register_data_origin("", &id));
  WORKS(dlt_register_data_origin("unregistered origin", &id));
  CHECK(id == 0);
  FAILS(dlt_register_data_origin(NULL, &id), "NULL");
  FAILS(dlt_register_data_origin("x", NULL), "NULL");
  FAILS(dlt_register_data_origin("bad \xff\xfe", &id), "bad \\xff\\xfe");
  FAILS(dlt_register_data_origin("half \xe2\x82", &id), "UTF-8");
  FAILS(dlt_register_data_origin("surrogate \xed\xa0\x80", &id), "UTF-8");
  WORKS(dlt_register_data_origin("euro \xe2\x82\xac", &id));
  static char name[1 << 20];
  memset(name, 'n', sizeof(name));
  name[5000] = 0;
  WORKS(dlt_register_data_origin(name, &id));
  name[5000] = 'n';
  name[sizeof(name) - 1] = 0;
  FAILS(dlt_register_data_origin(name, &id), "at most 65535 bytes");
  for (int i = 0; i < 1 << 16; i++) {
    snprintf(name, 32, "many %d", i);
    if (dlt_register_data_origin(name, &id) != DLT_SUCCESS) CHECK(!"65536 origins");
  }
}

/* --- errors */

static int deleted = 0;
static void count_deleted(void* data) {
  CHECK(data == &deleted);
  deleted++;
}
static void delete_and_set(void* data) {
  const char* message;
  (void)data;
  deleted++;
  dlt_last_error(&message, NULL, NULL);
  dlt_set_last_error("set by the deleter", "deleter", &deleted, deleted < 3 ? delete_and_set : count_deleted);
}
static void* fail_here(void* argument) {
  dlt_set_last_error("of the thread", "thread", &deleted, (void (*)(void*))argument);
  return NULL;
}
static void in_a_thread(void* (*run)(void*), void* argument) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, argument);
  pthread_join(thread, NULL);
}

static void* starts_empty(void* argument) {
  const char *message = NULL, *origin = NULL;
  void* data = argument;
  CHECK(dlt_last_error(&message, &origin, &data) == DLT_SUCCESS);
  CHECK(strcmp(message, "") == 0 && strcmp(origin, "") == 0 && data == NULL);
  return NULL;
}

static void errors_belong_to_threads(void) {
  in_a_thread(starts_empty, &deleted);
  dlt_set_last_error("mine", "main", NULL, NULL);
  in_a_thread(fail_here, NULL);
  CHECK(strcmp(last_message(), "mine") == 0);
  dlt_data_origin_t id;
  WORKS(dlt_register_data_origin("success does not clear", &id));
  CHECK(strcmp(last_message(), "mine") == 0);
  CHECK(dlt_last_error(NULL, NULL, NULL) == DLT_SUCCESS);
  dlt_set_last_error(NULL, NULL, NULL, NULL);
  CHECK(strcmp(last_message(), "<no message provided>") == 0);
}

static void a_deleter_runs_once(void) {
  deleted = 0;
  dlt_set_last_error("a", "test", &deleted, count_deleted);
  void* data = NULL;
  dlt_last_error(NULL, NULL, &data);
  CHECK(data == &deleted && deleted == 0);
  dlt_set_last_error("b", "test", NULL, NULL);
  CHECK(deleted == 1);
  dlt_set_last_error("c", "test", NULL, NULL);
  CHECK(deleted == 1);
  deleted = 0;
  void (*function)(void*) = count_deleted;
  void* argument;
  memcpy(&argument, &function, sizeof(argument));
  in_a_thread(fail_here, argument);
  CHECK(deleted == 1);
}

static void a_deleter_may_set_errors(void) {
  deleted = 0;
  dlt_set_last_error("a", "test", &deleted, delete_and_set);
  dlt_set_last_error("b", "test", NULL, NULL);
  CHECK(deleted == 1 && strcmp(last_message(), "set by the deleter") == 0);
  dlt_set_last_error("c", "test", NULL, NULL);
  CHECK(deleted == 2);
  dlt_set_last_error("d", "test", NULL, NULL);
  dlt_set_last_error("e", "test", NULL, NULL);
  CHECK(deleted == 4);
  deleted = 0;
  void (*function)(void*) = delete_and_set;
  void* argument;
  memcpy(&argument, &function, sizeof(argument));
  in_a_thread(fail_here, argument);
  CHECK(deleted >= 3);
}

static void texts_stay_legible(void) {
  dlt_set_last_error("bad \xc3\x28 end", "\xff", NULL, NULL);
  const char* origin;
  dlt_last_error(NULL, &origin, NULL);
  CHECK(strcmp(last_message(), "bad \\xc3( end") == 0 && strcmp(origin, "\\xff") == 0);
  dlt_set_last_error(last_message(), origin, NULL, NULL);
  CHECK(strcmp(last_message(), "bad \\xc3( end") == 0);
  static char text[200000];
  memset(text, 'x', sizeof(text) - 1);
  dlt_set_last_error(text, "test", NULL, NULL);
  CHECK(strlen(last_message()) < 70000 && strstr(last_message(), "199999 bytes") != NULL);
  dlt_set_last_error("twelve \xe2\x82\xac", "test", NULL, NULL);
  char buffer[16];
  uintptr_t length = 0;
  CHECK(dlt_copy_last_error(buffer, sizeof(buffer), &length) == DLT_SUCCESS && length == 10);
  memset(buffer, '#', sizeof(buffer));
  CHECK(dlt_copy_last_error(buffer, 10, &length) == DLT_BUFFER_SIZE_ERROR && length == 10);
  CHECK(strcmp(buffer, "twelve ") == 0 && buffer[10] == '#');
  memset(buffer, '#', sizeof(buffer));
  CHECK(dlt_copy_last_error(buffer, 0, &length) == DLT_BUFFER_SIZE_ERROR && buffer[0] == '#');
}

/* --- arrays */

/* clang-format off */
static const struct {
  uint8_t code, bits;
} dtypes[] = {
    {kDLInt, 2},           {kDLInt, 4},           {kDLInt, 8},           {kDLInt, 16},          {kDLInt, 32},
    {kDLInt, 64},          {kDLUInt, 2},          {kDLUInt, 4},          {kDLUInt, 8},          {kDLUInt, 16},
    {kDLUInt, 32},         {kDLUInt, 64},         {kDLFloat, 16},        {kDLFloat, 32},        {kDLFloat, 64},
    {kDLBfloat, 16},       {kDLComplex, 32},      {kDLComplex, 64},      {kDLComplex, 128},     {kDLBool, 8},
    {kDLFloat8_e3m4, 8},   {kDLFloat8_e4m3, 8},   {kDLFloat8_e4m3b11fnuz, 8}, {kDLFloat8_e4m3fn, 8},
    {kDLFloat8_e4m3fnuz, 8}, {kDLFloat8_e5m2, 8}, {kDLFloat8_e5m2fnuz, 8}, {kDLFloat8_e8m0fnu, 8},
    {kDLFloat6_e2m3fn, 6}, {kDLFloat6_e3m2fn, 6}, {kDLFloat4_e2m1fn, 4}, {kDLOpaqueHandle, 64}};
/* clang-format on */
enum { dtype_count = sizeof(dtypes) / sizeof(dtypes[0]) };

static void questions_are_answered_for_every_dtype(void) {
  static double memory[64];
  for (int i = 0; i < dtype_count; i++) {
    DLDataType dtype = {dtypes[i].code, dtypes[i].bits, 1}, got;
    dlt_array_t a = array_over(memory, dtype, 2, (int64_t[]){3, 4}, NULL, 0);
    DLDevice device;
    const uintptr_t* shape;
    uintptr_t count;
    dlt_data_origin_t origin;
    char name[32];
    WORKS(a.dtype(a.ptr, &got));
    CHECK(SAME(got, dtype));
    WORKS(a.device(a.ptr, &device));
    CHECK(SAME(device, cpu));
    WORKS(a.shape(a.ptr, &shape, &count));
    CHECK(count == 2 && shape[0] == 3 && shape[1] == 4);
    WORKS(a.origin(a.ptr, &origin));
    WORKS(dlt_get_data_origin(origin, name, sizeof(name)));
    CHECK(strcmp(name, "test") == 0);
    WORKS(dlt_array_check(&a, NULL));
    end_array(&a);
  }
  double one = 1;
  dlt_array_t a = scalar_over(&one, f64);
  const uintptr_t* shape = (const uintptr_t*)&one;
  uintptr_t count = 9;
  WORKS(a.shape(a.ptr, &shape, &count));
  CHECK(count == 0 && shape == NULL);
  end_array(&a);
  int64_t ones[64];
  for (int i = 0; i < 64; i++) ones[i] = 1;
  a = array_over(&one, f64, 64, ones, NULL, 0);
  WORKS(a.shape(a.ptr, &shape, &count));
  CHECK(count == 64 && shape[63] == 1);
  WORKS(dlt_array_check(&a, NULL));
  end_array(&a);
  a = array_over(NULL, f64, 2, (int64_t[]){0, 3}, NULL, 0);
  WORKS(dlt_array_check(&a, NULL));
  end_array(&a);
}

static void an_export_is_the_same_memory(void) {
  double x[24];
  static const int64_t layouts[][4] = {{4, 6, 6, 1}, {6, 4, 1, 6}, {2, 3, 12, 2}, {4, 6, -6, -1}, {4, 6, 0, 1}};
  for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
    double* first = layouts[i][2] < 0 ? x + 23 : x;
    dlt_array_t a = array_over(first, f64, 2, layouts[i], layouts[i] + 2, i == 4 ? DLPACK_FLAG_BITMASK_READ_ONLY : 0);
    DLManagedTensorVersioned* t = export_of(a);
    CHECK((char*)t->dl_tensor.data + t->dl_tensor.byte_offset == (char*)first);
    CHECK(memcmp(t->dl_tensor.shape, layouts[i], 16) == 0 && memcmp(t->dl_tensor.strides, layouts[i] + 2, 16) == 0);
    CHECK((t->flags & DLPACK_FLAG_BITMASK_READ_ONLY) == (i == 4 ? DLPACK_FLAG_BITMASK_READ_ONLY : 0));
    t->deleter(t);
    end_array(&a);
  }
  test_tensor* shifted = (test_tensor*)tensor_over(x, f64, 1, (int64_t[]){3}, NULL, 0);
  shifted->tensor.dl_tensor.byte_offset = 16;
  dlt_array_t a;
  WORKS(dlt_array_from_dlpack(&shifted->tensor, NULL, NULL, &a));
  DLManagedTensorVersioned* t = export_of(a);
  CHECK((char*)t->dl_tensor.data + t->dl_tensor.byte_offset == (char*)(x + 2) && t->dl_tensor.strides[0] == 1);
  t->deleter(t);
  end_array(&a);
}

static void an_export_is_no_newer_than_asked(void) {
  double x = 0;
  dlt_array_t a = scalar_over(&x, f64);
  DLManagedTensorVersioned* t = NULL;
  for (uint32_t minor = 0; minor < 6; minor++) {
    DLPackVersion asked = {1, minor};
    WORKS(a.as_dlpack(a.ptr, &t, cpu, NULL, asked));
    CHECK(t->version.major == 1 && t->version.minor <= minor && t->version.minor <= 3);
    t->deleter(t);
  }
  t = NULL;
  FAILS(a.as_dlpack(a.ptr, &t, cpu, NULL, (DLPackVersion){0, 8}), "max_version 0.8");
  CHECK(t == NULL);
  WORKS(a.as_dlpack(a.ptr, &t, cpu, NULL, (DLPackVersion){2, 0}));
  CHECK(t->version.major == 1 && t->version.minor == 3);
  t->deleter(t);
  end_array(&a);
}

static void streams_and_devices_are_not_ignored(void) {
  double x = 0;
  dlt_array_t a = scalar_over(&x, f64), copy = {0};
  DLManagedTensorVersioned* t = NULL;
  for (int64_t stream = -1; stream < 3; stream++) FAILS(a.as_dlpack(a.ptr, &t, cpu, &stream, newest), "no stream");
  DLDevice cuda = {kDLCUDA, 0}, unknown, second = {kDLCPU, 1};
  memset(&unknown, 99, sizeof(unknown));
  FAILS(a.as_dlpack(a.ptr, &t, cuda, NULL, newest), "cuda:0");
  FAILS(a.as_dlpack(a.ptr, &t, second, NULL, newest), "cpu:1");
  FAILS(a.as_dlpack(a.ptr, &t, unknown, NULL, newest), "DLPack 1.3");
  int64_t zero = 0;
  FAILS(a.as_dlpack(a.ptr, &t, cuda, &zero, newest), "stream 0");
  FAILS(a.as_dlpack(a.ptr, NULL, cpu, NULL, newest), "NULL");
  FAILS(a.copy(a.ptr, cuda, &copy), "cuda:0");
  FAILS(a.copy(a.ptr, unknown, &copy), "DLPack 1.3");
  CHECK(t == NULL && copy.ptr == NULL);
  end_array(&a);

  /* Device memory can be held, asked about and handed on as it is; only its elements are out of reach. */
  DLManagedTensorVersioned* there = tensor_over((void*)0x100000, f64, 2, (int64_t[]){2, 3}, NULL, 0);
  there->dl_tensor.device = cuda;
  WORKS(dlt_array_from_dlpack(there, "test", NULL, &a));
  int64_t none = -1, legacy = 1;
  WORKS(a.as_dlpack(a.ptr, &t, cuda, &none, newest));
  CHECK(t->dl_tensor.data == (void*)0x100000 && t->dl_tensor.device.device_type == kDLCUDA);
  t->deleter(t);
  FAILS(a.as_dlpack(a.ptr, &t, cuda, &legacy, newest), "stream 1");
  FAILS(a.as_dlpack(a.ptr, &t, cpu, NULL, newest), "cuda:0");
  FAILS(a.copy(a.ptr, cuda, &copy), "cuda:0");
  WORKS(a.swap_axes(a.ptr, 0, 1));
  end_array(&a);
}

static void an_export_outlives_its_array(void) {
  double* x = (double*)malloc(24);
  x[0] = 1, x[1] = 2, x[2] = 3;
  returned = 0;
  dlt_array_t a = array_over(x, f64, 1, (int64_t[]){3}, NULL, 0), b;
  WORKS(a.copy(a.ptr, cpu, &b));
  DLManagedTensorVersioned *exported = export_of(a), *copied = export_of(b);
  end_array(&a);
  end_array(&b);
  CHECK(returned == 0);
  CHECK(((double*)exported->dl_tensor.data)[2] == 3 && ((double*)copied->dl_tensor.data)[2] == 3);
  exported->deleter(exported);
  CHECK(returned == 1);
  CHECK(((double*)copied->dl_tensor.data)[1] == 2);
  copied->deleter(copied);
  free(x);
}

static void a_foreign_tensor_keeps_its_dtype_and_flag(void) {
  double x = 0;
  int32_t labels[6] = {0, 1, 2, 3, 4, 5};
  dlt_array_t a = scalar_over(&x, f64), b = {0};
  returned = 0;
  WORKS(a.from_dlpack(a.ptr, tensor_over(labels, i32, 2, (int64_t[]){2, 3}, (int64_t[]){1, 2}, 1), &b));
  dlt_data_origin_t of_a, of_b;
  WORKS(a.origin(a.ptr, &of_a));
  WORKS(b.origin(b.ptr, &of_b));
  DLDataType dtype;
  WORKS(b.dtype(b.ptr, &dtype));
  CHECK(of_a == of_b && SAME(dtype, i32));
  DLManagedTensorVersioned* t = export_of(b);
  CHECK(t->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
  CHECK(((int32_t*)t->dl_tensor.data)[t->dl_tensor.strides[0]] == 1);
  t->deleter(t);
  CHECK(returned == 0);
  end_array(&b);
  CHECK(returned == 1);

  returned = 0;
  DLManagedTensorVersioned* bad = tensor_over(labels, i32, 1, (int64_t[]){-3}, NULL, 0);
  FAILS(a.from_dlpack(a.ptr, bad, &b), "at least 0");
  bad = tensor_over(labels, i32, 1, (int64_t[]){3}, NULL, 0);
  bad->version.major = 2;
  FAILS(a.from_dlpack(a.ptr, bad, &b), "version 2.3");
  bad = tensor_over(labels, i32, 1, (int64_t[]){3}, NULL, 0);
  FAILS(a.from_dlpack(a.ptr, bad, NULL), "NULL");
  bad = tensor_over(labels, (DLDataType){99, 32, 1}, 1, (int64_t[]){3}, NULL, 0);
  FAILS(a.from_dlpack(a.ptr, bad, &b), "dtype");
  bad = tensor_over(labels, i32, 1, (int64_t[]){3}, NULL, 0);
  bad->dl_tensor.device.device_id = 0;
  memset(&bad->dl_tensor.device.device_type, 99, 4);
  FAILS(a.from_dlpack(a.ptr, bad, &b), "device");
  CHECK(returned == 5 && b.ptr == NULL);
  FAILS(a.from_dlpack(a.ptr, NULL, &b), "NULL");
  void* gone = a.ptr;
  end_array(&a);
  a = scalar_over(&x, f64);
  returned = 0;
  FAILS(a.from_dlpack(gone, tensor_over(labels, i32, 1, (int64_t[]){3}, NULL, 0), &b), "destroyed");
  CHECK(returned == 1);
  end_array(&a);
}

static void reshape_keeps_or_copies(void) {
  double x[12];
  for (int i = 0; i < 12; i++) x[i] = i;
  dlt_array_t a = array_over(x, f64, 2, (int64_t[]){3, 4}, NULL, 0);
  const uintptr_t *before, *after;
  uintptr_t count;
  WORKS(a.shape(a.ptr, &before, &count));
  WORKS(a.reshape(a.ptr, (uintptr_t[]){2, 3, 2}, 3));
  DLManagedTensorVersioned* t = export_of(a);
  CHECK(t->dl_tensor.data == x && t->dl_tensor.ndim == 3);
  t->deleter(t);
  CHECK(before[0] == 3 && before[1] == 4);
  FAILS(a.reshape(a.ptr, (uintptr_t[]){5, 2}, 2), "12 elements");
  FAILS(a.reshape(a.ptr, (uintptr_t[]){UINT64_MAX, 6}, 2), "axis 0");
  FAILS(a.reshape(a.ptr, (uintptr_t[]){INT64_MAX, 6}, 2), "memory");
  FAILS(a.reshape(a.ptr, (uintptr_t[]){(uintptr_t)1 << 32, (uintptr_t)1 << 32, 12}, 3), "memory");
  FAILS(a.reshape(a.ptr, NULL, 2), "NULL");
  FAILS(a.reshape(a.ptr, before, 65), "64 dimensions");
  WORKS(a.shape(a.ptr, &after, &count));
  CHECK(count == 3 && after[0] == 2);
  end_array(&a);
  a = array_over(x, f64, 2, (int64_t[]){4, 3}, (int64_t[]){1, 4}, 0);
  returned = 0;
  WORKS(a.reshape(a.ptr, (uintptr_t[]){12}, 1));
  t = export_of(a);
  CHECK(t->dl_tensor.data != x);
  CHECK(returned == 1); /* the old memory is released */
  for (int i = 0; i < 12; i++) CHECK(((double*)t->dl_tensor.data)[i] == i / 3 + 4 * (i % 3));
  t->deleter(t);
  end_array(&a);
  a = array_over(x, f64, 1, (int64_t[]){1}, NULL, 0);
  WORKS(a.reshape(a.ptr, NULL, 0));
  WORKS(a.shape(a.ptr, &after, &count));
  CHECK(count == 0 && after == NULL);
  end_array(&a);
}

static void swap_axes_refuses_what_is_not_there(void) {
  double x[12];
  for (int i = 0; i < 12; i++) x[i] = i;
  dlt_array_t a = array_over(x, f64, 2, (int64_t[]){3, 4}, NULL, 0);
  FAILS(a.swap_axes(a.ptr, 0, 2), "axes below 2");
  FAILS(a.swap_axes(a.ptr, UINT64_MAX, 0), "axes below 2");
  const uintptr_t *before, *after;
  uintptr_t count;
  WORKS(a.shape(a.ptr, &before, &count));
  CHECK(before[0] == 3 && before[1] == 4);
  for (int i = 0; i < 1000; i++) WORKS(a.swap_axes(a.ptr, 0, 1));
  WORKS(a.shape(a.ptr, &after, &count));
  CHECK(after == before);
  WORKS(a.swap_axes(a.ptr, 1, 0));
  WORKS(a.shape(a.ptr, &after, &count));
  CHECK(before[0] == 3 && after[0] == 4 && after[1] == 3);
  DLManagedTensorVersioned* t = export_of(a);
  CHECK(t->dl_tensor.data == x && t->dl_tensor.strides[0] == 1 && t->dl_tensor.strides[1] == 4);
  t->deleter(t);
  end_array(&a);
}

static void a_copy_is_apart(void) {
  double x[12];
  for (int i = 0; i < 12; i++) x[i] = i;
  dlt_array_t a = array_over(x + 11, f64, 2, (int64_t[]){2, 3}, (int64_t[]){-6, -2}, DLPACK_FLAG_BITMASK_READ_ONLY), b;
  WORKS(a.copy(a.ptr, cpu, &b));
  DLManagedTensorVersioned* t = export_of(b);
  CHECK(!(t->flags & DLPACK_FLAG_BITMASK_READ_ONLY) && (uintptr_t)t->dl_tensor.data % 256 == 0);
  x[11] = 99;
  for (int i = 0; i < 6; i++) CHECK(((double*)t->dl_tensor.data)[i] == 11 - 2 * i);
  t->deleter(t);
  dlt_data_origin_t of_a, of_b;
  WORKS(a.origin(a.ptr, &of_a));
  WORKS(b.origin(b.ptr, &of_b));
  CHECK(of_a == of_b);
  FAILS(a.copy(a.ptr, cpu, NULL), "NULL");
  end_array(&a);
  end_array(&b);
}

/* --- create */

static int fills_ended = 0;
static void (*real_destroy)(void*);
static void count_fill(void* ptr) {
  fills_ended++;
  real_destroy(ptr);
}
static dlt_array_t counted_fill(void* data, DLDataType dtype, int32_t ndim) {
  dlt_array_t fill = array_over(data, dtype, ndim, (int64_t[]){1, 1, 1}, NULL, 0);
  real_destroy = fill.destroy;
  fill.destroy = count_fill;
  return fill;
}

static void create_fills_every_dtype(void) {
  double memory[64] = {0};
  unsigned char value[16] = {0xA5, 0x5A, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  for (int i = 0; i < dtype_count; i++) {
    DLDataType dtype = {dtypes[i].code, dtypes[i].bits, 1};
    dlt_array_t a = array_over(memory, dtype, 1, (int64_t[]){2}, NULL, 0), b;
    fills_ended = 0;
    WORKS(a.create(a.ptr, (uintptr_t[]){3, 5}, 2, counted_fill(value, dtype, 0), &b));
    CHECK(fills_ended == 1);
    DLManagedTensorVersioned* t = export_of(b);
    CHECK(t->flags == 0 && t->dl_tensor.ndim == 2 && SAME(t->dl_tensor.dtype, dtype));
    const unsigned char* got = (const unsigned char*)t->dl_tensor.data;
    for (int e = 0; e < 15; e++)
      for (int bit = 0; bit < dtype.bits; bit++) {
        int at = e * dtype.bits + bit;
        if (((got[at / 8] >> (at % 8)) & 1) != ((value[bit / 8] >> (bit % 8)) & 1)) CHECK(!"another value");
      }
    t->deleter(t);
    end_array(&a);
    end_array(&b);
  }
  dlt_array_t a = array_over(memory, f64, 1, (int64_t[]){2}, NULL, 0), b;
  WORKS(a.create(a.ptr, (uintptr_t[]){4, 0}, 2, scalar_over(memory, f64), &b));
  end_array(&b);
  WORKS(a.create(a.ptr, NULL, 0, scalar_over(memory, f64), &b));
  end_array(&b);
  /* A view of a fill stays its owner's. */
  dlt_array_t fill = counted_fill(memory, f64, 0);
  fills_ended = 0;
  WORKS(a.create(a.ptr, (uintptr_t[]){4}, 1, dlt_array_view(fill), &b));
  CHECK(fills_ended == 0);
  end_array(&fill);
  end_array(&b);
  end_array(&a);
}

static void create_converts_nothing(void) {
  double x[4] = {0};
  dlt_array_t a = array_over(x, f64, 1, (int64_t[]){2}, NULL, 0), b = {0}, none = {0};
  uintptr_t shape[2] = {2, 3};
  fills_ended = 0;
  FAILS(a.create(a.ptr, shape, 2, counted_fill(x, f32, 0), &b), "float32");
  FAILS(a.create(a.ptr, shape, 2, counted_fill(x, (DLDataType){kDLComplex, 128, 1}, 0), &b), "complex128");
  FAILS(a.create(a.ptr, shape, 2, counted_fill(x, f64, 1), &b), "no dimensions");
  FAILS(a.create(a.ptr, shape, 65, counted_fill(x, f64, 0), &b), "64 dimensions");
  FAILS(a.create(a.ptr, NULL, 2, counted_fill(x, f64, 0), &b), "NULL");
  FAILS(a.create(a.ptr, (uintptr_t[]){(uintptr_t)1 << 62, 8}, 2, counted_fill(x, f64, 0), &b), "memory");
  FAILS(a.create(a.ptr, (uintptr_t[]){(uintptr_t)1 << 50, 8}, 2, counted_fill(x, f64, 0), &b), "memory");
  FAILS(a.create(a.ptr, shape, 2, counted_fill(x, f64, 0), NULL), "NULL");
  CHECK(fills_ended == 8);
  FAILS(a.create(a.ptr, shape, 2, none, &b), "'as_dlpack' is NULL");
  CHECK(b.ptr == NULL);
  FAILS(a.create(NULL, shape, 2, counted_fill(x, f64, 0), &b), "NULL");
  CHECK(fills_ended == 9);
  end_array(&a);
}

/* --- handles */

static void nothing_ends_twice(void) {
  double x = 0;
  dlt_array_t a = scalar_over(&x, f64), view = dlt_array_view(a);
  returned = 0;
  CHECK(view.destroy == NULL);
  a.destroy(a.ptr);
  CHECK(returned == 1);
  a.destroy(a.ptr);
  a.destroy(NULL);
  a.destroy(&x);
  CHECK(returned == 1);
  /* What comes after has another handle, also when it takes the place. */
  dlt_array_t later[4096];
  for (int i = 0; i < 4096; i++) later[i] = scalar_over(&x, f64);
  DLDevice device;
  DLDataType dtype;
  const uintptr_t* shape;
  uintptr_t count;
  dlt_data_origin_t origin;
  DLManagedTensorVersioned* t = NULL;
  FAILS(view.device(view.ptr, &device), "destroyed");
  FAILS(view.dtype(view.ptr, &dtype), "destroyed");
  FAILS(view.shape(view.ptr, &shape, &count), "destroyed");
  FAILS(view.origin(view.ptr, &origin), "destroyed");
  FAILS(view.as_dlpack(view.ptr, &t, cpu, NULL, newest), "destroyed");
  FAILS(view.reshape(view.ptr, NULL, 0), "destroyed");
  FAILS(view.swap_axes(view.ptr, 0, 0), "destroyed");
  FAILS(view.copy(view.ptr, cpu, &a), "destroyed");
  FAILS(view.move_data(view.ptr, view.ptr, NULL, 0), "destroyed");
  FAILS(view.device(NULL, &device), "NULL");
  FAILS(view.device(later[0].ptr, NULL), "NULL");
  FAILS(view.shape(later[0].ptr, NULL, &count), "NULL");
  for (int i = 0; i < 4096; i++) end_array(&later[i]);
}

static void layouts_convert_both_ways(void) {
  double x[6] = {0, 1, 2, 3, 4, 5}, value = 7;
  dlt_array_v1_t old, made;
  dlt_array_t a = array_over(x, f64, 2, (int64_t[]){2, 3}, NULL, 0), back;
  void* handle = a.ptr;
  WORKS(dlt_array_to_v1(a, &old));
  const uintptr_t* shape;
  uintptr_t count;
  WORKS(old.shape(old.ptr, &shape, &count));
  CHECK(count == 2 && shape[1] == 3);
  WORKS(old.copy(old.ptr, &made));
  dlt_array_v1_t fill, filled;
  WORKS(dlt_array_to_v1(scalar_over(&value, f64), &fill));
  WORKS(old.create(old.ptr, (uintptr_t[]){2, 3}, 2, fill, &filled));
  dlt_data_movement_t movement = {1, 0, 0, 0, 3};
  WORKS(filled.move_data(filled.ptr, made.ptr, &movement, 1));
  DLManagedTensorVersioned* t = NULL;
  WORKS(filled.as_dlpack(filled.ptr, &t, cpu, NULL, newest));
  CHECK(((double*)t->dl_tensor.data)[0] == 3 && ((double*)t->dl_tensor.data)[3] == 7);
  t->deleter(t);
  FAILS(filled.move_data(filled.ptr, handle, &movement, 1), "convert both");
  filled.destroy(filled.ptr);
  made.destroy(made.ptr);
  /* Back again: the very struct. */
  WORKS(dlt_array_from_v1(old, &back));
  CHECK(back.ptr == handle && SAME(back, a));

  end_array(&back);
  FAILS(dlt_array_to_v1(a, NULL), "NULL");
}

/* A foreign array of the old layout: a few doubles in one row. */
typedef struct {
  uintptr_t shape[2];
  double x[8];
} row;
static int rows_alive = 0;
static void row_destroy(void* p) {
  rows_alive--;
  free(p);
}
static dlt_status_t row_origin(const void* p, dlt_data_origin_t* out) {
  (void)p;
  return dlt_register_data_origin("row", out);
}
static dlt_status_t row_device(const void* p, DLDevice* out) {
  (void)p;
  *out = cpu;
  return 0;
}
static dlt_status_t row_shape(const void* p, const uintptr_t** shape, uintptr_t* count) {
  *shape = ((const row*)p)->shape;
  *count = 2;
  return 0;
}
static dlt_status_t row_copy(const void* p, dlt_array_v1_t* out);
static dlt_status_t row_create(const void* p, const uintptr_t* shape, uintptr_t count, dlt_array_v1_t fill,
                               dlt_array_v1_t* out) {
  DLManagedTensorVersioned* t;
  if (count != 2 || fill.as_dlpack(fill.ptr, &t, cpu, NULL, newest) != 0 || row_copy(p, out) != 0) return 254;
  row* made = (row*)out->ptr;
  memcpy(made->shape, shape, 16);
  for (int i = 0; i < 8; i++) made->x[i] = *(double*)t->dl_tensor.data;
  t->deleter(t);
  if (fill.destroy) fill.destroy(fill.ptr);
  return 0;
}
static dlt_status_t row_move(void* to, const void* from, const dlt_data_movement_t* m, uintptr_t count) {
  for (uintptr_t i = 0; i < count; i++)
    memcpy(((row*)to)->x + m[i].properties_start_out, ((const row*)from)->x + m[i].properties_start_in,
           m[i].properties_length * 8);
  return 0;
}
static dlt_status_t row_fails(void* p, uintptr_t a, uintptr_t b) {
  (void)p, (void)a, (void)b;
  dlt_set_last_error("rows have no axes to swap", "row", NULL, NULL);
  return 254;
}
static dlt_array_v1_t row_array(row* made) {
  dlt_array_v1_t a = {made,      row_destroy, row_origin, row_device, NULL,     NULL,
                      row_shape, NULL,        row_fails,  row_create, row_copy, row_move};
  rows_alive++;
  return a;
}
static dlt_status_t row_copy(const void* p, dlt_array_v1_t* out) {
  row* made = (row*)malloc(sizeof(row));
  memcpy(made, p, sizeof(row));
  *out = row_array(made);
  return 0;
}

static void an_old_array_of_others_works(void) {
  row first = {{1, 8}, {0, 1, 2, 3, 4, 5, 6, 7}};
  dlt_array_v1_t old, again;
  double value = 9;
  WORKS(row_copy(&first, &old));
  row* inside = (row*)old.ptr;
  dlt_array_t a, made = {0};
  WORKS(dlt_array_from_v1(old, &a));
  CHECK(a.dtype == NULL && a.as_dlpack == NULL && a.reshape == NULL && a.from_dlpack != NULL);
  returned = 0;
  FAILS(a.from_dlpack(a.ptr, tensor_over(&value, f64, 0, NULL, NULL, 0), &made), "cannot import");
  CHECK(returned == 1);
  DLDevice cuda = {kDLCUDA, 0};
  FAILS(a.copy(a.ptr, cuda, &made), "cuda:0");
  FAILS(a.swap_axes(a.ptr, 0, 1), "no axes");
  WORKS(a.copy(a.ptr, cpu, &made));
  end_array(&made);
  returned = 0;
  WORKS(a.create(a.ptr, (uintptr_t[]){1, 8}, 2, scalar_over(&value, f64), &made));
  CHECK(returned == 1);
  dlt_data_movement_t movement = {0, 0, 5, 0, 3};
  WORKS(made.move_data(made.ptr, a.ptr, &movement, 1));
  FAILS(made.move_data(made.ptr, inside, &movement, 1), "convert both");
  WORKS(dlt_array_to_v1(made, &again));
  CHECK(again.destroy == row_destroy && ((row*)again.ptr)->x[0] == 5 && ((row*)again.ptr)->x[3] == 9);
  again.destroy(again.ptr);
  /* A view turns into a view; the box stays whole. */
  dlt_array_v1_t view;
  WORKS(dlt_array_to_v1(dlt_array_view(a), &view));
  CHECK(view.ptr == inside && view.destroy == NULL);
  CHECK(rows_alive == 1);
  end_array(&a);
  CHECK(rows_alive == 0);
}

static void making_an_array_takes_the_tensor(void) {
  double x = 0;
  dlt_array_t a = {0};
  returned = 0;
  FAILS(dlt_array_from_dlpack(tensor_over(&x, f64, 0, NULL, NULL, 0), "bad \xff", NULL, &a), "UTF-8");
  FAILS(dlt_array_from_dlpack(tensor_over(&x, f64, 0, NULL, NULL, 0), "test", NULL, NULL), "NULL");
  dlt_host_t nothing = {0};
  FAILS(dlt_array_from_dlpack(tensor_over(&x, f64, 0, NULL, NULL, 0), "test", &nothing, &a), "four functions");
  FAILS(dlt_array_from_dlpack(tensor_over(NULL, f64, 0, NULL, NULL, 0), "test", NULL, &a), "NULL");
  CHECK(returned == 4 && a.ptr == NULL);
  FAILS(dlt_array_from_dlpack(NULL, "test", NULL, &a), "NULL");
  DLManagedTensorVersioned* t = tensor_over(&x, f64, 0, NULL, NULL, 0);
  t->deleter = NULL;
  WORKS(dlt_array_from_dlpack(t, "test", NULL, &a));
  end_array(&a);
  free(t->manager_ctx);
  dlt_host_t host;
  FAILS(dlt_find_host("libnothing_of_the_kind.so", &host), "load it first");
  FAILS(dlt_find_host("libc.so.6", &host), "neither");
  WORKS(dlt_find_host(DLT_LIBRARY_NAME, &host));
  CHECK(host.last_error == dlt_last_error);
}

/* A host of this program's own, which counts what it is told. */
static int told = 0, numbered = 0;
static char told_text[256];
static dlt_status_t own_register(const char* name, dlt_data_origin_t* origin) {
  (void)name;
  numbered++;
  *origin = 4711;
  return DLT_SUCCESS;
}
static dlt_status_t own_name(dlt_data_origin_t origin, char* buffer, uintptr_t size) {
  snprintf(buffer, size, "%llu", (unsigned long long)origin);
  return DLT_SUCCESS;
}
static dlt_status_t own_error(const char** message, const char** origin, void** data) {
  if (message) *message = told_text;
  if (origin) *origin = "own";
  if (data) *data = NULL;
  return DLT_SUCCESS;
}
static dlt_status_t own_set_error(const char* message, const char* origin, void* data, void (*deleter)(void*)) {
  (void)origin, (void)data, (void)deleter;
  told++;
  snprintf(told_text, sizeof(told_text), "%s", message);
  return DLT_SUCCESS;
}

/* The call fails, and the given host alone is told: this library's last error stays. */
#define TELLS_THE_GIVEN_HOST(status, words)                        \
  do {                                                             \
    int before = told;                                             \
    told_text[0] = 0;                                              \
    dlt_set_last_error("untouched", "test", NULL, NULL);           \
    CHECK((status) == DLT_CALLBACK_ERROR);                         \
    CHECK(told == before + 1 && strstr(told_text, words) != NULL); \
    CHECK(strcmp(last_message(), "untouched") == 0);               \
  } while (0)

static void a_given_host_is_told_and_nothing_is_guessed(void) {
  const dlt_host_t own = {own_register, own_name, own_error, own_set_error};
  double x[4] = {1, 2, 3, 4}, value = 5;
  const int64_t two[] = {2, 2};
  const uintptr_t three[] = {3};
  dlt_array_t a, copy, made, imported, gone;
  WORKS(dlt_array_from_dlpack(tensor_over(x, f64, 2, two, NULL, 0), "of the program", &own, &a));
  WORKS(a.copy(a.ptr, cpu, &copy));
  WORKS(a.create(a.ptr, (uintptr_t[]){2, 2}, 2, array_over(&value, f64, 0, NULL, NULL, 0), &made));
  WORKS(a.from_dlpack(a.ptr, tensor_over(x, f64, 2, two, NULL, 0), &imported));
  const dlt_array_t* all[] = {&a, &copy, &made, &imported};
  for (int i = 0; i < 4; i++) {
    const dlt_array_t* t = all[i];
    dlt_data_origin_t id = 0;
    dlt_array_t out;
    DLManagedTensorVersioned* tensor = NULL;
    WORKS(t->origin(t->ptr, &id));
    CHECK(id == 4711);
    TELLS_THE_GIVEN_HOST(t->swap_axes(t->ptr, 0, 7), "axes below 2");
    TELLS_THE_GIVEN_HOST(t->reshape(t->ptr, three, 1), "reshape: expected");
    TELLS_THE_GIVEN_HOST(t->copy(t->ptr, (DLDevice){kDLMetal, 0}, &out), "copy");
    TELLS_THE_GIVEN_HOST(t->as_dlpack(t->ptr, &tensor, (DLDevice){kDLMetal, 0}, NULL, newest), "as_dlpack");
    TELLS_THE_GIVEN_HOST(t->as_dlpack(t->ptr, NULL, cpu, NULL, newest), "NULL");
    TELLS_THE_GIVEN_HOST(t->from_dlpack(t->ptr, NULL, &out), "NULL");
    TELLS_THE_GIVEN_HOST(t->shape(t->ptr, NULL, NULL), "NULL");
    TELLS_THE_GIVEN_HOST(t->move_data(t->ptr, NULL, NULL, 1), "move_data");
  }
  CHECK(numbered >= 1);
  /* In the other layout too, where the wrapper finds the error. */
  dlt_array_v1_t old;
  dlt_data_movement_t movement = {0, 0, 0, 0, 1};
  void* handle = copy.ptr;
  WORKS(dlt_array_to_v1(a, &old));
  TELLS_THE_GIVEN_HOST(old.move_data(old.ptr, handle, &movement, 1), "convert both");
  TELLS_THE_GIVEN_HOST(old.swap_axes(old.ptr, 0, 7), "axes below 2");
  old.destroy(old.ptr);
  /* Without a host the caller is found, and of a destroyed array there is none: this library. */
  gone = copy;
  end_array(&copy);
  int before = told;
  FAILS(gone.swap_axes(gone.ptr, 0, 1), "destroyed");
  dlt_array_t guessed = array_over(x, f64, 2, two, NULL, 0);
  FAILS(guessed.swap_axes(guessed.ptr, 0, 7), "axes below 2");
  CHECK(told == before);
  end_array(&guessed);
  end_array(&made);
  end_array(&imported);
}

int main(int argc, char** argv) {
  static const test_case cases[] = {
#define CASE(name) {#name, name}
      CASE(layout_and_values),
      CASE(one_name_has_one_number),
      CASE(names_never_leave_the_buffer),
      CASE(odd_names_get_a_status),
      CASE(errors_belong_to_threads),
      CASE(a_deleter_runs_once),
      CASE(a_deleter_may_set_errors),
      CASE(texts_stay_legible),
      CASE(questions_are_answered_for_every_dtype),
      CASE(an_export_is_the_same_memory),
      CASE(an_export_is_no_newer_than_asked),
      CASE(streams_and_devices_are_not_ignored),
      CASE(an_export_outlives_its_array),
      CASE(a_foreign_tensor_keeps_its_dtype_and_flag),
      CASE(reshape_keeps_or_copies),
      CASE(swap_axes_refuses_what_is_not_there),
      CASE(a_copy_is_apart),
      CASE(create_fills_every_dtype),
      CASE(create_converts_nothing),
      CASE(nothing_ends_twice),
      CASE(layouts_convert_both_ways),
      CASE(an_old_array_of_others_works),
      CASE(making_an_array_takes_the_tensor),
      CASE(a_given_host_is_told_and_nothing_is_guessed)};
  return run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
