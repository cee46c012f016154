// SPDX-License-Identifier: MIT
#if os(Linux)
  import CSDBus
  import Glibc

  /// The system's libsystemd, loaded only where there is a bus.
  ///
  /// The dynamic linker keeps one copy in the process. It is never unloaded.
  enum SystemdLibrary {
    /// The library's file name, with the major version of its ABI.
    static let name = "libsystemd.so.0"

    /// Loads the library if necessary, and returns its functions; nil if it is missing, or older
    /// than version 243. Reads files: do not call it on one of Swift's cooperative threads.
    static func load(_ name: String = SystemdLibrary.name) -> BusFunctions? {
      // RTLD_NOW: a symbol missing from a dependency is noticed here, not by a crash later.
      guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) else { return nil }
      return try? BusFunctions(of: library)
    }
  }

  private struct MissingFunction: Error {}

  extension BusFunctions {
    /// - Throws: `MissingFunction`.
    fileprivate init(of library: UnsafeMutableRawPointer) throws {
      /// Looks up a function, whose type is that of its parameter below, as libsystemd documents
      /// it.
      func function<Function>(_ symbol: String) throws -> Function {
        guard let address = dlsym(library, "sd_bus_" + symbol) else { throw MissingFunction() }
        return unsafeBitCast(address, to: Function.self)
      }
      try self.init(
        object_vtable_format: function("object_vtable_format"),
        new_: function("new"),
        set_address: function("set_address"),
        set_bus_client: function("set_bus_client"),
        set_trusted: function("set_trusted"),
        start: function("start"),
        close: function("close"),
        unref: function("unref"),
        get_fd: function("get_fd"),
        get_events: function("get_events"),
        get_timeout: function("get_timeout"),
        process: function("process"),
        request_name_async: function("request_name_async"),
        add_object_vtable: function("add_object_vtable"),
        emit_properties_changed_strv: function("emit_properties_changed_strv"),
        send: function("send"),
        message_new_signal: function("message_new_signal"),
        message_new_method_return: function("message_new_method_return"),
        message_unref: function("message_unref"),
        message_get_member: function("message_get_member"),
        message_get_error: function("message_get_error"),
        message_append_basic: function("message_append_basic"),
        message_open_container: function("message_open_container"),
        message_close_container: function("message_close_container"),
        message_read_basic: function("message_read_basic"),
        message_enter_container: function("message_enter_container"),
        message_exit_container: function("message_exit_container"),
        error_set: function("error_set"))
    }
  }
#endif
