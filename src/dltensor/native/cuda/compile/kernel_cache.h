// SPDX-License-Identifier: Apache-2.0
// Compiled kernels on disk: file names, and the checks before a file is trusted. For compiler.cc only.
#pragma once
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "native/status.h"

namespace dlt::cuda {

struct Image {
  std::string name;  // mangled, of the kernel in it
  std::string code;
  std::string hash;  // SHA-256 of the code; kernels of one program have the same
};

// No contraction, no approximation: CUDA results have the same bits as CPU results. Part of every file's name.
inline constexpr const char* compile_options[] = {"--std=c++20", "--fmad=false", "--device-as-default-execution-space"};

// All but source_folder() throw std::bad_alloc without memory for their texts.
const std::string& source_folder() noexcept;

// A program of one kernel. `header` is relative to the source folder or, in programs of users, the text itself.
struct Program {
  std::string header;
  std::string expression;  // as C++ names the kernel
  bool is_text = false;
  std::vector<std::string> options{std::begin(compile_options), std::end(compile_options)};
};

// The hash of everything that the code depends on: all kernel text of the package, the program, the architecture.
Status image_key(int major, int minor, const Program& program, std::string* key);

// The version of the NVRTC at a path, as the folder remembers it of a file of that size and time, or "". NVRTC takes 10
// milliseconds to load, which a kernel from disk does without.
std::string remembered_maker(const std::string& path);
void remember_maker(const std::string& path, const std::string& maker);

enum class Found { yes, no, refused };

// Code with this hash need not be read.
using IsLoaded = std::function<bool(const std::string& hash)>;

// `maker`: the version of NVRTC, or "any".
Found read_image(const std::string& key, const std::string& maker, const IsLoaded& is_loaded, Image* out);
// The file of a kernel that was compiled beforehand, by any version of NVRTC that the driver takes: of the compute capability,
// or of an older one of the same major version, whose code runs there too; "" where there is none.
Status find_compiled(int major, int minor, const Program& program, std::string* path);
Found read_compiled(const std::string& path, const IsLoaded& is_loaded, Image* out);
std::string code_hash(const std::string& code);
// An image without code is one of a program whose code was written before. A cache that cannot be written is not an error: the
// kernel is compiled again next time.
void write_image(const std::string& key, const std::string& maker, const Image& image);

}  // namespace dlt::cuda
