// SPDX-License-Identifier: MIT
#ifndef C_LINUX_SYSTEM_H
#define C_LINUX_SYSTEM_H
#ifdef __linux__
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/types.h>
#include <wchar.h>

// wcwidth(3): the columns of a character in a terminal, by the locale of the thread.
int refrain_wcwidth(wchar_t character);

// pread(2) that answers EAGAIN instead of waiting for a disk: preadv2(2) with RWF_NOWAIT.
ssize_t refrain_pread_nowait(int fd, void *buffer, size_t count, off_t offset);

// lseek(2) with SEEK_HOLE and SEEK_DATA.
off_t refrain_seek_hole(int fd, off_t offset);
off_t refrain_seek_data(int fd, off_t offset);

// Commands of fcntl(2): F_OFD_SETLK and F_OFD_GETLK.
extern const int refrain_ofd_setlk;
extern const int refrain_ofd_getlk;
#endif
#endif
