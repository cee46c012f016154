// SPDX-License-Identifier: MIT
import Foundation
import RefrainProxy
import Refrain

/// Which arguments of a program are media that it is to ask of the proxy. A pure value.
struct ProxiedArguments {
  /// The proxy's own port on loopback: what leads there is a proxied URL already.
  var port: Int?
  /// The proxied form of a URL.
  var proxied: (URL) throws -> String

  /// The arguments, with each that is an http(s) URL replaced, and each `--option=URL`.
  func replacing(_ arguments: [String]) throws -> [String] {
    var previous = ""
    return try arguments.map { argument in
      defer { previous = argument }
      if Self.isWeb(argument) {
        return Self.isNoMedia(previous) ? argument : try replaced(argument[...])
      }
      guard argument.hasPrefix("-"), let equals = argument.firstIndex(of: "="),
        !Self.isNoMedia(String(argument[..<equals]))
      else { return argument }
      let value = argument[argument.index(after: equals)...]
      guard Self.isWeb(value) else { return argument }
      return try "\(argument[...equals])\(replaced(value))"
    }
  }

  private func replaced(_ text: Substring) throws -> String {
    // The fragment is the program's own: no request carries it (RFC 9110 §4.2.5).
    let hash = text.firstIndex(of: "#") ?? text.endIndex
    guard let url = URL(text: text[..<hash]), let host = url.host(), !host.isEmpty else {
      return String(text)
    }
    if let port, url.port == port, LoopbackAddress.contains(host.trimmingBrackets) {
      return String(text)
    }
    return try proxied(url) + text[hash...]
  }

  private static func isWeb(_ text: some StringProtocol) -> Bool {
    let start = text.prefix(8).lowercased()
    return start.hasPrefix("http://") || start == "https://"
  }

  /// Options that name another web server than the media's: a page that links to it
  /// (`--referrer`, `-referer`), a proxy to go through (`--http-proxy`).
  private static func isNoMedia(_ option: String) -> Bool {
    guard option.hasPrefix("-"), !option.contains("=") else { return false }
    let name = option.lowercased()
    return ["referer", "referrer", "proxy"].contains { name.hasSuffix($0) }
  }
}

extension String {
  /// An IPv6 address as it is without the brackets that it has in a URL.
  fileprivate var trimmingBrackets: String {
    hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : self
  }
}
