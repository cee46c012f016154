// SPDX-License-Identifier: MIT
// The system's libmpv: its client API, and streams that a program feeds.
#include <dlfcn.h>
#include <mpv/client.h>
#include <mpv/stream_cb.h>
#include <stddef.h>

// ALSA writes its troubles to standard error, a dozen lines where there is no device. It comes with
// libmpv or not at all: looked for, not linked.

static void cmpv_say_nothing(
    const char *file, int line, const char *function, int error, const char *format, ...) {}

typedef void (*cmpv_alsa_handler)(const char *, int, const char *, int, const char *, ...);

// Has ALSA keep its troubles to itself, in all of the process.
static inline void cmpv_silence_alsa(void) {
  int (*set_handler)(cmpv_alsa_handler) =
      (int (*)(cmpv_alsa_handler))dlsym(NULL, "snd_lib_error_set_handler");
  if (set_handler) set_handler(cmpv_say_nothing);
}
