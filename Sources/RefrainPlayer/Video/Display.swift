// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Glibc

  /// A display server that windows can be opened on.
  package enum Display: Sendable, Hashable {
    case wayland, x11

    /// The display server that libmpv uses; nil: there is none.
    package static var first: Display? { first(in: ProcessInfo.processInfo.environment) }

    /// Returns the first display server that the environment names and that accepts connections.
    package static func first(in environment: [String: String]) -> Display? {
      if let address = Address(wayland: environment), address.isUsable { return .wayland }
      if let address = Address(x11: environment), address.isUsable { return .x11 }
      return nil
    }

    /// Returns whether libwayland-client writes an error to standard error if it is asked for a
    /// display, because it does not know where one would be (wl_display_connect(3)).
    static func reportsMissingWayland(in environment: [String: String]) -> Bool {
      let name = environment["WAYLAND_DISPLAY"] ?? "wayland-0"
      return !name.hasPrefix("/") && environment["XDG_RUNTIME_DIR"]?.hasPrefix("/") != true
    }

    /// The address of a display server.
    enum Address: Hashable {
      /// Sockets of which one suffices. A leading NUL means an abstract name (unix(7)).
      case sockets([String])
      /// Reached through the network, as by ssh.
      case remote

      /// Follows wl_display_connect(3).
      init?(wayland environment: [String: String]) {
        guard let name = environment["WAYLAND_DISPLAY"], !name.isEmpty else { return nil }
        if name.hasPrefix("/") {
          self = .sockets([name])
        } else if let folder = environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/") {
          self = .sockets(["\(folder)/\(name)"])
        } else {
          return nil
        }
      }

      /// Follows X(7), "Display names": `host:display.screen`.
      init?(x11 environment: [String: String]) {
        guard let name = environment["DISPLAY"], let colon = name.lastIndex(of: ":") else {
          return nil
        }
        let number = name[name.index(after: colon)...].prefix { $0 != "." }
        guard let number = UInt16(number) else { return nil }
        let host = name[..<colon]
        guard host.isEmpty || host == "unix" else {
          self = .remote
          return
        }
        let path = "/tmp/.X11-unix/X\(number)"
        self = .sockets([path, "\0" + path])
      }

      /// Whether a connection is accepted; a remote one is assumed to be.
      var isUsable: Bool {
        switch self {
        case .remote: true
        case .sockets(let names): names.contains(where: Self.accepts)
        }
      }

      private static func accepts(_ name: String) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(name.utf8)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard bytes.count < room else { return false }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = MemoryLayout<sockaddr_un>.size - room + bytes.count
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let file = socket(AF_UNIX, type, 0)
        guard file >= 0 else { return false }
        defer { close(file) }
        let status = withUnsafePointer(to: &address) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(file, $0, socklen_t(length))
          }
        }
        // A busy server accepts it later.
        return status == 0 || errno == EAGAIN
      }
    }
  }
#endif
