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

  /// The right form, for errors and help.
  static let examples = "127.0.0.1:8573, [::1]:8573, 0.0.0.0 or 8573"

  /// Reads `127.0.0.1:8573`, `[::1]:8573`, `localhost`, `::1`, `:8573` or `8573`.
  init(parsing text: String) throws {
    guard !text.isEmpty else { throw Self.wrong("it is empty") }
    guard !text.contains("/") else { throw Self.wrong("omit the scheme and the path") }
    if text.utf8.allSatisfy(\.isDigit) {
      self.init(host: nil, port: try Self.portOfAddress(text))
    } else if text.hasPrefix("[") {
      guard let bracket = text.firstIndex(of: "]") else { throw Self.wrong("']' is missing") }
      let rest = text[text.index(after: bracket)...]
      guard rest.isEmpty || rest.hasPrefix(":") else {
        throw Self.wrong("only ':' and a port may follow ']'")
      }
      let host = String(text[text.index(after: text.startIndex)..<bracket])
      guard host.contains(":") else { throw Self.wrong("only an IPv6 address is in brackets") }
      self.init(
        host: try Self.host(host),
        port: try rest.isEmpty ? nil : Self.portOfAddress(rest.dropFirst()))
    } else if let colon = text.lastIndex(of: ":"), colon == text.firstIndex(of: ":") {
      let host = String(text[..<colon])
      let port = try Self.portOfAddress(text[text.index(after: colon)...])
      self.init(host: try host.isEmpty ? nil : Self.host(host), port: port)
    } else {
      // Rather a mistyped port than a name.
      guard text.contains(where: { ".:".contains($0) }) || text.utf8.first?.isDigit != true else {
        throw Self.wrong("'\(printable(text))' is neither a port nor an address")
      }
      // A name, or an IPv6 address without a port.
      self.init(host: try Self.host(text), port: nil)
    }
  }

  static func port(_ text: some StringProtocol) throws -> Int {
    guard let port = number(text) else {
      throw InvalidArgument("a port is a number from 0 (any free port) to 65535")
    }
    return port
  }

  /// Whether the host is a numeric address, and no name.
  static func isNumeric(_ host: String) -> Bool {
    host.contains(":") || NetworkAddress(host: host) != nil
  }

  private static func portOfAddress(_ text: some StringProtocol) throws -> Int {
    guard !text.isEmpty else { throw wrong("the port after ':' is missing") }
    guard let port = number(text) else {
      throw wrong(
        "'\(printable(String(text)))' is not a port, a number from 0 (any free port) to 65535")
    }
    return port
  }

  private static func number(_ text: some StringProtocol) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit), let port = Int(text), port < 65536 else {
      return nil
    }
    return port
  }

  private static func wrong(_ reason: String) -> InvalidArgument {
    InvalidArgument("\(reason); an address is written as in \(examples)")
  }

  private static func host(_ text: String) throws -> String {
    if text == "*" {
      throw InvalidArgument("use 0.0.0.0 or [::] for every address of this computer")
    }
    // An interface may follow the address, as in fe80::1%eth0 (RFC 4007 §11).
    let address = text.prefix { $0 != "%" }
    if NetworkAddress(host: address)?.isIPv6 == true { return text }
    guard !text.contains(":") else {
      throw wrong("'\(printable(text))' is not an IPv6 address")
    }
    guard !text.isEmpty, text.utf8.allSatisfy(isNameByte) else {
      throw wrong("'\(printable(text))' is neither an address nor a name")
    }
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
