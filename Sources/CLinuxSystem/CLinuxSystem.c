// SPDX-License-Identifier: MIT
#ifdef __linux__
#define _GNU_SOURCE
#include "CLinuxSystem.h"
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t refrain_pread_nowait(int fd, void *buffer, size_t count, off_t offset) {
  struct iovec vector = {.iov_base = buffer, .iov_len = count};
  return preadv2(fd, &vector, 1, offset, RWF_NOWAIT);
}

off_t refrain_seek_hole(int fd, off_t offset) { return lseek(fd, offset, SEEK_HOLE); }

off_t refrain_seek_data(int fd, off_t offset) { return lseek(fd, offset, SEEK_DATA); }

int refrain_wcwidth(wchar_t character) { return wcwidth(character); }

const int refrain_ofd_setlk = F_OFD_SETLK;
const int refrain_ofd_getlk = F_OFD_GETLK;
#endif
