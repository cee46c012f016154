// SPDX-License-Identifier: MIT

/// The request fields by which a client could have an origin answer something else than its URL
/// says, and by which no cache tells answers apart. Programs behind a proxy take them for the proxy's
/// word: in a cache for several people, one client could choose what the others are given.
enum UnkeyedField {
  private static let names: Set<String> = [
    "forwarded", "front-end-https", "x-host", "x-http-host-override", "x-original-url",
    "x-original-uri", "x-original-host", "x-rewrite-url", "x-http-method-override",
    "x-http-method", "x-method-override", "x-real-ip", "x-client-ip", "x-cluster-client-ip",
    "client-ip", "true-client-ip",
  ]

  /// - Parameter name: in lower case.
  static func isOne(_ name: String) -> Bool {
    name.hasPrefix("x-forwarded-") || names.contains(name)
  }
}
