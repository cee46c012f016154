// SPDX-License-Identifier: MIT
#if os(Linux)
  import Glibc

  /// A white window of X11, at the top left of the display. Xlib is loaded, so that the build needs
  /// no headers.
  struct X11Window {
    let id: UInt64

    struct Failure: Error {
      var description: String
    }

    private typealias Display = OpaquePointer
    private typealias ID = CUnsignedLong

    /// The window exists until the process ends.
    init(width: UInt32, height: UInt32) throws {
      let open: @convention(c) (UnsafePointer<CChar>?) -> Display? = try Self.function(
        "XOpenDisplay")
      let root: @convention(c) (Display) -> ID = try Self.function("XDefaultRootWindow")
      let create:
        @convention(c) (Display, ID, CInt, CInt, CUnsignedInt, CUnsignedInt, CUnsignedInt, ID, ID)
          -> ID = try Self.function("XCreateSimpleWindow")
      let map: @convention(c) (Display, ID) -> CInt = try Self.function("XMapWindow")
      let synchronize: @convention(c) (Display, CInt) -> CInt = try Self.function("XSync")
      guard let display = open(nil) else { throw Failure(description: "There is no display.") }
      let window = create(display, root(display), 0, 0, width, height, 0, 0, 0xFF_FFFF)
      _ = map(display, window)
      // The server knows the window once this returns.
      _ = synchronize(display, 0)
      id = UInt64(window)
    }

    /// Looks up a function of Xlib, whose type is that of its man page.
    private static func function<Function>(_ name: String) throws -> Function {
      guard let library = dlopen("libX11.so.6", RTLD_LAZY), let address = dlsym(library, name)
      else { throw Failure(description: "libX11 has no function \(name).") }
      return unsafeBitCast(address, to: Function.self)
    }
  }
#endif
