/* SPDX-License-Identifier: Apache-2.0 */
/* The real libmetatensor and our arrays in one program: one layout, its origins, its errors, its operations. */
#include <dlfcn.h>
#include <metatensor.h>

#include "check.h"

#define SAME_PLACE(member) CHECK(offsetof(mts_array_t, member) == offsetof(dlt_array_t, member))

static mts_array_t as_theirs(dlt_array_t array) {
  mts_array_t theirs;
  memcpy(&theirs, &array, sizeof(theirs));
  return theirs;
}

static void one_layout(void) {
  CHECK(sizeof(mts_array_t) == sizeof(dlt_array_t) && sizeof(mts_data_movement_t) == sizeof(dlt_data_movement_t));
  SAME_PLACE(ptr);
  SAME_PLACE(destroy);
  SAME_PLACE(origin);
  SAME_PLACE(device);
  SAME_PLACE(dtype);
  SAME_PLACE(as_dlpack);
  SAME_PLACE(from_dlpack);
  SAME_PLACE(shape);
  SAME_PLACE(reshape);
  SAME_PLACE(swap_axes);
  SAME_PLACE(create);
  SAME_PLACE(copy);
  SAME_PLACE(move_data);
#define SAME_MEMBER(member) CHECK(offsetof(mts_data_movement_t, member) == offsetof(dlt_data_movement_t, member))
  SAME_MEMBER(sample_in);
  SAME_MEMBER(sample_out);
  SAME_MEMBER(properties_start_in);
  SAME_MEMBER(properties_start_out);
  SAME_MEMBER(properties_length);
  CHECK((int)MTS_SUCCESS == DLT_SUCCESS && (int)MTS_INVALID_PARAMETER_ERROR == DLT_INVALID_PARAMETER_ERROR);
  CHECK((int)MTS_IO_ERROR == DLT_IO_ERROR && (int)MTS_SERIALIZATION_ERROR == DLT_SERIALIZATION_ERROR);
  CHECK((int)MTS_BUFFER_SIZE_ERROR == DLT_BUFFER_SIZE_ERROR && (int)MTS_CALLBACK_ERROR == DLT_CALLBACK_ERROR);
  CHECK((int)MTS_INTERNAL_ERROR == DLT_INTERNAL_ERROR && sizeof(mts_data_origin_t) == sizeof(dlt_data_origin_t));
}

static const mts_labels_t* labels(const char** names, int32_t* values, int64_t rows, int64_t columns) {
  dlt_array_t array = array_over(values, i32, 2, (int64_t[]){rows, columns}, NULL, 0);
  const mts_labels_t* made = mts_labels(names, (uintptr_t)columns, as_theirs(array));
  if (!made) {
    const char* message;
    mts_last_error(&message, NULL, NULL);
    fprintf(stderr, "  mts_labels: %s\n", message);
  }
  CHECK(made != NULL);
  return made;
}

static mts_block_t* block(dlt_array_t values, const mts_labels_t* samples, const mts_labels_t* properties) {
  mts_block_t* made = mts_block(as_theirs(values), samples, NULL, 0, properties);
  CHECK(made != NULL);
  return made;
}

static double* block_values(const mts_block_t* b, DLManagedTensorVersioned** t) {
  mts_array_t view; /* zeroed: the library ends what it finds there */
  memset(&view, 0, sizeof(view));
  CHECK(mts_block_data((mts_block_t*)b, &view) == MTS_SUCCESS && view.destroy == NULL);
  CHECK(view.as_dlpack(view.ptr, t, cpu, NULL, newest) == MTS_SUCCESS);
  return (double*)((char*)(*t)->dl_tensor.data + (*t)->dl_tensor.byte_offset);
}

/* Two blocks are merged along properties: create, move_data and from_dlpack are the library's calls. */
static void blocks_of_ours_merge(void) {
  int32_t s0[] = {0, 1, 2}, s1[] = {1, 3}, p[] = {0, 1}, k[] = {0, 0, 1, 0};
  double v1[] = {10, 11, 12, 13}, fill = -1;
  const char *sample = "s", *property = "p", *keys[] = {"k", "l"};
  const mts_labels_t *samples0 = labels(&sample, s0, 3, 1), *samples1 = labels(&sample, s1, 2, 1);
  const mts_labels_t *properties = labels(&property, p, 2, 1), *key_labels = labels(keys, k, 2, 2);
  returned = 0;
  mts_block_t* blocks[2];
  /* Column-major values: not in the order of their samples. */
  double columns[] = {0, 2, 4, 1, 3, 5};
  blocks[0] = block(array_over(columns, f64, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0), samples0, properties);
  blocks[1] = block(array_over(v1, f64, 2, (int64_t[]){2, 2}, NULL, 0), samples1, properties);
  DLManagedTensorVersioned* t;
  CHECK(block_values(blocks[0], &t) == columns);
  t->deleter(t);
  mts_tensormap_t* map = mts_tensormap(key_labels, blocks, 2);
  CHECK(map != NULL);
  int32_t nothing[1] = {0};
  const char* moved = "k";
  const mts_labels_t* to_move = labels(&moved, nothing, 0, 1);
  dlt_array_t scalar = scalar_over(&fill, f64);
  mts_tensormap_t* merged = mts_tensormap_keys_to_properties(map, to_move, as_theirs(scalar), true);
  if (!merged) {
    const char* message;
    mts_last_error(&message, NULL, NULL);
    fprintf(stderr, "  keys_to_properties: %s\n", message);
  }
  CHECK(merged != NULL);
  if (merged) {
    mts_block_t* one;
    CHECK(mts_tensormap_block_by_id(merged, &one, 0) == MTS_SUCCESS);
    const double expected[] = {0, 1, -1, -1, 2, 3, 10, 11, 4, 5, -1, -1, -1, -1, 12, 13};
    double* got = block_values(one, &t);
    CHECK(t->dl_tensor.shape[0] == 4 && t->dl_tensor.shape[1] == 4 && memcmp(got, expected, sizeof(expected)) == 0);
    t->deleter(t);
    mts_tensormap_free(merged);
  }
  mts_tensormap_free(map);
  mts_labels_free(samples0);
  mts_labels_free(samples1);
  mts_labels_free(properties);
  mts_labels_free(key_labels);
  mts_labels_free(to_move);
}

/* Asked by that library, an array answers with its number and leaves the error there. */
static void answers_go_to_who_asks(void) {
  dlt_host_t theirs, ours;
  WORKS(dlt_find_host("libmetatensor.so", &theirs));
  CHECK((void*)theirs.last_error == dlsym(RTLD_DEFAULT, "mts_last_error"));
  WORKS(dlt_find_host(DLT_LIBRARY_NAME, &ours));
  double x = 0;
  dlt_array_t set_last_error_of, ask, automatic = scalar_over(&x, f64);
  WORKS(dlt_array_from_dlpack(tensor_over(&x, f64, 0, NULL, NULL, 0), "of theirs", &theirs, &set_last_error_of));
  WORKS(dlt_array_from_dlpack(tensor_over(&x, f64, 0, NULL, NULL, 0), "of ours", &ours, &ask));
  dlt_data_origin_t id = 0, registered = 0;
  char name[64];
  for (int i = 0; i < 5; i++) dlt_register_data_origin((char[]){'a' + i, 0}, &id);
  WORKS(set_last_error_of.origin(set_last_error_of.ptr, &id));
  CHECK(mts_get_data_origin(id, name, sizeof(name)) == MTS_SUCCESS && strcmp(name, "of theirs") == 0);
  WORKS(ask.origin(ask.ptr, &id));
  WORKS(dlt_get_data_origin(id, name, sizeof(name)));
  CHECK(strcmp(name, "of ours") == 0);
  /* This program is linked to both, so by itself an array takes it for the other library's. */
  WORKS(automatic.origin(automatic.ptr, &id));
  CHECK(mts_register_data_origin("test", &registered) == MTS_SUCCESS && registered == id);

  const char *message, *origin;
  dlt_set_last_error("before", "test", NULL, NULL);
  CHECK(set_last_error_of.swap_axes(set_last_error_of.ptr, 0, 1) == DLT_CALLBACK_ERROR);
  mts_last_error(&message, &origin, NULL);
  CHECK(strstr(message, "swap_axes: expected axes below 0") && strcmp(origin, "dltensor") == 0);
  CHECK(strcmp(last_message(), "before") == 0);
  CHECK(ask.swap_axes(ask.ptr, 0, 1) == DLT_CALLBACK_ERROR);
  CHECK(strstr(last_message(), "swap_axes: expected axes below 0") != NULL);
  /* And the library passes it on to its own caller. */
  mts_array_t theirs_now = as_theirs(set_last_error_of);
  CHECK(mts_block(theirs_now, NULL, NULL, 0, NULL) == NULL);
  end_array(&ask);
  end_array(&automatic);
}

/* A mistake of theirs is found out where they keep it: labels of the core refuse to be reshaped. */
static void their_errors_are_found(void) {
  int32_t values[] = {0, 1, 2};
  const char* name = "s";
  const mts_labels_t* made = labels(&name, values, 3, 1);
  const mts_labels_t* both = NULL;
  CHECK(mts_labels_union(made, made, &both, NULL, 0, NULL, 0) == MTS_SUCCESS);
  mts_array_t view;
  memset(&view, 0, sizeof(view));
  CHECK(mts_labels_values(both, &view) == MTS_SUCCESS);
  dlt_array_t core;
  memcpy(&core, &view, sizeof(core));
  WORKS(dlt_array_check(&core, NULL));
  dlt_array_t ours = array_over(values, f32, 1, (int64_t[]){3}, NULL, 0), out;
  /* As a fill it is no scalar of float32; and its own failure to go to another device has its words. */
  uintptr_t three = 3;
  CHECK(ours.create(ours.ptr, &three, 1, core, &out) == DLT_CALLBACK_ERROR);
  const char* message;
  mts_last_error(&message, NULL, NULL);
  CHECK(strstr(message, "no dimensions") != NULL);
  end_array(&ours);
  mts_labels_free(both);
  mts_labels_free(made);
}

int main(int argc, char** argv) {
  mts_disable_panic_printing();
  static const test_case cases[] = {
#define CASE(name) {#name, name}
      CASE(one_layout), CASE(blocks_of_ours_merge), CASE(answers_go_to_who_asks), CASE(their_errors_are_found)};
  return run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
