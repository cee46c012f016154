// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// A URL on the command line.
enum URLArgument {
  /// Reads an http or https URL and keeps its spelling: percent-encoding is unchanged, and
  /// characters that a URL cannot contain are encoded once. As for curl and browsers, the path is
  /// without `.` and `..` (RFC 3986 §5.2.4).
  static func parse(_ text: String) throws -> URL {
    if let suggestion = suggestion(for: text) {
      throw InvalidArgument("the scheme is missing. Did you mean \(suggestion)?")
    }
    guard let url = URL(text: text), let scheme = url.scheme?.lowercased() else {
      throw InvalidArgument("a complete URL is required, as in https://example.org/song.flac")
    }
    guard scheme == "http" || scheme == "https" else {
      throw InvalidArgument("only http and https are supported, not '\(printable(scheme))'")
    }
    guard let host = url.host(percentEncoded: true), !host.isEmpty else {
      throw InvalidArgument("the URL has no host")
    }
    return URL(text: text, relativeTo: url) ?? url
  }

  /// Returns the URL meant by text that begins with a host, as typed into a browser:
  /// `127.0.0.1:8801/a.mp3`, `example.org/a.mp3`. Nil if the text does not look like one.
  static func suggestion(for text: String) -> String? {
    let end = text.firstIndex { "/?#".contains($0) } ?? text.endIndex
    var host = text[..<end]
    var hasPort = false
    if let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") {
      let port = host[host.index(after: colon)...]
      guard let number = UInt16(port), number > 0 else { return nil }
      host = host[..<colon]
      hasPort = true
    }
    let isHere = host == "localhost" || isAddress(host)
    guard isHere || isName(host), isHere || hasPort || end < text.endIndex else { return nil }
    // Servers on this computer or with an explicit port seldom use TLS.
    let suggestion = "\(isHere || hasPort ? "http" : "https")://\(text)"
    return URL(text: suggestion) == nil ? nil : suggestion
  }

  /// `127.0.0.1`, `[::1]`.
  private static func isAddress(_ host: Substring) -> Bool {
    if host.hasPrefix("["), host.hasSuffix("]") { return host.contains(":") }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
  }

  /// `example.org`: labels of letters, digits and hyphens, the last one of letters only.
  private static func isName(_ host: Substring) -> Bool {
    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    guard labels.count > 1, let last = labels.last, last.count > 1, last.allSatisfy(\.isLetter)
    else { return false }
    return labels.allSatisfy { label in
      !label.isEmpty && label.allSatisfy { $0.isLetter || $0.isASCII && $0.isNumber || $0 == "-" }
    }
  }

  /// Returns a short name for a URL: its last path component, else its host.
  static func name(of url: URL) -> String {
    let last = url.lastPathComponent
    return printable(last.isEmpty || last == "/" ? url.host() ?? url.absoluteString : last)
  }
}
