/* SPDX-License-Identifier: Apache-2.0 */
/* A C program that holds three arrays of unknown types and calls each of their functions.
 * Build: cc hold.c $(python -m dltensor info --cflags --libs) -o hold, or with CMakeLists.txt beside this file. */
#include <dltensor/array.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the program with the library's own words when a call fails. */
static void need(dlt_status_t status) {
  const char *message, *origin;
  if (status == DLT_SUCCESS) return;
  dlt_last_error(&message, &origin, NULL);
  fprintf(stderr, "error %d from %s: %s\n", (int)status, origin, message);
  exit(1);
}

/* --- making arrays: any DLPack tensor will do. Here it is a struct of the program with its shape inside. */

typedef struct {
  DLManagedTensorVersioned tensor;
  int64_t shape[2], strides[2];
  double* owned;
} table;

static void end_table(DLManagedTensorVersioned* self) {
  table* t = (table*)self->manager_ctx;
  free(t->owned);
  free(t);
}

static dlt_array_t array_over(double* data, double* owned, int64_t rows, int64_t columns, int64_t row_step, int64_t column_step,
                              const char* origin) {
  table* t = (table*)calloc(1, sizeof(table));
  dlt_array_t array;
  if (!t) exit(1);
  t->shape[0] = rows, t->shape[1] = columns, t->strides[0] = row_step, t->strides[1] = column_step;
  t->owned = owned;
  t->tensor.version.major = DLPACK_MAJOR_VERSION;
  t->tensor.version.minor = DLPACK_MINOR_VERSION;
  t->tensor.manager_ctx = t;
  t->tensor.deleter = end_table;
  t->tensor.dl_tensor.data = data;
  t->tensor.dl_tensor.device.device_type = kDLCPU;
  t->tensor.dl_tensor.ndim = 2;
  t->tensor.dl_tensor.dtype.code = kDLFloat;
  t->tensor.dl_tensor.dtype.bits = 64;
  t->tensor.dl_tensor.dtype.lanes = 1;
  t->tensor.dl_tensor.shape = t->shape;
  t->tensor.dl_tensor.strides = t->strides;
  need(dlt_array_from_dlpack(&t->tensor, origin, NULL, &array)); /* takes ownership of the tensor, also on failure */
  return array;
}

/* --- holding them: only what the struct offers */

static double sum(dlt_array_t array) {
  DLDevice cpu = {kDLCPU, 0};
  DLPackVersion version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  DLManagedTensorVersioned* t = NULL;
  double total = 0;
  need(array.as_dlpack(array.ptr, &t, cpu, NULL, version));
  const double* first = (const double*)((const char*)t->dl_tensor.data + t->dl_tensor.byte_offset);
  for (int64_t i = 0; i < t->dl_tensor.shape[0]; i++)
    for (int64_t j = 0; j < t->dl_tensor.shape[1]; j++)
      total += first[i * t->dl_tensor.strides[0] + j * t->dl_tensor.strides[1]];
  if (t->deleter) t->deleter(t);
  return total;
}

static void print(const char* what, dlt_array_t array) {
  dlt_data_origin_t id;
  char origin[64];
  DLDevice device;
  DLDataType dtype;
  const uintptr_t* shape;
  uintptr_t count;
  need(array.origin(array.ptr, &id));
  need(dlt_get_data_origin(id, origin, sizeof(origin)));
  need(array.device(array.ptr, &device));
  need(array.dtype(array.ptr, &dtype));
  need(array.shape(array.ptr, &shape, &count));
  printf("%-10s %-17s device %d:%d  dtype %d of %d bits  shape (%d, %d)  sum %g\n", what, origin, (int)device.device_type,
         (int)device.device_id, dtype.code, dtype.bits, (int)shape[0], (int)shape[1], sum(array));
}

static void use(dlt_array_t array) {
  static double zero = 0;
  DLDevice cpu = {kDLCPU, 0};
  DLPackVersion version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  DLManagedTensorVersioned* t = NULL;
  dlt_array_t copy, larger, imported, fill;
  uintptr_t flat[2] = {1, 6}, shape[2] = {4, 6};
  dlt_data_movement_t twice[2] = {{0, 1, 0, 0, 6}, {0, 3, 0, 0, 6}};

  need(dlt_array_check(&array, NULL));
  print("as it came", array);
  need(array.copy(array.ptr, cpu, &copy));
  need(copy.swap_axes(copy.ptr, 0, 1));
  print("swapped", copy);
  need(copy.reshape(copy.ptr, flat, 2));
  print("flat", copy);

  fill = array_over(&zero, NULL, 1, 1, 1, 1, "example.fill");
  need(fill.reshape(fill.ptr, NULL, 0)); /* one element, no dimensions */
  need(array.create(array.ptr, shape, 2, fill, &larger)); /* ends `fill` */
  need(larger.move_data(larger.ptr, copy.ptr, twice, 2));
  print("moved", larger);

  need(larger.as_dlpack(larger.ptr, &t, cpu, NULL, version));
  need(array.from_dlpack(array.ptr, t, &imported)); /* takes `t` */
  larger.destroy(larger.ptr);                       /* the import has the memory */
  print("imported", imported);
  imported.destroy(imported.ptr);
  copy.destroy(copy.ptr);
  array.destroy(array.ptr);
}

int main(void) {
  static double constants[6] = {1, 2, 3, 4, 5, 6};
  double matrix[3][4] = {{1, -1, 2, -1}, {3, -1, 4, -1}, {5, -1, 6, -1}};
  double* heap = (double*)malloc(6 * sizeof(double));
  if (!heap || dlt_array_abi_version() != DLT_ARRAY_ABI_VERSION || dlt_array_struct_size() != sizeof(dlt_array_t)) return 1;
  for (int i = 0; i < 6; i++) heap[i] = i + 1;
  use(array_over(constants, NULL, 2, 3, 3, 1, "example.constants"));
  use(array_over(heap, heap, 2, 3, 1, 2, "example.heap"));
  use(array_over(&matrix[0][0], NULL, 3, 2, 4, 2, "example.matrix"));
  puts("every function called on three origins");
  return 0;
}
