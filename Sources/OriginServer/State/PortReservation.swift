// SPDX-License-Identifier: MIT

internal import NIOCore

#if canImport(Glibc)
  internal import Glibc

  /// Reserves a port of 127.0.0.1, whether the origin listens or not.
  ///
  /// The port is bound by a socket that never listens: connections to it are refused, and the
  /// kernel gives it to no other socket. Without that, a client of a port without a listener could
  /// be assigned this port for its own end and connect to itself.
  final class PortReservation: Sendable {
    let port: Int
    private let descriptor: CInt

    /// Reserves a port; 0 selects a free one.
    init(port: Int) throws {
      let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
      descriptor = socket(AF_INET, type, 0)
      guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
      do {
        self.port = try Self.bind(descriptor, to: port)
      } catch {
        close(descriptor)
        throw error
      }
    }

    deinit { close(descriptor) }

    private static func bind(_ descriptor: CInt, to port: Int) throws -> Int {
      guard let port = in_port_t(exactly: port) else {
        throw IOError(errnoCode: EINVAL, reason: "port \(port)")
      }
      // Lets the listener bind the same port, as long as one of the two does not listen: socket(7).
      var yes: CInt = 1
      var size = socklen_t(MemoryLayout<CInt>.size)
      guard setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, size) == 0 else {
        throw IOError(errnoCode: errno, reason: "setsockopt")
      }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
      size = socklen_t(MemoryLayout<sockaddr_in>.size)
      return try withUnsafeMutablePointer(to: &address) { pointer in
        try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
          guard Glibc.bind(descriptor, generic, size) == 0 else {
            throw IOError(errnoCode: errno, reason: "bind to port \(port)")
          }
          guard getsockname(descriptor, generic, &size) == 0 else {
            throw IOError(errnoCode: errno, reason: "getsockname")
          }
        }
        return Int(in_port_t(bigEndian: pointer.pointee.sin_port))
      }
    }
  }
#else
  /// Other systems do not let a listener share a port with a bound socket: nothing is reserved.
  final class PortReservation: Sendable {
    let port: Int

    init(port: Int) throws { self.port = port }
  }
#endif
