// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainProxy

/// Replaces arguments of a program that name media by URLs of the proxy. A pure value.
struct ProxiedArguments {
  /// The proxy's own port on loopback: a URL with it is already proxied.
  var port: Int?
  /// Returns the proxied form of a URL.
  var proxied: (URL) throws -> String
  /// Called for a URL without a proxied form; the URL is kept.
  var reportLeft: (_ url: String, _ error: any Error) -> Void = { _, _ in }

  /// Returns the arguments with each http(s) URL replaced, and each `--option=URL` of an option
  /// that names media.
  func replacing(_ arguments: [String]) -> [String] {
    var previous = ""
    return arguments.map { argument in
      defer { previous = argument }
      if Self.isWeb(argument) {
        return Self.isNoMedia(previous) ? argument : replaced(argument[...])
      }
      guard argument.hasPrefix("-"), let equals = argument.firstIndex(of: "="),
        Self.namesMedia(argument[..<equals])
      else { return argument }
      let value = argument[argument.index(after: equals)...]
      guard Self.isWeb(value) else { return argument }
      return "\(argument[...equals])\(replaced(value))"
    }
  }

  private func replaced(_ text: Substring) -> String {
    // The fragment stays with the program: no request carries it (RFC 9110 §4.2.5).
    let hash = text.firstIndex(of: "#") ?? text.endIndex
    guard let url = Self.url(text[..<hash]), let host = url.host(), !host.isEmpty else {
      return String(text)
    }
    if let port, url.port == port, NetworkAddress.isLoopback(host: host) {
      return String(text)
    }
    do {
      return try proxied(url) + text[hash...]
    } catch {
      reportLeft(url.withoutUserInfo.absoluteString, error)
      return String(text)
    }
  }

  /// Returns the URL as a program would request it: without `.` and `..` (RFC 3986 §5.2.4), and
  /// without the colon of an empty port (§6.2.3).
  private static func url(_ text: Substring) -> URL? {
    let path = text.dropFirst(8).firstIndex { "/?".contains($0) } ?? text.endIndex
    var authority = text[..<path]
    if authority.hasSuffix(":"), !authority.hasSuffix("/:") { authority.removeLast() }
    return URL(text: authority + text[path...], relativeTo: base)
  }

  /// Has no effect: the text resolved against it is absolute.
  private static let base = URL(string: "http://localhost/")

  private static func isWeb(_ text: some StringProtocol) -> Bool {
    let start = text.prefix(8).lowercased()
    return start.hasPrefix("http://") || start == "https://"
  }

  /// Whether the option's value is media: of mpv (`--audio-file`, `--sub-file`, `--external-file`,
  /// `--cover-art-file`, `--playlist`), VLC (`--input-slave`), ffmpeg and others (`-i`, `--input`,
  /// `--url`).
  private static func namesMedia(_ option: some StringProtocol) -> Bool {
    let name = option.lowercased().trimmingPrefix { $0 == "-" }
    let names = ["i", "input", "input-slave", "playlist", "uri", "url"]
    return names.contains(String(name)) || name == "file" || name.hasSuffix("-file")
  }

  /// Whether the option's value, the next argument, is a URL of something else: a page that links
  /// to the media (`-referer`, curl's `-e`), a proxy (`-http_proxy`, `-x`), the program's own name
  /// (`-user_agent`, `-A`, wget's `-U`).
  private static func isNoMedia(_ option: String) -> Bool {
    guard option.hasPrefix("-"), !option.contains("=") else { return false }
    if ["-e", "-x", "-A", "-U"].contains(option) { return true }
    let name = option.lowercased()
    return ["referer", "referrer", "proxy", "agent", "origin"].contains { name.hasSuffix($0) }
  }
}
