// SPDX-License-Identifier: MIT
import Foundation
import Refrain

struct ResponseFields: Sendable {
  /// Whether the proxy serves many origins under one name, its own.
  var isForManyOrigins: Bool
  var allowedWebOrigin: String?
  var node: String

  /// Fields that concern one origin's own name (RFC 6797, RFC 7838), or that would let pages of
  /// other sites read through this proxy.
  private static let ofOneOrigin: Set<String> = [
    "set-cookie", "set-cookie2", "strict-transport-security", "alt-svc", "clear-site-data",
    "public-key-pins", "nel", "report-to", "reporting-endpoints", "service-worker-allowed",
    "origin-agent-cluster", "access-control-allow-origin", "access-control-allow-credentials",
    "access-control-expose-headers", "access-control-allow-methods",
    "access-control-allow-headers", "access-control-max-age", "timing-allow-origin",
  ]

  /// Returns the fields that all responses from the stored one have.
  func stored(_ known: StoredResponse) -> HeaderFields {
    var fields = passable(known.headers)
    if known.information.length != nil { fields.append("Accept-Ranges", "bytes") }
    if known.freshness.isBounded == true {
      // The client does not know the redirects that led here, and would keep it by these fields.
      fields.append("Cache-Control", "no-cache")
      (fields["CDN-Cache-Control"], fields["Expires"]) = (nil, nil)
    }
    return completed(fields, date: known.freshness.confirmedAt)
  }

  /// Adds the fields that every response has, and those for the allowed web origin.
  func completed(
    _ fields: HeaderFields, date: Date = Date(), isForWebOrigin: Bool = true
  ) -> HeaderFields {
    var fields = fields
    if fields["Date"] == nil { fields.append("Date", HTTPDate.format(date)) }
    guard isForWebOrigin, let allowedWebOrigin else { return fields }
    fields["Access-Control-Allow-Origin"] = allowedWebOrigin
    fields["Access-Control-Expose-Headers"] =
      "Accept-Ranges, Age, Cache-Status, Content-Length, Content-Range, Date, ETag"
    return fields
  }

  /// Returns the origin's valid fields that clients may receive, without those of the message.
  func passable(_ headers: HeaderFields) -> HeaderFields {
    guard isForManyOrigins else { return Self.valid(headers) }
    var fields = Self.valid(headers).filter { !Self.ofOneOrigin.contains($0.name.lowercased()) }
    if Self.mayHaveScript(fields["Content-Type"]) {
      // Another policy of the origin's applies as well.
      fields.append("Content-Security-Policy", "sandbox")
    }
    return fields
  }

  static func valid(_ headers: HeaderFields) -> HeaderFields {
    headers.forwarded.filter { $0.name.lowercased() != "content-length" && $0.isValid }
  }

  /// Whether a browser might run script of a body: in the web origin of the proxy, which pages of
  /// all origins would share. Media has none.
  private static func mayHaveScript(_ contentType: String?) -> Bool {
    guard let type = contentType?.lowercased(), !type.contains(",") else { return true }
    let essence = type.prefix { $0 != ";" }.trimmingOWS
    if essence.hasPrefix("audio/") || essence.hasPrefix("video/") { return false }
    if essence.hasPrefix("image/") { return essence.contains("xml") }
    return !["application/octet-stream", "application/vnd.apple.mpegurl", "application/ogg"]
      .contains(essence)
  }

  /// Adds Cache-Status, and Via (RFC 9110 §7.6.3) if the proxy stands for one origin, where several
  /// proxies may follow each other.
  func add(_ status: CacheStatus, to fields: inout HeaderFields) {
    addVia(to: &fields)
    fields.append("Cache-Status", status.value(node: node))
  }

  func addVia(to fields: inout HeaderFields) {
    if !isForManyOrigins { fields.append("Via", "1.1 \(node)") }
  }

  /// Returns the fields of the response to a CORS preflight (Fetch standard).
  static func preflight(_ request: HeaderFields) -> HeaderFields {
    var fields: HeaderFields = [
      "Access-Control-Allow-Methods": "GET, HEAD", "Access-Control-Max-Age": "600",
    ]
    fields["Access-Control-Allow-Headers"] = request["Access-Control-Request-Headers"]
    return fields
  }

  /// Returns whole seconds, negative if stale (RFC 9211 §2.3); RFC 8941 §3.3.1 limits the digits.
  static func timeToLive(_ known: StoredResponse, at now: Date) -> Int64 {
    Int64(min(max(known.timeToLive(at: now), -1e14), 1e14).rounded(.down))
  }

  /// Returns whole seconds since the origin made or confirmed the response (RFC 9111 §5.1).
  static func age(_ freshness: Freshness, at now: Date) -> Int64 {
    Int64(min(max(freshness.age(at: now), 0), Double(1 << 31)))
  }
}

/// The cache's handling of a request, as the field Cache-Status reports it (RFC 9211).
struct CacheStatus: Sendable, Hashable {
  /// Why the request was forwarded (RFC 9211 §2.2).
  enum Forwarded: String, Sendable, Hashable {
    /// The cache was configured not to handle it.
    case bypass
    case method
    case uriMiss = "uri-miss"
    case varyMiss = "vary-miss"
    case stale
    case partial
    /// The request's own directives forbid to store the response.
    case request
  }

  /// Nil: the origin was not asked.
  var forwarded: Forwarded?
  var isStored = false
  /// Whether the request shared one to the origin with others.
  var isCollapsed = false
  /// In seconds; negative if the response is stale.
  var timeToLive: Int64?

  /// Returns one member of the field's list (RFC 8941 §3.1).
  func value(node: String) -> String {
    var text = node
    if let forwarded {
      text += "; fwd=\(forwarded.rawValue)"
      if isStored { text += "; stored" }
      if isCollapsed { text += "; collapsed" }
    } else {
      text += "; hit"
    }
    if let timeToLive { text += "; ttl=\(timeToLive)" }
    return text
  }
}
