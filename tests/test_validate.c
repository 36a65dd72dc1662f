/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of validate.h broken at least once, and every legal oddity let through: one row each, in the common
 * subset of C99 and C++17. Run by test_validate.py, which also compiles it with the original dlpack.h. */
#include <stdio.h>
#include <string.h>

#include "dltensor/validate.h"

enum { END, DATA, DEVICE, ID, NDIM, CODE, BITS, LANES, SHAPE_AT, SHAPE, STRIDES_AT, STRIDES, OFFSET, MAJOR, MINOR, FLAGS };

#define MIN INT64_MIN
#define MAX INT64_MAX
#define P(power) ((int64_t)1 << (power))

typedef struct {
  int field;
  int index;
  int64_t value;
} edit;

/* What is changed in a sound float32 tensor of shape (2, 3), the rule that is then broken first, and the sentence up
 * to its rule id. */
typedef struct {
  const char* name;
  dlt_rule rule;
  const char* sentence;
  edit edits[8];
} verdict;

static const verdict verdicts[] = {
    {"sound", DLT_RULE_NONE, "", {{END, 0, 0}}},
    {"1 ndim -1", DLT_RULE_NDIM, "ndim: expected 0 to 64, got -1", {{NDIM, 0, -1}}},
    {"2 ndim INT_MIN", DLT_RULE_NDIM, "ndim: expected 0 to 64, got -2147483648", {{NDIM, 0, INT32_MIN}}},
    {"3 ndim 65", DLT_RULE_NDIM, "ndim: expected 0 to 64, got 65", {{NDIM, 0, 65}}},
    {"3 ndim 1000", DLT_RULE_NDIM, "ndim: expected 0 to 64, got 1000", {{NDIM, 0, 1000}}},
    {"3 ndim 64", DLT_RULE_NONE, "", {{NDIM, 0, 64}}},
    {"4 ndim INT_MAX", DLT_RULE_NDIM, "ndim: expected 0 to 64, got 2147483647", {{NDIM, 0, INT32_MAX}}},
    {"5 shape NULL", DLT_RULE_SHAPE_NULL, "shape: expected a pointer to ndim integers, got NULL", {{SHAPE_AT, 0, 0}}},
    {"5 shape 16",
     DLT_RULE_SHAPE_POINTER,
     "shape: expected an aligned address of at least 4096, got address 0x10",
     {{SHAPE_AT, 0, 16}}},
    {"5 shape misaligned",
     DLT_RULE_SHAPE_POINTER,
     "shape: expected an aligned address of at least 4096, got address 0x12345671",
     {{SHAPE_AT, 0, 0x12345671}}},
    {"5 strides 8",
     DLT_RULE_STRIDES_POINTER,
     "strides: expected NULL or an aligned address of at least 4096, got address 0x8",
     {{STRIDES_AT, 0, 8}}},
    {"6 shape NULL, ndim 0", DLT_RULE_NONE, "", {{NDIM, 0, 0}, {SHAPE_AT, 0, 0}, {STRIDES_AT, 0, 0}}},
    {"6 shape junk, ndim 0", DLT_RULE_NONE, "", {{NDIM, 0, 0}, {SHAPE_AT, 0, 3}, {STRIDES_AT, 0, 5}}},
    {"7 strides NULL", DLT_RULE_NONE, "", {{STRIDES_AT, 0, 0}}},
    {"8 negative dim", DLT_RULE_SHAPE_NEGATIVE, "shape[1]: expected at least 0, got -3", {{SHAPE, 1, -3}}},
    {"9 two negative dims", DLT_RULE_SHAPE_NEGATIVE, "shape[0]: expected at least 0, got -2", {{SHAPE, 0, -2}, {SHAPE, 1, -3}}},
    {"9 negative beside zero",
     DLT_RULE_SHAPE_NEGATIVE,
     "shape[1]: expected at least 0, got -3",
     {{SHAPE, 0, 0}, {SHAPE, 1, -3}}},
    {"10 dim INT64_MIN", DLT_RULE_SHAPE_NEGATIVE, "shape[0]: expected at least 0, got -9223372036854775808", {{SHAPE, 0, MIN}}},
    {"11 numel 2^64, strides 0",
     DLT_RULE_SHAPE_SIZE,
     "shape[0]: expected at most 9223372036854775807 elements in all, got 4294967296",
     {{SHAPE, 0, P(32)}, {SHAPE, 1, P(32)}, {STRIDES, 0, 0}, {STRIDES, 1, 0}}},
    {"12 numel 2^64, strides NULL",
     DLT_RULE_SHAPE_SIZE,
     "shape[1]: expected at most 9223372036854775807 elements in all, got 8589934592",
     {{SHAPE, 0, P(31)}, {SHAPE, 1, P(33)}, {STRIDES_AT, 0, 0}}},
    {"13 nbytes overflow",
     DLT_RULE_SHAPE_BYTES,
     "shape[0]: expected at most 9223372036854775807 bytes in all, got 2305843009213693952",
     {{SHAPE, 0, P(61)}, {SHAPE, 1, 1}, {BITS, 0, 64}, {STRIDES, 0, 1}, {STRIDES, 1, 1}}},
    {"13 nbytes overflow, strides 0",
     DLT_RULE_SHAPE_BYTES,
     "shape[0]: expected at most 9223372036854775807 bytes in all, got 2305843009213693952",
     {{SHAPE, 0, P(61)}, {SHAPE, 1, 1}, {BITS, 0, 64}, {STRIDES, 0, 0}}},
    {"14 product wraps to small",
     DLT_RULE_SHAPE_SIZE,
     "shape[0]: expected at most 9223372036854775807 elements in all, got 6148914691236517206",
     {{SHAPE, 0, INT64_C(6148914691236517206)}, {SHAPE, 1, 6}}},
    {"15 overflow times zero",
     DLT_RULE_NONE,
     "",
     {{NDIM, 0, 3}, {SHAPE, 0, MAX}, {SHAPE, 1, MAX}, {SHAPE, 2, 0}, {STRIDES, 0, MAX}, {STRIDES, 2, MIN}}},
    {"15 zero first", DLT_RULE_NONE, "", {{NDIM, 0, 3}, {SHAPE, 0, 0}, {SHAPE, 1, MAX}, {SHAPE, 2, MAX}, {DATA, 0, 0}}},
    {"16 10^12 elements in a small buffer cannot be known", DLT_RULE_NONE, "", {{SHAPE, 0, INT64_C(1000000000000)}}},
    {"17 stride 2^60",
     DLT_RULE_EXTENT,
     "strides[0]: expected at most 2^47 bytes from the first element to the last, got 1152921504606846976 with "
     "shape[0] = 2",
     {{STRIDES, 0, P(60)}}},
    {"17 stride 2^60 on a device", DLT_RULE_NONE, "", {{DEVICE, 0, 2}, {STRIDES, 0, P(60)}}},
    {"17 stride 2^61 on a device",
     DLT_RULE_EXTENT,
     "strides[0]: expected at most 2^63 - 1 bytes from the first element to the last, got 2305843009213693952 with "
     "shape[0] = 2",
     {{DEVICE, 0, 2}, {STRIDES, 0, P(61)}}},
    {"17 extent 2^47", DLT_RULE_NONE, "", {{SHAPE, 0, P(45)}, {SHAPE, 1, 1}, {STRIDES, 0, 1}}},
    {"17 extent 2^47 + 4",
     DLT_RULE_EXTENT,
     "strides[0]: expected at most 2^47 bytes from the first element to the last, got 1 with shape[0] = 35184372088833",
     {{SHAPE, 0, P(45) + 1}, {SHAPE, 1, 1}, {STRIDES, 0, 1}}},
    {"17 extent 2^47 + 4, strides NULL",
     DLT_RULE_EXTENT,
     "shape[0]: expected at most 2^47 bytes from the first element to the last, got 35184372088833 with "
     "shape[0] = 35184372088833",
     {{SHAPE, 0, P(45) + 1}, {SHAPE, 1, 1}, {STRIDES_AT, 0, 0}}},
    {"17 both ways, 2^46 and 2^46",
     DLT_RULE_EXTENT,
     "strides[0]: expected at most 2^47 bytes from the first element to the last, got -17592186044416 with "
     "shape[0] = 2",
     {{SHAPE, 1, 2}, {STRIDES, 0, -P(44)}, {STRIDES, 1, P(44)}}},
    {"18 stride INT64_MAX",
     DLT_RULE_EXTENT,
     "strides[1]: expected at most 2^47 bytes from the first element to the last, got 9223372036854775807 with "
     "shape[1] = 3",
     {{STRIDES, 1, MAX}}},
    {"19 stride INT64_MIN on 3",
     DLT_RULE_EXTENT,
     "strides[1]: expected at most 2^47 bytes from the first element to the last, got -9223372036854775808 with "
     "shape[1] = 3",
     {{STRIDES, 1, MIN}}},
    {"19 stride INT64_MIN on 2, bytes on a device",
     DLT_RULE_EXTENT,
     "strides[0]: expected at most 2^63 - 1 bytes from the first element to the last, got -9223372036854775808 with "
     "shape[0] = 2",
     {{STRIDES, 0, MIN}, {DEVICE, 0, 2}, {BITS, 0, 8}, {CODE, 0, 0}}},
    {"18 sum of strides leaves 63 bits",
     DLT_RULE_EXTENT,
     "strides[0]: expected at most 2^63 - 1 bytes from the first element to the last, got 4611686018427387904 with "
     "shape[0] = 2",
     {{DEVICE, 0, 2}, {BITS, 0, 8}, {CODE, 0, 0}, {SHAPE, 1, 2}, {STRIDES, 0, P(62)}, {STRIDES, 1, P(62)}}},
    {"18 huge stride, one element", DLT_RULE_NONE, "", {{SHAPE, 0, 1}, {STRIDES, 0, MIN}}},
    {"20 negative stride", DLT_RULE_NONE, "", {{STRIDES, 1, -1}}},
    {"21 zero strides", DLT_RULE_NONE, "", {{STRIDES, 0, 0}, {STRIDES, 1, 0}}},
    {"22 data NULL", DLT_RULE_DATA_NULL, "data: expected an address, as the tensor has elements, got NULL", {{DATA, 0, 0}}},
    {"22 data NULL on a handle device",
     DLT_RULE_DATA_NULL,
     "data: expected an address, as the tensor has elements, got NULL",
     {{DATA, 0, 0}, {DEVICE, 0, 7}}},
    {"22 data NULL, 0-d",
     DLT_RULE_DATA_NULL,
     "data: expected an address, as the tensor has elements, got NULL",
     {{DATA, 0, 0}, {NDIM, 0, 0}}},
    {"23 data NULL, empty", DLT_RULE_NONE, "", {{DATA, 0, 0}, {SHAPE, 0, 0}}},
    {"24 data, empty", DLT_RULE_NONE, "", {{SHAPE, 1, 0}}},
    {"25 misaligned", DLT_RULE_NONE, "", {{DATA, 0, 0x100001}}},
    {"26 byte_offset 3", DLT_RULE_NONE, "", {{OFFSET, 0, 3}}},
    {"27 byte_offset 2^64-1",
     DLT_RULE_BYTE_OFFSET,
     "byte_offset: expected at most 2^47 bytes, got 18446744073709551615",
     {{OFFSET, 0, -1}}},
    {"28 byte_offset 2^63",
     DLT_RULE_BYTE_OFFSET,
     "byte_offset: expected at most 2^47 bytes, got 9223372036854775808",
     {{OFFSET, 0, MIN}}},
    {"28 byte_offset 2^63 on a device",
     DLT_RULE_BYTE_OFFSET,
     "byte_offset: expected at most 2^63 - 1 bytes, got 9223372036854775808",
     {{OFFSET, 0, MIN}, {DEVICE, 0, 2}}},
    {"28 byte_offset 2^63-1 on a device",
     DLT_RULE_BYTE_OFFSET,
     "byte_offset: expected at most 2^63 - 1 bytes, got 9223372036854775807",
     {{OFFSET, 0, MAX}, {DEVICE, 0, 9999}}},
    {"28 offset wraps the address",
     DLT_RULE_DATA_RANGE,
     "data: expected every element inside the address space, got address 0xffffffffffffff00",
     {{DATA, 0, -256}, {OFFSET, 0, 512}, {DEVICE, 0, 2}}},
    {"28 the last element wraps",
     DLT_RULE_DATA_RANGE,
     "data: expected every element inside the address space, got address 0xfffffffffffffff0",
     {{DATA, 0, -16}}},
    {"28 the last byte fits", DLT_RULE_NONE, "", {{DATA, 0, -24}}},
    {"20 before the first page",
     DLT_RULE_DATA_RANGE,
     "data: expected every element inside the address space, got address 0x1000",
     {{DATA, 0, 4096}, {STRIDES, 1, -1}}},
    {"20 before the buffer of a handle",
     DLT_RULE_DATA_RANGE,
     "data: expected every element at or after the start of the buffer, got address 0x100000",
     {{DEVICE, 0, 8}, {STRIDES, 1, -1}, {DATA, 0, 0x100000}}},
    {"20 at the start of the buffer of a handle", DLT_RULE_NONE, "", {{DEVICE, 0, 8}, {STRIDES, 1, -1}, {OFFSET, 0, 8}}},
    {"22 data in the first page",
     DLT_RULE_DATA_RANGE,
     "data: expected every element inside the address space, got address 0x40",
     {{DATA, 0, 64}}},
    {"22 a small handle", DLT_RULE_NONE, "", {{DATA, 0, 64}, {DEVICE, 0, 15}}},
    {"29 lanes 0", DLT_RULE_DTYPE_LANES, "dtype.lanes: expected at least 1, got 0", {{LANES, 0, 0}}},
    {"30 lanes 4", DLT_RULE_NONE, "", {{LANES, 0, 4}}},
    {"31 bits 0", DLT_RULE_DTYPE_BITS, "dtype.bits: expected 16, 32 or 64 for float, got 0", {{BITS, 0, 0}}},
    {"31 bits 0, unknown code", DLT_RULE_DTYPE_BITS, "dtype.bits: expected at least 1, got 0", {{CODE, 0, 99}, {BITS, 0, 0}}},
    {"31 bits 0, opaque handle", DLT_RULE_DTYPE_BITS, "dtype.bits: expected at least 1, got 0", {{CODE, 0, 3}, {BITS, 0, 0}}},
    {"32 int7",
     DLT_RULE_DTYPE_BITS,
     "dtype.bits: expected 1, 2, 4, 8, 16, 32, 64 or 128 for int, got 7",
     {{CODE, 0, 0}, {BITS, 0, 7}}},
    {"32 uint255",
     DLT_RULE_DTYPE_BITS,
     "dtype.bits: expected 1, 2, 4, 8, 16, 32, 64 or 128 for uint, got 255",
     {{CODE, 0, 1}, {BITS, 0, 255}}},
    {"32 float24", DLT_RULE_DTYPE_BITS, "dtype.bits: expected 16, 32 or 64 for float, got 24", {{BITS, 0, 24}}},
    {"32 float8", DLT_RULE_DTYPE_BITS, "dtype.bits: expected 16, 32 or 64 for float, got 8", {{BITS, 0, 8}}},
    {"32 float128", DLT_RULE_DTYPE_BITS, "dtype.bits: expected 16, 32 or 64 for float, got 128", {{BITS, 0, 128}}},
    {"32 bool32", DLT_RULE_DTYPE_BITS, "dtype.bits: expected 8 for bool, got 32", {{CODE, 0, 6}}},
    {"32 bf32", DLT_RULE_DTYPE_BITS, "dtype.bits: expected 16 for bfloat, got 32", {{CODE, 0, 4}}},
    {"32 complex16",
     DLT_RULE_DTYPE_BITS,
     "dtype.bits: expected 32, 64 or 128 for complex, got 16",
     {{CODE, 0, 5}, {BITS, 0, 16}}},
    {"32 fp8 of 6 bits", DLT_RULE_DTYPE_BITS, "dtype.bits: expected 8 for float8_e5m2, got 6", {{CODE, 0, 12}, {BITS, 0, 6}}},
    {"32 fp6 of 8 bits", DLT_RULE_DTYPE_BITS, "dtype.bits: expected 6 for float6_e2m3fn, got 8", {{CODE, 0, 15}, {BITS, 0, 8}}},
    {"32 fp4 of 8 bits", DLT_RULE_DTYPE_BITS, "dtype.bits: expected 4 for float4_e2m1fn, got 8", {{CODE, 0, 17}, {BITS, 0, 8}}},
    {"32 bcomplex64", DLT_RULE_DTYPE_BITS, "dtype.bits: expected 32 for bcomplex, got 64", {{CODE, 0, 18}, {BITS, 0, 64}}},
    {"32 int128", DLT_RULE_NONE, "", {{CODE, 0, 0}, {BITS, 0, 128}}},
    {"33 int4", DLT_RULE_NONE, "", {{CODE, 0, 0}, {BITS, 0, 4}}},
    {"33 uint1", DLT_RULE_NONE, "", {{CODE, 0, 1}, {BITS, 0, 1}}},
    {"33 fp4 x 2", DLT_RULE_NONE, "", {{CODE, 0, 17}, {BITS, 0, 4}, {LANES, 0, 2}}},
    {"33 fp6", DLT_RULE_NONE, "", {{CODE, 0, 16}, {BITS, 0, 6}}},
    {"34 bool1", DLT_RULE_DTYPE_BITS, "dtype.bits: expected 8 for bool, got 1", {{CODE, 0, 6}, {BITS, 0, 1}}},
    {"35 bool8", DLT_RULE_NONE, "", {{CODE, 0, 6}, {BITS, 0, 8}}},
    {"36 bf16", DLT_RULE_NONE, "", {{CODE, 0, 4}, {BITS, 0, 16}}},
    {"36 fp8", DLT_RULE_NONE, "", {{CODE, 0, 10}, {BITS, 0, 8}}},
    {"37 complex32", DLT_RULE_NONE, "", {{CODE, 0, 5}}},
    {"37 complex128", DLT_RULE_NONE, "", {{CODE, 0, 5}, {BITS, 0, 128}}},
    {"38 opaque handle", DLT_RULE_NONE, "", {{CODE, 0, 3}, {BITS, 0, 64}}},
    {"38 opaque handle of 200 bits", DLT_RULE_NONE, "", {{CODE, 0, 3}, {BITS, 0, 200}}},
    {"39 code 18", DLT_RULE_NONE, "", {{CODE, 0, 18}}},
    {"39 code 99", DLT_RULE_NONE, "", {{CODE, 0, 99}}},
    {"39 code 255 of 13 bits", DLT_RULE_NONE, "", {{CODE, 0, 255}, {BITS, 0, 13}}},
    {"40 device 0", DLT_RULE_DEVICE_TYPE, "device.device_type: expected at least 1, got 0", {{DEVICE, 0, 0}}},
    {"40 device -1", DLT_RULE_DEVICE_TYPE, "device.device_type: expected at least 1, got -1", {{DEVICE, 0, -1}}},
    {"40 device 9999", DLT_RULE_NONE, "", {{DEVICE, 0, 9999}}},
    {"40 device 22", DLT_RULE_NONE, "", {{DEVICE, 0, 22}}},
    {"41 CUDA", DLT_RULE_NONE, "", {{DEVICE, 0, 2}}},
    {"42 CPU id 7", DLT_RULE_NONE, "", {{ID, 0, 7}}},
    {"42 CPU id -5", DLT_RULE_DEVICE_ID, "device.device_id: expected at least 0, got -5", {{ID, 0, -5}}},
    {"42 CUDA id -1", DLT_RULE_DEVICE_ID, "device.device_id: expected at least 0, got -1", {{DEVICE, 0, 2}, {ID, 0, -1}}},
    {"45 CUDA host", DLT_RULE_NONE, "", {{DEVICE, 0, 3}}},
};

/* A tensor that passes, and everything there is to remark about it. */
typedef struct {
  const char* name;
  dlt_rule found[5];
  edit edits[6];
} remark;

static const remark remarks[] = {
    {"sound", {DLT_RULE_NONE}, {{END, 0, 0}}},
    {"7 strides NULL in 1.3", {DLT_RULE_STRIDES_NULL}, {{STRIDES_AT, 0, 0}}},
    {"7 strides NULL in 1.1", {DLT_RULE_NONE}, {{STRIDES_AT, 0, 0}, {MINOR, 0, 1}}},
    {"7 strides NULL in a legacy struct", {DLT_RULE_NONE}, {{STRIDES_AT, 0, 0}, {MAJOR, 0, 0}}},
    {"7 strides NULL, 0-d", {DLT_RULE_NONE}, {{STRIDES_AT, 0, 0}, {NDIM, 0, 0}}},
    {"46 flag bit 63", {DLT_RULE_FLAGS_UNKNOWN}, {{FLAGS, 0, MIN}}},
    {"46 known flags", {DLT_RULE_NONE}, {{FLAGS, 0, 3}}},
    {"33 padded int4", {DLT_RULE_NONE}, {{FLAGS, 0, 4}, {CODE, 0, 0}, {BITS, 0, 4}}},
    {"33 padded float32", {DLT_RULE_FLAGS_PADDED}, {{FLAGS, 0, 4}}},
    {"42 CPU id 7", {DLT_RULE_DEVICE_ID_HOST}, {{ID, 0, 7}}},
    {"42 CUDA id 7", {DLT_RULE_NONE}, {{ID, 0, 7}, {DEVICE, 0, 2}}},
    {"30 complex with lanes", {DLT_RULE_DTYPE_LANES_SINGLE}, {{CODE, 0, 5}, {LANES, 0, 2}}},
    {"30 bool with lanes", {DLT_RULE_DTYPE_LANES_SINGLE}, {{CODE, 0, 6}, {BITS, 0, 8}, {LANES, 0, 2}}},
    {"25 data at 2", {DLT_RULE_DATA_ALIGNMENT, DLT_RULE_DATA_256}, {{DATA, 0, 0x100002}}},
    {"25 byte_offset 2", {DLT_RULE_DATA_ALIGNMENT}, {{OFFSET, 0, 2}}},
    {"25 complex64 at 4", {DLT_RULE_DATA_256}, {{DATA, 0, 0x100004}, {CODE, 0, 5}, {BITS, 0, 64}}},
    {"25 int16 x 4 lanes at 2", {DLT_RULE_DATA_256}, {{DATA, 0, 0x100002}, {CODE, 0, 0}, {BITS, 0, 16}, {LANES, 0, 4}}},
    {"10 data at 64", {DLT_RULE_DATA_256}, {{DATA, 0, 0x100040}}},
    {"10 handles have no alignment", {DLT_RULE_NONE}, {{DATA, 0, 0x100041}, {DEVICE, 0, 8}}},
    {"50 minor 99", {DLT_RULE_VERSION_MINOR}, {{MINOR, 0, 99}}},
    {"40 device 9999", {DLT_RULE_DEVICE_UNKNOWN}, {{DEVICE, 0, 9999}}},
    {"40 device 5", {DLT_RULE_DEVICE_UNKNOWN}, {{DEVICE, 0, 5}}},
    {"39 code 99", {DLT_RULE_DTYPE_UNKNOWN}, {{CODE, 0, 99}}},
    {"24 data, empty", {DLT_RULE_DATA_EMPTY}, {{SHAPE, 0, 0}}},
    {"23 data NULL, empty, odd strides", {DLT_RULE_NONE}, {{SHAPE, 0, 0}, {DATA, 0, 0}, {STRIDES, 0, -9}}},
    {"odd stride, one element", {DLT_RULE_STRIDES_SINGLE}, {{SHAPE, 0, 1}, {STRIDES, 0, 7}}},
    {"20 negative stride", {DLT_RULE_STRIDES_NEGATIVE}, {{STRIDES, 1, -1}}},
    {"21 zero stride", {DLT_RULE_STRIDES_ZERO}, {{STRIDES, 0, 0}}},
    {"21 zero strides", {DLT_RULE_STRIDES_ZERO, DLT_RULE_STRIDES_ZERO}, {{STRIDES, 0, 0}, {STRIDES, 1, 0}}},
    {"21 windows overlap", {DLT_RULE_STRIDES_OVERLAP}, {{STRIDES, 0, 1}}},
    {"21 columns first", {DLT_RULE_NONE}, {{STRIDES, 0, 1}, {STRIDES, 1, 2}}},
    {"21 reversed and apart", {DLT_RULE_STRIDES_NEGATIVE}, {{STRIDES, 0, -3}}},
    {"an error hides remarks", {DLT_RULE_DTYPE_LANES}, {{LANES, 0, 0}, {FLAGS, 0, 8}}},
    {"several errors",
     {DLT_RULE_DTYPE_BITS, DLT_RULE_DTYPE_LANES, DLT_RULE_DEVICE_TYPE, DLT_RULE_SHAPE_NEGATIVE},
     {{BITS, 0, 3}, {LANES, 0, 0}, {DEVICE, 0, 0}, {SHAPE, 1, -1}}},
    {"errors where nothing can be read", {DLT_RULE_NDIM, DLT_RULE_DEVICE_ID}, {{NDIM, 0, 65}, {ID, 0, -1}}},
    {"47 major 2", {DLT_RULE_VERSION_MAJOR}, {{MAJOR, 0, 2}, {LANES, 0, 0}}},
};

/* Which bytes a tensor reaches, from `data`. */
typedef struct {
  const char* name;
  int64_t size, nbytes, low, high;
  edit edits[8];
} reach;

static const reach reaches[] = {
    {"sound", 6, 24, 0, 24, {{END, 0, 0}}},
    {"strides NULL", 6, 24, 0, 24, {{STRIDES_AT, 0, 0}}},
    {"0-d at 8", 1, 4, 8, 12, {{NDIM, 0, 0}, {OFFSET, 0, 8}}},
    {"empty", 0, 0, 5, 5, {{SHAPE, 1, 0}, {OFFSET, 0, 5}}},
    {"both ways", 6, 24, -12, 12, {{STRIDES, 0, -3}}},
    {"broadcast", 6, 24, 0, 4, {{STRIDES, 0, 0}, {STRIDES, 1, 0}}},
    {"int4 packed", 6, 3, 0, 3, {{CODE, 0, 0}, {BITS, 0, 4}}},
    {"int4 padded", 6, 6, 0, 6, {{CODE, 0, 0}, {BITS, 0, 4}, {FLAGS, 0, 4}}},
    {"fp6 packed, five of them", 5, 4, 0, 4, {{CODE, 0, 15}, {BITS, 0, 6}, {SHAPE, 0, 1}, {SHAPE, 1, 5}}},
    {"uint1 packed, back from the third",
     3,
     1,
     0,
     2,
     {{CODE, 0, 1}, {BITS, 0, 1}, {SHAPE, 0, 1}, {STRIDES, 1, -1}, {OFFSET, 0, 1}}},
    {"int4 x 2", 6, 6, 0, 6, {{CODE, 0, 0}, {BITS, 0, 4}, {LANES, 0, 2}}},
    {"packed 2^62 on a device",
     INT64_C(1) << 62,
     INT64_C(1) << 61,
     0,
     INT64_C(1) << 61,
     {{CODE, 0, 0}, {BITS, 0, 4}, {DEVICE, 0, 2}, {SHAPE, 0, INT64_C(1) << 62}, {SHAPE, 1, 1}, {STRIDES, 0, 1}}},
};

typedef struct {
  DLTensor tensor;
  DLPackVersion version;
  uint64_t flags;
  int64_t shape[64], strides[64];
} subject;

static int failures = 0;

static void fail(const char* name, const char* text) {
  printf("FAILED %s: %s\n", name, text);
  failures++;
}

static void prepare(subject* s, const edit* edits, size_t count) {
  memset(s, 0, sizeof(*s));
  for (int axis = 0; axis < 64; axis++) s->shape[axis] = s->strides[axis] = 1;
  s->shape[0] = 2;
  s->shape[1] = 3;
  s->strides[0] = 3;
  s->version.major = 1;
  s->version.minor = 3;
  s->tensor.data = (void*)(uintptr_t)0x100000; /* never read, so it need not be mapped */
  s->tensor.device.device_type = kDLCPU;
  s->tensor.ndim = 2;
  s->tensor.dtype.code = kDLFloat;
  s->tensor.dtype.bits = 32;
  s->tensor.dtype.lanes = 1;
  s->tensor.shape = s->shape;
  s->tensor.strides = s->strides;
  for (size_t i = 0; i < count && edits[i].field != END; i++) {
    const int64_t value = edits[i].value;
    const int32_t word = (int32_t)value;
    switch (edits[i].field) {
      case DATA: s->tensor.data = (void*)(uintptr_t)value; break;
      case DEVICE: memcpy(&s->tensor.device.device_type, &word, sizeof(word)); break;
      case ID: s->tensor.device.device_id = word; break;
      case NDIM: s->tensor.ndim = word; break;
      case CODE: s->tensor.dtype.code = (uint8_t)value; break;
      case BITS: s->tensor.dtype.bits = (uint8_t)value; break;
      case LANES: s->tensor.dtype.lanes = (uint16_t)value; break;
      case SHAPE_AT: s->tensor.shape = (int64_t*)(uintptr_t)value; break;
      case SHAPE: s->shape[edits[i].index] = value; break;
      case STRIDES_AT: s->tensor.strides = (int64_t*)(uintptr_t)value; break;
      case STRIDES: s->strides[edits[i].index] = value; break;
      case OFFSET: s->tensor.byte_offset = (uint64_t)value; break;
      case MAJOR: s->version.major = (uint32_t)value; break;
      case MINOR: s->version.minor = (uint32_t)value; break;
      case FLAGS: s->flags = (uint64_t)value; break;
      default: fail("prepare", "unknown field");
    }
  }
}

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

int main(void) {
  unsigned char seen[DLT_RULE_COUNT] = {0};
  dlt_finding found[200];
  char text[512], cut[16];
  subject s;
  size_t rules = 0;
  const dlt_rule_row* rule = dlt_rules(&rules);

  for (size_t i = 0; i < COUNT(verdicts); i++) {
    const verdict* row = &verdicts[i];
    prepare(&s, row->edits, COUNT(row->edits));
    const int first = dlt_check_tensor(&s.tensor);
    if (first != (int)row->rule) fail(row->name, rule[first].id);
    seen[first] = 1;
    const size_t length = dlt_explain_tensor(&s.tensor, text, sizeof(text));
    if (length != strlen(text)) fail(row->name, "dlt_explain_tensor returns another length than it wrote");
    char* end = strstr(text, " (rule ");
    if (first != DLT_RULE_NONE) {
      if (end == NULL || strncmp(end + 7, rule[first].id, strlen(rule[first].id)) != 0) fail(row->name, text);
      if (strstr(text, rule[first].remedy) == NULL) fail(row->name, text);
      if (end != NULL) *end = '\0';
    }
    if (strcmp(text, row->sentence) != 0) fail(row->name, text);
    const size_t count = dlt_validate_tensor(&s.tensor, NULL, 0, found, COUNT(found));
    int error = 0;
    for (size_t j = 0; j < count; j++) error |= found[j].severity == DLT_SEVERITY_ERROR;
    if (error != (first != DLT_RULE_NONE)) fail(row->name, "dlt_validate_tensor and dlt_check_tensor differ");
    if (error && found[0].number != row->rule) fail(row->name, "another rule comes first in dlt_validate_tensor");
  }

  for (size_t i = 0; i < COUNT(remarks); i++) {
    const remark* row = &remarks[i];
    prepare(&s, row->edits, COUNT(row->edits));
    const DLPackVersion* version = s.version.major == 0 ? NULL : &s.version;
    const size_t count = dlt_validate_tensor(&s.tensor, version, s.flags, found, COUNT(found));
    size_t expected = 0;
    while (expected < COUNT(row->found) && row->found[expected] != DLT_RULE_NONE) expected++;
    if (count != expected) fail(row->name, "another number of findings");
    for (size_t j = 0; j < count && j < expected; j++) {
      seen[found[j].number] = 1;
      if (found[j].number != row->found[j]) fail(row->name, found[j].rule);
      if (found[j].severity != rule[found[j].number].severity) fail(row->name, "severity");
      if (dlt_format_finding(&found[j], &s.tensor, text, sizeof(text)) < 30) fail(row->name, text);
    }
    if (dlt_validate_tensor(&s.tensor, version, s.flags, NULL, 0) != count) fail(row->name, "count depends on capacity");
  }

  for (size_t i = 0; i < COUNT(reaches); i++) {
    const reach* row = &reaches[i];
    dlt_extent extent;
    prepare(&s, row->edits, COUNT(row->edits));
    if (dlt_measure_tensor(&s.tensor, s.flags, &extent) != 0) fail(row->name, "refused");
    if (extent.size != row->size || extent.nbytes != row->nbytes || extent.low != row->low || extent.high != row->high) {
      snprintf(text, sizeof(text), "%lld elements, %lld bytes, from %lld to %lld", (long long)extent.size,
               (long long)extent.nbytes, (long long)extent.low, (long long)extent.high);
      fail(row->name, text);
    }
  }
  {
    const edit negative[] = {{SHAPE, 0, -1}};
    dlt_extent extent;
    prepare(&s, negative, 1);
    if (dlt_measure_tensor(&s.tensor, 0, &extent) != DLT_RULE_SHAPE_NEGATIVE) fail("measure", "a bad tensor passed");
    dlt_validate_tensor(&s.tensor, NULL, 0, found, 1);
    const size_t whole = dlt_format_finding(&found[0], &s.tensor, text, sizeof(text));
    if (dlt_format_finding(&found[0], &s.tensor, cut, sizeof(cut)) != whole) fail("cut", "length");
    if (strlen(cut) != sizeof(cut) - 1 || strncmp(cut, text, sizeof(cut) - 1) != 0) fail("cut", cut);
    if (dlt_format_finding(&found[0], NULL, NULL, 0) != whole) fail("cut", "size 0 and no tensor");
    if (dlt_explain_tensor(&s.tensor, NULL, 0) != whole) fail("explain", "size 0");
  }

  const DLPackVersion versions[] = {{0, 8}, {1, 0}, {1, 3}, {1, 99}, {2, 0}, {UINT32_MAX, 0}};
  const int wrong[] = {1, 0, 0, 0, 1, 1};
  for (size_t i = 0; i < COUNT(versions); i++)
    if (dlt_check_version(versions[i]) != (wrong[i] ? DLT_RULE_VERSION_MAJOR : 0)) fail("dlt_check_version", "wrong");
  if (dlt_check_pointer(&s) != 0) fail("dlt_check_pointer", "refuses a struct");
  const uintptr_t addresses[] = {0, 16, 4095, 4097, (uintptr_t)&s + 4};
  for (size_t i = 0; i < COUNT(addresses); i++) {
    const int said = dlt_check_pointer((const void*)addresses[i]);
    if (said != DLT_RULE_POINTER) fail("dlt_check_pointer", "passes what cannot be a struct");
    seen[said] = 1;
  }

  {
    union {
      DLManagedTensorVersioned versioned;
      DLManagedTensor legacy;
    } managed;
    memset(&managed, 0, sizeof(managed));
    managed.versioned.version = versions[2];
    if (dlt_check_layout(&managed, 1) != 0) fail("dlt_check_layout", "refuses a versioned struct");
    if (dlt_check_layout(&managed, 0) != DLT_RULE_LAYOUT) fail("dlt_check_layout", "versioned passes as legacy");
    managed.versioned.version = versions[4];
    if (dlt_check_layout(&managed, 1) != 0) fail("dlt_check_layout", "major 2 is a version, not a confusion");
    seen[DLT_RULE_LAYOUT] = 1;
    prepare(&s, NULL, 0);
    managed.legacy.dl_tensor = s.tensor;
    if (dlt_check_layout(&managed, 0) != 0) fail("dlt_check_layout", "refuses a legacy struct");
    if (dlt_check_layout(&managed, 1) != DLT_RULE_LAYOUT) fail("dlt_check_layout", "legacy passes as versioned");
    managed.legacy.dl_tensor.data = NULL;
    if (dlt_check_layout(&managed, 0) != 0) fail("dlt_check_layout", "refuses an empty legacy struct");
    managed.legacy.dl_tensor.data = (void*)(uintptr_t)1;
    managed.legacy.dl_tensor.device.device_type = kDLWebGPU;
    if (dlt_check_layout(&managed, 0) != 0) fail("dlt_check_layout", "refuses a small handle");
  }

  if (rules != DLT_RULE_COUNT) fail("dlt_rules", "count");
  for (size_t i = 1; i < rules; i++) {
    if (!seen[i]) fail(rule[i].id, "no row of this test breaks it");
    if (rule[i].remedy[0] == '\0' || strchr("dup", rule[i].print) == NULL) fail(rule[i].id, "incomplete row");
    for (size_t j = 1; j < i; j++)
      if (strcmp(rule[i].id, rule[j].id) == 0) fail(rule[i].id, "id used twice");
  }
  if (DLT_KNOWN_DEVICES != DLT_KNOWN_DEVICES_LITERAL || DLT_HOST_DEVICES != DLT_HOST_DEVICES_LITERAL ||
      DLT_HANDLE_DEVICES != DLT_HANDLE_DEVICES_LITERAL)
    fail("device masks", "the literals do not say what the rows of dlpack.h say");
#ifdef DLT_DATA_TYPE_CODES
#define ROW(enumerator, value) \
  if (dlt_code(value) == NULL || dlt_code(value)->name[0] == '\0') fail(#enumerator, "no row in DLT_CODE_WIDTHS");
  DLT_DATA_TYPE_CODES(ROW)
#endif
  printf("%d rows, %d rules, %d failures\n", (int)(COUNT(verdicts) + COUNT(remarks) + COUNT(reaches)), (int)rules - 1,
         failures);
  return failures != 0;
}
