// SPDX-License-Identifier: MIT
internal import Refrain

/// The fields that are meant for the next hop only, and are not forwarded (RFC 9110 §7.6.1).
enum HopByHop {
  private static let names: Set<String> = [
    "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization",
    "proxy-authentication-info", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings",
  ]

  /// Fields that are forwarded even if Connection names them, which RFC 9110 §7.6.1 forbids:
  /// without them the message would have another meaning. They describe its content and length, its
  /// conditions, who may receive it and how it may be stored.
  private static let kept: Set<String> = [
    "host", "content-length", "content-type", "content-encoding", "content-range", "range",
    "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    "authorization", "cookie", "set-cookie", "cache-control", "pragma", "expires", "vary", "etag",
    "last-modified", "date", "age", "location", "via", "max-forwards",
  ]

  /// Returns the fields to forward, in order: without hop-by-hop fields, and without those that
  /// Connection names.
  static func removed(from fields: HeaderFields) -> HeaderFields {
    var left = names
    for value in fields.values(of: "Connection") {
      for option in value.split(separator: ",") {
        let name = option.trimmingOWS.lowercased()
        if !kept.contains(name) { left.insert(name) }
      }
    }
    return HeaderFields(
      fields.fields.lazy.filter { !left.contains($0.name.lowercased()) }.map {
        ($0.name, $0.value)
      })
  }
}
