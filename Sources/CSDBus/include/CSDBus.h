// SPDX-License-Identifier: MIT
#ifndef CSDBUS_H
#define CSDBUS_H
#ifdef __linux__
#include <stddef.h>
#include <stdint.h>
// Glibc's module map does not show this header.
#include <sys/eventfd.h>

// The part of sd-bus, the D-Bus library in libsystemd, that the player uses. Declared here, so that
// a build needs neither libsystemd nor its headers; the library is loaded where there is a bus
// (SystemdLibrary.swift). No function is variadic: Swift could not call it.
//
// Names, values and layouts are libsystemd's ABI, as sd-bus(3), sd_bus_add_object_vtable(3) and its
// public headers document it.

#pragma clang assume_nonnull begin

// A connection, a message, and a registration. Their contents are libsystemd's own.
typedef struct sd_bus sd_bus;
typedef struct sd_bus_message sd_bus_message;
typedef struct sd_bus_slot sd_bus_slot;

// The reason why a call over the bus failed; all zero at first.
typedef struct sd_bus_error {
  const char *_Nullable name;
  const char *_Nullable message;
  int _need_free;
} sd_bus_error;

// Handles a message: negative, an error number, if it failed; 1 if it was answered.
typedef int (*sd_bus_message_handler_t)(
    sd_bus_message *message, void *_Nullable userdata, sd_bus_error *error);

// Appends the value of a property to a reply.
typedef int (*sd_bus_property_get_t)(
    sd_bus *bus, const char *path, const char *interface, const char *property,
    sd_bus_message *reply, void *_Nullable userdata, sd_bus_error *error);

// Reads the value of a property from a call.
typedef int (*sd_bus_property_set_t)(
    sd_bus *bus, const char *path, const char *interface, const char *property,
    sd_bus_message *value, void *_Nullable userdata, sd_bus_error *error);

enum {
  SD_BUS_VTABLE_START = '<',
  SD_BUS_VTABLE_END = '>',
  SD_BUS_VTABLE_METHOD = 'M',
  SD_BUS_VTABLE_SIGNAL = 'S',
  SD_BUS_VTABLE_PROPERTY = 'P',
  SD_BUS_VTABLE_WRITABLE_PROPERTY = 'W',
};

enum {
  // Any program of the user may call it.
  SD_BUS_VTABLE_UNPRIVILEGED = 1 << 2,
  SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE = 1 << 5,
  SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION = 1 << 6,
};

// The methods, signals and properties of an interface are an array of these, between a start and an
// end. The names of arguments each end with a zero byte, and their list with one more.
typedef struct sd_bus_vtable {
  // In libsystemd's header two bit-fields: the type in the lowest 8 bits, the flags above. Linux
  // runs Swift on little-endian processors only.
  uint64_t type_and_flags;
  union {
    struct {
      size_t element_size;
      uint64_t features;  // 1: arguments have names
      const unsigned *_Nullable vtable_format_reference;
    } start;
    struct {
      const char *_Nullable member;
      const char *_Nullable signature;
      const char *_Nullable result;
      sd_bus_message_handler_t _Nullable handler;
      size_t offset;
      const char *_Nullable names;
    } method;
    struct {
      const char *_Nullable member;
      const char *_Nullable signature;
      const char *_Nullable names;
    } signal;
    struct {
      const char *_Nullable member;
      const char *_Nullable signature;
      sd_bus_property_get_t _Nullable get;
      sd_bus_property_set_t _Nullable set;
      size_t offset;
    } property;
  } x;
} sd_bus_vtable;

// The addresses of sd-bus's functions, each named as there behind "sd_bus_". Functions that return
// an int return a negative error number where they fail. A structure of constants: any thread may
// read it.
typedef struct __attribute__((swift_name("BusFunctions"), swift_attr("@Sendable"))) {
  // Its address is in the start of every vtable (sd_bus_object_vtable_format).
  const unsigned *object_vtable_format;

  int (*new_)(sd_bus *_Nullable *_Nonnull bus);
  int (*set_address)(sd_bus *bus, const char *address);
  int (*set_bus_client)(sd_bus *bus, int is_client);
  int (*set_trusted)(sd_bus *bus, int is_trusted);
  int (*start)(sd_bus *bus);
  void (*close)(sd_bus *bus);
  sd_bus *_Nullable (*_Nonnull unref)(sd_bus *bus);

  int (*get_fd)(sd_bus *bus);
  int (*get_events)(sd_bus *bus);
  int (*get_timeout)(sd_bus *bus, uint64_t *microseconds);
  int (*process)(sd_bus *bus, sd_bus_message *_Nullable *_Nullable message);

  int (*request_name_async)(
      sd_bus *bus, sd_bus_slot *_Nullable *_Nullable slot, const char *name, uint64_t flags,
      sd_bus_message_handler_t callback, void *_Nullable userdata);
  int (*add_object_vtable)(
      sd_bus *bus, sd_bus_slot *_Nullable *_Nullable slot, const char *path, const char *interface,
      const sd_bus_vtable *vtable, void *_Nullable userdata);
  int (*emit_properties_changed_strv)(
      sd_bus *bus, const char *path, const char *interface,
      char *_Nullable *_Nonnull names);
  int (*send)(sd_bus *bus, sd_bus_message *message, uint64_t *_Nullable cookie);

  int (*message_new_signal)(
      sd_bus *bus, sd_bus_message *_Nullable *_Nonnull message, const char *path,
      const char *interface, const char *member);
  int (*message_new_method_return)(
      sd_bus_message *call, sd_bus_message *_Nullable *_Nonnull message);
  sd_bus_message *_Nullable (*_Nonnull message_unref)(sd_bus_message *message);
  const char *_Nullable (*_Nonnull message_get_member)(sd_bus_message *message);
  const sd_bus_error *_Nullable (*_Nonnull message_get_error)(sd_bus_message *message);
  int (*message_append_basic)(sd_bus_message *message, char type, const void *value);
  int (*message_open_container)(sd_bus_message *message, char type, const char *contents);
  int (*message_close_container)(sd_bus_message *message);
  int (*message_read_basic)(sd_bus_message *message, char type, void *value);
  int (*message_enter_container)(sd_bus_message *message, char type, const char *contents);
  int (*message_exit_container)(sd_bus_message *message);

  // Returns a negative error number.
  int (*error_set)(sd_bus_error *error, const char *name, const char *message);
} bus_functions;

#pragma clang assume_nonnull end
#endif
#endif
