// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Ports of the loopback interface for programs that cannot choose one themselves.
///
/// They lie below the system's range for outgoing connections (from 32768 on Linux, from 49152 on
/// Darwin), so that a port stays free while its server is started, or restarted. The user of a port
/// still has to expect that another process takes it first.
package enum FreePort {
  private static let given = Mutex<Set<Int>>([])

  /// Returns a free port, at most once in the life of this process.
  package static func next() -> Int? {
    for _ in 0..<1000 {
      let port = Int.random(in: 18_000..<32_000)
      guard given.withLock({ $0.insert(port).inserted }) else { continue }
      if withSocket(port, { bind($0, $1, $2) }) == 0 { return port }
    }
    return nil
  }

  /// Whether a program accepts connections on the port.
  package static func accepts(_ port: Int) -> Bool {
    withSocket(port) { connect($0, $1, $2) } == 0
  }

  private static func withSocket(
    _ port: Int, _ body: (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt
  ) -> CInt {
    #if canImport(Darwin)
      let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #else
      let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    #endif
    guard descriptor >= 0 else { return -1 }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
