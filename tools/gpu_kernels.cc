// SPDX-License-Identifier: Apache-2.0
// A program for tools/gpu_pack.sh: compiles listed kernels for given architectures, without a driver and without a GPU.
//
//   gpu_kernels LIST SOURCES FOLDER 90 ...
//
// A line of the list is "header<tab>expression"; kernels that do not compile are reported and left out. Needs NVRTC
// (DLTENSOR_CUDA_NVRTC names it). Files are those of the kernel cache, hash included, in a folder for each major version of
// NVRTC, since an older driver does not load what a newer one makes.
#include <stdio.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "native/cuda/compiler.h"
#include "native/cuda/engine.h"

namespace dlt::cuda {
namespace {

bool compile_listed(const char* list, int ordinal, int arch) {
  auto* device = new Device;  // stays registered in the table of kernels
  device->ordinal = ordinal;
  device->properties.major = arch / 10;
  device->properties.minor = arch % 10;
  std::ifstream file(list);
  if (!file) return dlt::fail(dlt::Fault::value, "cannot read %s", list).ok();
  for (std::string line; std::getline(file, line);) {
    const size_t tab = line.find('\t');
    Kernel kernel;
    if (tab == std::string::npos || get_kernel(*device, line.substr(0, tab), line.substr(tab + 1), &kernel).ok()) continue;
    fprintf(stderr, "gpu_kernels: left out: %.300s\n", dlt::message());
  }
  return true;
}

}  // namespace
}  // namespace dlt::cuda

int main(int count, char** arguments) {
  using namespace dlt::cuda;
  if (count < 5) return fprintf(stderr, "gpu_kernels: expected LIST SOURCES FOLDER ARCHITECTURE ...\n"), 2;
  const std::filesystem::path folder = arguments[3], work = folder / "work";
  std::filesystem::create_directories(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  bool good = set_source_folder(arguments[2]).ok() && set_kernel_cache(work.string().c_str()).ok() && load_nvrtc().ok();
  for (int i = 4; i < count && good; ++i) good = compile_listed(arguments[1], i - 4, atoi(arguments[i]));
  if (!good) return fprintf(stderr, "gpu_kernels: %s\n", dlt::message()), 1;
  const std::filesystem::path place = folder / std::to_string(nvrtc.major);
  std::filesystem::create_directories(place);
  for (const auto& entry : std::filesystem::directory_iterator(work)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".kernel")  // KEY-MAJOR.MINOR.kernel
      std::filesystem::rename(entry.path(), place / (name.substr(0, name.find('-')) + ".kernel"));
    if (entry.path().extension() == ".code") std::filesystem::rename(entry.path(), place / name);
  }
  std::filesystem::remove_all(work);
  printf("gpu_kernels: %lld kernels in %.1f s\n", static_cast<long long>(compiler_statistics().compiled),
         compiler_statistics().seconds);
}
