// SPDX-License-Identifier: MIT
#ifdef __linux__
#define _GNU_SOURCE
#include "CLinuxSystem.h"
#include <fcntl.h>
#include <sys/uio.h>

ssize_t refrain_pread_nowait(int fd, void *buffer, size_t count, off_t offset) {
  struct iovec vector = {.iov_base = buffer, .iov_len = count};
  return preadv2(fd, &vector, 1, offset, RWF_NOWAIT);
}

int refrain_punch_hole(int fd, off_t offset, off_t count) {
  return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, count);
}
#endif
