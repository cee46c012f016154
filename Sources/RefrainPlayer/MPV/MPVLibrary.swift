// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Glibc

  /// The system's libmpv, loaded only when something plays: it brings some 200 libraries along.
  ///
  /// The dynamic linker keeps one copy in the process, whichever threads load it (dlopen(3)). It is
  /// never unloaded: libraries that it depends on leave threads and handlers behind.
  enum MPVLibrary {
    /// The library's file name, with the major version of its ABI.
    static let name = "libmpv.so.2"

    /// Loads the library if necessary, and returns its functions. Reads files: do not call it on
    /// one of Swift's cooperative threads.
    ///
    /// - Throws: `MPVError` if it is missing, incomplete, or of another version.
    static func load(_ name: String = MPVLibrary.name) throws -> MPVFunctions {
      // RTLD_LAZY: functions are bound when they are first called, as those of the program mpv are.
      // Binding all of them at once takes a fifth longer. In exchange, a function that one of the
      // libraries lacks ends the process at its first call, instead of failing here: packages of
      // one distribution fit each other.
      guard let library = dlopen(name, RTLD_LAZY | RTLD_LOCAL) else {
        throw unusable("libmpv, which plays the sound, could not be loaded: \(lastError()).")
      }
      let functions = try MPVFunctions(of: library, named: name)
      SoundLibraries.loaded(by: library)
      return functions
    }

    /// The first version of the client API with all functions used here, that of mpv 0.35: the
    /// major version times 65,536, plus the minor one (`mpv_client_api_version`).
    static let firstVersion: CUnsignedLong = 2 << 16

    /// - Throws: `MPVError` if a library of this version cannot be used.
    static func check(version: CUnsignedLong, of name: String) throws {
      guard version < firstVersion || version >> 16 > firstVersion >> 16 else { return }
      let (found, needed) = (text(version), text(firstVersion))
      throw unusable("\(name) has version \(found) of its API; \(needed) or a later 2.x is needed.")
    }

    static func unusable(_ reason: String) -> MPVError {
      MPVError(
        reason, remedy: "Install libmpv 0.35 or later; on Debian: apt-get install libmpv2.")
    }

    private static func text(_ version: CUnsignedLong) -> String {
      "\(version >> 16).\(version & 0xffff)"
    }

    /// Returns the text of dlerror(3) for the last failure on this thread.
    private static func lastError() -> String {
      dlerror().map { String(cString: $0) } ?? "unknown error"
    }
  }

  extension MPVFunctions {
    /// - Throws: `MPVError` if the library lacks a function, or is of another version.
    fileprivate init(of library: UnsafeMutableRawPointer, named name: String) throws {
      /// Looks up a function, whose type is that of its parameter below, as libmpv documents it.
      func function<Function>(_ symbol: String) throws -> Function {
        guard let address = dlsym(library, symbol) else {
          throw MPVLibrary.unusable("\(name) has no function \(symbol).")
        }
        return unsafeBitCast(address, to: Function.self)
      }
      let version: @convention(c) () -> CUnsignedLong = try function("mpv_client_api_version")
      try MPVLibrary.check(version: version(), of: name)
      try self.init(
        client_api_version: version,
        error_string: function("mpv_error_string"),
        free: function("mpv_free"),
        create: function("mpv_create"),
        initialize: function("mpv_initialize"),
        terminate_destroy: function("mpv_terminate_destroy"),
        set_option_string: function("mpv_set_option_string"),
        set_property_string: function("mpv_set_property_string"),
        get_property: function("mpv_get_property"),
        get_property_string: function("mpv_get_property_string"),
        observe_property: function("mpv_observe_property"),
        command: function("mpv_command"),
        command_node: function("mpv_command_node"),
        free_node_contents: function("mpv_free_node_contents"),
        wait_event: function("mpv_wait_event"),
        wakeup: function("mpv_wakeup"),
        hook_add: function("mpv_hook_add"),
        hook_continue: function("mpv_hook_continue"),
        stream_cb_add_ro: function("mpv_stream_cb_add_ro"))
    }
  }
#endif
