// SPDX-License-Identifier: Apache-2.0
// Choosing the instruction set.
#include "native/cpu/runtime/features.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>
#include <mutex>

#include "native/environment.h"
#include "native/fork.h"

namespace dlt {

std::atomic<const Kernels*> kernels_in_use{nullptr};

#if defined(__x86_64__)
#define DLT_LEVELS(X) X(v2) X(v3) X(v4)
#else
#define DLT_LEVELS(X) X(base)
#endif
#define DLT_DECLARE(level)           \
  namespace level {                  \
  void fill_table(Kernels* kernels); \
  }
DLT_LEVELS(DLT_DECLARE)
#undef DLT_DECLARE

namespace {

struct Level {
  const char* name;
  void (*fill)(Kernels*);
};
#define DLT_LEVEL_ROW(level) {#level, level::fill_table},
constexpr Level levels[] = {DLT_LEVELS(DLT_LEVEL_ROW)};
#undef DLT_LEVEL_ROW
constexpr int level_count = int(sizeof levels / sizeof *levels);
#define DLT_LEVEL_NAME(level) #level,
constexpr const char* level_names[] = {DLT_LEVELS(DLT_LEVEL_NAME) nullptr};
#undef DLT_LEVEL_NAME

// Compilers older than Clang 18 and GCC 12 lack the level names: there the features listed by the x86-64 psABI are
// tested. The builtin also checks that the system saves the wide registers; it does not cover every feature.
#if defined(__x86_64__) && (defined(__clang__) ? __clang_major__ < 18 : __GNUC__ < 12)
bool has(unsigned leaf, unsigned features) {
  unsigned a, b, c, d;
  return __get_cpuid(leaf, &a, &b, &c, &d) != 0 && (c & features) == features;
}
bool has_v2() {
  return __builtin_cpu_supports("sse3") && __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
         __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") && has(1, bit_CMPXCHG16B) &&
         has(0x80000001, bit_LAHF_LM);
}
bool has_v3() {
  return has_v2() && __builtin_cpu_supports("avx") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") && has(1, bit_F16C | bit_MOVBE) &&
         has(0x80000001, bit_LZCNT);
}
bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#define DLT_HAS(level) has_##level()
#elif defined(__x86_64__)
#define DLT_HAS(level) __builtin_cpu_supports("x86-64-" #level)
#endif

bool supported(int level) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  switch (level) {
    case 0: return DLT_HAS(v2);
    case 1: return DLT_HAS(v3);
    default: return DLT_HAS(v4);
  }
#else
  return level == 0;
#endif
}

int find_level(const char* name) {
  for (int i = 0; i < level_count; ++i)
    if (strcmp(levels[i].name, name) == 0) return supported(i) ? i : -1;
  return -1;
}

Kernels tables[level_count];
bool filled[level_count];
std::mutex filling;
[[gnu::init_priority(fork_order_kernels)]] const ForkHandlers over_fork =
    hold_over_fork<[]() -> std::mutex& { return filling; }>();
const Kernels* choose(int level) {
  const std::lock_guard<std::mutex> guard(filling);
  if (!filled[level]) {
    levels[level].fill(&tables[level]);
    filled[level] = true;
  }
  kernels_in_use.store(&tables[level], std::memory_order_release);
  return &tables[level];
}

const Kernels* choose_first() {
  const char* wish = environment("DLTENSOR_CPU");
  int level = wish != nullptr ? find_level(wish) : -1;
  if (wish != nullptr && level < 0) {
    char expected[96] = "a level that this processor and this build support:";
    for (int i = 0; i < level_count; ++i)
      if (supported(i)) strcat(strcat(expected, " "), levels[i].name);
    reject_environment("DLTENSOR_CPU", wish, expected);
  }
  for (int i = level_count - 1; level < 0 && i >= 0; --i)
    if (supported(i)) level = i;
  if (level < 0) {
    // Nothing lower was compiled in: fail here with a message instead of SIGILL later.
    static const char words[] = "dltensor: this processor lacks x86-64-v2 (SSE4.2), which is required\n";
    (void)!fwrite(words, 1, sizeof words - 1, stderr);
    abort();
  }
  return choose(level);
}

}  // namespace

const Kernels& first_kernels() noexcept { return *choose_first(); }

const char* const* cpu_levels() noexcept { return level_names; }
bool cpu_supports(const char* level) noexcept { return find_level(level) >= 0; }
const char* cpu_level() noexcept { return kernels().name; }

bool set_cpu_level(const char* level) noexcept {
  const int found = find_level(level);
  if (found >= 0) choose(found);
  return found >= 0;
}

int64_t last_cache_bytes() noexcept {
#ifdef _SC_LEVEL3_CACHE_SIZE
  static const int64_t bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? bytes : 0;
#else
  return 0;
#endif
}

// Measured: decision 25. Beside a repeated row of 16 KiB, 8 KiB that are read ahead leave a first cache of 32 KiB too early.
const StripTuning& strip_tuning() noexcept {
#if defined(__x86_64__)
  static const bool is_intel = __builtin_cpu_is("intel"), has_wide = __builtin_cpu_supports("avx512f");
#else
  constexpr bool is_intel = false, has_wide = false;
#endif
#ifdef _SC_LEVEL1_DCACHE_SIZE
  static const bool is_small = sysconf(_SC_LEVEL1_DCACHE_SIZE) == 32 << 10;
#else
  constexpr bool is_small = false;
#endif
  static const StripTuning tuning = is_intel               ? StripTuning{512, 4, Pairs::all, false, false, INT64_MAX}
                                    : is_small && has_wide ? StripTuning{512, 6, Pairs::none, true, false, 12 << 10}
                                    : is_small             ? StripTuning{1024, 8, Pairs::heavy, false, true, 12 << 10}
                                                           : StripTuning{1024, 8, Pairs::none, false, false, INT64_MAX};
  return tuning;
}

}  // namespace dlt
