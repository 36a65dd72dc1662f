// SPDX-License-Identifier: Apache-2.0
// Files and their pages, as far as systems differ.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <string>
#include <vector>

namespace dlt::os {

// The files whose path matches `pattern`, sorted; wildcards are in its last component.
std::vector<std::string> files_matching(const std::string& pattern);

// Returns whether a file or folder belongs to this user and no other user may write to it. Windows protects a user's folders by
// lists that the state does not show: true there.
bool is_private(const struct stat& state) noexcept;

// A folder that only this user may enter; fails where there is one already.
bool make_private_folder(const char* path) noexcept;

// A file for writing that only this user may read, emptied if there is one. Negative with errno set when it fails.
int create_private_file(const char* path) noexcept;

enum class Pages : int { read_only, private_copies, shared };

size_t page_bytes() noexcept;

// Pages of an open file from a multiple of page_bytes() on; null with errno set when it fails.
void* map_file_pages(int file, size_t bytes, uint64_t offset, Pages pages) noexcept;
void unmap_file_pages(void* base, size_t bytes) noexcept;

// The type of file system as statfs() of Linux gives it, or 0 when unknown.
uint32_t file_system_type(int file) noexcept;

}  // namespace dlt::os
