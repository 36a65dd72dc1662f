// SPDX-License-Identifier: Apache-2.0
// What the memory of this machine allows: loops that do nothing but one piece of work, in several ways of storing.
// bench_memory.py compiles this file for the processor at hand and takes the fastest way as the limit.
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include <chrono>
#include <thread>
#include <vector>

namespace {

constexpr int64_t STRIP = 1024;  // bytes of output that wait in the first cache

#if defined(__AVX512F__)
void stream(char* to, const char* from) { _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_load_si512(from)); }
#elif defined(__AVX__)
void stream(char* to, const char* from) {
  for (int i = 0; i < 64; i += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i), _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i)));
}
#else
void stream(char* to, const char* from) {
  for (int i = 0; i < 64; i += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
}
#endif

struct Add {
  using Out = float;
  static constexpr int a_bytes = 4, b_bytes = 4, repeats = 0;
  static void run(float* out, const void* a, const void* b, int64_t n) {
    auto x = static_cast<const float*>(a), y = static_cast<const float*>(b);
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] + y[i];
  }
};
struct Multiply {
  using Out = float;
  static constexpr int a_bytes = 4, b_bytes = 0, repeats = 0;
  static void run(float* out, const void* a, const void*, int64_t n) {
    auto x = static_cast<const float*>(a);
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] * 2.5f;
  }
};
struct Less {
  using Out = uint8_t;
  static constexpr int a_bytes = 4, b_bytes = 4, repeats = 0;
  static void run(uint8_t* out, const void* a, const void* b, int64_t n) {
    auto x = static_cast<const float*>(a), y = static_cast<const float*>(b);
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] < y[i];
  }
};
struct Fill {
  using Out = float;
  static constexpr int a_bytes = 0, b_bytes = 0, repeats = 0;
  static void run(float* out, const void*, const void*, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = 3.0f;
  }
};
struct Copy {
  using Out = float;
  static constexpr int a_bytes = 4, b_bytes = 0, repeats = 0;
  static void run(float* out, const void* a, const void*, int64_t n) { memcpy(out, a, size_t(n) * 4); }
};
struct Widen {
  using Out = float;
  static constexpr int a_bytes = 1, b_bytes = 0, repeats = 0;
  static void run(float* out, const void* a, const void*, int64_t n) {
    auto x = static_cast<const uint8_t*>(a);
    for (int64_t i = 0; i < n; ++i) out[i] = float(x[i]);
  }
};
struct AddHalf {
  using Out = uint16_t;
  static constexpr int a_bytes = 2, b_bytes = 2, repeats = 0;
  static void run(uint16_t* out, const void* a, const void* b, int64_t n) {
    auto x = static_cast<const uint16_t*>(a), y = static_cast<const uint16_t*>(b);
#if defined(__F16C__)
    for (int64_t i = 0; i < n; i += 8) {
      const __m256 p = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i)));
      const __m256 q = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(y + i)));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm256_cvtps_ph(_mm256_add_ps(p, q), 0));
    }
#else
    for (int64_t i = 0; i < n; ++i) out[i] = uint16_t(x[i] ^ y[i]);  // not the sum, but its traffic
#endif
  }
};
struct AddRow {  // a row of 4096 elements, in the first cache, to every row
  using Out = float;
  static constexpr int a_bytes = 4, b_bytes = 0, repeats = 4096;
  static void run(float* out, const void* a, const void* b, int64_t n) {
    auto x = static_cast<const float*>(a), y = static_cast<const float*>(b);
    for (int64_t i = 0; i < n; i += 4096) {
      const int64_t end = n - i < 4096 ? n : i + 4096;
      for (int64_t k = i; k < end; ++k) out[k] = x[k] + y[k - i];
    }
  }
};

// The three ways: stores through the caches, strips that are streamed past them, strips and a prefetch of the first operand.
template <class Work, int way>
void work(char* out, const char* a, const char* b, int64_t n) {
  using Out = typename Work::Out;
  if (way == 0) {
    Work::run(reinterpret_cast<Out*>(out), a, b, n);
    return;
  }
  alignas(64) char strip[STRIP];
  constexpr int64_t count = STRIP / int64_t(sizeof(Out));
  for (int64_t i = 0; i < n; i += count) {
    const char* from = a + i * Work::a_bytes;
    if (way == 2)
      for (int64_t k = 0; k < count * Work::a_bytes; k += 64) _mm_prefetch(from + 8 * count * Work::a_bytes + k, _MM_HINT_T0);
    const char* other = b + (Work::repeats ? i % Work::repeats * 4 : i * Work::b_bytes);
    Work::run(reinterpret_cast<Out*>(strip), from, other, count);
    for (int64_t k = 0; k < STRIP; k += 64) stream(out + i * int64_t(sizeof(Out)) + k, strip + k);
  }
  _mm_sfence();
}

template <class Work>
double timed(int way, char* out, const char* a, const char* b, int64_t n, int threads) {
  using Loop = void (*)(char*, const char*, const char*, int64_t);
  const Loop loops[] = {work<Work, 0>, work<Work, 1>, work<Work, 2>};
  const int64_t part = n / threads & ~int64_t(65535);
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> others;
  for (int64_t k = 1; k < threads; ++k)
    others.emplace_back(loops[way], out + k * part * int64_t(sizeof(typename Work::Out)), a + k * part * Work::a_bytes,
                        b + k * part * Work::b_bytes, part);
  loops[way](out, a, b, n - (threads - 1) * part);
  for (auto& other : others) other.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

// Seconds that one run of the work number `work` takes in one of its three ways. `out` is aligned to 64 bytes and `n` a
// multiple of 65536.
extern "C" double limit(int work, int way, char* out, const char* a, const char* b, int64_t n, int threads) {
  using Timed = double (*)(int, char*, const char*, const char*, int64_t, int);
  const Timed all[] = {timed<Add>,  timed<Multiply>, timed<Less>,    timed<Fill>,
                       timed<Copy>, timed<Widen>,    timed<AddHalf>, timed<AddRow>};
  return all[work](way, out, a, b, n, threads);
}
