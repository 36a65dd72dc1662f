// SPDX-License-Identifier: Apache-2.0
// A program for building wheels: compiles the kernels that most programs use, for given architectures, into a folder
// that is shipped in the package. With them the first use of an operation needs no compiler.
//
//   seed_kernels SOURCES FOLDER 75 80 90 ...
//   seed_kernels --list FILE SOURCES FOLDER 90 ...
//
// With a list, whose lines are "header<tab>expression", it compiles those kernels instead; ones that do not compile are
// reported and left out.
// Needs NVRTC (DLTENSOR_CUDA_NVRTC names it), no driver and no GPU. Files are those of the kernel cache, hash included,
// in a folder for each major version of NVRTC, since an older driver does not load what a newer one makes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "native/ops/ops.h"
#include "native/cuda/compiler.h"
#include "native/cuda/engine.h"

namespace dlt::cuda {
namespace {

constexpr int seeded_types[] = {type_uint8, type_int32, type_int64, type_float16, type_bfloat16, type_float32, type_float64};
constexpr int arithmetic[] = {op_add, op_subtract, op_multiply, op_divide};
constexpr int comparisons[] = {op_equal, op_less, op_greater};

// Tensor with tensor, and with a number on either side, all contiguous.
bool seed(Stream& stream, int op, int type, int to) {
  int64_t shape = 1 << 20, stride = 1;
  const auto at = [&](uintptr_t place, int row) {  // only the alignment of the address is used, never the memory
    return DLTensor{
        reinterpret_cast<void*>(place << 32), {kDLCUDA, stream.device->ordinal}, 1, type_table[row].dtype, &shape, &stride, 0};
  };
  const DLTensor a = at(1, type), b = at(2, type), out = at(3, to);
  const unsigned char zeros[16] = {};
  const Operand x(&a, nullptr), y(&b, nullptr), number = Operand::scalar(type, zeros), result(&out, nullptr);
  const Operand pairs[][2] = {{x, y}, {x, number}, {number, x}};
  for (const auto& pair : pairs)
    if (!prepare({op, OpVariant::plain, type}, pair, 2, result, {&stream}).ok()) return false;
  return true;
}

bool seed_all(int ordinal, int arch) {
  auto* device = new Device;  // stays registered in the table of kernels
  device->ordinal = ordinal;
  device->properties.major = arch / 10;
  device->properties.minor = arch % 10;
  auto* stream = new Stream;
  stream->device = device;
  for (const int type : seeded_types) {
    const bool whole = type_table[type].kind == Kind::signed_integer || type_table[type].kind == Kind::unsigned_integer;
    for (const int op : arithmetic)
      if (!(whole && op == op_divide) && !seed(*stream, op, type, type)) return false;
    for (const int op : comparisons)
      if (!seed(*stream, op, type, type_bool)) return false;
  }
  return true;
}

bool seed_listed(const char* list, int ordinal, int arch) {
  auto* device = new Device;
  device->ordinal = ordinal;
  device->properties.major = arch / 10;
  device->properties.minor = arch % 10;
  std::ifstream file(list);
  if (!file) return dlt::fail(dlt::Fault::value, "cannot read %s", list).ok();
  for (std::string line; std::getline(file, line);) {
    const size_t tab = line.find('\t');
    Kernel kernel;
    if (tab == std::string::npos || get_kernel(*device, line.substr(0, tab), line.substr(tab + 1), &kernel).ok()) continue;
    fprintf(stderr, "seed_kernels: left out: %.300s\n", dlt::message());
  }
  return true;
}

}  // namespace
}  // namespace dlt::cuda

int main(int count, char** arguments) {
  using namespace dlt::cuda;
  const char* list = nullptr;
  if (count > 2 && !strcmp(arguments[1], "--list")) {
    list = arguments[2];
    arguments += 2;
    count -= 2;
  }
  if (count < 4) return fprintf(stderr, "seed_kernels: expected SOURCES FOLDER ARCHITECTURE ...\n"), 2;
  const std::filesystem::path folder = arguments[2], work = folder / "work";
  std::filesystem::create_directories(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  bool good = set_source_folder(arguments[1]).ok() && set_kernel_cache(work.string().c_str()).ok() && load_nvrtc().ok();
  for (int i = 3; i < count && good; ++i)
    good = list ? seed_listed(list, i - 3, atoi(arguments[i])) : seed_all(i - 3, atoi(arguments[i]));
  if (!good) return fprintf(stderr, "seed_kernels: %s\n", dlt::message()), 1;
  for (const auto& entry : std::filesystem::directory_iterator(work)) {  // KEY-MAJOR.MINOR.kernel
    if (entry.path().extension() != ".kernel") {
      std::filesystem::remove(entry.path());
      continue;
    }
    const std::string name = entry.path().filename().string(), key = name.substr(0, name.find('-'));
    const std::filesystem::path place = folder / name.substr(key.size() + 1, name.find('.') - key.size() - 1);
    std::filesystem::create_directories(place);
    std::filesystem::rename(entry.path(), place / (key + ".kernel"));
  }
  std::filesystem::remove(work);
  printf("seed_kernels: %lld kernels in %.1f s\n", static_cast<long long>(compiler_statistics().compiled),
         compiler_statistics().seconds);
}
