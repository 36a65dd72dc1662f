// SPDX-License-Identifier: Apache-2.0
// NVRTC and the modules it makes. Files are kernel_cache.cc's.
#include "native/cuda/compile/compiler.h"

#include <time.h>

#include <iterator>
#include <map>
#include <vector>

#include "native/cuda/compile/kernel_cache.h"
#include "native/no_destructor.h"

namespace dlt::cuda {
namespace {

// One compile at a time: NVRTC is not faster in parallel, and two threads must not make the same kernel twice.
std::mutex compiling;
std::map<std::pair<int, std::string>, Kernel>& kernels() {
  static NoDestructor<std::map<std::pair<int, std::string>, Kernel>> known;
  return *known;
}
// By the hash of their code. Kernels that were compiled as one program are in one module.
std::map<std::pair<int, std::string>, CUmodule>& modules() {
  static NoDestructor<std::map<std::pair<int, std::string>, CUmodule>> known;
  return *known;
}
CompilerStatistics statistics{};

double now() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Machine code has minor-version compatibility, PTX has not: PTX only when the card is newer than the compiler.
std::string architecture(int major, int minor) {
  const int wanted = major * 10 + minor;
  int best = 0, lowest = 0;
  for (int i = 0; i < nvrtc.arch_count; ++i) {
    const int arch = nvrtc.archs[i];
    lowest = lowest ? std::min(lowest, arch) : arch;
    if (arch == wanted) return "sm_" + std::to_string(arch);
    if (arch < wanted) best = std::max(best, arch);
  }
  // Code for an older minor version runs on a newer one of the same major version.
  if (best / 10 == major) return "sm_" + std::to_string(best);
  if (best) return "compute_" + std::to_string(best);
  return lowest ? "" : "sm_" + std::to_string(wanted);
}

Status options_for(int major, int minor, const Program& program, std::vector<std::string>* options) {
  const std::string arch = architecture(major, minor);
  if (arch.empty())
    return fail(Fault::device,
                "compile: NVRTC %d.%d no longer compiles for compute capability %d.%d; install an older one: "
                "pip install 'nvidia-cuda-nvrtc-cu12'",
                nvrtc.major, nvrtc.minor, major, minor);
  *options = {"--gpu-architecture=" + arch, "-I" + source_folder(), "-I" + source_folder() + "/include"};
  options->insert(options->end(), program.options.begin(), program.options.end());
  return success;
}

// The compiler's lines about a text of a user, whose fault they are.
Status reject(const Program& program, const std::string& log) {
  return fail(Fault::value, "compile: expected CUDA C++ that compiles for kernel %.100s, got:\n%.3000s",
              program.expression.c_str(), log.c_str());
}

Status nvrtc_check(nvrtcResult result, const char* call, nvrtcProgram program, const Program& text) {
  const std::string& expression = text.expression;
  if (result == 0) return success;
  std::string log;
  size_t bytes = 0;
  if (program && nvrtc.nvrtcGetProgramLogSize(program, &bytes) == 0 && bytes > 1) {
    log.resize(bytes);
    nvrtc.nvrtcGetProgramLog(program, log.data());
  }
  if (text.is_text && log.size() > 1) return reject(text, log);
  return fail(Fault::device, "compile: %s failed with NVRTC error %d for %s: %.3000s", call, result, expression.c_str(),
              log.c_str());
}

// Ends with its scope, by an exception too.
struct HeldProgram {
  nvrtcProgram its = nullptr;
  HeldProgram() = default;
  HeldProgram(const HeldProgram&) = delete;
  HeldProgram& operator=(const HeldProgram&) = delete;
  ~HeldProgram() {
    if (its) nvrtc.nvrtcDestroyProgram(&its);
  }
};

// `others`: expressions that are compiled beside that of the program; out has as many images more, whose code is the first's.
Status compile(int major, int minor, const Program& text, const std::vector<std::string>& others, Image* out) {
  std::vector<std::string> options;
  DLT_TRY(options_for(major, minor, text, &options));
  const double start = now();
  const std::string source = text.is_text ? text.header : "#include \"" + text.header + "\"\n";
  const std::string& expression = text.expression;
  HeldProgram owned;
  DLT_TRY(nvrtc_check(nvrtc.nvrtcCreateProgram(&owned.its, source.c_str(), "dltensor.cu", 0, nullptr, nullptr),
                      "nvrtcCreateProgram", nullptr, text));
  nvrtcProgram program = owned.its;
  std::vector<const char*> arguments;
  for (const std::string& option : options) arguments.push_back(option.c_str());
  const bool code = options[0].find("sm_") != std::string::npos;
  const Status status = [&]() -> Status {
    for (size_t k = 0; k <= others.size(); ++k)
      DLT_TRY(nvrtc_check(nvrtc.nvrtcAddNameExpression(program, (k ? others[k - 1] : expression).c_str()),
                          "nvrtcAddNameExpression", program, text));
    DLT_TRY(nvrtc_check(nvrtc.nvrtcCompileProgram(program, static_cast<int>(arguments.size()), arguments.data()),
                        "nvrtcCompileProgram", program, text));
    for (size_t k = 0; k <= others.size(); ++k) {
      const char* name = nullptr;
      DLT_TRY(nvrtc_check(nvrtc.nvrtcGetLoweredName(program, (k ? others[k - 1] : expression).c_str(), &name),
                          "nvrtcGetLoweredName", program, text));
      out[k].name = name;
    }
    size_t bytes = 0;
    DLT_TRY(nvrtc_check((code ? nvrtc.nvrtcGetCUBINSize : nvrtc.nvrtcGetPTXSize)(program, &bytes), "nvrtcGetCUBINSize", program,
                        text));
    out->code.resize(bytes);
    DLT_TRY(nvrtc_check((code ? nvrtc.nvrtcGetCUBIN : nvrtc.nvrtcGetPTX)(program, out->code.data()), "nvrtcGetCUBIN", program,
                        text));
    out->hash = code_hash(out->code);
    for (size_t k = 1; k <= others.size(); ++k) out[k].hash = out->hash;
    return success;
  }();
  ++statistics.compiled;
  statistics.seconds += now() - start;
  return status;
}

// A kernel as an image that the device's driver can load: from disk, from NVRTC, or as source for the host driver.
Status image_for(const Device& device, const Program& program, Image* out) {
  const Properties& p = device.properties;
  const auto is_loaded = [&](const std::string& hash) { return modules().contains({device.ordinal, hash}); };
  std::string key;
  if (!(driver.takes_source && program.is_text)) {
    // A kernel that this version of NVRTC compiled before needs no NVRTC now.
    const std::string maker = *library_path(Library::nvrtc) ? "" : remembered_maker(expected_path(Library::nvrtc));
    if (!maker.empty()) {
      DLT_TRY(image_key(p.major, p.minor, program, &key));
      if (read_image(key, maker, is_loaded, out) == Found::yes) return ++statistics.from_disk, success;
    }
    std::string path;
    DLT_TRY(find_compiled(p.major, p.minor, program, &path));
    if (!path.empty()) {
      if (read_compiled(path, is_loaded, out) == Found::yes) return ++statistics.from_disk, success;
      ++statistics.refused;
    }
  }
  const Status have = load_nvrtc();
  if (driver.takes_source && (!have.ok() || program.is_text)) {
    out->name = "kernel";
    out->code = program.is_text ? "hostcuda source 2\n" + program.expression + "\n" + program.header
                                : "hostcuda source 1\n" + program.header + "\n" + program.expression + "\n";
    out->hash = code_hash(out->code);
    return success;
  }
  // Without NVRTC the cache may still have it, compiled by any version of NVRTC.
  const std::string words = have.ok() ? "" : message();
  const std::string maker = have.ok() ? std::to_string(nvrtc.major) + "." + std::to_string(nvrtc.minor) : "any";
  DLT_TRY(image_key(p.major, p.minor, program, &key));
  if (const std::string path = have.ok() ? library_path(Library::nvrtc) : ""; !path.empty() && remembered_maker(path) != maker)
    remember_maker(path, maker);
  switch (read_image(key, maker, is_loaded, out)) {
    case Found::yes: ++statistics.from_disk; return success;
    case Found::refused: ++statistics.refused; break;
    case Found::no: break;
  }
  if (!have.ok()) return fail(Fault::device, "%s", words.c_str());
  if (driver.handle && driver.version / 1000 < nvrtc.major)
    return fail(Fault::device,
                "compile: NVRTC %d.%d makes code that the driver (CUDA %d.%d) cannot load; update the driver, "
                "or pip install 'nvidia-cuda-nvrtc-cu%d'",
                nvrtc.major, nvrtc.minor, driver.version / 1000, driver.version % 1000 / 10, driver.version / 1000);
  DLT_TRY(compile(p.major, p.minor, program, {}, out));
  write_image(key, maker, *out);
  return success;
}

Status load(Device& device, const Program& program, const Image& image, Kernel* out) {
  Current current(device);
  Beside beside;
  // The table entry is allocated before the module: without memory for it the module would never be unloaded.
  const std::pair key{device.ordinal, image.hash};
  CUmodule& module = modules()[key];
  CUresult result = module ? kSuccess : driver.cuModuleLoadData(&module, image.code.data());
  if (result != kSuccess) modules().erase(key);
  else result = driver.cuModuleGetFunction(&out->function, module, image.name.c_str());
  if (result != kSuccess && program.is_text && driver.compiler_log && *driver.compiler_log())
    return guarded("compile", [&] { return reject(program, driver.compiler_log()); });
  DLT_TRY(check(result, "cuModuleLoadData"));
  DLT_CU(cuFuncGetAttribute(&out->most_threads, kFunctionMaxThreads, out->function));
  if (out->threads > out->most_threads) out->threads = out->most_threads;
  int blocks = 0;
  DLT_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, out->function, out->threads, 0));
  out->blocks_per_multiprocessor = blocks > 0 ? blocks : 1;
  return success;
}

}  // namespace

namespace {

Status get_program(Device& device, const Program& program, Kernel* out) {
  std::lock_guard<std::mutex> hold(compiling);
  std::string text = program.header + "\n" + program.expression;
  if (program.is_text)
    for (const std::string& option : program.options) text += "\n" + option;
  const std::pair<int, std::string> key{device.ordinal, std::move(text)};
  if (const auto known = kernels().find(key); known != kernels().end()) return *out = known->second, success;
  Image image;
  DLT_TRY(image_for(device, program, &image));
  *out = {};
  if (device.context) DLT_TRY(load(device, program, image, out));  // none: compiled for a device elsewhere
  return kernels().emplace(key, *out), success;
}

constexpr const char* kernel_space = "dlt::kernels::";

}  // namespace

void prepare_kernels(Device& device, const std::vector<KernelText>& wanted) {
  std::lock_guard<std::mutex> hold(compiling);
  if (!device.context) return;
  const Properties& p = device.properties;
  std::vector<KernelText> unknown;
  for (KernelText text : wanted) {
    text.expression = kernel_space + text.expression;
    if (kernels().contains({device.ordinal, text.header + "\n" + text.expression})) continue;
    std::string path;
    if (!find_compiled(p.major, p.minor, {text.header, text.expression}, &path).ok()) return;
    if (path.empty()) unknown.push_back(text);
  }
  if (unknown.size() < 2) return;  // one alone is get_kernel()'s
  const auto version = [] { return std::to_string(nvrtc.major) + "." + std::to_string(nvrtc.minor); };
  // A kernel on disk needs no NVRTC.
  std::string maker = *library_path(Library::nvrtc) ? "" : remembered_maker(expected_path(Library::nvrtc));
  if (maker.empty()) {
    if (!load_nvrtc().ok()) return;
    maker = version();
  }
  std::vector<KernelText> missing;
  std::vector<std::string> keys, others;
  for (const KernelText& text : unknown) {
    std::string key;
    Image image;
    if (!image_key(p.major, p.minor, {text.header, text.expression}, &key).ok()) return;
    if (read_image(key, maker, [](const std::string&) { return true; }, &image) == Found::yes) continue;
    if (!missing.empty()) others.push_back(text.expression);
    missing.push_back(text);
    keys.push_back(key);
  }
  if (others.empty()) return;
  if (!load_nvrtc().ok() || version() != maker || (driver.handle && driver.version / 1000 < nvrtc.major)) return;
  if (const std::string path = library_path(Library::nvrtc); !path.empty() && remembered_maker(path) != maker)
    remember_maker(path, maker);
  std::vector<Image> images(missing.size());
  const Program program{wanted[0].header, missing[0].expression};
  if (!compile(p.major, p.minor, program, others, images.data()).ok()) return;
  for (size_t k = 0; k < missing.size(); ++k) {
    write_image(keys[k], maker, images[k]);
    Kernel compiled;
    if (load(device, program, images[k], &compiled).ok())
      kernels().emplace(std::pair{device.ordinal, missing[k].header + "\n" + missing[k].expression}, compiled);
  }
}

Status get_kernel(Device& device, const std::string& header, const std::string& expression, Kernel* out) {
  return get_program(device, {header, kernel_space + expression}, out);
}

Status get_user_kernel(Device& device, const std::string& text, const std::string& expression,
                       const std::vector<std::string>* options, Kernel* out) {
  Program program{text, expression, true};
  if (options) program.options = *options;
  return get_program(device, program, out);
}

Status compile_for(int major, int minor, const char* header, const char* expression, std::string* image,
                   std::string* name) noexcept {
  DLT_TRY(load_nvrtc());
  std::lock_guard<std::mutex> hold(compiling);
  return guarded("compile", [&]() -> Status {
    Image compiled;
    DLT_TRY(compile(major, minor, {header, expression}, {}, &compiled));
    *image = compiled.code;
    *name = compiled.name;
    return success;
  });
}

CompilerStatistics compiler_statistics() noexcept {
  std::lock_guard<std::mutex> hold(compiling);
  return statistics;
}

}  // namespace dlt::cuda
