// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainProxy

/// The address of a proxy on the command line; nil for a part that was not given.
struct ListenAddress: Sendable, Hashable {
  var host: String?
  var port: Int?

  /// Reachable from this computer only.
  static let standardHost = "127.0.0.1"
  static let standardPort = 8573

  init(host: String?, port: Int?) {
    self.host = host
    self.port = port
  }

  /// Reads `127.0.0.1:8573`, `[::1]:8573`, `localhost`, `::1`, `:8573` or `8573`.
  init(parsing text: String) throws {
    if !text.isEmpty, text.utf8.allSatisfy(\.isDigit) {
      self.init(host: nil, port: try Self.port(text))
    } else if text.hasPrefix("[") {
      guard let bracket = text.firstIndex(of: "]") else { throw Self.wrong }
      let rest = text[text.index(after: bracket)...]
      guard rest.isEmpty || rest.hasPrefix(":") else { throw Self.wrong }
      let host = String(text[text.index(after: text.startIndex)..<bracket])
      guard host.contains(":") else { throw Self.wrong }
      self.init(
        host: try Self.host(host), port: try rest.isEmpty ? nil : Self.port(rest.dropFirst()))
    } else if let colon = text.lastIndex(of: ":"), colon == text.firstIndex(of: ":") {
      let host = String(text[..<colon])
      let port = try Self.port(text[text.index(after: colon)...])
      self.init(host: try host.isEmpty ? nil : Self.host(host), port: port)
    } else {
      // A name, or an IPv6 address without a port.
      self.init(host: try Self.host(text), port: nil)
    }
  }

  static func port(_ text: some StringProtocol) throws -> Int {
    guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit), let port = Int(text), port < 65536 else {
      throw InvalidArgument("a port is a number from 0 (any free port) to 65535")
    }
    return port
  }

  private static let wrong = InvalidArgument(
    "an address is written as in 127.0.0.1:8573, [::1]:8573, 0.0.0.0 or 8573")

  private static func host(_ text: String) throws -> String {
    if text == "*" {
      throw InvalidArgument("use 0.0.0.0 or [::] for every address of this computer")
    }
    // An interface may follow the address, as in fe80::1%eth0 (RFC 4007 §11).
    let address = text.prefix { $0 != "%" }
    if LoopbackAddress.bytesOfIPv6(String(address)) != nil { return text }
    guard !text.isEmpty, text.utf8.allSatisfy(isNameByte) else { throw wrong }
    return text
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
      true
    default: byte.isDigit
    }
  }
}
