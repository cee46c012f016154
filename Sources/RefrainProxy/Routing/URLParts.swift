// SPDX-License-Identifier: MIT

/// The parts of an http or https URL, as they are spelled.
struct URLParts {
  /// `http` or `https`.
  var scheme: String
  /// Without user information.
  var authority: Substring
  /// Path and query, without the fragment; may be empty, or begin with `?`.
  var target: Substring

  init?(_ text: some StringProtocol) {
    let text = String(text)
    guard let colon = text.firstIndex(of: ":") else { return nil }
    scheme = text[..<colon].lowercased()
    guard scheme == "http" || scheme == "https" else { return nil }
    let behind = text[colon...]
    guard behind.hasPrefix("://") else { return nil }
    let rest = behind.dropFirst(3).prefix { $0 != "#" }
    let whole = rest.prefix { $0 != "/" && $0 != "?" }
    authority = whole.lastIndex(of: "@").map { whole[whole.index(after: $0)...] } ?? whole
    target = rest[whole.endIndex...]
  }

  /// Path and query as a request sends them: the path is never empty (RFC 9112 §3.2.1).
  var requestTarget: String { target.hasPrefix("/") ? String(target) : "/" + target }
}
