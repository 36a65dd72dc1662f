// SPDX-License-Identifier: Apache-2.0
// Blocks over mapped pages of files, and the types of file systems.
#include "native/memory/mapping.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <algorithm>
#include <iterator>

#include "native/os/files.h"

namespace dlt {
namespace {

struct Span {
  void* base;
  size_t length;
};

void unmap(Block* block) noexcept {
  auto* span = static_cast<Span*>(block->owner);
  os::unmap_file_pages(span->base, span->length);
  ::free(span);
  recycle(block);
}

// Types of file systems, as statfs() gives them: NFS, SMB and CIFS (three kinds), Lustre, FUSE, 9P, Ceph, AFS (two kinds),
// GPFS, Coda, NCP, BeeGFS, OrangeFS.
constexpr uint32_t remote_types[] = {0x6969,     0x517B,     0xFF534D42, 0xFE534D42, 0x0BD00BD0,
                                     0x65735546, 0x01021997, 0x00C36400, 0x5346414F, 0x6B414653,
                                     0x47504653, 0x73757245, 0x564C,     0x19830326, 0x20030528};

}  // namespace

Block* map_file(int file, size_t bytes, size_t offset, Mapping mapping) noexcept {
  const size_t page = os::page_bytes(), lead = offset % page;
  auto* span = static_cast<Span*>(malloc(sizeof(Span)));
  if (!span) return nullptr;
  span->length = bytes + lead;
  const os::Pages pages = mapping == Mapping::shared ? os::Pages::shared : os::Pages::private_copies;
  span->base = os::map_file_pages(file, span->length, offset - lead, pages);
  if (!span->base && errno == ENOMEM && mapping == Mapping::read_only)
    span->base = os::map_file_pages(file, span->length, offset - lead, os::Pages::read_only);
  if (!span->base) {
    const int error = errno;
    ::free(span);
    errno = error;
    return nullptr;
  }
  Block* block = adopt(static_cast<char*>(span->base) + lead, span, unmap);
  if (!block) {
    os::unmap_file_pages(span->base, span->length);
    ::free(span);
    errno = ENOMEM;
  }
  return block;
}

bool is_remote_file(int file) noexcept {
  return std::find(std::begin(remote_types), std::end(remote_types), os::file_system_type(file)) != std::end(remote_types);
}

}  // namespace dlt
