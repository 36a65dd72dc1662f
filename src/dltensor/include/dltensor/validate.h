/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of foreign tensors: is this DLTensor safe to use, and if not, which rule does it break?
 *
 * Header-only C99 that needs nothing but a dlpack.h: this project's, or the original (1.0 or newer) if that came
 * before it. It reads the struct, its shape and its strides in O(ndim) and never reads the elements. A consumer cannot
 * detect a producer that points outside its own allocation or into a freed one: such a tensor passes.
 *
 *   dlt_check_tensor(t)                        0, or the first rule broken: the hot path, nothing is stored
 *   dlt_explain_tensor(t, buffer, size)        the sentence for that rule: field, expected, value, remedy
 *   dlt_validate_tensor(t, version, flags, ..) every finding: errors first, then warnings and notes
 *   dlt_check_pointer, dlt_check_layout,       to call in this order before the struct itself is read
 *   dlt_check_version
 *   dlt_measure_tensor(t, flags, extent)       which bytes, counted from `data`, an accepted tensor reaches
 *   dlt_rules(&count)                          the rules themselves */
#ifndef DLTENSOR_VALIDATE_H_
#define DLTENSOR_VALIDATE_H_

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifndef DLPACK_DLPACK_H_
#include "dltensor/dlpack.h"
#endif
#include "dltensor/version.h"

/* NumPy stops at 64 dimensions too; the limit lets a consumer keep shape and strides on its stack. */
#define DLT_MAX_NDIM 64
/* The user half of a 48-bit address space: no host allocation is larger. */
#define DLT_MAX_HOST_EXTENT ((int64_t)1 << 47)
/* Nothing is ever mapped in the first page, so a smaller address is a number used as a pointer. */
#define DLT_MIN_ADDRESS 4096u
#define DLT_KNOWN_FLAGS ((uint64_t)7) /* READ_ONLY, IS_COPIED, IS_SUBBYTE_TYPE_PADDED */
#define DLT_FLAG_PADDED ((uint64_t)4)

/* A broken rule is an ERROR when the tensor cannot be used, a WARNING when it can be used although it breaks the
 * standard or is inconsistent, a NOTE when it is legal but may fail in another consumer. */
typedef enum { DLT_SEVERITY_NOTE, DLT_SEVERITY_WARNING, DLT_SEVERITY_ERROR } dlt_severity;

/* Row: enumerator, id, severity, how the value is printed (d signed, u unsigned, p address), number of the rule in
 * the standard as numbered in this project's documentation (0: the standard is silent), expectation, remedy. */
/* clang-format off */
#define DLT_RULES(X)                                                                                                   \
  X(POINTER, "tensor.pointer", ERROR, 'p', 0, "an aligned address of at least 4096",                                   \
    "the producer handed out something that is not a tensor struct")                                                   \
  X(LAYOUT, "tensor.layout", ERROR, 'u', 24, "the layout that the capsule's name promises",                            \
    "the producer mixed up DLManagedTensor and DLManagedTensorVersioned; not even its deleter can be called")          \
  X(VERSION_MAJOR, "version.major", ERROR, 'u', 32, "1", "ask the producer for max_version=(1, 3)")                    \
  X(NDIM, "ndim.range", ERROR, 'd', 0, "0 to 64", "reshape in the producer to at most 64 dimensions")                  \
  X(SHAPE_NULL, "shape.null", ERROR, 'p', 12, "a pointer to ndim integers",                                            \
    "the producer must fill shape unless ndim is 0")                                                                   \
  X(SHAPE_POINTER, "shape.pointer", ERROR, 'p', 0, "an aligned address of at least 4096",                              \
    "the producer must point shape at ndim int64 values")                                                              \
  X(STRIDES_POINTER, "strides.pointer", ERROR, 'p', 0, "NULL or an aligned address of at least 4096",                  \
    "the producer must point strides at ndim int64 values")                                                            \
  X(DTYPE_BITS, "dtype.bits", ERROR, 'u', 7, "", "convert in the producer to one of these widths")                     \
  X(DTYPE_LANES, "dtype.lanes", ERROR, 'u', 0, "at least 1", "the producer must write lanes = 1 for plain elements")   \
  X(DEVICE_TYPE, "device.type", ERROR, 'd', 0, "at least 1", "the producer must write a DLDeviceType, 1 for the CPU")  \
  X(DEVICE_ID, "device.id", ERROR, 'd', 15, "at least 0", "the producer must write 0 for host memory, else an index")  \
  X(BYTE_OFFSET, "byte_offset.range", ERROR, 'u', 14, "",                                                              \
    "the producer must keep byte_offset inside its allocation; it is unsigned and cannot step back")                   \
  X(SHAPE_NEGATIVE, "shape.negative", ERROR, 'd', 0, "at least 0", "the producer must resolve unknown sizes first")    \
  X(SHAPE_SIZE, "shape.size", ERROR, 'd', 0, "at most 9223372036854775807 elements in all",                            \
    "no memory holds this many elements: the shape is corrupt")                                                        \
  X(SHAPE_BYTES, "shape.bytes", ERROR, 'd', 0, "at most 9223372036854775807 bytes in all",                             \
    "no memory holds this many bytes: the shape is corrupt")                                                           \
  X(EXTENT, "strides.extent", ERROR, 'd', 0, "",                                                                       \
    "strides count elements, not bytes: check that the producer divided by the item size")                             \
  X(DATA_NULL, "data.null", ERROR, 'p', 11, "an address, as the tensor has elements",                                  \
    "NULL is for tensors of size 0: the producer must allocate first")                                                 \
  X(DATA_RANGE, "data.range", ERROR, 'p', 14, "",                                                                      \
    "negative strides need data (or byte_offset) at the last element, not at the first")                               \
  X(STRIDES_NULL, "strides.null", WARNING, 'p', 12, "strides filled in, as DLPack 1.2 and newer demand",               \
    "read as C order; the producer should fill them")                                                                  \
  X(FLAGS_UNKNOWN, "flags.unknown", WARNING, 'u', 2, "no bits but 1, 2 and 4",                                         \
    "kept as they are; the producer may be newer than this reader, or the field is uninitialised")                     \
  X(FLAGS_PADDED, "flags.padded", WARNING, 'u', 9, "IS_SUBBYTE_TYPE_PADDED only on types of fewer than 8 bits",        \
    "ignored; the producer should clear it")                                                                           \
  X(DEVICE_ID_HOST, "device.id.host", WARNING, 'd', 15, "0 for host memory",                                           \
    "read as the host; the producer should write 0")                                                                   \
  X(DTYPE_LANES_SINGLE, "dtype.lanes.single", WARNING, 'u', 5, "1 for complex and bool",                               \
    "held as it is; the producer should make the lanes an axis")                                                       \
  X(DATA_ALIGNMENT, "data.alignment", WARNING, 'p', 10, "a first element at a multiple of its own size",               \
    "usable, but slower, and consumers that dereference it directly may trap: copy it")                                \
  X(VERSION_MINOR, "version.minor", NOTE, 'u', 33, "at most 3", "a newer minor version may use codes unknown here")    \
  X(DEVICE_UNKNOWN, "device.unknown", NOTE, 'd', 57, "a DLDeviceType known here", "held, its memory cannot be read")   \
  X(DTYPE_UNKNOWN, "dtype.unknown", NOTE, 'u', 4, "a DLDataTypeCode known here", "held, without arithmetic")              \
  X(DATA_EMPTY, "data.empty", NOTE, 'p', 11, "NULL for a tensor of size 0",                                            \
    "never read; the producer should write NULL")                                                                      \
  X(DATA_256, "data.alignment.256", NOTE, 'p', 10, "data at a multiple of 256, the start moved by byte_offset",        \
    "hardly any producer complies, so no consumer should rely on it")                                                  \
  X(STRIDES_SINGLE, "strides.single", NOTE, 'd', 0, "the C order stride, as there is one element along this axis",     \
    "never used; consumers that compare strides may think it is not contiguous")                                       \
  X(STRIDES_NEGATIVE, "strides.negative", NOTE, 'd', 0, "at least 0 for the widest use",                               \
    "legal, but some consumers refuse or abort")                                                                       \
  X(STRIDES_ZERO, "strides.zero", NOTE, 'd', 0, "not 0 if it is to be written",                                        \
    "its elements share memory: copy before writing")                                                                  \
  X(STRIDES_OVERLAP, "strides.overlap", NOTE, 'd', 0, "elements that are certainly apart if it is to be written",      \
    "elements may share memory: copy before writing")
/* clang-format on */

/* clang-format off */
typedef enum {
  DLT_RULE_NONE = 0,
#define DLT_RULE_ENUMERATOR_(name, id, severity, print, standard, expected, remedy) DLT_RULE_##name,
  DLT_RULES(DLT_RULE_ENUMERATOR_)
#undef DLT_RULE_ENUMERATOR_
  DLT_RULE_COUNT
} dlt_rule;
/* clang-format on */

typedef struct {
  const char* id; /* short and stable: "shape.negative" */
  dlt_severity severity;
  char print;
  int standard;
  const char* expected; /* "" where it depends on the tensor: see dlt_format_finding */
  const char* remedy;
} dlt_rule_row;

typedef struct {
  dlt_rule number;
  dlt_severity severity;
  const char* rule;  /* dlt_rule_row.id */
  const char* field; /* as in the struct: "shape", "dtype.bits" */
  int32_t axis;      /* -1 where the field is not an array */
  int64_t value;     /* unsigned fields and addresses keep their bits */
  const char* text;  /* dlt_rule_row.expected */
} dlt_finding;

/* Where an accepted tensor lives, in bytes from `data` (byte_offset included): low <= first byte, high is one past the
 * last. `size` counts elements, `nbytes` is size times the item size, packed types packed. */
typedef struct {
  int64_t size;
  int64_t nbytes;
  int64_t low;
  int64_t high;
} dlt_extent;

/* Row: DLDataTypeCode, name, mask of legal widths from 1 to 64 (bit `width - 1`), whether 128 is legal.
 * Integers of 1, 2 and 4 bits are the packed types that have no code of their own; int128 is unambiguous and held.
 * float128 means three different formats in practice and float8 eight, so a plain kDLFloat is 16, 32 or 64. */
#define DLT_WIDTH_(bits) ((uint64_t)1 << ((bits) - 1))
#define DLT_INT_WIDTHS_ \
  (DLT_WIDTH_(1) | DLT_WIDTH_(2) | DLT_WIDTH_(4) | DLT_WIDTH_(8) | DLT_WIDTH_(16) | DLT_WIDTH_(32) | DLT_WIDTH_(64))
#define DLT_ANY_WIDTH_ (~(uint64_t)0)
/* clang-format off */
#define DLT_CODE_WIDTHS(X)                                             \
  X(0, "int", DLT_INT_WIDTHS_, 1)                                      \
  X(1, "uint", DLT_INT_WIDTHS_, 1)                                     \
  X(2, "float", DLT_WIDTH_(16) | DLT_WIDTH_(32) | DLT_WIDTH_(64), 0)   \
  X(3, "opaque handle", DLT_ANY_WIDTH_, 1)                             \
  X(4, "bfloat", DLT_WIDTH_(16), 0)                                    \
  X(5, "complex", DLT_WIDTH_(32) | DLT_WIDTH_(64), 1)                  \
  X(6, "bool", DLT_WIDTH_(8), 0)                                       \
  X(7, "float8_e3m4", DLT_WIDTH_(8), 0)                                \
  X(8, "float8_e4m3", DLT_WIDTH_(8), 0)                                \
  X(9, "float8_e4m3b11fnuz", DLT_WIDTH_(8), 0)                         \
  X(10, "float8_e4m3fn", DLT_WIDTH_(8), 0)                             \
  X(11, "float8_e4m3fnuz", DLT_WIDTH_(8), 0)                           \
  X(12, "float8_e5m2", DLT_WIDTH_(8), 0)                               \
  X(13, "float8_e5m2fnuz", DLT_WIDTH_(8), 0)                           \
  X(14, "float8_e8m0fnu", DLT_WIDTH_(8), 0)                            \
  X(15, "float6_e2m3fn", DLT_WIDTH_(6), 0)                             \
  X(16, "float6_e3m2fn", DLT_WIDTH_(6), 0)                             \
  X(17, "float4_e2m1fn", DLT_WIDTH_(4), 0)                             \
  X(18, "bcomplex", DLT_WIDTH_(32), 0)
/* clang-format on */

typedef struct {
  const char* name;
  uint64_t widths;
  int wide;
} dlt_code_row;

/* Device types as masks, bit by value: known at all, readable by the host, `data` being a handle. Next to the original
 * header there are no rows to compute them from; a test holds the literals to the rows. */
#define DLT_KNOWN_DEVICES_LITERAL UINT32_C(0x003fff9e)
#define DLT_HOST_DEVICES_LITERAL UINT32_C(0x0010080a)
#define DLT_HANDLE_DEVICES_LITERAL UINT32_C(0x00008190)
#ifdef DLT_DEVICE_TYPES
#define DLT_KNOWN_BIT_(name, value, text, host, handle) | (UINT32_C(1) << (value))
#define DLT_HOST_BIT_(name, value, text, host, handle) | ((uint32_t)(host) << (value))
#define DLT_HANDLE_BIT_(name, value, text, host, handle) | ((uint32_t)(handle) << (value))
#define DLT_KNOWN_DEVICES (UINT32_C(0) DLT_DEVICE_TYPES(DLT_KNOWN_BIT_))
#define DLT_HOST_DEVICES (UINT32_C(0) DLT_DEVICE_TYPES(DLT_HOST_BIT_))
#define DLT_HANDLE_DEVICES (UINT32_C(0) DLT_DEVICE_TYPES(DLT_HANDLE_BIT_))
#else
#define DLT_KNOWN_DEVICES DLT_KNOWN_DEVICES_LITERAL
#define DLT_HOST_DEVICES DLT_HOST_DEVICES_LITERAL
#define DLT_HANDLE_DEVICES DLT_HANDLE_DEVICES_LITERAL
#endif

#if defined(__GNUC__) || defined(__clang__)
#define DLT_FORCE_INLINE_ static inline __attribute__((always_inline))
#define DLT_COLD_ static __attribute__((noinline, cold, unused))
#define DLT_UNLIKELY_(condition) __builtin_expect(!!(condition), 0)
#else
#define DLT_FORCE_INLINE_ static inline
#define DLT_COLD_ static inline
#define DLT_UNLIKELY_(condition) (condition)
#endif

/* The rules by number: entry 0 is empty, the enumerators of dlt_rule index the rest. */
static inline const dlt_rule_row* dlt_rules(size_t* count) {
  /* clang-format off */
  static const dlt_rule_row rows[] = {
      {"", DLT_SEVERITY_NOTE, 'd', 0, "", ""},
#define DLT_RULE_ROW_(name, id, severity, print, standard, expected, remedy) \
  {id, DLT_SEVERITY_##severity, print, standard, expected, remedy},
      DLT_RULES(DLT_RULE_ROW_)
#undef DLT_RULE_ROW_
  };
  /* clang-format on */
  if (count != NULL) *count = sizeof(rows) / sizeof(rows[0]);
  return rows;
}

/* The widths that `code` may have, NULL for a code that is not known here. */
static inline const dlt_code_row* dlt_code(uint8_t code) {
  static const dlt_code_row rows[] = {
#define DLT_CODE_ROW_(value, name, widths, wide) {name, widths, wide},
      DLT_CODE_WIDTHS(DLT_CODE_ROW_)
#undef DLT_CODE_ROW_
  };
  return code < sizeof(rows) / sizeof(rows[0]) ? &rows[code] : NULL;
}

/* a * b in `product`, and whether the exact 128-bit product exceeds INT64_MAX. 2^63 as a factor (the magnitude of
 * INT64_MIN) may come out as the product 2^63 without a report: the caller looks at the top bit of its sum anyway. */
DLT_FORCE_INLINE_ int dlt_multiply_(uint64_t a, uint64_t b, uint64_t* product) {
#if (defined(__GNUC__) || defined(__clang__)) && !defined(DLT_PORTABLE)
  int64_t exact;
  const int over = __builtin_mul_overflow((int64_t)a, (int64_t)b, &exact);
  *product = (uint64_t)exact;
  return over;
#else
  const uint64_t a_high = a >> 32, a_low = a & UINT32_MAX, b_high = b >> 32, b_low = b & UINT32_MAX;
  const uint64_t bottom = a_low * b_low;
  const uint64_t middle = a_high * b_low + (bottom >> 32);
  const uint64_t middle_low = a_low * b_high + (middle & UINT32_MAX);
  const uint64_t high = a_high * b_high + (middle >> 32) + (middle_low >> 32);
  *product = (middle_low << 32) | (bottom & UINT32_MAX);
  return (high | (*product >> 63)) != 0;
#endif
}

DLT_FORCE_INLINE_ uint64_t dlt_magnitude_(int64_t value) { return value < 0 ? (uint64_t)0 - (uint64_t)value : (uint64_t)value; }

DLT_FORCE_INLINE_ int dlt_device_in_(const DLTensor* t, uint32_t mask) {
  uint32_t type = (uint32_t)t->device.device_type;
  return type < 32 && ((mask >> type) & 1) != 0;
}

/* Bytes of one element, types of fewer than 8 bits counted as padded: never less than either reading needs, so that *
 * the result does not depend on a flag that a legacy struct does not have. */
DLT_FORCE_INLINE_ uint64_t dlt_item_bytes_(DLDataType dtype) {
  return dtype.bits < 8 ? dtype.lanes : ((uint64_t)dtype.bits * dtype.lanes + 7) / 8;
}

DLT_FORCE_INLINE_ int dlt_bits_legal_(DLDataType dtype) {
  const dlt_code_row* row = dlt_code(dtype.code);
  if (row == NULL || row->widths == DLT_ANY_WIDTH_) return dtype.bits != 0;
  if (dtype.bits > 64) return row->wide && dtype.bits == 128;
  return dtype.bits != 0 && ((row->widths >> (dtype.bits - 1)) & 1) != 0;
}

DLT_FORCE_INLINE_ int dlt_pointer_bad_(const void* pointer, size_t alignment) {
  return (uintptr_t)pointer < DLT_MIN_ADDRESS || ((uintptr_t)pointer & (alignment - 1)) != 0;
}

typedef struct {
  dlt_finding* out;
  size_t capacity;
  size_t count;
} dlt_sink_;

DLT_COLD_ void dlt_push_(dlt_sink_* sink, dlt_rule rule, const char* field, int32_t axis, int64_t value) {
  if (sink->count < sink->capacity) {
    const dlt_rule_row* row = &dlt_rules(NULL)[rule];
    dlt_finding* finding = &sink->out[sink->count];
    finding->number = rule;
    finding->severity = row->severity;
    finding->rule = row->id;
    finding->field = field;
    finding->axis = axis;
    finding->value = value;
    finding->text = row->expected;
  }
  sink->count++;
}

/* The axis with the largest extent in memory, named when the tensor is too large. */
DLT_COLD_ int32_t dlt_widest_axis_(const DLTensor* t, int by_stride) {
  int32_t widest = 0;
  double most = -1;
  for (int32_t axis = 0; axis < t->ndim; axis++) {
    double reach = (double)t->shape[axis];
    if (by_stride) reach = (reach - 1) * (double)dlt_magnitude_(t->strides[axis]);
    if (reach > most) {
      most = reach;
      widest = axis;
    }
  }
  return widest;
}

/* Every rule of severity ERROR, once. Without a sink it returns the first; with one it goes on as far as can be read.
 * Both callers pass a constant, so the hot path compiles to a plain chain of compares. */
#define DLT_BROKEN_(rule, field, axis, value)                        \
  do {                                                               \
    if (sink == NULL) return rule;                                   \
    dlt_push_(sink, rule, field, (int32_t)(axis), (int64_t)(value)); \
  } while (0)

DLT_FORCE_INLINE_ dlt_rule dlt_check_rules_(const DLTensor* t, dlt_sink_* sink) {
  const int32_t ndim = t->ndim;
  const int64_t* const shape = t->shape;
  const int64_t* const strides = t->strides;
  int readable = 1;

  if (DLT_UNLIKELY_((uint32_t)ndim > DLT_MAX_NDIM)) {
    DLT_BROKEN_(DLT_RULE_NDIM, "ndim", -1, ndim);
    readable = 0;
  } else if (ndim > 0) {
    if (DLT_UNLIKELY_(dlt_pointer_bad_(shape, sizeof(void*)))) {
      DLT_BROKEN_(shape == NULL ? DLT_RULE_SHAPE_NULL : DLT_RULE_SHAPE_POINTER, "shape", -1, (uintptr_t)shape);
      readable = 0;
    }
    if (DLT_UNLIKELY_(strides != NULL && dlt_pointer_bad_(strides, sizeof(void*)))) {
      DLT_BROKEN_(DLT_RULE_STRIDES_POINTER, "strides", -1, (uintptr_t)strides);
      readable = 0;
    }
  }
  if (DLT_UNLIKELY_(!dlt_bits_legal_(t->dtype))) DLT_BROKEN_(DLT_RULE_DTYPE_BITS, "dtype.bits", -1, t->dtype.bits);
  if (DLT_UNLIKELY_(t->dtype.lanes == 0)) DLT_BROKEN_(DLT_RULE_DTYPE_LANES, "dtype.lanes", -1, 0);
  if (DLT_UNLIKELY_((int32_t)t->device.device_type <= 0))
    DLT_BROKEN_(DLT_RULE_DEVICE_TYPE, "device.device_type", -1, (int32_t)t->device.device_type);
  if (DLT_UNLIKELY_(t->device.device_id < 0)) DLT_BROKEN_(DLT_RULE_DEVICE_ID, "device.device_id", -1, t->device.device_id);

  const int host = dlt_device_in_(t, DLT_HOST_DEVICES);
  const uint64_t limit = host ? (uint64_t)DLT_MAX_HOST_EXTENT : (uint64_t)INT64_MAX;
  if (DLT_UNLIKELY_(t->byte_offset > limit)) {
    DLT_BROKEN_(DLT_RULE_BYTE_OFFSET, "byte_offset", -1, t->byte_offset);
    readable = 0;
  }
  if (!readable) return DLT_RULE_NONE;

  /* Products that leave int64 are only remembered: a later 0 makes the tensor empty, and then nothing was wrong. */
  uint64_t size = 1, below = 0, above = 0;
  int empty = 0, size_over = 0, reach_over = 0;
  for (int32_t axis = 0; axis < ndim; axis++) {
    const int64_t n = shape[axis];
    if (DLT_UNLIKELY_(n < 0)) {
      DLT_BROKEN_(DLT_RULE_SHAPE_NEGATIVE, "shape", axis, n);
      readable = 0;
    }
    empty |= n == 0;
    size_over |= dlt_multiply_(size, (uint64_t)n, &size);
    if (strides != NULL && n > 1) {
      const int64_t stride = strides[axis];
      uint64_t reach;
      reach_over |= dlt_multiply_((uint64_t)n - 1, dlt_magnitude_(stride), &reach);
      if (stride < 0) {
        below += reach;
      } else {
        above += reach;
      }
      reach_over |= ((below | above) >> 63) != 0;
    }
  }
  const uint64_t item = dlt_item_bytes_(t->dtype);
  if (!readable || empty || item == 0) return DLT_RULE_NONE;

  uint64_t bytes;
  const int bytes_over = dlt_multiply_(size, item, &bytes);
  if (DLT_UNLIKELY_(size_over | bytes_over)) {
    const int32_t axis = sink == NULL ? 0 : dlt_widest_axis_(t, 0); /* one element is never too much: ndim > 0 */
    DLT_BROKEN_(size_over ? DLT_RULE_SHAPE_SIZE : DLT_RULE_SHAPE_BYTES, "shape", axis, shape[axis]);
  }
  if (strides == NULL) {
    above = size - 1;
    reach_over = size_over;
  }
  reach_over |= dlt_multiply_(below, item, &below);
  reach_over |= dlt_multiply_(above, item, &above);
  reach_over |= above > (uint64_t)INT64_MAX - item; /* item is below 2^22 */
  above += item;
  if (DLT_UNLIKELY_(reach_over || below + above > limit)) {
    const int32_t axis = sink == NULL ? 0 : dlt_widest_axis_(t, strides != NULL);
    DLT_BROKEN_(DLT_RULE_EXTENT, strides != NULL ? "strides" : "shape", axis, (strides != NULL ? strides : shape)[axis]);
    return DLT_RULE_NONE;
  }
  if (DLT_UNLIKELY_(t->byte_offset > (uint64_t)INT64_MAX - above)) {
    DLT_BROKEN_(DLT_RULE_BYTE_OFFSET, "byte_offset", -1, t->byte_offset);
    return DLT_RULE_NONE;
  }
  if (DLT_UNLIKELY_(t->data == NULL)) {
    DLT_BROKEN_(DLT_RULE_DATA_NULL, "data", -1, 0);
    return DLT_RULE_NONE;
  }
  /* A handle is not an address: only the offset can step outside. On a device unknown here nothing is known. */
  if (dlt_device_in_(t, DLT_KNOWN_DEVICES)) {
    const uint64_t base = dlt_device_in_(t, DLT_HANDLE_DEVICES) ? 0 : (uint64_t)(uintptr_t)t->data;
    const uint64_t start = base + t->byte_offset, last = start + above - 1;
    if (DLT_UNLIKELY_(start < below + (host ? DLT_MIN_ADDRESS : 0) || last < base || (uintptr_t)last != last))
      DLT_BROKEN_(DLT_RULE_DATA_RANGE, "data", -1, (uintptr_t)t->data);
  }
  return DLT_RULE_NONE;
}
#undef DLT_BROKEN_

/* Whether `pointer` can be the address of a managed tensor struct at all: 0 or DLT_RULE_POINTER. */
static inline int dlt_check_pointer(const void* pointer) {
  return dlt_pointer_bad_(pointer, sizeof(void*)) ? DLT_RULE_POINTER : DLT_RULE_NONE;
}

/* Whether a managed struct is of the kind that its capsule's name says: 0 or DLT_RULE_LAYOUT. A versioned struct begins
 * with two small numbers, a legacy one with an address (or a handle, which may be small). This is a heuristic, but it
 * catches the usual mix-up early: the deleter of the other layout is at another offset, and calling that field
 * crashes. */
static inline int dlt_check_layout(const void* managed, int versioned) {
  const DLPackVersion* head = (const DLPackVersion*)managed;
  if (head->minor >= 4096 || head->major >= 256) return versioned ? DLT_RULE_LAYOUT : DLT_RULE_NONE;
  /* Both are small. In a legacy struct such a value is NULL, a handle, or an address that another rule refuses. */
  if (versioned || head->major == 0 || head->major >= 16) return DLT_RULE_NONE;
  return dlt_device_in_((const DLTensor*)managed, DLT_HANDLE_DEVICES) ? DLT_RULE_NONE : DLT_RULE_LAYOUT;
}

/* 0 or DLT_RULE_VERSION_MAJOR. After a refusal only the deleter may be touched: the layout is another one. */
static inline int dlt_check_version(DLPackVersion version) {
  return version.major != 1 ? DLT_RULE_VERSION_MAJOR : DLT_RULE_NONE;
}

/* 0 when the tensor can be used, else the number of the first rule it breaks. `t` must be readable. */
static inline int dlt_check_tensor(const DLTensor* t) { return (int)dlt_check_rules_(t, NULL); }

/* Whether two elements may share memory: exact for "no", a guess for "yes", as the exact answer is NP-hard. */
DLT_COLD_ int32_t dlt_overlapping_axis_(const DLTensor* t) {
  int32_t order[DLT_MAX_NDIM];
  int32_t count = 0;
  uint64_t reach = 0;
  for (int32_t axis = 0; axis < t->ndim; axis++) {
    if (t->shape[axis] < 2 || t->strides[axis] == 0) continue; /* zero strides have a finding of their own */
    int32_t place = count++;
    for (; place > 0 && dlt_magnitude_(t->strides[order[place - 1]]) > dlt_magnitude_(t->strides[axis]); place--)
      order[place] = order[place - 1];
    order[place] = axis;
  }
  for (int32_t place = 0; place < count; place++) {
    const uint64_t step = dlt_magnitude_(t->strides[order[place]]);
    if (step <= reach) return order[place];
    reach += step * (uint64_t)(t->shape[order[place]] - 1);
  }
  return -1;
}

DLT_COLD_ void dlt_remark_(const DLTensor* t, const DLPackVersion* version, uint64_t flags, dlt_sink_* sink) {
  const DLDataType dtype = t->dtype;
  const int host = dlt_device_in_(t, DLT_HOST_DEVICES), known = dlt_device_in_(t, DLT_KNOWN_DEVICES);
  int64_t size = 1;
  int empty = 0;
  for (int32_t axis = 0; axis < t->ndim; axis++) empty |= t->shape[axis] == 0;

  if (t->ndim > 0 && t->strides == NULL && version != NULL && version->minor >= 2)
    dlt_push_(sink, DLT_RULE_STRIDES_NULL, "strides", -1, 0);
  if ((flags & ~DLT_KNOWN_FLAGS) != 0) dlt_push_(sink, DLT_RULE_FLAGS_UNKNOWN, "flags", -1, (int64_t)flags);
  if ((flags & DLT_FLAG_PADDED) != 0 && dtype.bits >= 8) dlt_push_(sink, DLT_RULE_FLAGS_PADDED, "flags", -1, (int64_t)flags);
  if (host && t->device.device_id > 0) dlt_push_(sink, DLT_RULE_DEVICE_ID_HOST, "device.device_id", -1, t->device.device_id);
  if (dtype.lanes > 1 && (dtype.code == 5 || dtype.code == 6 || dtype.code == 18))
    dlt_push_(sink, DLT_RULE_DTYPE_LANES_SINGLE, "dtype.lanes", -1, dtype.lanes);
  if (known && !dlt_device_in_(t, DLT_HANDLE_DEVICES) && !empty) {
    /* Complex elements are aligned as their parts, lanes as one lane: the lowest bit set says how far that goes. */
    const uint64_t width = dtype.code == 5 || dtype.code == 18 ? dtype.bits / 16u : (dtype.bits + 7u) / 8u;
    const uint64_t alignment = width & (0 - width);
    if ((((uint64_t)(uintptr_t)t->data + t->byte_offset) & (alignment - 1)) != 0)
      dlt_push_(sink, DLT_RULE_DATA_ALIGNMENT, "data", -1, (int64_t)(uintptr_t)t->data);
    if (((uintptr_t)t->data & 255) != 0) dlt_push_(sink, DLT_RULE_DATA_256, "data", -1, (int64_t)(uintptr_t)t->data);
  }
  if (version != NULL && version->minor > 3) dlt_push_(sink, DLT_RULE_VERSION_MINOR, "version.minor", -1, version->minor);
  if (!known) dlt_push_(sink, DLT_RULE_DEVICE_UNKNOWN, "device.device_type", -1, (int32_t)t->device.device_type);
  if (dlt_code(dtype.code) == NULL) dlt_push_(sink, DLT_RULE_DTYPE_UNKNOWN, "dtype.code", -1, dtype.code);
  if (empty && t->data != NULL) dlt_push_(sink, DLT_RULE_DATA_EMPTY, "data", -1, (int64_t)(uintptr_t)t->data);
  if (t->strides == NULL || empty) return;
  for (int32_t axis = t->ndim - 1; axis >= 0; axis--) {
    const int64_t n = t->shape[axis], stride = t->strides[axis];
    if (n == 1 && stride != size) dlt_push_(sink, DLT_RULE_STRIDES_SINGLE, "strides", axis, stride);
    if (n > 1 && stride < 0) dlt_push_(sink, DLT_RULE_STRIDES_NEGATIVE, "strides", axis, stride);
    if (n > 1 && stride == 0) dlt_push_(sink, DLT_RULE_STRIDES_ZERO, "strides", axis, stride);
    size *= n;
  }
  const int32_t axis = dlt_overlapping_axis_(t);
  if (axis >= 0) dlt_push_(sink, DLT_RULE_STRIDES_OVERLAP, "strides", axis, t->strides[axis]);
}

/* Write the first `capacity` findings to `out` and return how many there are. Errors come first, in the order in which
 * dlt_check_tensor looks; warnings and notes only about a tensor that can be used. `version` NULL means a legacy
 * struct, whose `flags` are 0. */
static inline size_t dlt_validate_tensor(const DLTensor* t, const DLPackVersion* version, uint64_t flags, dlt_finding* out,
                                         size_t capacity) {
  dlt_sink_ sink;
  sink.out = out;
  sink.capacity = capacity;
  sink.count = 0;
  if (version != NULL && dlt_check_version(*version) != 0) {
    dlt_push_(&sink, DLT_RULE_VERSION_MAJOR, "version.major", -1, version->major);
    return sink.count;
  }
  dlt_check_rules_(t, &sink);
  if (sink.count == 0) dlt_remark_(t, version, flags, &sink);
  return sink.count;
}

/* As dlt_check_tensor, and for a tensor that passes the bytes it reaches: packed types packed, unless `flags` say
 * that each element has a byte of its own. */
static inline int dlt_measure_tensor(const DLTensor* t, uint64_t flags, dlt_extent* extent) {
  const int rule = dlt_check_tensor(t);
  if (rule != 0) return rule;
  /* Packed elements may begin inside a byte, and what was accepted may reach 2^63 bytes, too many to count in bits:
   * `unit` elements are `width` whole bytes, the few beside them are rounded outwards. */
  const int packed = t->dtype.bits < 8 && (flags & DLT_FLAG_PADDED) == 0;
  const uint64_t unit = packed ? 8 : 1;
  const uint64_t width = packed ? (uint64_t)t->dtype.bits * t->dtype.lanes : dlt_item_bytes_(t->dtype);
  uint64_t size = 1, below = 0, above = 0;
  for (int32_t axis = 0; axis < t->ndim; axis++) {
    const uint64_t n = (uint64_t)t->shape[axis];
    if (n == 0) {
      extent->size = extent->nbytes = 0;
      extent->low = extent->high = (int64_t)t->byte_offset;
      return DLT_RULE_NONE;
    }
    size *= n;
    if (t->strides == NULL) continue;
    if (t->strides[axis] < 0) {
      below += (n - 1) * dlt_magnitude_(t->strides[axis]);
    } else {
      above += (n - 1) * dlt_magnitude_(t->strides[axis]);
    }
  }
  if (t->strides == NULL) above = size - 1;
  extent->size = (int64_t)size;
  extent->nbytes = (int64_t)(size / unit * width + (size % unit * width + unit - 1) / unit);
  extent->low = (int64_t)(t->byte_offset - (below / unit * width + (below % unit * width + unit - 1) / unit));
  extent->high = (int64_t)(t->byte_offset + (above / unit * width + ((above % unit + 1) * width + unit - 1) / unit));
  return DLT_RULE_NONE;
}

DLT_COLD_ void dlt_append_(char* buffer, size_t size, size_t* length, const char* text) {
  for (; *text != '\0'; text++, (*length)++)
    if (*length + 1 < size) buffer[*length] = *text;
}

/* "16, 32 or 64" */
DLT_COLD_ void dlt_append_widths_(char* buffer, size_t size, size_t* length, const dlt_code_row* row) {
  char number[8];
  int left = row->wide;
  for (unsigned bits = 1; bits <= 64; bits++) left += (int)((row->widths >> (bits - 1)) & 1);
  for (unsigned bits = 1; bits <= 128; bits++) {
    if (bits <= 64 ? ((row->widths >> (bits - 1)) & 1) == 0 : bits != 128 || !row->wide) continue;
    snprintf(number, sizeof(number), "%u", bits);
    dlt_append_(buffer, size, length, number);
    left--;
    dlt_append_(buffer, size, length, left > 1 ? ", " : left == 1 ? " or " : "");
  }
}

/* Write "shape[1]: expected at least 0, got -3 (rule shape.negative); remedy" into `buffer`, cut to `size` and always
 * ended by a NUL if size > 0. Return the length of the whole, as snprintf does. `t` may be NULL when the finding is
 * about a pointer or a version. */
DLT_COLD_ size_t dlt_format_finding(const dlt_finding* finding, const DLTensor* t, char* buffer, size_t size) {
  const dlt_rule_row* row = &dlt_rules(NULL)[finding->number];
  const int host = t != NULL && dlt_device_in_(t, DLT_HOST_DEVICES);
  char number[48];
  size_t length = 0;
  dlt_append_(buffer, size, &length, finding->field);
  if (finding->axis >= 0) {
    snprintf(number, sizeof(number), "[%" PRId32 "]", finding->axis);
    dlt_append_(buffer, size, &length, number);
  }
  dlt_append_(buffer, size, &length, ": expected ");
  if (finding->number == DLT_RULE_DTYPE_BITS && t != NULL) {
    const dlt_code_row* code = dlt_code(t->dtype.code);
    if (code == NULL || code->widths == DLT_ANY_WIDTH_) {
      dlt_append_(buffer, size, &length, "at least 1");
    } else {
      dlt_append_widths_(buffer, size, &length, code);
      dlt_append_(buffer, size, &length, " for ");
      dlt_append_(buffer, size, &length, code->name);
    }
  } else if (finding->number == DLT_RULE_BYTE_OFFSET) {
    dlt_append_(buffer, size, &length, host ? "at most 2^47 bytes" : "at most 2^63 - 1 bytes");
  } else if (finding->number == DLT_RULE_EXTENT) {
    dlt_append_(buffer, size, &length, "at most ");
    dlt_append_(buffer, size, &length, host ? "2^47" : "2^63 - 1");
    dlt_append_(buffer, size, &length, " bytes from the first element to the last");
  } else if (finding->number == DLT_RULE_DATA_RANGE) {
    dlt_append_(buffer, size, &length,
                t != NULL && dlt_device_in_(t, DLT_HANDLE_DEVICES) ? "every element at or after the start of the buffer"
                                                                   : "every element inside the address space");
  } else {
    dlt_append_(buffer, size, &length, row->expected);
  }
  dlt_append_(buffer, size, &length, ", got ");
  if (row->print == 'p' && finding->value == 0) {
    snprintf(number, sizeof(number), "NULL");
  } else if (row->print == 'p') {
    snprintf(number, sizeof(number), "address 0x%" PRIx64, (uint64_t)finding->value);
  } else if (row->print == 'u') {
    snprintf(number, sizeof(number), "%" PRIu64, (uint64_t)finding->value);
  } else {
    snprintf(number, sizeof(number), "%" PRId64, finding->value);
  }
  dlt_append_(buffer, size, &length, number);
  if (t != NULL && finding->number == DLT_RULE_EXTENT) {
    snprintf(number, sizeof(number), " with shape[%" PRId32 "] = %" PRId64, finding->axis, t->shape[finding->axis]);
    dlt_append_(buffer, size, &length, number);
  }
  dlt_append_(buffer, size, &length, " (rule ");
  dlt_append_(buffer, size, &length, row->id);
  dlt_append_(buffer, size, &length, "); ");
  dlt_append_(buffer, size, &length, row->remedy);
  if (size > 0) buffer[length < size ? length : size - 1] = '\0';
  return length;
}

/* The sentence for the first rule that `t` breaks, "" for a tensor that can be used. Returns as dlt_format_finding. */
DLT_COLD_ size_t dlt_explain_tensor(const DLTensor* t, char* buffer, size_t size) {
  dlt_finding finding;
  if (size > 0) buffer[0] = '\0';
  if (dlt_check_tensor(t) == DLT_RULE_NONE) return 0;
  dlt_validate_tensor(t, NULL, 0, &finding, 1);
  return dlt_format_finding(&finding, t, buffer, size);
}

#endif /* DLTENSOR_VALIDATE_H_ */
