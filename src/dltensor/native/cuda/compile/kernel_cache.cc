// SPDX-License-Identifier: Apache-2.0
// The folder of compiled kernels. Folder 0700; files are written under another name and moved, so that readers see all of
// them or nothing.
//   KEY-MAJOR.MINOR.kernel  a line "dltensor kernel 2 SHA256\n" with the hash of the rest: the code's hash, the kernel's name
//   HASH.code               machine code, named by its SHA-256: of one kernel, or of all that were compiled as one program
// Their times are those of their last use. Beyond DLTENSOR_CUDA_CACHE_BYTES those used longest ago are removed.
#include "native/cuda/compile/kernel_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "native/cuda/compile/compiler.h"
#include "native/cuda/runtime/driver.h"
#include "native/cuda/compile/sha256.h"
#include "native/environment.h"
#include "native/no_destructor.h"
#include "native/os/files.h"

namespace dlt::cuda {
namespace {

constexpr int oldest_maker = 11;

struct Settings {
  std::mutex mutex;
  std::string sources, cache, compiled;
  bool cache_set = false;
  std::string text_hash;  // of all kernel text
  int64_t unseen = -1;    // bytes written since the cache's files were last looked through; -1: never
};
Settings& settings() noexcept {
  static NoDestructor<Settings> instance;
  return *instance;
}

// Hash of the kernels' text, which is as trusted as the package and only has to be told from other versions of it: 128 bits by
// multiplications, 20 times as fast as SHA-256.
class TextHash {
 public:
  void add(const std::string& text) noexcept {
    mix(text.size());
    size_t at = 0;
    for (; at + 8 <= text.size(); at += 8) {
      uint64_t word;
      memcpy(&word, text.data() + at, 8);
      mix(word);
    }
    uint64_t rest = 0;
    memcpy(&rest, text.data() + at, text.size() - at);
    mix(rest);
  }
  std::string hex() const {
    char text[33];
    snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(a_), static_cast<unsigned long long>(b_));
    return text;
  }

 private:
  void mix(uint64_t word) noexcept {
    a_ = (a_ ^ word) * 0x9E3779B97F4A7C15u;
    a_ ^= a_ >> 29;
    b_ = (b_ + word) * 0xD6E8FEB86659FD93u;
    b_ ^= b_ >> 32;
  }
  uint64_t a_ = 0x243F6A8885A308D3u, b_ = 0x13198A2E03707344u;
};

// Closed on an exception too.
struct Closes {
  void operator()(FILE* file) const noexcept { fclose(file); }
  void operator()(DIR* folder) const noexcept { closedir(folder); }
};

bool read_file(const std::string& path, std::string* out) {
  const std::unique_ptr<FILE, Closes> file(fopen(path.c_str(), "rbe"));
  if (!file) return false;
  char part[1 << 16];
  out->clear();
  while (const size_t n = fread(part, 1, sizeof part, file.get())) out->append(part, n);
  return !ferror(file.get());
}

// Paths of files with that ending, in folders of the folder too. The iterators of std::filesystem end the process where
// there is no memory.
void add_files(const std::string& folder, const char* ending, std::vector<std::string>* paths) {
  const std::unique_ptr<DIR, Closes> open{opendir(folder.c_str())};
  if (!open) return;
  while (const dirent* entry = readdir(open.get())) {
    if (entry->d_name[0] == '.') continue;
    const std::string path = folder + "/" + entry->d_name;
    if (path.ends_with(ending)) paths->push_back(path);
    else add_files(path, ending, paths);
  }
}
std::vector<std::string> files_below(const std::string& folder, const char* ending) {
  std::vector<std::string> names;
  add_files(folder, ending, &names);
  std::sort(names.begin(), names.end());
  return names;
}

std::string default_cache() {
  const char* own = environment("DLTENSOR_CACHE_DIR");
  if (own) return std::string(own) + "/cuda";
  const char* shared = getenv("XDG_CACHE_HOME");
  const char* home = getenv("HOME");
  if (shared && *shared) return std::string(shared) + "/dltensor/cuda";
  return home && *home ? std::string(home) + "/.cache/dltensor/cuda" : "";
}

const std::string& cache_folder() {
  Settings& s = settings();
  if (!s.cache_set) {
    s.cache = default_cache();
    s.cache_set = true;
  }
  return s.cache;
}

// Code from there is executed: it must belong to this user, and no other user may write to it.
bool trusted(const struct stat& state) noexcept { return os::is_private(state); }

bool make_folder(const std::string& path) {
  for (size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at + 1);
    os::make_private_folder(path.substr(0, at).c_str());  // fails where it exists already; the check below decides
  }
  struct stat state{};
  return stat(path.c_str(), &state) == 0 && S_ISDIR(state.st_mode) && trusted(state);
}

constexpr size_t hash_digits = 64, key_digits = 40;

std::string header_of(const std::string& rest) { return "dltensor kernel 2 " + code_hash(rest) + "\n"; }

bool parse(const std::string& text, Image* out) {
  const size_t header = text.find('\n') + 1;  // 0 without one
  if (text.size() <= header + hash_digits || text.compare(0, header, header_of(text.substr(header))) != 0) return false;
  out->hash = text.substr(header, hash_digits);
  out->name = text.substr(header + hash_digits);
  return out->hash.find_first_not_of("0123456789abcdef") == std::string::npos;  // part of a file's name
}

// With `must_be_ours` no other user may have written a file or the folder.
Found read_from(const std::string& folder, const std::string& file, bool must_be_ours, const IsLoaded& is_loaded, Image* out) {
  const auto allowed = [&](const std::string& path) {
    struct stat state{};
    return !must_be_ours || (stat(path.c_str(), &state) == 0 && trusted(state));
  };
  const std::string path = folder + "/" + file;
  if (folder.empty() || access(path.c_str(), F_OK) != 0) return Found::no;
  std::string text;
  Image image;
  if (!allowed(folder) || !allowed(path) || !read_file(path, &text) || !parse(text, &image)) return Found::refused;
  if (!is_loaded(image.hash)) {
    const std::string code = folder + "/" + image.hash + ".code";
    if (!allowed(code) || !read_file(code, &image.code) || code_hash(image.code) != image.hash) return Found::refused;
  }
  return *out = std::move(image), Found::yes;
}

std::string file_name(const std::string& key, const std::string& maker) { return key + "-" + maker + ".kernel"; }

}  // namespace

const std::string& source_folder() noexcept { return settings().sources; }

Status set_source_folder(const char* path) noexcept {
  Settings& s = settings();
  std::lock_guard<std::mutex> hold(s.mutex);
  return guarded("set_source_folder", [&] {
    s.sources = path;
    s.text_hash.clear();
    return success;
  });
}

Status set_kernel_cache(const char* path) noexcept {
  Settings& s = settings();
  std::lock_guard<std::mutex> hold(s.mutex);
  return guarded("set_kernel_cache", [&] {
    s.cache = path;
    s.cache_set = true;
    s.unseen = -1;
    return success;
  });
}

Status set_compiled_kernels(const char* path) noexcept {
  Settings& s = settings();
  std::lock_guard<std::mutex> hold(s.mutex);
  return guarded("set_compiled_kernels", [&] { return s.compiled = path, success; });
}

Status image_key(int major, int minor, const Program& program, std::string* key) {
  Settings& s = settings();
  std::lock_guard<std::mutex> hold(s.mutex);
  if (s.text_hash.empty()) {
    TextHash all;
    std::vector<std::string> files = files_below(s.sources + "/native/cuda/kernels", ".cuh");
    const std::vector<std::string> bodies = files_below(s.sources + "/native/ops", ".h");
    if (files.empty() || bodies.empty())
      return fail(Fault::device, "compile: the kernels' source text is not in %s; the installation is incomplete: reinstall",
                  s.sources.c_str());
    files.insert(files.end(), bodies.begin(), bodies.end());
    for (const std::string& file : files) {
      std::string text;
      if (!read_file(file, &text)) return fail(Fault::device, "compile: cannot read %s: reinstall", file.c_str());
      all.add(text);
    }
    s.text_hash = all.hex();
  }
  Sha256 hash;
  for (const std::string& option : program.options) hash.add(option + "\n");
  hash.add(s.text_hash + "\n" + program.header + "\n" + program.expression + "\n" + std::to_string(major) + "." +
           std::to_string(minor));
  *key = Sha256::hex(hash.finish()).substr(0, key_digits);
  return success;
}

std::string code_hash(const std::string& code) {
  Sha256 hash;
  hash.add(code);
  return Sha256::hex(hash.finish());
}

Found read_image(const std::string& key, const std::string& maker, const IsLoaded& is_loaded, Image* out) {
  Settings& s = settings();
  std::lock_guard<std::mutex> hold(s.mutex);
  const std::string& folder = cache_folder();
  const Found found = read_from(folder, file_name(key, maker), true, is_loaded, out);
  if (found == Found::yes)
    for (const std::string& file : {file_name(key, maker), out->hash + ".code"}) utime((folder + "/" + file).c_str(), nullptr);
  return found;
}

Status find_compiled(int major, int minor, const Program& program, std::string* path) {
  Settings& s = settings();
  path->clear();
  {
    std::lock_guard<std::mutex> hold(s.mutex);
    if (s.compiled.empty() || program.is_text) return success;
  }
  for (; minor >= 0; --minor) {
    std::string key;
    DLT_TRY(image_key(major, minor, program, &key));
    std::lock_guard<std::mutex> hold(s.mutex);
    // A driver loads code compiled by NVRTC of its own and older major versions.
    for (int maker = driver.version / 1000; maker >= oldest_maker; --maker) {
      *path = s.compiled + "/" + std::to_string(maker) + "/" + key + ".kernel";
      if (access(path->c_str(), R_OK) == 0) return success;
    }
  }
  return path->clear(), success;
}

// The folder is as trusted as the package that it came with, whichever user owns it.
Found read_compiled(const std::string& path, const IsLoaded& is_loaded, Image* out) {
  const size_t slash = path.rfind('/');
  return read_from(path.substr(0, slash), path.substr(slash + 1), false, is_loaded, out);
}

namespace {

// Under another name first, so that readers see all of it or nothing.
bool write_whole(const std::string& path, const std::string& text) {
  const std::string part = path + "." + std::to_string(getpid());
  const int file = os::create_private_file(part.c_str());
  if (file < 0) return false;
  bool good = true;
  for (size_t done = 0; good && done < text.size();) {
    const ssize_t n = write(file, text.data() + done, text.size() - done);
    good = n > 0;
    if (good) done += static_cast<size_t>(n);
  }
  good = close(file) == 0 && good;
  good = good && rename(part.c_str(), path.c_str()) == 0;
  if (!good) unlink(part.c_str());
  return good;
}

int64_t most_cached_bytes() noexcept {
  static const int64_t bytes = environment_number("DLTENSOR_CUDA_CACHE_BYTES", 0, INT64_MAX, int64_t{256} << 20);
  return bytes;
}

// Tells names that write_image() gives to files, or to parts of them while they are written: nothing else is removed.
bool is_image_name(const std::string& name) {
  const size_t digits = std::min(name.find_first_not_of("0123456789abcdef"), name.size());
  std::string rest = name.substr(digits);
  const size_t process = rest.find_last_not_of("0123456789");
  if (process != std::string::npos && rest[process] == '.') rest.resize(process);
  if (digits == hash_digits) return rest == ".code";
  return digits == key_digits && rest.starts_with("-") && rest.ends_with(".kernel") &&
         rest.find_first_not_of("0123456789.", 1) == rest.size() - strlen("kernel");
}

// Removes the files used longest ago while there are more bytes than the limit. Other processes may use them meanwhile: an
// open file stays readable, and a kernel that is missing is compiled again. The folder is looked through at a process's
// first write and whenever it has written another 16th of the limit.
void prune(const std::string& folder, const std::string& kernel, const std::string& code, int64_t written) {
  struct File {
    time_t used;
    int64_t bytes;
    std::string path;
  };
  int64_t& unseen = settings().unseen;
  const int64_t most = most_cached_bytes(), step = most / 16;
  if (unseen >= 0 && (unseen += written) < step) return;
  unseen = 0;
  std::vector<File> files;
  int64_t total = 0;
  for (const std::string& path : files_below(folder, "")) {
    struct stat state{};
    if (!is_image_name(path.substr(folder.size() + 1)) || stat(path.c_str(), &state) != 0 || !S_ISREG(state.st_mode) ||
        !trusted(state))
      continue;
    total += state.st_size;
    if (path != kernel && path != code) files.push_back({state.st_mtime, state.st_size, path});
  }
  if (total <= most) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (total <= most - step) return;
    unlink(file.path.c_str());
    total -= file.bytes;
  }
}

constexpr const char* makers_file = "/nvrtc.version";

// The text by which a library is recognised, or "".
std::string stamp_of(const std::string& path) {
  struct stat state{};
  if (path.empty() || path[0] != '/' || stat(path.c_str(), &state) != 0) return "";
  return std::to_string(state.st_size) + " " + std::to_string(state.st_mtime) + " " + path + "\n";
}

}  // namespace

std::string remembered_maker(const std::string& path) {
  Settings& s = settings();
  std::lock_guard<std::mutex> hold(s.mutex);
  const std::string stamp = stamp_of(path), &folder = cache_folder();
  struct stat state{}, parent{};
  std::string text;
  if (stamp.empty() || folder.empty() || stat((folder + makers_file).c_str(), &state) != 0 || !trusted(state) ||
      stat(folder.c_str(), &parent) != 0 || !trusted(parent) || !read_file(folder + makers_file, &text))
    return "";
  const size_t space = text.find(' ');
  return space != std::string::npos && text.compare(space + 1, std::string::npos, stamp) == 0 ? text.substr(0, space) : "";
}

void remember_maker(const std::string& path, const std::string& maker) {
  Settings& s = settings();
  std::lock_guard<std::mutex> hold(s.mutex);
  const std::string stamp = stamp_of(path), &folder = cache_folder();
  if (!stamp.empty() && !folder.empty() && make_folder(folder)) write_whole(folder + makers_file, maker + " " + stamp);
}

void write_image(const std::string& key, const std::string& maker, const Image& image) {
  Settings& s = settings();
  std::lock_guard<std::mutex> hold(s.mutex);
  const std::string& folder = cache_folder();
  if (folder.empty()) return;
  if (!make_folder(folder)) {
    static bool reported = false;
    const char* own = environment("DLTENSOR_CACHE_DIR");
    if (own != nullptr && !reported) reject_environment("DLTENSOR_CACHE_DIR", own, "a folder that only its owner can write to");
    reported = true;
    return;
  }
  const std::string kernel = folder + "/" + file_name(key, maker), code = folder + "/" + image.hash + ".code";
  const std::string rest = image.hash + image.name, text = header_of(rest) + rest;
  const auto bytes = static_cast<int64_t>(image.code.size() + text.size());
  if (bytes > most_cached_bytes()) return;
  if (!image.code.empty() && !write_whole(code, image.code)) return;
  write_whole(kernel, text);
  prune(folder, kernel, code, bytes);
}

}  // namespace dlt::cuda
