// SPDX-License-Identifier: MIT
internal import Refrain

/// The fields that are meant for the next hop alone, and are not passed on (RFC 9110 §7.6.1).
enum HopByHop {
  private static let names: Set<String> = [
    "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization",
    "proxy-authentication-info", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings",
  ]

  /// Fields that Connection cannot take away, though it may name them (RFC 9110 §7.6.1 forbids
  /// that): without them the message would be another. What it is about and where it ends, what it
  /// depends on, who may have it and how it may be kept.
  private static let kept: Set<String> = [
    "host", "content-length", "content-type", "content-encoding", "content-range", "range",
    "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    "authorization", "cookie", "set-cookie", "cache-control", "pragma", "expires", "vary", "etag",
    "last-modified", "date", "age", "location", "via", "max-forwards",
  ]

  /// The fields to pass on, in their order: without the hop's own, and without those that its
  /// Connection names.
  static func removed(from fields: HTTPFields) -> HTTPFields {
    var left = names
    for value in fields.values(of: "Connection") {
      for option in value.split(separator: ",") {
        let name = option.trimmingOWS.lowercased()
        if !kept.contains(name) { left.insert(name) }
      }
    }
    return HTTPFields(
      fields.fields.lazy.filter { !left.contains($0.name.lowercased()) }.map {
        ($0.name, $0.value)
      })
  }
}
