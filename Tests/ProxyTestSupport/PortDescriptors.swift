// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Glibc

  /// The descriptors of this process at a port, for tests that take its listening socket away.
  package enum PortDescriptors {
    /// Binds a socket to a port of which connections remain, so that nobody else can.
    package static func take(_ port: Int, _ descriptor: CInt) -> Bool {
      var isReusing: CInt = 1
      let size = socklen_t(MemoryLayout<CInt>.size)
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isReusing, size)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(port).bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      isReusing = 0
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isReusing, size)
      return result == 0
    }

    /// Returns the descriptor of this process that listens on the port.
    package static func listener(at port: Int) -> CInt? {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
      return names.compactMap { CInt($0) }.first { descriptor in
        var isListening: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0,
          isListening != 0
        else { return false }
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            getsockname(descriptor, $0, &length)
          }
        }
        return result == 0 && UInt16(bigEndian: address.sin_port) == UInt16(port)
      }
    }
  }
#endif
