/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of others that lie, each in its own way: dlt_array_check says which, nothing crashes, nothing is lost. */
#include "check.h"

static int ends = 0;
static uintptr_t true_shape[2] = {2, 3};
static double memory[8] = {-1, 0, 1, 2, 3, 4, 5, -1};
static double* const data = memory + 1;
static dlt_data_origin_t honest_origin;

static void destroy(void* p) {
  (void)p;
  ends++;
}
static dlt_status_t origin(const void* p, dlt_data_origin_t* out) {
  (void)p;
  *out = honest_origin;
  return 0;
}
static dlt_status_t device(const void* p, DLDevice* out) {
  (void)p;
  *out = cpu;
  return 0;
}
static dlt_status_t dtype(const void* p, DLDataType* out) {
  (void)p;
  *out = f64;
  return 0;
}
static dlt_status_t shape(const void* p, const uintptr_t** out, uintptr_t* count) {
  (void)p;
  *out = true_shape;
  *count = 2;
  return 0;
}
static DLManagedTensorVersioned* exported(void) { return tensor_over(data, f64, 2, (int64_t[]){2, 3}, (int64_t[]){3, 1}, 0); }
static dlt_status_t as_dlpack(void* p, DLManagedTensorVersioned** out, DLDevice d, const int64_t* s, DLPackVersion v) {
  (void)p, (void)d, (void)s, (void)v;
  *out = exported();
  return 0;
}
static dlt_status_t from_dlpack(const void* p, DLManagedTensorVersioned* t, dlt_array_t* out) {
  (void)p;
  return dlt_array_from_dlpack(t, "honest", NULL, out);
}
static dlt_status_t reshape(void* p, const uintptr_t* s, uintptr_t n) {
  (void)p, (void)s, (void)n;
  return 0;
}
static dlt_status_t swap_axes(void* p, uintptr_t a, uintptr_t b) {
  (void)p, (void)a, (void)b;
  return 0;
}
static dlt_status_t create(const void* p, const uintptr_t* s, uintptr_t n, dlt_array_t fill, dlt_array_t* out) {
  (void)p, (void)s, (void)n, (void)out;
  if (fill.destroy) fill.destroy(fill.ptr);
  return 0;
}
static dlt_status_t copy(const void* p, DLDevice d, dlt_array_t* out) {
  (void)p, (void)d, (void)out;
  return 0;
}
static dlt_status_t move_data(void* p, const void* i, const dlt_data_movement_t* m, uintptr_t n) {
  (void)p, (void)i, (void)m, (void)n;
  return 0;
}
static dlt_array_t honest(void) {
  if (!honest_origin) dlt_register_data_origin("honest", &honest_origin);
  dlt_array_t a = {data,  destroy, origin,    device, dtype, as_dlpack, from_dlpack,
                   shape, reshape, swap_axes, create, copy,  move_data};
  return a;
}

/* --- one lie each */

static dlt_status_t status_77(const void* p, DLDevice* out) {
  (void)p, (void)out;
  return 77;
}
static dlt_status_t status_with_message(const void* p, DLDataType* out) {
  (void)p, (void)out;
  dlt_set_last_error("the disk is on fire", "honest", data, NULL);
  return 254;
}
static dlt_status_t no_answer_device(const void* p, DLDevice* out) {
  (void)p, (void)out;
  return 0;
}
static dlt_status_t no_answer_shape(const void* p, const uintptr_t** out, uintptr_t* count) {
  (void)p, (void)out, (void)count;
  return 0;
}
static dlt_status_t null_shape(const void* p, const uintptr_t** out, uintptr_t* count) {
  (void)p;
  *out = NULL;
  *count = 2;
  return 0;
}
static dlt_status_t endless_shape(const void* p, const uintptr_t** out, uintptr_t* count) {
  (void)p;
  *out = true_shape;
  *count = (uintptr_t)1 << 40;
  return 0;
}
static dlt_status_t huge_shape(const void* p, const uintptr_t** out, uintptr_t* count) {
  static uintptr_t dims[1] = {UINTPTR_MAX};
  (void)p;
  *out = dims;
  *count = 1;
  return 0;
}
static dlt_status_t other_shape(const void* p, const uintptr_t** out, uintptr_t* count) {
  static uintptr_t dims[2] = {3, 2};
  (void)p;
  *out = dims;
  *count = 2;
  return 0;
}
static dlt_status_t device_99(const void* p, DLDevice* out) {
  (void)p;
  memset(out, 99, sizeof(*out));
  return 0;
}
static dlt_status_t device_19(const void* p, DLDevice* out) {
  int32_t number = 19;
  (void)p;
  memcpy(&out->device_type, &number, 4);
  out->device_id = 0;
  return 0;
}
static dlt_status_t dtype_99(const void* p, DLDataType* out) {
  (void)p;
  *out = (DLDataType){99, 64, 1};
  return 0;
}
static dlt_status_t dtype_of_no_bits(const void* p, DLDataType* out) {
  (void)p;
  *out = (DLDataType){kDLFloat, 0, 1};
  return 0;
}
static dlt_status_t another_dtype(const void* p, DLDataType* out) {
  (void)p;
  *out = i32;
  return 0;
}
static dlt_status_t wild_origin(const void* p, dlt_data_origin_t* out) {
  (void)p;
  *out = 1u << 31;
  return 0;
}

enum lie {
  null_tensor,
  major_2,
  negative_dim,
  null_dims,
  ndim_99,
  ndim_minus,
  code_99,
  lanes_0,
  wrong_device,
  null_data,
  wild_strides,
  wild_offset,
  odd_pointer,
  null_deleter,
  null_strides,
  offset_8,
  error_in_deleter,
  lie_count
};
static enum lie set_last_error_of;
static void setting_deleter(DLManagedTensorVersioned* t) {
  dlt_set_last_error("set by a deleter", "test", NULL, NULL);
  test_deleter(t);
}
static dlt_status_t lying_dlpack(void* p, DLManagedTensorVersioned** out, DLDevice d, const int64_t* s, DLPackVersion v) {
  (void)p, (void)d, (void)s, (void)v;
  static test_tensor kept;
  DLManagedTensorVersioned* t = exported();
  switch (set_last_error_of) {
    case null_tensor: t->deleter(t), t = NULL; break;
    case major_2: t->version.major = 2; break;
    case negative_dim: t->dl_tensor.shape[1] = -3; break;
    case null_dims: t->dl_tensor.shape = NULL; break;
    case ndim_99: t->dl_tensor.ndim = 99; break;
    case ndim_minus: t->dl_tensor.ndim = -1; break;
    case code_99: t->dl_tensor.dtype.code = 99; break;
    case lanes_0: t->dl_tensor.dtype.lanes = 0; break;
    case wrong_device: t->dl_tensor.device.device_type = kDLCUDA; break;
    case null_data: t->dl_tensor.data = NULL; break;
    case wild_strides: t->dl_tensor.strides[0] = INT64_MAX / 2; break;
    case wild_offset: t->dl_tensor.byte_offset = UINT64_MAX - 8; break;
    case odd_pointer: t->deleter(t), t = (DLManagedTensorVersioned*)(uintptr_t)13; break;
    case null_deleter:
      memcpy(&kept, t, sizeof(kept));
      kept.tensor.dl_tensor.shape = kept.dims;
      kept.tensor.dl_tensor.strides = kept.dims + 2;
      kept.tensor.deleter = NULL;
      t->deleter(t), t = &kept.tensor;
      break;
    case null_strides: t->dl_tensor.strides = NULL; break;
    case offset_8: t->dl_tensor.data = memory, t->dl_tensor.byte_offset = 8; break;
    case error_in_deleter: t->deleter = setting_deleter; break;
    case lie_count: break;
  }
  *out = t;
  return 0;
}

static void each_missing_function_is_named(void) {
  static const char* const names[] = {"origin",  "device",    "dtype",  "as_dlpack", "from_dlpack", "shape",
                                      "reshape", "swap_axes", "create", "copy",      "move_data"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    dlt_array_t a = honest();
    memset((char*)&a + 16 + i * sizeof(void*), 0, sizeof(void*));
    char expected[64];
    snprintf(expected, sizeof(expected), "'%s' is NULL", names[i]);
    FAILS(dlt_array_check(&a, NULL), expected);
  }
  dlt_array_t nothing;
  memset(&nothing, 0, sizeof(nothing));
  FAILS(dlt_array_check(&nothing, NULL), "is NULL");
  FAILS(dlt_array_check(NULL, NULL), "NULL");
  CHECK(ends == 0);
}

static void an_honest_array_passes(void) {
  dlt_array_t a = honest();
  returned = 0;
  WORKS(dlt_array_check(&a, NULL));
  CHECK(returned == 1);
  for (set_last_error_of = null_strides; set_last_error_of < lie_count; set_last_error_of++) {
    a.as_dlpack = lying_dlpack;
    WORKS(dlt_array_check(&a, NULL));
  }
  set_last_error_of = null_deleter;
  WORKS(dlt_array_check(&a, NULL));
}

/* What a struct filled by hand gets wrong most easily. As bytes: no compiler lets it through. */
static void swap_slots(dlt_array_t* a, size_t one, size_t other) {
  void* kept;
  memcpy(&kept, (char*)a + one, sizeof(void*));
  memcpy((char*)a + one, (char*)a + other, sizeof(void*));
  memcpy((char*)a + other, &kept, sizeof(void*));
}

static dlt_status_t no_import(const void* p, DLManagedTensorVersioned* t, dlt_array_t* out) {
  (void)p, (void)out;
  t->deleter(t);
  dlt_set_last_error("this library imports nothing", "test", NULL, NULL);
  return DLT_CALLBACK_ERROR;
}

static void swapped_functions_are_found(void) {
  double x[6] = {0};
  dlt_array_t ours = array_over(x, f64, 2, (int64_t[]){2, 3}, NULL, 0), a;
  WORKS(dlt_array_check(&ours, NULL));
  const size_t reshapes = offsetof(dlt_array_t, reshape), swaps = offsetof(dlt_array_t, swap_axes);
  const size_t origins = offsetof(dlt_array_t, origin), devices = offsetof(dlt_array_t, device),
               dtypes = offsetof(dlt_array_t, dtype);
  a = ours;
  swap_slots(&a, reshapes, swaps);
  FAILS(dlt_array_check(&a, NULL), "is 'swap_axes' in this slot?");
  a.from_dlpack = no_import; /* then on a copy */
  FAILS(dlt_array_check(&a, NULL), "is 'swap_axes' in this slot?");
  a = ours;
  a.from_dlpack = no_import;
  WORKS(dlt_array_check(&a, NULL));
  a = ours;
  memcpy((char*)&a + swaps, (char*)&a + reshapes, sizeof(void*));
  FAILS(dlt_array_check(&a, NULL), "are one function");
  a = ours;
  swap_slots(&a, origins, devices);
  FAILS(dlt_array_check(&a, NULL), "");
  a = ours;
  swap_slots(&a, dtypes, devices);
  FAILS(dlt_array_check(&a, NULL), "device");
  a = ours;
  swap_slots(&a, dtypes, origins);
  FAILS(dlt_array_check(&a, NULL), "'dtype' writes more");
  /* The check has left the array as it was. */
  const uintptr_t* dims;
  uintptr_t count;
  WORKS(ours.shape(ours.ptr, &dims, &count));
  CHECK(count == 2 && dims[0] == 2 && dims[1] == 3);
  end_array(&ours);
}

/* The one case in which both give the same bytes: origin 1, which is what this array has, on the CPU. */
static void a_swapped_origin_of_number_one_is_found(void) {
  double x[6] = {0};
  dlt_data_origin_t number = 0;
  dlt_array_t a = array_over(x, f64, 2, (int64_t[]){2, 3}, NULL, 0), swapped = a;
  swap_slots(&swapped, offsetof(dlt_array_t, origin), offsetof(dlt_array_t, device));
  WORKS(a.origin(a.ptr, &number));
  CHECK(number == 1);
  FAILS(dlt_array_check(&swapped, NULL), "are 'origin' and 'device' swapped?");
  end_array(&a);
}

static void a_struct_of_zeros_is_no_array(void) {
  dlt_array_t nothing, made;
  dlt_array_v1_t old_nothing, old_made;
  memset(&nothing, 0, sizeof(nothing));
  memset(&old_nothing, 0, sizeof(old_nothing));
  FAILS(dlt_array_to_v1(nothing, &old_made), "array_to_v1: expected an array, got a struct without functions");
  FAILS(dlt_array_from_v1(old_nothing, &made), "array_from_v1: expected an array, got a struct without functions");
  nothing.ptr = old_nothing.ptr = data;
  CHECK(dlt_array_to_v1(nothing, &old_made) == DLT_INVALID_PARAMETER_ERROR);
  CHECK(dlt_array_from_v1(old_nothing, &made) == DLT_INVALID_PARAMETER_ERROR);
}

static void each_lie_is_named(void) {
#define LIE(member, function, words)         \
  do {                                       \
    dlt_array_t a = honest();                \
    a.member = function;                     \
    FAILS(dlt_array_check(&a, NULL), words); \
  } while (0)
  LIE(device, status_77, "status 77, without a new message");
  LIE(device, no_answer_device, "device of DLPack 1.3");
  LIE(device, device_99, "device of DLPack 1.3");
  LIE(device, device_19, "tpu:0");
  LIE(dtype, status_with_message, "'dtype' failed with status 254: the disk is on fire");
  LIE(dtype, dtype_99, "code 99");
  LIE(dtype, dtype_of_no_bits, "0 bits");
  LIE(dtype, another_dtype, "reports dtype int32, its exported tensor float64");
  LIE(shape, no_answer_shape, "at most 64 dimensions");
  LIE(shape, null_shape, "and NULL for them");
  LIE(shape, endless_shape, "got 1099511627776");
  LIE(shape, huge_shape, "for axis 0");
  LIE(shape, other_shape, "(3, 2), its exported tensor (2, 3)");
  static const struct {
    enum lie lie;
    const char* words;
  } lies[] = {{null_tensor, "without returning a tensor"},
              {major_2, "version 2.3"},
              {negative_dim, "shape[1]"},
              {null_dims, "shape"},
              {ndim_99, "ndim"},
              {ndim_minus, "ndim"},
              {code_99, "dtype"},
              {lanes_0, "lanes"},
              {wrong_device, "got one on cuda:0"},
              {null_data, "data"},
              {wild_strides, "strides"},
              {wild_offset, "byte_offset"},
              {odd_pointer, "cannot be one"}};
  for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
    set_last_error_of = lies[i].lie;
    returned = 0;
    LIE(as_dlpack, lying_dlpack, lies[i].words);
    CHECK(returned == 1);
  }
  /* An unregistered origin has a name too: "unregistered origin". */
  dlt_array_t a = honest();
  a.origin = wild_origin;
  FAILS(dlt_array_check(&a, NULL), "of an array that 'from_dlpack' made");
  a.from_dlpack = no_import;
  WORKS(dlt_array_check(&a, NULL));
}

/* An error that was there before is not taken for the cause; the same words twice still are. */
static void old_errors_are_not_blamed(void) {
  dlt_array_t a = honest();
  a.dtype = status_with_message;
  CHECK(dlt_array_check(&a, NULL) != 0);
  CHECK(dlt_array_check(&a, NULL) != 0);
  CHECK(strstr(last_message(), "the disk is on fire") != NULL);
  a = honest();
  a.device = status_77;
  dlt_set_last_error("", "test", NULL, NULL);
  CHECK(dlt_array_check(&a, NULL) != 0);
  CHECK(strstr(last_message(), "'device' failed with status 77") != NULL);
}

static dlt_status_t no_error_at_all(const char** message, const char** origin, void** data_out) {
  *message = *origin = NULL;
  *data_out = NULL;
  return DLT_SUCCESS;
}
static void a_host_may_have_no_message_at_all(void) {
  dlt_host_t host = {dlt_register_data_origin, dlt_get_data_origin, no_error_at_all, dlt_set_last_error};
  dlt_array_t a = honest();
  a.device = status_77;
  FAILS(dlt_array_check(&a, &host), "'device' failed with status 77, without a message");
}

static void a_lying_fill_is_refused_and_given_back(void) {
  double x[2] = {0};
  dlt_array_t ours = array_over(x, f64, 1, (int64_t[]){2}, NULL, 0), made;
  memset(&made, 0, sizeof(made));
  uintptr_t two = 2;
  for (set_last_error_of = null_tensor; set_last_error_of <= odd_pointer; set_last_error_of++) {
    dlt_array_t fill = honest();
    fill.as_dlpack = lying_dlpack;
    ends = returned = 0;
    FAILS(ours.create(ours.ptr, &two, 1, fill, &made), "fill_value");
    CHECK(ends == 1 && returned == 1 && made.ptr == NULL);
  }
  ends = returned = 0;
  FAILS(ours.create(ours.ptr, &two, 1, honest(), &made), "no dimensions");
  CHECK(ends == 1 && returned == 1);
  end_array(&ours);
}

int main(int argc, char** argv) {
  static const test_case cases[] = {
#define CASE(name) {#name, name}
      CASE(a_swapped_origin_of_number_one_is_found), /* first: it is about the first origin of all */
      CASE(each_missing_function_is_named),
      CASE(an_honest_array_passes),
      CASE(each_lie_is_named),
      CASE(old_errors_are_not_blamed),
      CASE(a_lying_fill_is_refused_and_given_back),
      CASE(swapped_functions_are_found),
      CASE(a_struct_of_zeros_is_no_array),
      CASE(a_host_may_have_no_message_at_all)};
  return run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
