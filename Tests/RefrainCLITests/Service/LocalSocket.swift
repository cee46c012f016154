// SPDX-License-Identifier: MIT
#if os(Linux)
  import Glibc
  import Testing

  /// A listening socket at a free port of 127.0.0.1, closed at the end of its lifetime.
  final class LocalSocket: Sendable {
    let descriptor: CInt
    let port: Int

    init() throws {
      let file = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      descriptor = file
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(file, $0, size) == 0 && listen(file, 100) == 0 && getsockname(file, $0, &size) == 0
        }
      }
      port = Int(UInt16(bigEndian: address.sin_port))
      try #require(file >= 0 && result)
    }

    deinit { close(descriptor) }
  }
#endif
