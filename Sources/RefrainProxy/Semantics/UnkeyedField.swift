// SPDX-License-Identifier: MIT

/// The request fields by which a client could make an origin respond with other content than the
/// URL's, without the cache distinguishing the responses. Programs behind a proxy trust them as the
/// proxy's: in a shared cache, one client could choose the responses of the others.
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
