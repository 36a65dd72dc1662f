/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target for validate.h: bytes become a hostile tensor, and the verdict is held against a slow reference
 * with 128-bit numbers that shares no code with it. Built and run by tools/fuzz.sh. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dltensor/validate.h"

__extension__ typedef __int128 wide;

/* A broken property ends the run with its name, so that libFuzzer keeps the input. */
#define HOLDS(property)                                                        \
  do {                                                                         \
    if (!(property)) {                                                         \
      fprintf(stderr, "property broken: %s (line %d)\n", #property, __LINE__); \
      abort();                                                                 \
    }                                                                          \
  } while (0)

/* The reference is not to be explored, only the validator is: libFuzzer must not count its branches. */
#ifdef __clang__
#define UNSEEN __attribute__((no_sanitize("coverage")))
#else
#define UNSEEN
#endif

typedef struct {
  const uint8_t* at;
  size_t left;
} bytes;

static uint64_t take(bytes* in, size_t width) {
  uint64_t value = 0;
  for (size_t i = 0; i < width && in->left > 0; i++, in->at++, in->left--) value = value << 8 | *in->at;
  return value;
}

/* Mostly small numbers and the neighbours of powers of two: that is where arithmetic goes wrong. */
static uint64_t take_number(bytes* in) {
  const uint8_t tag = (uint8_t)take(in, 1);
  if (tag < 0x40) return tag & 7;
  if (tag < 0x50) return (uint64_t)0 - (tag & 15);
  if (tag < 0xf0) {
    const uint8_t power = (uint8_t)take(in, 1);
    const uint64_t near = ((uint64_t)1 << (power & 63)) + (uint64_t)(tag & 3) - 1;
    return power & 64 ? (uint64_t)0 - near : near;
  }
  return take(in, 8);
}

enum {
  NDIM = 1,
  SHAPE = 2,
  STRIDES = 4,
  BITS = 8,
  LANES = 16,
  DEVICE = 32,
  ID = 64,
  OFFSET = 128,
  NEGATIVE = 256,
  SIZE = 512,
  EXTENT = 1024,
  DATA = 2048,
  RANGE = 4096
};

static const int kind_of_rule[DLT_RULE_COUNT] = {
    [DLT_RULE_NDIM] = NDIM,           [DLT_RULE_SHAPE_NULL] = SHAPE,
    [DLT_RULE_SHAPE_POINTER] = SHAPE, [DLT_RULE_STRIDES_POINTER] = STRIDES,
    [DLT_RULE_DTYPE_BITS] = BITS,     [DLT_RULE_DTYPE_LANES] = LANES,
    [DLT_RULE_DEVICE_TYPE] = DEVICE,  [DLT_RULE_DEVICE_ID] = ID,
    [DLT_RULE_BYTE_OFFSET] = OFFSET,  [DLT_RULE_SHAPE_NEGATIVE] = NEGATIVE,
    [DLT_RULE_SHAPE_SIZE] = SIZE,     [DLT_RULE_SHAPE_BYTES] = SIZE,
    [DLT_RULE_EXTENT] = EXTENT,       [DLT_RULE_DATA_NULL] = DATA,
    [DLT_RULE_DATA_RANGE] = RANGE,
};

UNSEEN static int bits_are_legal(int code, int bits) {
  /* clang-format off */
  static const uint8_t widths[19][9] = {
      {1, 2, 4, 8, 16, 32, 64, 128}, {1, 2, 4, 8, 16, 32, 64, 128}, {16, 32, 64}, {0}, {16}, {32, 64, 128}, {8},
      {8}, {8}, {8}, {8}, {8}, {8}, {8}, {8}, {6}, {6}, {4}, {32}};
  /* clang-format on */
  if (bits == 0) return 0;
  if (code == 3 || code > 18) return 1;
  for (int i = 0; i < 9; i++)
    if (widths[code][i] == bits) return 1;
  return 0;
}

UNSEEN static int is_one_of(int64_t value, const int* list) {
  for (; *list != 0; list++)
    if (*list == value) return 1;
  return 0;
}

static const int host_devices[] = {1, 3, 11, 20, 0};
static const int handle_devices[] = {4, 7, 8, 15, 0};

UNSEEN static int32_t device_of(const DLTensor* t) {
  int32_t type;
  memcpy(&type, &t->device.device_type, sizeof(type));
  return type;
}

/* No sum or product here may leave 128 bits: everything from 2^63 on is as good as infinite. */
UNSEEN static wide cap(wide value) {
  const wide most = (wide)1 << 63;
  return value > most ? most : value < -most ? -most : value;
}

UNSEEN static wide item_bytes(const DLTensor* t) {
  return t->dtype.bits < 8 ? t->dtype.lanes : ((wide)t->dtype.bits * t->dtype.lanes + 7) / 8;
}

/* Offset of the lowest and the highest element, in elements. */
UNSEEN static void reach(const DLTensor* t, wide* low, wide* high) {
  wide step = 1;
  *low = *high = 0;
  for (int32_t axis = t->ndim - 1; axis >= 0; axis--) {
    const wide stride = t->strides == NULL ? step : t->strides[axis];
    const wide far = cap((t->shape[axis] - (wide)1) * stride);
    *(far < 0 ? low : high) += far;
    step = cap(step * t->shape[axis]);
  }
}

/* Every rule that is broken, as bits; later ones only where earlier ones leave something to look at. */
UNSEEN static int check_slowly(const DLTensor* t) {
  int broken = 0;
  const int host = is_one_of(device_of(t), host_devices), handle = is_one_of(device_of(t), handle_devices);
  const int known = device_of(t) >= 1 && device_of(t) <= 21 && device_of(t) != 5 && device_of(t) != 6;
  const wide most = host ? (wide)1 << 47 : INT64_MAX;
  if (t->ndim < 0 || t->ndim > 64) broken |= NDIM;
  if (t->ndim > 0 && t->ndim <= 64) {
    if ((uintptr_t)t->shape < 4096 || (uintptr_t)t->shape % 8 != 0) broken |= SHAPE;
    if (t->strides != NULL && ((uintptr_t)t->strides < 4096 || (uintptr_t)t->strides % 8 != 0)) broken |= STRIDES;
  }
  if (!bits_are_legal(t->dtype.code, t->dtype.bits)) broken |= BITS;
  if (t->dtype.lanes == 0) broken |= LANES;
  if (device_of(t) <= 0) broken |= DEVICE;
  if (t->device.device_id < 0) broken |= ID;
  if ((wide)t->byte_offset > most) broken |= OFFSET;
  if (broken & (NDIM | SHAPE | STRIDES)) return broken;

  wide size = 1, low, high;
  int empty = 0;
  for (int32_t axis = 0; axis < t->ndim; axis++) {
    if (t->shape[axis] < 0) broken |= NEGATIVE;
    if (t->shape[axis] == 0) empty = 1;
  }
  if (empty || (broken & NEGATIVE)) return broken;
  for (int32_t axis = 0; axis < t->ndim; axis++) size = cap(size * t->shape[axis]);
  if (size > INT64_MAX || cap(size * item_bytes(t)) > INT64_MAX) broken |= SIZE;
  reach(t, &low, &high);
  low = cap(low * item_bytes(t));
  high = cap((high + 1) * item_bytes(t));
  if (high - low > most) broken |= EXTENT;
  if (t->byte_offset + high > INT64_MAX) broken |= OFFSET;
  if (t->data == NULL) broken |= DATA;
  if (known) {
    const wide start = (handle ? (wide)0 : (wide)(uintptr_t)t->data) + t->byte_offset;
    if (start + low < (host ? 4096 : 0) || start + high > (wide)UINTPTR_MAX + 1) broken |= RANGE;
  }
  return broken;
}

/* The extent, the promised one, contains every element, and both ends are touched. */
UNSEEN static void check_extent(const DLTensor* t, uint64_t flags, bytes* in) {
  dlt_extent extent;
  HOLDS(dlt_measure_tensor(t, flags, &extent) == 0);
  wide size = 1;
  int empty = 0;
  for (int32_t axis = 0; axis < t->ndim; axis++) empty |= t->shape[axis] == 0;
  for (int32_t axis = 0; axis < t->ndim; axis++) size = empty ? 0 : size * t->shape[axis];
  HOLDS(extent.size == size);
  if (empty) {
    HOLDS(extent.nbytes == 0 && extent.low == extent.high && extent.low == (int64_t)t->byte_offset);
    return;
  }
  const int packed = t->dtype.bits < 8 && !(flags & 4);
  const wide width = packed ? (wide)t->dtype.bits * t->dtype.lanes : item_bytes(t) * 8; /* bits of one element */
  HOLDS(extent.nbytes == (size * width + 7) / 8);
  wide low, high;
  reach(t, &low, &high);
  const wide first = (wide)t->byte_offset * 8 + low * width, end = (wide)t->byte_offset * 8 + (high + 1) * width;
  HOLDS(extent.low == (first >= 0 ? first / 8 : -((-first + 7) / 8)));
  HOLDS(extent.high == (end >= 0 ? (end + 7) / 8 : -(-end / 8)));
  for (int sample = 0; sample < 16; sample++) {
    const uint64_t corner = take(in, 2), inside = sample & 1;
    wide offset = 0, step = 1;
    for (int32_t axis = t->ndim - 1; axis >= 0; axis--) {
      const wide last = t->shape[axis] - (wide)1;
      const wide index = inside ? (wide)(corner * 40503u) % (last + 1) : (corner >> (axis & 15)) & 1 ? last : 0;
      offset += index * (t->strides == NULL ? step : t->strides[axis]);
      step *= t->shape[axis];
    }
    const wide begin = (wide)t->byte_offset * 8 + offset * width;
    HOLDS(begin >= (wide)extent.low * 8 && begin + width <= (wide)extent.high * 8);
    if (is_one_of(device_of(t), host_devices)) {
      const wide address = (wide)(uintptr_t)t->data + begin / 8;
      HOLDS(address >= 4095 && address <= (wide)UINTPTR_MAX);
    }
  }
}

UNSEEN static void check_sentences(const DLTensor* t, const dlt_finding* found, size_t count, size_t capacity) {
  char text[640];
  size_t rules;
  const dlt_rule_row* rule = dlt_rules(&rules);
  HOLDS(capacity <= sizeof(text));
  for (size_t i = 0; i < count; i++) {
    HOLDS(found[i].number > 0 && (size_t)found[i].number < rules);
    HOLDS(found[i].rule == rule[found[i].number].id && found[i].severity == rule[found[i].number].severity);
    HOLDS(found[i].axis >= -1 && found[i].axis < 64);
    if (i > 0) HOLDS(found[i].severity == DLT_SEVERITY_ERROR ? found[i - 1].severity == DLT_SEVERITY_ERROR : 1);
    const size_t length = dlt_format_finding(&found[i], t, text, sizeof(text));
    HOLDS(length < sizeof(text) && strlen(text) == length);
    HOLDS(strstr(text, rule[found[i].number].id) != NULL && strstr(text, ": expected ") != NULL);
    HOLDS(dlt_format_finding(&found[i], NULL, NULL, 0) > 30); /* without the tensor the sentence is only less exact */
    char* cut = (char*)malloc(capacity + 1); /* exactly as large as promised: one byte more is a finding of ASAN */
    HOLDS(dlt_format_finding(&found[i], t, capacity ? cut : NULL, capacity) == length);
    if (capacity > 0) HOLDS(strlen(cut) == (length < capacity ? length : capacity - 1) && strncmp(cut, text, strlen(cut)) == 0);
    free(cut);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  bytes in = {data, size};
  DLTensor t;
  memset(&t, 0, sizeof(t));
  const uint64_t shapes = take(&in, 2);
  const int speak = take(&in, 1) % 16 == 7; /* one input in 16: sentences cost more than all the rest */
  const uint8_t count = (uint8_t)take(&in, 1);
  t.ndim = count < 0xf0 ? count % 6 : count < 0xf8 ? (int32_t)take(&in, 1) : (int32_t)take(&in, 4);
  t.dtype.code = (uint8_t)take(&in, 1);
  if (shapes & 1) t.dtype.code %= 20;
  t.dtype.bits = (uint8_t)take(&in, 1);
  if (shapes & 2) t.dtype.bits = (uint8_t)(1u << (t.dtype.bits & 7));
  t.dtype.lanes = shapes & 4 ? 1 : (uint16_t)take(&in, 2);
  const int32_t device = shapes & 8 ? 1 : shapes & 16 ? (int32_t)take(&in, 1) % 24 : (int32_t)take(&in, 4);
  memcpy(&t.device.device_type, &device, sizeof(device));
  t.device.device_id = shapes & 32 ? 0 : (int32_t)take_number(&in);
  t.byte_offset = shapes & 64 ? 0 : take_number(&in);
  t.data = (void*)(uintptr_t)(shapes & 128 ? 0x100000 : take_number(&in));
  const uint64_t flags = shapes & 256 ? 0 : take_number(&in);
  DLPackVersion version = {1, 3};
  if (!(shapes & 512)) {
    version.major = (uint32_t)take_number(&in);
    version.minor = (uint32_t)take_number(&in);
  }

  /* Arrays of exactly ndim values, and none where ndim is absurd: a read too many is a finding of ASAN. */
  const size_t length = t.ndim > 0 && t.ndim <= 64 ? (size_t)t.ndim : 0;
  int64_t* shape = (int64_t*)malloc(length * sizeof(int64_t) + 1);
  int64_t* strides = (int64_t*)malloc(length * sizeof(int64_t) + 1);
  for (size_t axis = 0; axis < length; axis++) {
    shape[axis] = (int64_t)take_number(&in);
    strides[axis] = (int64_t)take_number(&in);
  }
  const uint64_t odd = (shapes >> 10) & 15;
  t.shape = odd == 1 ? NULL : odd == 2 ? (int64_t*)(uintptr_t)16 : odd == 3 ? (int64_t*)((uintptr_t)shape + 4) : shape;
  t.strides = odd == 4 || odd >= 12 ? NULL
              : odd == 5            ? (int64_t*)(uintptr_t)16
              : odd == 6            ? (int64_t*)((uintptr_t)strides + 1)
                                    : strides;

  const int rule = dlt_check_tensor(&t), broken = check_slowly(&t);
  HOLDS(rule >= 0 && rule < DLT_RULE_COUNT);
  HOLDS((rule == 0) == (broken == 0));
  HOLDS(rule == 0 || (broken & kind_of_rule[rule]) != 0);

  static dlt_finding found[200], versioned[200];
  const size_t findings = dlt_validate_tensor(&t, NULL, flags, found, 200);
  HOLDS(findings <= 200);
  size_t errors = 0;
  for (size_t i = 0; i < findings; i++) {
    if (found[i].severity != DLT_SEVERITY_ERROR) continue;
    errors++;
    HOLDS((broken & kind_of_rule[found[i].number]) != 0);
  }
  HOLDS((errors > 0) == (rule != 0));
  if (rule != 0) HOLDS(found[0].number == (dlt_rule)rule);
  if (speak) check_sentences(&t, found, findings, (size_t)take(&in, 1));

  const size_t more = dlt_validate_tensor(&t, &version, flags, versioned, 200);
  HOLDS(dlt_validate_tensor(&t, &version, flags, versioned, more / 2) == more);
  HOLDS((version.major == 1) == (dlt_check_version(version) == 0));
  if (version.major != 1) HOLDS(more == 1 && versioned[0].number == DLT_RULE_VERSION_MAJOR);
  if (speak) {
    char text[640];
    const size_t written = dlt_explain_tensor(&t, text, sizeof(text));
    HOLDS((written == 0) == (rule == 0) && strlen(text) == written);
    HOLDS(dlt_explain_tensor(&t, NULL, 0) == written);
    check_sentences(&t, versioned, more / 2, 16);
  }
  HOLDS((dlt_check_pointer(t.data) == 0) == ((uintptr_t)t.data >= 4096 && (uintptr_t)t.data % 8 == 0));
  /* What begins with a version is one layout, what begins with an address the other; handles may be either. */
  HOLDS((dlt_check_layout(&version, 1) == 0) == (version.major < 256 && version.minor < 4096));
  DLManagedTensorVersioned managed;
  memset(&managed, 0, sizeof(managed));
  managed.version = version;
  HOLDS((dlt_check_layout(&managed, 0) == 0) == (version.major - 1u >= 15 || version.minor >= 4096));
  if (dlt_check_layout(&t, 0) != 0) HOLDS(!is_one_of(device_of(&t), handle_devices) && (uint32_t)(uintptr_t)t.data < 16);

  if (rule == 0) {
    check_extent(&t, flags, &in);
  } else {
    dlt_extent extent;
    HOLDS(dlt_measure_tensor(&t, flags, &extent) == rule);
  }
  free(shape);
  free(strides);
  return 0;
}
