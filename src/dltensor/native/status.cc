// SPDX-License-Identifier: Apache-2.0
// The table of faults, and the text of each thread's last one.
#include "native/status.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <new>

namespace dlt {

const FaultRow fault_table[] = {
#define DLT_ROW(name, exception, code) {exception, code},
    DLT_FAULTS(DLT_ROW)
#undef DLT_ROW
};
const int fault_count = sizeof fault_table / sizeof fault_table[0];

namespace {

struct Text {
  char characters[4096] = {};
};

// One word of thread-local storage: the loader has little room for libraries that are loaded late.
thread_local Text* text __attribute__((tls_model("initial-exec"))) = nullptr;

// Not a thread_local object with a destructor: registering one ends the process when there is no memory for it.
pthread_key_t key;
const bool has_key = pthread_key_create(&key, [](void* used) {
                       text = nullptr;
                       delete static_cast<Text*>(used);
                     }) == 0;

// The record of the calling thread; without memory or keys, one that all such threads share.
Text& own_text() noexcept {
  static Text shared;
  if (text != nullptr) return *text;
  auto* own = has_key ? new (std::nothrow) Text : nullptr;
  if (own != nullptr && pthread_setspecific(key, own) != 0) {
    delete own;
    own = nullptr;
  }
  text = own;
  return own != nullptr ? *own : shared;
}

}  // namespace

const char* message() noexcept { return own_text().characters; }

Status fail(Fault fault, const char* format, ...) noexcept {
  char formatted[sizeof Text::characters];  // the arguments may point into the text that is replaced
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(formatted, sizeof formatted, format, arguments);
  va_end(arguments);
  memcpy(own_text().characters, formatted, sizeof formatted);
  return {fault};
}

}  // namespace dlt
