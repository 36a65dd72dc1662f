// SPDX-License-Identifier: Apache-2.0
// The last error of each thread. Its data may be foreign, so the deleter runs when no state here is in use.
#include "native/opaque/errors.h"

#include <pthread.h>
#include <string.h>

#include <algorithm>
#include <new>

namespace dlt::opaque {
namespace {

constexpr size_t longest_text = 64 * 1024;

struct LastError {
  std::string message;
  std::string origin;
  void* data = nullptr;
  void (*deleter)(void*) = nullptr;
};

// A thread_local object would be destroyed once, and an error set by a later destructor would touch a dead one.
// The destructor of a key runs again as long as the key is set again (four rounds on Linux), so an error set
// by a deleter while its thread ends is freed as well.
void thread_ends(void* stored) {
  auto* last = static_cast<LastError*>(stored);
  void* data = last->data;
  void (*deleter)(void*) = last->deleter;
  delete last;
  if (deleter) deleter(data);
}

pthread_key_t key() noexcept {
  static const pthread_key_t created = [] {
    pthread_key_t fresh;
    // Fails only when the process is out of keys (1024): then peek() and error_of_thread() return null.
    return pthread_key_create(&fresh, thread_ends) == 0 ? fresh : static_cast<pthread_key_t>(-1);
  }();
  return created;
}
// Created at load time, not during a fork.
[[maybe_unused]] const pthread_key_t created_early = key();

LastError* peek() noexcept { return static_cast<LastError*>(pthread_getspecific(key())); }

// NULL if the allocation or pthread_key_create() fails.
LastError* error_of_thread() noexcept {
  if (LastError* last = peek()) return last;
  auto* fresh = new (std::nothrow) LastError;
  if (fresh && pthread_setspecific(key(), fresh) != 0) {
    delete fresh;
    return nullptr;
  }
  return fresh;
}

// The number of bytes of the UTF-8 character at `at`; 0 when it is invalid.
size_t utf8_length(std::string_view text, size_t at) noexcept {
  auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<uint8_t>(text[at + i]) : uint8_t{0}; };
  auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  uint8_t first = byte(0), second = byte(1);
  if (first < 0x80) return first ? 1 : 0;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (first == 0xE0 && second < 0xA0) return 0;  // overlong
    if (first == 0xED && second > 0x9F) return 0;  // a surrogate
    return follows(1) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (first == 0xF0 && second < 0x90) return 0;
    if (first == 0xF4 && second > 0x8F) return 0;  // beyond U+10FFFF
    return follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string escape_utf8(std::string_view bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(std::min(bytes.size(), longest_text) + 64);
  for (size_t at = 0; at < bytes.size();) {
    if (text.size() >= longest_text) {
      text += concat(" [cut here: the whole text has ", bytes.size(), " bytes]");
      break;
    }
    if (size_t length = utf8_length(bytes, at)) {
      text.append(bytes, at, length);
      at += length;
      continue;
    }
    auto byte = static_cast<uint8_t>(bytes[at++]);
    text += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
  }
  return text;
}

dlt_status_t set_last_error_of(const DetailedStatus& status) noexcept {
  if (!status.ok()) dlt_set_last_error(status.message.c_str(), error_source, nullptr, nullptr);
  return status.code();
}

}  // namespace dlt::opaque

using dlt::opaque::escape_utf8;
using dlt::opaque::error_of_thread;
using dlt::opaque::peek;

dlt_status_t dlt_last_error(const char** message, const char** origin, void** data) {
  const auto* last = peek();
  if (message) *message = last ? last->message.c_str() : "";
  if (origin) *origin = last ? last->origin.c_str() : "";
  if (data) *data = last ? last->data : nullptr;
  return DLT_SUCCESS;
}

dlt_status_t dlt_copy_last_error(char* buffer, uintptr_t buffer_size, uintptr_t* length) {
  const auto* last = peek();
  size_t whole = last ? last->message.size() : 0;
  if (length) *length = whole;
  if (!buffer || buffer_size == 0) return whole ? DLT_BUFFER_SIZE_ERROR : DLT_SUCCESS;
  size_t fits = std::min<size_t>(whole, buffer_size - 1);
  // Cut between characters, not inside one.
  while (fits < whole && fits > 0 && (static_cast<uint8_t>(last->message[fits]) & 0xC0) == 0x80) --fits;
  if (fits) memcpy(buffer, last->message.data(), fits);
  buffer[fits] = '\0';
  return fits < whole ? DLT_BUFFER_SIZE_ERROR : DLT_SUCCESS;
}

dlt_status_t dlt_set_last_error(const char* message, const char* origin, void* data, void (*data_deleter)(void*)) {
  std::string message_text, origin_text;
  try {
    // Copied before the old texts are freed: `message` may be one of them.
    message_text = message ? escape_utf8(message) : "<no message provided>";
    origin_text = origin ? escape_utf8(origin) : "<no origin provided>";
  } catch (...) {
    message_text.assign("out of memory");
    origin_text.clear();
  }
  auto* last = error_of_thread();
  if (!last) {
    if (data_deleter) data_deleter(data);
    return DLT_INTERNAL_ERROR;
  }
  void* old_data = last->data;
  void (*old_deleter)(void*) = last->deleter;
  last->message.swap(message_text);
  last->origin.swap(origin_text);
  last->data = data;
  last->deleter = data_deleter;
  // Last: the deleter may read this error or set another.
  if (old_deleter) old_deleter(old_data);
  return DLT_SUCCESS;
}
