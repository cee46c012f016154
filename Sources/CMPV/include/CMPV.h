// SPDX-License-Identifier: MIT
#ifndef CMPV_H
#define CMPV_H
#ifdef __linux__
#include <stdint.h>

// What the player uses of libmpv's client API 2.x. Declared here, so that a build needs neither
// libmpv nor its headers; the library is loaded when something plays (MPVLibrary.swift).
//
// Names, values and layouts are libmpv's ABI, as its public headers document it: mpv/client.h and
// mpv/stream_cb.h of https://github.com/mpv-player/mpv. They do not change within a major version.

#pragma clang assume_nonnull begin

// One player. Its contents are libmpv's own.
typedef struct mpv_handle mpv_handle;

// Why a call failed. Not all of them: other negative values are errors too.
typedef enum mpv_error {
  MPV_ERROR_NOMEM = -2,
  MPV_ERROR_COMMAND = -12,
  MPV_ERROR_LOADING_FAILED = -13,
  MPV_ERROR_AO_INIT_FAILED = -14,
  MPV_ERROR_VO_INIT_FAILED = -15,
  MPV_ERROR_NOTHING_TO_PLAY = -16,
  MPV_ERROR_UNKNOWN_FORMAT = -17,
  MPV_ERROR_UNSUPPORTED = -18,
  MPV_ERROR_GENERIC = -20,
} mpv_error;

// What a value is, and with it which member of an mpv_node holds it.
typedef enum mpv_format {
  MPV_FORMAT_NONE = 0,
  MPV_FORMAT_STRING = 1,  // char *
  MPV_FORMAT_FLAG = 3,    // int, 0 or 1
  MPV_FORMAT_INT64 = 4,
  MPV_FORMAT_DOUBLE = 5,
  MPV_FORMAT_NODE = 6,
  MPV_FORMAT_NODE_ARRAY = 7,  // struct mpv_node_list *
  MPV_FORMAT_NODE_MAP = 8,  // struct mpv_node_list *
} mpv_format;

// A value of any format.
typedef struct mpv_node {
  union {
    char *_Nullable string;
    int flag;
    int64_t int64;
    double double_;
    struct mpv_node_list *_Nullable list;
  } u;
  mpv_format format;
} mpv_node;

// A map: as many keys as values. Both arrays may be NULL where `num` is 0. An array has no keys.
typedef struct mpv_node_list {
  int num;
  mpv_node *_Nullable values;
  char *_Nullable *_Nullable keys;
} mpv_node_list;

// What happened. libmpv has more events, and may get further ones.
typedef enum mpv_event_id {
  MPV_EVENT_SHUTDOWN = 1,
  MPV_EVENT_START_FILE = 6,
  MPV_EVENT_END_FILE = 7,
  MPV_EVENT_IDLE = 11,
  MPV_EVENT_CLIENT_MESSAGE = 16,
  MPV_EVENT_AUDIO_RECONFIG = 18,
  MPV_EVENT_SEEK = 20,
  MPV_EVENT_PLAYBACK_RESTART = 21,
  MPV_EVENT_PROPERTY_CHANGE = 22,
  MPV_EVENT_HOOK = 25,
} mpv_event_id;

typedef struct mpv_event {
  mpv_event_id event_id;
  int error;
  uint64_t reply_userdata;
  void *_Nullable data;  // one of the structures below, or NULL
} mpv_event;

// The data of MPV_EVENT_PROPERTY_CHANGE.
typedef struct mpv_event_property {
  const char *name;
  mpv_format format;
  void *_Nullable data;  // a value of that format
} mpv_event_property;

// The data of MPV_EVENT_START_FILE.
typedef struct mpv_event_start_file {
  int64_t playlist_entry_id;
} mpv_event_start_file;

typedef enum mpv_end_file_reason {
  MPV_END_FILE_REASON_EOF = 0,
  MPV_END_FILE_REASON_STOP = 2,
  MPV_END_FILE_REASON_QUIT = 3,
  MPV_END_FILE_REASON_ERROR = 4,
  MPV_END_FILE_REASON_REDIRECT = 5,
} mpv_end_file_reason;

// The data of MPV_EVENT_END_FILE.
typedef struct mpv_event_end_file {
  mpv_end_file_reason reason;
  int error;
  int64_t playlist_entry_id;
  int64_t playlist_insert_id;
  int playlist_insert_num_entries;
} mpv_event_end_file;

// The data of MPV_EVENT_CLIENT_MESSAGE.
typedef struct mpv_event_client_message {
  int num_args;
  const char *_Nullable *_Nullable args;
} mpv_event_client_message;

// The data of MPV_EVENT_HOOK.
typedef struct mpv_event_hook {
  const char *name;
  uint64_t id;
} mpv_event_hook;

// A stream that the program feeds. libmpv hands this out to be filled in when it opens one.
typedef struct mpv_stream_cb_info {
  void *_Nullable cookie;  // given to each of the functions
  int64_t (*_Nullable read_fn)(void *_Nullable cookie, char *_Nullable buffer, uint64_t count);
  int64_t (*_Nullable seek_fn)(void *_Nullable cookie, int64_t offset);
  int64_t (*_Nullable size_fn)(void *_Nullable cookie);
  void (*_Nullable close_fn)(void *_Nullable cookie);
  void (*_Nullable cancel_fn)(void *_Nullable cookie);
} mpv_stream_cb_info;

// Opens the stream of an address: 0, or an mpv_error.
typedef int (*mpv_stream_cb_open_ro_fn)(
    void *_Nullable context, char *_Nullable address, mpv_stream_cb_info *_Nullable info);

// The addresses of libmpv's functions, each named as there behind "mpv_". Functions that return an
// int return an mpv_error where they fail. A structure of constants: any thread may read it.
typedef struct __attribute__((swift_name("MPVFunctions"), swift_attr("@Sendable"))) {
  // The version of the API: the major one times 65,536, and the minor one.
  unsigned long (*client_api_version)(void);
  const char *_Nonnull (*_Nonnull error_string)(int error);
  void (*free)(void *_Nullable data);

  mpv_handle *_Nullable (*_Nonnull create)(void);
  int (*initialize)(mpv_handle *handle);
  void (*terminate_destroy)(mpv_handle *handle);

  int (*set_option_string)(mpv_handle *handle, const char *name, const char *value);
  int (*set_property_string)(mpv_handle *handle, const char *name, const char *value);
  int (*get_property)(mpv_handle *handle, const char *name, mpv_format format, void *value);
  char *_Nullable (*_Nonnull get_property_string)(mpv_handle *handle, const char *name);
  int (*observe_property)(
      mpv_handle *handle, uint64_t reply_userdata, const char *name, mpv_format format);

  int (*command)(mpv_handle *handle, const char *_Nullable *_Nonnull arguments);
  int (*command_node)(mpv_handle *handle, mpv_node *command, mpv_node *_Nullable result);
  void (*free_node_contents)(mpv_node *node);

  mpv_event *_Nullable (*_Nonnull wait_event)(mpv_handle *handle, double seconds);
  void (*wakeup)(mpv_handle *handle);
  int (*hook_add)(mpv_handle *handle, uint64_t reply_userdata, const char *name, int priority);
  int (*hook_continue)(mpv_handle *handle, uint64_t id);

  int (*stream_cb_add_ro)(
      mpv_handle *handle, const char *scheme, void *_Nullable context,
      mpv_stream_cb_open_ro_fn open);
} cmpv_functions;

// Makes ALSA keep its messages to itself, in all of the process.
//
// `set_handler` is the address of ALSA's snd_lib_error_set_handler.
void cmpv_silence_alsa(void *set_handler);

// Makes JACK keep its messages to itself, in all of the process.
//
// `set_function` is the address of JACK's jack_set_error_function or jack_set_info_function.
void cmpv_silence_jack(void *set_function);

#pragma clang assume_nonnull end
#endif
#endif
