// SPDX-License-Identifier: Apache-2.0
// Modules and launches. A module is a real CUBIN, whose kernels are found by name and compiled from the same source by
// the host's compiler (g++ mangles as NVRTC does, so a name identifies template and arguments), or a text:
//   hostcuda source 1 <newline> header to include <newline> kernel expression <newline>
//   hostcuda source 2 <newline> kernel expression <newline> text of the kernel
// which programs use when there is no NVRTC to compile a CUBIN with.
#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "kernel.h"
#include "machine.h"

namespace dlt::cuda {

struct FunctionHandle {
  std::string name, header, text;
  const HostKernel* kernel = nullptr;
  const HostKernel* watched = nullptr;  // the same, compiled so that its accesses are observed; at its first use
  int device = 0;
  unsigned most_threads = 1024;  // of a block: the kernel's launch bound
};

struct ModuleHandle {
  std::set<std::string> names;
  std::string header, expression, text;  // of a module from source
  std::map<std::string, std::unique_ptr<FunctionHandle>> functions;
};

namespace {

constexpr char source_magic[] = "hostcuda source 1\n", text_magic[] = "hostcuda source 2\n";
std::string compiler_log;  // output of the compiler for the last text

uint64_t hash(const std::string& text, uint64_t seed = 14695981039346656037u) {  // FNV-1a
  for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return seed;
}

// "void dlt::kernels::fill::strided<float>(Parameters)" -> "dlt::kernels::fill::strided<float>".
std::string expression_of(const std::string& mangled) {
  int status = 0;
  char* demangled = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string text = demangled ? demangled : mangled;
  free(demangled);
  int depth = 0;
  for (size_t i = text.size(); i-- > 0;) {
    depth += text[i] == ')';
    if (text[i] == '(' && --depth == 0) {
      text.resize(i);
      break;
    }
  }
  if (text.compare(0, 5, "void ") == 0) text.erase(0, 5);
  // 64-bit integers are `long long` for NVRTC and `long` here: use the name that both share.
  for (const auto& [from, to] : {std::pair<const char*, const char*>{"unsigned long long", "uint64_t"},
                                 {"long long", "int64_t"},
                                 {"unsigned long", "uint64_t"}})
    for (size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, strlen(from), to);
  return text;
}

std::vector<std::string> include_folders() {
  std::vector<std::string> folders;
  std::stringstream text(machine.include);
  for (std::string folder; std::getline(text, folder, ':');) folders.push_back(folder);
  return folders;
}

// Our kernels live one family a file: dlt::kernels::NAME is in NAME.cuh, in a folder of native/cuda/kernels.
std::string header_of(const std::string& expression) {
  if (!machine.header.empty()) return machine.header;
  const std::string prefix = "dlt::kernels::", kernels = "native/cuda/kernels";
  if (!expression.starts_with(prefix)) return "";
  const std::string family = expression.substr(prefix.size(), expression.find("::", prefix.size()) - prefix.size());
  std::error_code error;
  for (const std::string& folder : include_folders())
    for (const auto& noun : std::filesystem::directory_iterator(folder + "/" + kernels, error))
      if (std::filesystem::exists(noun.path() / (family + ".cuh")))
        return kernels + "/" + noun.path().filename().string() + "/" + family + ".cuh";
  return "";
}

// A checksum of all text that a kernel depends on, so that a change makes a new cache entry.
std::string source_stamp() {
  std::string command = "find ";
  for (const std::string& folder : include_folders()) command += "'" + folder + "' ";
  command +=
      "\\( -path '*/kernels/*.cuh' -o -path '*/native/ops/*.h' -o -path '*/include/dltensor/*.h' -o -name simt.h "
      "-o -name kernel.h \\) -type f 2>/dev/null | sort | xargs cat | cksum";
  std::string text;
  if (FILE* pipe = popen(command.c_str(), "r")) {
    char line[256];
    while (fgets(line, sizeof line, pipe)) text += line;
    pclose(pipe);
  }
  return text;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Compile a file of the cache folder under another name and move it, since other processes may read the folder.
bool make(const std::string& text, const std::string& arguments, const std::string& stem, const char* source,
          const char* target, bool keep_log = false, const std::string& last = "") {
  const std::string part = stem + "." + std::to_string(getpid());
  FILE* file = fopen((part + source).c_str(), "w");
  if (!file) {
    fprintf(stderr, "hostcuda: cannot write to the cache folder %s\n", machine.cache.c_str());
    return false;
  }
  fputs(text.c_str(), file);
  fclose(file);
  const auto quoted = [](const std::string& path) { return " '" + path + "'"; };
  const std::string command = machine.compiler + " " + arguments + quoted(part + source) + last + " -o" +
                              quoted(part + target) + " && mv" + quoted(part + source) + quoted(stem + source) + " && mv" +
                              quoted(part + target) + quoted(stem + target);
  if (!keep_log) return system(command.c_str()) == 0;
  const std::string log = part + ".log";
  const bool good = system(("{ " + command + "; } 2>" + quoted(log)).c_str()) == 0;
  compiler_log = good ? "" : text_of(log);
  unlink(log.c_str());
  return good;
}

std::string key_of(const std::string& text) {
  static const std::string stamp = source_stamp();
  char key[40];
  snprintf(key, sizeof key, "%016llx", static_cast<unsigned long long>(hash(text + machine.compiler + stamp)));
  return (machine.cache.empty() ? "." : machine.cache) + "/" + key;
}

const HostKernel* open(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    fprintf(stderr, "hostcuda: %s\n", dlerror());
    return nullptr;
  }
  return static_cast<const HostKernel*>(dlsym(handle, "hostcuda_kernel"));
}

// The flags of all kernels. A misaligned access traps, since a device refuses it. The loader must not unify names of two kernels:
// each has shared memory of its own, and texts may have types of one name and of different sizes. The compiler's instrumentation for
// ThreadSanitizer calls functions of simt.h, which replace its library. Kernels use functions that the driver exports.
std::string kernel_flags(bool watch) {
  std::string flags =
      "-std=c++20 -O1 -fPIC -w -fno-strict-aliasing -ffp-contract=off -fsanitize=alignment "
      "-fsanitize-undefined-trap-on-error -fno-gnu-unique " +
      machine.compiler_flags;
  for (const std::string& folder : include_folders()) flags += " -I'" + folder + "'";
  if (watch)
    flags +=
        " -DHOSTCUDA_WATCH -fsanitize=thread --param tsan-instrument-func-entry-exit=0 "
        "--param tsan-distinguish-volatile=1 -nodefaultlibs";
  return flags;
}
// Libraries, which follow the source on the command line.
std::string libraries(bool watch) {
  Dl_info driver;
  if (!dladdr(&machine, &driver)) return "";
  return " '" + std::string(driver.dli_fname) + "'" + (watch ? " -lstdc++ -lm -lgcc_s -lc" : "");
}

// Reading the headers of the library is most of the work: they are compiled once for all kernels that begin with them. Returns
// the arguments that include them, or nothing if that failed.
std::string prepared(const std::string& headers, const std::string& flags) {
  const std::string stem = key_of(headers + flags);
  const bool ready = access((stem + ".h.gch").c_str(), R_OK) == 0 ||
                     make(headers, flags + " -x c++-header", stem, ".h", ".h.gch");
  return ready ? " -include '" + stem + ".h'" : "";
}

// Compile a text by itself and keep the output of the compiler for the caller. It may be a user's, or begin with our headers.
const HostKernel* compile_text(const std::string& text, const std::string& expression, bool watch) {
  const std::string flags = kernel_flags(watch);
  const std::string kernel = text + "\nHOSTCUDA_KERNEL(" + expression + ")\n", simt = "#include \"simt.h\"\n";
  const std::string stem = key_of(simt + kernel + flags);
  compiler_log.clear();
  if (access((stem + ".so").c_str(), R_OK)) {
    ++machine.statistics.host_compilations;
    static const std::string ours = "#include \"native/cuda/kernels/";
    const size_t end = text.compare(0, ours.size(), ours) == 0 ? text.find('\n') + 1 : 0;  // of the headers
    const std::string first = end ? prepared(simt + text.substr(0, end), flags) : "";
    if (!make(first.empty() ? simt + kernel : kernel.substr(end), flags + " -shared" + first, stem, ".cc", ".so", true,
              libraries(watch)))
      return nullptr;
  }
  return open(stem + ".so");
}

const HostKernel* compile(const std::string& header, const std::string& expression, bool watch) {
  const std::string flags = kernel_flags(watch);
  const std::string headers = "#include \"simt.h\"\n#include \"" + header + "\"\n";
  const std::string kernel = "HOSTCUDA_KERNEL(" + expression + ")\n";
  const std::string stem = key_of(headers + kernel + flags), library = stem + ".so";
  if (access(library.c_str(), R_OK)) {
    const std::string first = prepared(headers, flags);
    ++machine.statistics.host_compilations;
    if (first.empty() || !make(kernel, flags + " -shared" + first, stem, ".cc", ".so", false, libraries(watch))) {
      fprintf(stderr, "hostcuda: cannot compile %s\n", expression.c_str());
      return nullptr;
    }
  }
  return open(library);
}

// The number in `__launch_bounds__(N) void name(` or `void __launch_bounds__(N) name(`; 0 if the text has none of that name.
unsigned bound_in(const std::string& text, const std::string& name) {
  static const std::regex bound("__launch_bounds__\\s*\\(\\s*(\\d+)[^)]*\\)\\s*(?:void\\s+)?(\\w+)\\s*\\(");
  constexpr size_t longest = 200;
  for (size_t at = 0; (at = text.find("__launch_bounds__", at)) != std::string::npos; ++at) {
    const std::string here = text.substr(at, longest);
    if (std::smatch found; std::regex_search(here, found, bound, std::regex_constants::match_continuous) && found[2] == name)
      return static_cast<unsigned>(std::stoul(found[1]));
  }
  return 0;
}

// The launch bound of a kernel, which the compiler writes into a real CUBIN; here it is read from the text.
unsigned launch_bound(const std::string& header, const std::string& expression, const std::string& own_text) {
  std::string name = expression.substr(0, expression.find('<'));
  name = name.substr(name.rfind(':') == std::string::npos ? 0 : name.rfind(':') + 1);
  if (const unsigned bound = bound_in(own_text, name)) return bound;
  if (!own_text.empty()) return 1024;
  std::vector<std::string> places{header};
  for (const std::string& folder : include_folders()) places.push_back(folder + "/" + header);
  for (const std::string& place : places) {
    if (const unsigned bound = bound_in(text_of(place), name)) return bound;
  }
  return 1024;
}

// A kernel with an invalid or misaligned access loses the context, as on a device, and does not end the process.
thread_local sigjmp_buf kernel_fault;
thread_local volatile sig_atomic_t in_kernel = 0;
void on_fault(int signal, siginfo_t*, void*) {
  if (in_kernel) siglongjmp(kernel_fault, signal);
}

void run_kernel(const HostKernel& kernel, void** arguments, dim3 grid, dim3 threads, unsigned order, HostWatch* watch) {
  static const bool sanitized = dlsym(RTLD_DEFAULT, "__asan_init") != nullptr;
  if (sanitized) return hostcuda::launch(kernel, arguments, grid, threads, order, watch);  // its report says more
  constexpr int signals[] = {SIGSEGV, SIGBUS, SIGILL};
  struct sigaction ours{}, before[3];
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER;
  for (int i = 0; i < 3; ++i) sigaction(signals[i], &ours, &before[i]);
  if (const int fault = sigsetjmp(kernel_fault, 1); fault == 0) {
    in_kernel = 1;
    hostcuda::launch(kernel, arguments, grid, threads, order, watch);
  } else {
    open_memory_again();
    lose_context(fault == SIGILL ? kMisalignedAddress : kIllegalAddress);
  }
  in_kernel = 0;
  for (int i = 0; i < 3; ++i) sigaction(signals[i], &before[i], nullptr);
}

const HostKernel* kernel_of(const std::string& header, const std::string& expression, const std::string& text, bool watch) {
  static std::map<std::string, const HostKernel*> known;
  const HostKernel*& kernel = known[(watch ? "watched\n" : "\n") + header + "\n" + expression + "\n" + text];
  if (!kernel) kernel = text.empty() ? compile(header, expression, watch) : compile_text(text, expression, watch);
  return kernel;
}

int load(CUmodule* module, const void* image) {
  auto created = std::make_unique<ModuleHandle>();
  const char* bytes = static_cast<const char*>(image);
  if (!memcmp(bytes, ELFMAG, SELFMAG)) {
    const auto* header = reinterpret_cast<const Elf64_Ehdr*>(bytes);
    const auto* sections = reinterpret_cast<const Elf64_Shdr*>(bytes + header->e_shoff);
    const char* names = bytes + sections[header->e_shstrndx].sh_offset;
    for (int i = 0; i < header->e_shnum; ++i)
      if (const char* name = names + sections[i].sh_name; !strncmp(name, ".text.", 6)) created->names.insert(name + 6);
  } else {
    const bool is_header = !strncmp(bytes, source_magic, sizeof source_magic - 1);
    if (!is_header && strncmp(bytes, text_magic, sizeof text_magic - 1)) return kInvalidImage;
    const char* at = strchr(bytes, '\n') + 1;
    const auto read_line = [&](std::string& line) {
      const char* end = strchr(at, '\n');
      if (end) line.assign(at, end), at = end + 1;
      return end != nullptr;
    };
    if ((is_header && !read_line(created->header)) || !read_line(created->expression)) return kInvalidImage;
    if (!is_header) created->text = at;
  }
  *module = created.release();
  ++machine.statistics.modules_live;
  return kSuccess;
}

int find(CUfunction* function, CUmodule module, const char* name) {
  auto& slot = module->functions[name];
  if (!slot) {
    const bool source = !module->expression.empty();
    if (!source && !module->names.count(name)) return kNotFound;
    const std::string expression = source ? module->expression : expression_of(name);
    const std::string header = source ? module->header : header_of(expression);
    // Compiled only if launches are on.
    const HostKernel* kernel = machine.launches ? kernel_of(header, expression, module->text, false) : nullptr;
    if (machine.launches && !kernel) return kNotFound;
    slot = std::make_unique<FunctionHandle>(FunctionHandle{expression, header, module->text, kernel, nullptr, current()->device,
                                                           launch_bound(header, expression, module->text)});
  }
  *function = slot.get();
  return kSuccess;
}

}  // namespace
}  // namespace dlt::cuda

using namespace dlt::cuda;

HOSTCUDA_EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  HOSTCUDA_NOT_IN_CAPTURE;
  return load(module, image);
}
HOSTCUDA_EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, int*, void**) {
  return cuModuleLoadData(module, image);
}
HOSTCUDA_EXPORT CUresult cuModuleUnload(CUmodule module) {
  HOSTCUDA_ENTER;
  synchronize_device(current() ? current()->device : 0);
  --machine.statistics.modules_live;
  delete module;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  return find(function, module, name);
}
HOSTCUDA_EXPORT CUresult cuModuleGetLoadingMode(int* mode) {
  *mode = 2;  // lazy
  return kSuccess;
}
// Libraries and kernels: the newer names of modules and functions, which cuda.core uses.
HOSTCUDA_EXPORT CUresult cuLibraryLoadData(CUmodule* library, const void* image, int*, void**, unsigned, int*, void**,
                                           unsigned) {
  HOSTCUDA_ENTER;
  return load(library, image);
}
HOSTCUDA_EXPORT CUresult cuLibraryUnload(CUmodule) { return kSuccess; }
HOSTCUDA_EXPORT CUresult cuLibraryGetKernel(CUfunction* kernel, CUmodule library, const char* name) {
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  return find(kernel, library, name);
}
HOSTCUDA_EXPORT CUresult cuKernelGetFunction(CUfunction* function, CUfunction kernel) {
  *function = kernel;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuFuncLoad(CUfunction) { return kSuccess; }
HOSTCUDA_EXPORT CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction function) {
  HOSTCUDA_ENTER;
  *value = attribute == 0                    ? static_cast<int>(function->most_threads)
           : attribute == kFunctionRegisters ? 32
           : attribute == 6                  ? machine.capability
                                             : 0;
  return kSuccess;
}
HOSTCUDA_EXPORT CUresult cuFuncSetAttribute(CUfunction, int, int) { return kSuccess; }
HOSTCUDA_EXPORT CUresult cuKernelGetAttribute(int* value, int attribute, CUfunction kernel, CUdevice) {
  return cuFuncGetAttribute(value, attribute, kernel);
}
HOSTCUDA_SIMPLE(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int* blocks, CUfunction, int threads, size_t),
                *blocks = threads > 0 ? 2048 / threads : 0)
HOSTCUDA_EXPORT CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* threads, CUfunction, void*, size_t, int) {
  *threads = 1024;
  *grid = 264;
  return kSuccess;
}

// The limit of every compute capability; from 7.0 on CUDA 12.1 has a larger one, if driver and compiler are that new.
static constexpr size_t most_parameter_bytes = 4096;

static bool is_launchable(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz) {
  if (!gx || !gy || !gz || !bx || !by || !bz) return false;
  return gx <= 2147483647u && gy <= 65535 && gz <= 65535 && bx <= 1024 && by <= 1024 && bz <= 64 && bx * by * bz <= 1024;
}

HOSTCUDA_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                        unsigned bz, unsigned, CUstream handle, void** arguments, void**) {
  if (!machine.launches) return kSuccess;
  HOSTCUDA_ENTER;
  HOSTCUDA_CONTEXT;
  HOSTCUDA_RESOLVE(handle, stream);
  // Function, stream and current context belong together.
  if (!function || function->device != stream->device || stream->device != current()->device) return kInvalidHandle;
  if (!is_launchable(gx, gy, gz, bx, by, bz)) return kInvalidValue;
  if (bx * by * bz > function->most_threads) return kLaunchOutOfResources;
  if (!function->kernel) function->kernel = kernel_of(function->header, function->name, function->text, false);
  if (!function->kernel) return kNotFound;
  Statistics& s = machine.statistics;
  ++s.launches;
  s.grid[0] = gx, s.grid[1] = gy, s.grid[2] = gz, s.block[0] = bx, s.block[1] = by, s.block[2] = bz;
  machine.last_kernel = function->name;
  // The driver copies the arguments at the call.
  auto kept = std::make_shared<std::vector<std::vector<char>>>();
  if (machine.watch && !function->watched)
    function->watched = kernel_of(function->header, function->name, function->text, true);
  const bool watched = machine.watch && function->watched;
  const HostKernel* kernel = watched ? function->watched : function->kernel;
  const unsigned seed = watched ? static_cast<unsigned>(machine.preemption()) : 0;
  size_t parameter_bytes = 0;
  for (size_t i = 0; i < kernel->count; ++i) parameter_bytes += kernel->sizes[i];
  if (parameter_bytes > most_parameter_bytes) return kInvalidValue;
  for (size_t i = 0; i < kernel->count; ++i)
    kept->emplace_back(static_cast<char*>(arguments[i]), static_cast<char*>(arguments[i]) + kernel->sizes[i]);
  const unsigned order = machine.order == Machine::Order::lazy     ? 1u
                         : machine.order == Machine::Order::random ? static_cast<unsigned>(machine.chance()) | 2u
                                                                   : 0u;
  return put(stream, [=] {
    std::vector<void*> pointers;
    for (auto& argument : *kept) pointers.push_back(argument.data());
    if (machine.lost) return;
    HostWatch watch{seed, on_device, {}, {}};
    run_kernel(*kernel, pointers.data(), {gx, gy, gz}, {bx, by, bz}, order, watched ? &watch : nullptr);
    Statistics& counted = machine.statistics;
    counted.bytes_read += watch.bytes[0], counted.bytes_written += watch.bytes[1];
    counted.sectors_read += watch.sectors[0], counted.sectors_written += watch.sectors[1];
  });
}

// The launch function of cuda.core. Attributes (clusters, priorities) are ignored on the host.
struct LaunchConfiguration {
  unsigned grid[3], block[3], shared_bytes;
  CUstream stream;
  void* attributes;
  unsigned attribute_count;
};
HOSTCUDA_EXPORT CUresult cuLaunchKernelEx(const LaunchConfiguration* c, CUfunction function, void** arguments, void** extra) {
  return cuLaunchKernel(function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared_bytes,
                        c->stream, arguments, extra);
}

// Output of the compiler for the last text that did not compile. Valid until the next one.
HOSTCUDA_EXPORT const char* hostcuda_compiler_log() { return compiler_log.c_str(); }
