/* SPDX-License-Identifier: Apache-2.0 */
/* An array of any origin behind one struct of function pointers, and the functions of libdltensor that go with it.
 *
 * C99 and later, C++11 and later; needs only dlpack.h and version.h. The layout is that of `mts_array_t` in metatensor 0.2.0 and
 * later (104 bytes), so one array serves both libraries: in C copy the struct with memcpy, in C++ see array.hpp.
 *
 * Who owns what
 *   an array          the holder of the struct; `destroy` exactly once. A copy with `destroy == NULL` is a view.
 *   what as_dlpack    the caller; its deleter exactly once. Arrays made by dltensor may be destroyed before that,
 *     hands out         arrays of others must outlive it.
 *   what from_dlpack  the callee, also when it fails.
 *     is handed
 *   a fill value      the callee of `create`, also when it fails: it calls `fill_value.destroy` unless NULL.
 *   a shape pointer   the array. Arrays made by dltensor keep every one valid and unchanged until `destroy`.
 *   error texts       the library, until the next error on the same thread.
 *
 * Every function may be called from any thread, also several at a time on one array. */
#ifndef DLTENSOR_ARRAY_H_
#define DLTENSOR_ARRAY_H_

#include <stddef.h>
#include <stdint.h>

#include "dltensor/dlpack.h"
#include "dltensor/version.h"

#if defined(_WIN32)
#define DLT_ARRAY_API
#else
#define DLT_ARRAY_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Layout 1 had 96 bytes and no from_dlpack, and its `copy` took no device. Layout 2 is the one below. */
#define DLT_ARRAY_ABI_VERSION 2
/* The file name and SONAME of the library: a program finds only a library of the layout that it was compiled for. */
#define DLT_LIBRARY_NAME "libdltensor.so." DLT_TEXT_(DLT_ARRAY_ABI_VERSION)

/* More dimensions than this are refused before any of them is read. */
#define DLT_ARRAY_MAX_NDIM 64

/* 0 is success, every other value a failure; dlt_last_error() returns its message. */
typedef int32_t dlt_status_t;
enum {
  DLT_SUCCESS = 0,
  DLT_INVALID_PARAMETER_ERROR = 1,
  DLT_IO_ERROR = 2,
  DLT_SERIALIZATION_ERROR = 3,
  DLT_BUFFER_SIZE_ERROR = 4,
  DLT_CALLBACK_ERROR = 254, /* what a function of the struct returns when it fails */
  DLT_INTERNAL_ERROR = 255
};

/* Identifies the library or type an array comes from. Counted from 1 within one loaded library; 0 is "unregistered origin". */
typedef uint64_t dlt_data_origin_t;

/* One line of elements to move: for every x below properties_length and every index between the first and the last
 * axis, output[sample_out, ..., properties_start_out + x] = input[sample_in, ..., properties_start_in + x]. */
typedef struct dlt_data_movement_t {
  uintptr_t sample_in;
  uintptr_t sample_out;
  uintptr_t properties_start_in;
  uintptr_t properties_start_out;
  uintptr_t properties_length;
} dlt_data_movement_t;

/* Each function takes `ptr` first. Failing, it sets the last error, returns DLT_CALLBACK_ERROR and leaves the array
 * and every out parameter as they were. */
typedef struct dlt_array_t {
  void* ptr; /* opaque: only for the functions below */

  /* Destroys the array. NULL when there is nothing to destroy: a view, or memory that is never freed. */
  void (*destroy)(void* array);

  dlt_status_t (*origin)(const void* array, dlt_data_origin_t* origin);
  dlt_status_t (*device)(const void* array, DLDevice* device);
  dlt_status_t (*dtype)(const void* array, DLDataType* dtype);

  /* The array as a DLPack tensor that the caller owns, on `device`, copied if necessary.
   * `stream`: NULL for the default one and always for host memory; -1 for no synchronisation; CUDA: 1 legacy default,
   * 2 per-thread default, above 2 a handle, 0 is an error. The tensor is no newer than `max_version`, at least 1.0. */
  dlt_status_t (*as_dlpack)(void* array, DLManagedTensorVersioned** dl_managed_tensor, DLDevice device, const int64_t* stream,
                            DLPackVersion max_version);

  /* A new array of the same origin around `dl_managed_tensor`, whatever that tensor's dtype, shape and device. */
  dlt_status_t (*from_dlpack)(const void* array, DLManagedTensorVersioned* dl_managed_tensor, struct dlt_array_t* new_array);

  /* A single element has `*shape == NULL` and `*shape_count == 0`. */
  dlt_status_t (*shape)(const void* array, const uintptr_t** shape, uintptr_t* shape_count);

  dlt_status_t (*reshape)(void* array, const uintptr_t* shape, uintptr_t shape_count);
  dlt_status_t (*swap_axes)(void* array, uintptr_t axis_1, uintptr_t axis_2);

  /* A new array of the same origin, dtype and device, every element equal to `fill_value`, which has the same dtype
   * and no dimensions. */
  dlt_status_t (*create)(const void* array, const uintptr_t* shape, uintptr_t shape_count, struct dlt_array_t fill_value,
                         struct dlt_array_t* new_array);

  dlt_status_t (*copy)(const void* array, DLDevice device, struct dlt_array_t* new_array);

  /* `input` is the `ptr` of an array of the same origin. */
  dlt_status_t (*move_data)(void* output, const void* input, const dlt_data_movement_t* movements, uintptr_t movements_count);
} dlt_array_t;

/* Layout 1: the layout of the first published description of these arrays. Never pass one layout as the other. */
typedef struct dlt_array_v1_t {
  void* ptr;
  void (*destroy)(void* array);
  dlt_status_t (*origin)(const void* array, dlt_data_origin_t* origin);
  dlt_status_t (*device)(const void* array, DLDevice* device);
  dlt_status_t (*dtype)(const void* array, DLDataType* dtype);
  dlt_status_t (*as_dlpack)(void* array, DLManagedTensorVersioned** dl_managed_tensor, DLDevice device, const int64_t* stream,
                            DLPackVersion max_version);
  dlt_status_t (*shape)(const void* array, const uintptr_t** shape, uintptr_t* shape_count);
  dlt_status_t (*reshape)(void* array, const uintptr_t* shape, uintptr_t shape_count);
  dlt_status_t (*swap_axes)(void* array, uintptr_t axis_1, uintptr_t axis_2);
  dlt_status_t (*create)(const void* array, const uintptr_t* shape, uintptr_t shape_count, struct dlt_array_v1_t fill_value,
                         struct dlt_array_v1_t* new_array);
  dlt_status_t (*copy)(const void* array, struct dlt_array_v1_t* new_array);
  dlt_status_t (*move_data)(void* output, const void* input, const dlt_data_movement_t* movements, uintptr_t movements_count);
} dlt_array_v1_t;

/* The library that an array reports to: it numbers the origins and keeps the errors. Two loaded libraries, or two *
 * copies of one, are different hosts. */
typedef struct dlt_host_t {
  dlt_status_t (*register_data_origin)(const char* name, dlt_data_origin_t* origin);
  dlt_status_t (*get_data_origin)(dlt_data_origin_t origin, char* buffer, uintptr_t buffer_size);
  dlt_status_t (*last_error)(const char** message, const char** origin, void** data);
  dlt_status_t (*set_last_error)(const char* message, const char* origin, void* data, void (*data_deleter)(void* data));
} dlt_host_t;

/* What the loaded library was built with: compare with DLT_ARRAY_ABI_VERSION and sizeof(dlt_array_t). */
DLT_ARRAY_API uint32_t dlt_array_abi_version(void);
DLT_ARRAY_API size_t dlt_array_struct_size(void);

/* The id of `name`: a new one the first time, the same one ever after. At most 65535 bytes of UTF-8. */
DLT_ARRAY_API dlt_status_t dlt_register_data_origin(const char* name, dlt_data_origin_t* origin);

/* Writes the name and its NUL. If the buffer is too small for both, nothing is written and the status is DLT_BUFFER_SIZE_ERROR.
 * An id that was never given out is called "unregistered origin". */
DLT_ARRAY_API dlt_status_t dlt_get_data_origin(dlt_data_origin_t origin, char* buffer, uintptr_t buffer_size);

/* The latest error of this thread; success does not clear it. Each parameter may be NULL. */
DLT_ARRAY_API dlt_status_t dlt_last_error(const char** message, const char** origin, void** data);

/* For languages that do not hold foreign pointers: copies as much of the message as fits, always with its NUL.
 * `*length` (may be NULL) is that of the whole message; DLT_BUFFER_SIZE_ERROR when it was cut. */
DLT_ARRAY_API dlt_status_t dlt_copy_last_error(char* buffer, uintptr_t buffer_size, uintptr_t* length);

/* Replaces the error of this thread. `data_deleter(data)` runs once: at the next error, or when the thread ends. It
 * may call these functions again. Errors of the thread that ends the process are not deleted. Bytes that are not
 * UTF-8 are kept as \xNN; texts longer than 64 KiB are cut and say so. */
DLT_ARRAY_API dlt_status_t dlt_set_last_error(const char* message, const char* origin, void* data,
                                              void (*data_deleter)(void* data));

/* An array around any DLPack tensor, which it owns from here on, also on failure. Every function of the new array is
 * native code and works on strided data of any dtype. `origin` is the name to register, NULL for "dltensor".
 * `host` is the library that numbers the origin and keeps the errors of this array, of its copies, of the arrays that it
 * creates and imports, and of their conversions to the other layout. Give it where the host is known: then nothing is
 * guessed. With NULL it is guessed at each call from the return address: the library that the calling code is linked to or,
 * if it is linked to neither, a loaded libmetatensor.so, or else this one. Code linked to both counts as metatensor's.
 * A tail call, a trampoline or generated code hides the caller from this guess. Of a destroyed array the host is not known
 * any more: an error of a call of one goes to the guess. */
DLT_ARRAY_API dlt_status_t dlt_array_from_dlpack(DLManagedTensorVersioned* tensor, const char* origin, const dlt_host_t* host,
                                                 dlt_array_t* new_array);

/* A new array of zeros in host memory, of any dtype and of the origin "dltensor". Has the signature that metatensor
 * requires * of a function that creates the arrays of a file while it is loaded. */
DLT_ARRAY_API dlt_status_t dlt_array_create(const uintptr_t* shape, uintptr_t shape_count, DLDataType dtype,
                                            dlt_array_t* new_array);

/* Calls every query function of any array and compares the results: missing functions, invalid devices, dtypes and
 * shapes, an export that disagrees with them. `host` as above, NULL when unknown.
 * Swapped functions are found by calling them on a small array that from_dlpack creates, or on a copy where it
 * creates none;
 * the array itself is not changed. Swapped `origin` and `device` cannot be detected for an array whose from_dlpack
 * takes
 * no pinned host memory and whose origin has the number 1 on the CPU: there both give the same bytes. */
DLT_ARRAY_API dlt_status_t dlt_array_check(const dlt_array_t* array, const dlt_host_t* host);

/* The functions of a library that is already loaded ("libmetatensor.so", DLT_LIBRARY_NAME, or a path); nothing is loaded. */
DLT_ARRAY_API dlt_status_t dlt_find_host(const char* library, dlt_host_t* host);

/* From one layout to the other. The new struct owns the old one, which must not be used any more; on failure the
 * caller still owns it. Converting back gives the original struct. A layout 1 array cannot import DLPack
 * tensors: its `from_dlpack` returns an error. In move_data both sides must have been converted. A struct without any
 * of the
 * five query functions is DLT_INVALID_PARAMETER_ERROR. */
DLT_ARRAY_API dlt_status_t dlt_array_from_v1(dlt_array_v1_t array, dlt_array_t* new_array);
DLT_ARRAY_API dlt_status_t dlt_array_to_v1(dlt_array_t array, dlt_array_v1_t* new_array);

#ifdef __cplusplus
}
#endif

/* The same array without ownership (`destroy` is NULL); valid while its owner is. */
static inline dlt_array_t dlt_array_view(dlt_array_t array) {
  array.destroy = NULL;
  return array;
}

/* Define DLT_ARRAY_MTS_NAMES before including this file to write code against the names of metatensor's page and
 * link it to libdltensor alone. metatensor.h has the same names, so include only one of the two. */
#ifdef DLT_ARRAY_MTS_NAMES
#ifdef METATENSOR_H
#error "DLT_ARRAY_MTS_NAMES and metatensor.h both declare the mts_ names: leave one of them out"
#endif
#define mts_array_t dlt_array_t
#define mts_data_movement_t dlt_data_movement_t
#define mts_data_origin_t dlt_data_origin_t
#define mts_status_t dlt_status_t
#define MTS_SUCCESS DLT_SUCCESS
#define MTS_INVALID_PARAMETER_ERROR DLT_INVALID_PARAMETER_ERROR
#define MTS_IO_ERROR DLT_IO_ERROR
#define MTS_SERIALIZATION_ERROR DLT_SERIALIZATION_ERROR
#define MTS_BUFFER_SIZE_ERROR DLT_BUFFER_SIZE_ERROR
#define MTS_CALLBACK_ERROR DLT_CALLBACK_ERROR
#define MTS_INTERNAL_ERROR DLT_INTERNAL_ERROR
#define mts_register_data_origin dlt_register_data_origin
#define mts_get_data_origin dlt_get_data_origin
#define mts_last_error dlt_last_error
#define mts_set_last_error dlt_set_last_error
#endif

/* The layouts, checked wherever this file is compiled: C99 has no static assertion, so a negative array size is used. */
#define DLT_ARRAY_ASSERT_(name, condition) typedef char dlt_array_assert_##name[(condition) ? 1 : -1]
#define DLT_ARRAY_AT_(member, place) DLT_ARRAY_ASSERT_(member, offsetof(dlt_array_t, member) == (place) * sizeof(void*))
DLT_ARRAY_ASSERT_(size, sizeof(dlt_array_t) == 13 * sizeof(void*));
DLT_ARRAY_ASSERT_(size_v1, sizeof(dlt_array_v1_t) == 12 * sizeof(void*));
DLT_ARRAY_ASSERT_(movement, sizeof(dlt_data_movement_t) == 5 * sizeof(uintptr_t));
DLT_ARRAY_ASSERT_(host, sizeof(dlt_host_t) == 4 * sizeof(void*));
DLT_ARRAY_AT_(ptr, 0);
DLT_ARRAY_AT_(destroy, 1);
DLT_ARRAY_AT_(origin, 2);
DLT_ARRAY_AT_(device, 3);
DLT_ARRAY_AT_(dtype, 4);
DLT_ARRAY_AT_(as_dlpack, 5);
DLT_ARRAY_AT_(from_dlpack, 6);
DLT_ARRAY_AT_(shape, 7);
DLT_ARRAY_AT_(reshape, 8);
DLT_ARRAY_AT_(swap_axes, 9);
DLT_ARRAY_AT_(create, 10);
DLT_ARRAY_AT_(copy, 11);
DLT_ARRAY_AT_(move_data, 12);
#undef DLT_ARRAY_AT_
#undef DLT_ARRAY_ASSERT_

#endif /* DLTENSOR_ARRAY_H_ */
