// SPDX-License-Identifier: MIT

/// Reads Content-Type (RFC 9110 §8.3.1).
enum MediaType {
  /// `type/subtype` without parameters, lower case: `audio/flac`. Nil where the value is malformed.
  static func essence(_ contentType: String?) -> String? {
    guard let contentType else { return nil }
    let whole = contentType.prefix { $0 != ";" }.trimmingOWS
    // Each part has 127 characters at most (RFC 6838 §4.2).
    guard whole.utf8.count <= 255 else { return nil }
    let parts = whole.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy(\.isToken) else { return nil }
    return whole.lowercased()
  }
}
