// SPDX-License-Identifier: MIT
import Foundation

#if canImport(Darwin)
  import Darwin
#endif

/// The address on which a proxy listens.
public struct ListeningAddress: Sendable, Hashable, CustomStringConvertible {
  /// A numeric address, without brackets: `127.0.0.1`, `::1`.
  public var host: String
  public var port: Int

  public init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  /// As in a URL: `127.0.0.1:8573`, `[::1]:8573`.
  public var description: String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}

/// A TCP socket that listens already: a service manager opens it before it starts the program
/// (systemd.socket(5)), and keeps it open while the program is replaced.
public struct ListeningSocket: Sendable, Hashable {
  /// The caller's descriptor. A proxy uses a duplicate, and closes that alone.
  public let descriptor: CInt
  /// The address to which the socket is bound.
  public let address: ListeningAddress

  /// Examines a descriptor.
  ///
  /// - Throws: `CacheProxyError`, `.addressUnavailable` if it is not a TCP socket that listens.
  public init(descriptor: CInt) throws(CacheProxyError) {
    self.descriptor = descriptor
    guard Self.option(SO_ACCEPTCONN, of: descriptor) == 1,
      let address = Self.address(of: descriptor)
    else {
      throw CacheProxyError(
        .addressUnavailable, "Descriptor \(descriptor) is not a TCP socket that listens.",
        remedy: "In a socket unit, write ListenStream= with a port, and Accept=no.")
    }
    self.address = address
  }

  private static func option(_ name: CInt, of descriptor: CInt) -> CInt? {
    var value: CInt = 0
    var size = socklen_t(MemoryLayout<CInt>.size)
    guard getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 else { return nil }
    return value
  }

  /// Returns the numeric address; nil if the socket is neither of IPv4 nor of IPv6.
  private static func address(of descriptor: CInt) -> ListeningAddress? {
    var storage = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    var port = [CChar](repeating: 0, count: Int(NI_MAXSERV))
    let result = withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard getsockname(descriptor, address, &size) == 0,
          [AF_INET, AF_INET6].contains(CInt(address.pointee.sa_family))
        else { return false }
        // Numeric: nothing is looked up.
        return getnameinfo(
          address, size, &host, socklen_t(host.count), &port, socklen_t(port.count),
          NI_NUMERICHOST | NI_NUMERICSERV) == 0
      }
    }
    guard result, let port = Int(text(port)) else { return nil }
    return ListeningAddress(host: text(host), port: port)
  }

  private static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

/// Why a proxy cannot be created or cannot run: a code to act on, what failed and why, and what to
/// do about it.
public struct CacheProxyError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Code: String, Sendable, Hashable, Codable {
    /// The configuration would make an open proxy, or contains an invalid token, origin, host,
    /// name, path or limit.
    case invalidConfiguration
    /// The port is in use.
    case addressInUse
    /// Nothing can listen at the address.
    case addressUnavailable
    /// The proxy does not listen yet, so that its port is unknown.
    case notListening
    /// The proxy runs already.
    case alreadyRunning
    /// The proxy has ended.
    case closed
  }

  public var code: Code
  /// The failure and its cause, in one sentence.
  public var reason: String
  /// The action that may help the user, in one sentence.
  public var remedy: String

  public init(_ code: Code, _ reason: String, remedy: String) {
    self.code = code
    self.reason = reason
    self.remedy = remedy
  }

  public var description: String { "\(reason) \(remedy)" }
}
