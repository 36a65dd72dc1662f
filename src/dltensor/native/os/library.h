// SPDX-License-Identifier: Apache-2.0
// Shared libraries: loading, those that are loaded already, and what they export.
#pragma once

namespace dlt::os {

// Symbols stay private to the library. Null when it cannot be loaded; library_error() then says why.
void* load_library(const char* path) noexcept;

// A library that is loaded already, or with null the program itself. Each result counts as a reference.
void* loaded_library(const char* path) noexcept;
void release_library(void* library) noexcept;

// Null when neither the library nor, on Linux and macOS, what it is linked to has the symbol.
void* find_symbol(void* library, const char* name) noexcept;

// The error of the last call in this thread that failed; null when unknown.
const char* library_error() noexcept;

// The library that an address belongs to: its base, and its path, valid until the next call in this thread.
bool library_around(const void* address, const void** base, const char** path) noexcept;

}  // namespace dlt::os
