// SPDX-License-Identifier: Apache-2.0
// The CUDA engine as plain C functions over flat arguments, so that tests can drive it with ctypes and NumPy, without
// the tensor class. Built by conftest.py together with the engine; not part of the package.
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "native/cpu/elementwise/op_numbers.h"
#include "native/ops/elementwise/ops.h"

#include "native/cuda/compile/compiler.h"
#include "native/cuda/runtime/engine.h"
#include "native/ops/elementary/complex.h"
#include "native/cuda/linalg/matrices.h"
#include "native/cuda/memory/shared.h"
#include "native/cuda/quantize/quantize.h"
#include "native/cuda/random/random.h"
#include "native/ops/random/shuffles.h"

using namespace dlt;
using namespace dlt::cuda;

#define SHIM extern "C" __attribute__((visibility("default")))

// A tensor as Python hands it over: `block` 0 for a scalar, whose element is in `value`.
struct Flat {
  Block* block;
  int64_t offset;  // bytes from the block's data
  int32_t type, ndim, device, lanes;
  const int64_t *shape, *strides;
  unsigned char value[16];
};

struct Made {
  DLTensor tensor{};
  Operand operand;
  explicit Made(const Flat* flat) {
    if (!flat->block) {
      operand = Operand::scalar(flat->type, flat->value);
      return;
    }
    tensor.data = static_cast<char*>(flat->block->data) + flat->offset;
    tensor.device = {kDLCUDA, flat->device};
    tensor.ndim = flat->ndim;
    tensor.dtype = type_table[flat->type].dtype;
    tensor.dtype.lanes = static_cast<uint16_t>(flat->lanes);
    tensor.shape = const_cast<int64_t*>(flat->shape);
    tensor.strides = const_cast<int64_t*>(flat->strides);
    operand = Operand(&tensor, flat->block);
  }
};

static int answer(dlt::Status status) { return static_cast<int>(status.fault); }

SHIM const char* shim_message() { return message(); }
SHIM int shim_type(const char* name) { return find_type_by_name(name); }
SHIM int shim_type_bytes(int type) { return type_table[type].bytes; }

#define SHIM_NAME(name, ...) #name,
static const char* const plain[] = {DLT_OPS(SHIM_NAME)};
static const char* const saturating[] = {DLT_SATURATING_OPS(SHIM_NAME)};
static const char* const real_names[] = {DLT_CUDA_REAL_OPS(SHIM_NAME)};
static const char* const twin[] = {DLT_CUDA_TWIN_OPS(SHIM_NAME)};
static const unsigned kinds[] = {
#define SHIM_KINDS(name, operands, kinds, ...) kinds,
    DLT_OPS(SHIM_KINDS)};
static const int operand_counts[] = {
#define SHIM_OPERANDS(name, operands, ...) operands,
    DLT_OPS(SHIM_OPERANDS)};
static const char* const results[] = {
#define SHIM_RESULT(name, operands, kinds, result, ...) #result,
    DLT_OPS(SHIM_RESULT)};
template <size_t n>
static int find(const char* const (&names)[n], const char* name) {
  for (size_t i = 0; i < n; ++i)
    if (std::string(names[i]) == name) return static_cast<int>(i);
  return -1;
}
SHIM int shim_op(int variant, const char* name) {
  return variant == 0   ? find(plain, name)
         : variant == 1 ? find(saturating, name)
         : variant == 2 ? find(real_names, name)
                        : find(twin, name);
}
SHIM int shim_op_count() { return sizeof plain / sizeof *plain; }
SHIM const char* shim_op_name(int op) { return plain[op]; }
SHIM unsigned shim_op_kinds(int op) { return kinds[op]; }
SHIM int shim_op_operands(int op) { return operand_counts[op]; }
SHIM const char* shim_op_result(int op) { return results[op]; }

SHIM int shim_device_count(int* count) { return answer(device_count(count)); }
SHIM int shim_current_stream(int device, Stream** out) { return answer(current_stream(device, out)); }
SHIM int shim_stream_of(int device, void* handle, Stream** out) {
  return answer(stream_of(device, static_cast<CUstream>(handle), out));
}
SHIM int shim_create_stream(int device, Stream** out) { return answer(create_stream(device, 0, out)); }
SHIM int shim_destroy_stream(Stream* stream) { return answer(destroy_stream(stream)); }
SHIM int shim_synchronize(Stream* stream) { return answer(synchronize_stream(stream)); }
SHIM int shim_synchronize_device(int device) { return answer(synchronize_device(device)); }
SHIM void* shim_handle(Stream* stream) { return share_handle(*stream); }

SHIM int shim_allocate(Stream* stream, size_t bytes, Block** out) { return answer(allocate(*stream, bytes, out)); }
SHIM int shim_allocate_pinned(int device, size_t bytes, Block** out) { return answer(allocate_pinned(device, bytes, out)); }
SHIM int shim_allocate_managed(int device, size_t bytes, Block** out) { return answer(allocate_managed(device, bytes, out)); }
SHIM int shim_allocate_shared(Stream* stream, size_t bytes, Block** out) {
  return answer(allocate_shared(*stream, bytes, out));
}
SHIM void* shim_data(Block* block) { return block->data; }
SHIM void shim_release(Block* block) { release(block); }
SHIM int shim_export_to(Block* block, Stream* stream, Block** exported) { return answer(export_to(block, *stream, exported)); }
static void deleter(void* counter) noexcept { ++*static_cast<int*>(counter); }
SHIM int shim_adopt(void* data, Stream* stream, int* counter, Block** out) {
  return answer(adopt_foreign(data, *stream, counter, deleter, out));
}
SHIM size_t shim_empty_cache(int device) { return empty_cache(device); }
SHIM void shim_set_cache_limit(size_t bytes) { dlt::cuda::set_cache_limit(bytes); }
SHIM int shim_usage(int device, Usage* out) { return answer(usage(device, out)); }
SHIM int shim_reset_peak(int device) { return answer(reset_peak(device)); }
SHIM int64_t shim_live_blocks() { return memory_stats().live_blocks; }

SHIM int shim_elementwise(int variant, int op, int type, const Flat* in, int count, const Flat* out, Stream* stream,
                          const Launch* launch) {
  Operand operands[3];
  Made* made[3];
  for (int k = 0; k < count; ++k) {
    made[k] = new Made(in + k);
    operands[k] = made[k]->operand;
  }
  Made target(out);
  const Operation operation{op, static_cast<OpVariant>(variant), type};
  const int fault = answer(elementwise(operation, operands, count, target.operand, {stream, launch}));
  for (int k = 0; k < count; ++k) delete made[k];
  return fault;
}
SHIM int shim_copy(const Flat* from, const Flat* to, Stream* stream, const Launch* launch) {
  return answer(copy(Made(from).operand, Made(to).operand, {stream, launch}));
}
SHIM int shim_cast(const Flat* from, const Flat* to, int nearest, int saturate, const double* scaled, Stream* stream,
                   const Launch* launch) {
  CastOptions options{nearest ? Rounding::nearest : Rounding::truncate, saturate != 0};
  if (scaled) options.scaled = true, options.scale = scaled[0], options.offset = scaled[1];
  return answer(dlt::cuda::cast(Made(from).operand, Made(to).operand, options, {stream, launch}));
}
SHIM int shim_shuffle(uint64_t key, uint64_t position, int64_t n, int64_t count, int from_end, const Flat* out,
                      Stream* stream) {
  const Shuffle all{{key, 0}, position, n, count, from_end != 0};
  return answer(shuffle(all, Made(out).operand, {stream}));
}
SHIM int shim_choose(const Flat* condition, const Flat* a, const Flat* b, const Flat* out, Stream* stream) {
  return answer(choose(Made(condition).operand, Made(a).operand, Made(b).operand, Made(out).operand, {stream}));
}
SHIM int shim_fill(const Flat* value, const Flat* to, Stream* stream) {
  return answer(fill(Made(value).operand.value, Made(to).operand, {stream}));
}
SHIM int shim_gemm(const Flat* a, const Flat* b, const Flat* c, double alpha, double beta, int tf32, Stream* stream) {
  set_thread_tf32(tf32 != 0);
  const Scalar first{Kind::real, 0, 0, alpha, 0}, second{Kind::real, 0, 0, beta, 0};
  const int fault = answer(gemm(Made(a).operand, Made(b).operand, Made(c).operand, first, second, {stream}));
  set_thread_tf32(false);
  return fault;
}
SHIM int shim_quantize(int kind, int rule, int type, const Flat* x, const Flat* values, const Flat* scale, const Flat* second,
                       Stream* stream) {
  const QuantizeCall call{static_cast<ScaleKind>(kind), static_cast<ScaleRule>(rule), type};
  Made in(x), codes(values), scales(scale), whole(second ? second : scale);
  return answer(quantize(call, in.operand, codes.operand, scales.operand, second ? &whole.operand : nullptr, {stream}));
}
SHIM int shim_dequantize(const Flat* values, const Flat* zero, const Flat* scales, int count, const Flat* out, Stream* stream) {
  Made in(values), target(out), point(zero ? zero : values);
  std::vector<std::unique_ptr<Made>> made;
  std::vector<Operand> operands;
  for (int k = 0; k < count; ++k) {
    made.push_back(std::make_unique<Made>(scales + k));
    operands.push_back(made.back()->operand);
  }
  return answer(dequantize(in.operand, zero ? &point.operand : nullptr, operands.data(), count, target.operand, {stream}));
}
// Solves for one matrix of n x n and `columns` right-hand sides, in b, without waiting.
SHIM int shim_solve(const Flat* a, const Flat* b, int64_t n, int64_t columns, Stream* stream) {
  uint8_t info = 0;
  const Made matrix(a), out(b);
  const FactorCall call{Factor::solve, 1, n, n, columns, false, false, &info};
  return answer(factor(call, matrix.operand, &out.operand, nullptr, nullptr, {stream}));
}
SHIM void shim_without_cublas(int without) { set_use_cublas(!without); }
SHIM int shim_to_host(void* data, const Flat* from, Stream* stream) {
  return answer(to_host(data, Made(from).operand, *stream));
}
SHIM int shim_from_host(const void* data, const Flat* to, Stream* stream) {
  return answer(from_host(data, Made(to).operand, *stream));
}
SHIM int shim_to_pinned(const Flat* from, Stream* stream, Block** out, void** event) {
  CUevent made = nullptr;
  const int fault = answer(to_pinned(Made(from).operand, *stream, out, &made));
  *event = made;
  return fault;
}
SHIM int shim_event_query(int device, void* event) { return answer(query_event(device, static_cast<CUevent>(event))); }
SHIM int shim_event_wait(int device, void* event) { return answer(synchronize_event(device, static_cast<CUevent>(event))); }
SHIM int shim_stream_waits(Stream* stream, void* event) { return answer(wait_event(stream, static_cast<CUevent>(event))); }
SHIM void shim_event_destroy(int device, void* event) { destroy_event(device, static_cast<CUevent>(event)); }
SHIM int shim_pointer_device(const void* pointer, int* type, int* id) {
  DLDevice device{};
  const int fault = answer(pointer_device(pointer, &device));
  *type = device.device_type, *id = device.device_id;
  return fault;
}

SHIM int shim_hint(int library, const char* path) { return answer(set_library_path(static_cast<Library>(library), path)); }
SHIM int shim_sources(const char* folder) { return answer(set_source_folder(folder)); }
SHIM int shim_kernel_cache(const char* folder) { return answer(set_kernel_cache(folder)); }
SHIM int shim_compiled_kernels(const char* folder) { return answer(set_compiled_kernels(folder)); }
SHIM void shim_compiler_statistics(int64_t* out) {
  const CompilerStatistics s = compiler_statistics();
  out[0] = s.compiled, out[1] = s.from_disk, out[2] = s.refused;
}
SHIM int shim_compile_for(int major, int minor, const char* header, const char* expression, size_t* bytes) {
  std::string image, name;
  const int fault = answer(compile_for(major, minor, header, expression, &image, &name));
  *bytes = image.size();
  return fault;
}
// The machine code, written to a file.
SHIM int shim_compile_to(int major, int minor, const char* header, const char* expression, const char* path) {
  std::string image, name;
  const dlt::Status status = compile_for(major, minor, header, expression, &image, &name);
  if (status.ok()) std::ofstream(path, std::ios::binary) << image;
  return answer(status);
}
SHIM int shim_load(int library) { return answer(library == 0 ? load_driver() : library == 1 ? load_nvrtc() : load_cublas()); }

SHIM void shim_blocks_1d(int64_t numel, int sms, const Launch* launch, int64_t* out) {
  const Blocks1d b = blocks_values_1d(numel, sms, *launch);
  out[0] = b.num_blocks, out[1] = b.values_per_thread, out[2] = b.numel;
}
SHIM void shim_blocks_nd(int ndim, const int64_t* shape, int sms, const Launch* launch, int64_t* out) {
  const BlocksNd b = blocks_values_nd(ndim, shape, sms, *launch);
  out[0] = b.grid_x, out[1] = b.grid_y, out[2] = b.grid_z, out[3] = b.values_per_thread, out[4] = b.count;
}
SHIM int shim_calc_threads(int threads, int major, int minor) { return calc_threads(threads, major, minor); }

// The devices' complex functions, on the host.
#define SHIM_COMPLEX(name, operands) \
  if (which == #name) r = dlt::principal::name(z);
SHIM int shim_complex(const char* function, double re, double im, double* out) {
  const std::string which = function;
  const dlt::complex128 z{re, im};
  dlt::complex128 r{0, 0};
  DLT_ELEMENTARY_UNARY_OPS(SHIM_COMPLEX)
  SHIM_COMPLEX(sqrt, 1)
  out[0] = r.re, out[1] = r.im;
  return 0;
}

// The same in float, of many numbers: pairs in `in` and `out`.
#define SHIM_COMPLEX_FLOAT(name, operands) \
  if (which == #name) r = dlt::principal::name(z);
SHIM void shim_complex_floats(const char* function, int64_t count, const float* in, float* out) {
  const std::string which = function;
  for (int64_t i = 0; i < count; ++i) {
    const dlt::complex64 z{in[2 * i], in[2 * i + 1]};
    dlt::complex64 r{0, 0};
    DLT_ELEMENTARY_UNARY_OPS(SHIM_COMPLEX_FLOAT)
    SHIM_COMPLEX_FLOAT(sqrt, 1)
    out[2 * i] = r.re, out[2 * i + 1] = r.im;
  }
}

// Nanoseconds of the host for one small a + b: result allocated, launched, released.
#include <time.h>
SHIM double shim_add_cost(Stream* stream, int rounds) {
  int64_t shape[2] = {64, 32}, strides[2] = {32, 1};
  Block *x = nullptr, *y = nullptr;
  if (!allocate(*stream, 8192, &x).ok() || !allocate(*stream, 8192, &y).ok()) return -1;
  DLTensor a{x->data, {kDLCUDA, stream->device->ordinal}, 2, type_table[type_float32].dtype, shape, strides, 0}, b = a, c = a;
  b.data = y->data;
  const int op = shim_op(0, "add");
  double best = 1e30;
  for (int repeat = 0; repeat < 9; ++repeat) {
    timespec from{}, to{};
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < rounds; ++i) {
      Block* z = nullptr;
      if (!allocate(*stream, 8192, &z).ok()) return -1;
      c.data = z->data;
      const Operand in[2] = {{&a, x}, {&b, y}};
      if (!elementwise({op, OpVariant::plain, type_float32}, in, 2, {&c, z}, {stream}).ok()) return -1;
      release(z);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    const double each = (static_cast<double>(to.tv_sec - from.tv_sec) * 1e9 + static_cast<double>(to.tv_nsec - from.tv_nsec)) /
                        rounds;
    if (each < best) best = each;
  }
  release(x);
  release(y);
  return best;
}
