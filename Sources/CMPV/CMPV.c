// SPDX-License-Identifier: MIT
#ifdef __linux__
#include "CMPV.h"

// In C, since a handler of ALSA's is variadic (alsa/error.h, snd_lib_error_handler_t).
typedef void (*alsa_error_handler)(
    const char *file, int line, const char *function, int error, const char *format, ...);

static void say_nothing(
    const char *file, int line, const char *function, int error, const char *format, ...) {}

void cmpv_silence_alsa(void *set_handler) {
  ((int (*)(alsa_error_handler))set_handler)(say_nothing);
}

// jack/jack.h, jack_set_error_function and jack_set_info_function.
static void ignore_message(const char *message) {}

void cmpv_silence_jack(void *set_function) {
  ((void (*)(void (*)(const char *)))set_function)(ignore_message);
}
#endif
