// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The fields of a client's request that are sent to the origin.
struct OriginFields: Sendable {
  /// Sent in place of the client's fields of the same name; they may grant access.
  var own: HeaderFields
  /// Data that a browser stores for the proxy's address is then for none of the origins.
  var isForManyOrigins: Bool
  /// In Via (RFC 9110 §7.6.3) and CDN-Loop (RFC 8586).
  var viaName: String
  var isShared: Bool

  /// Whether this proxy has sent the request itself, in a loop.
  func hasSent(_ fields: HeaderFields) -> Bool {
    (fields.values(of: "Via") + fields.values(of: "CDN-Loop")).contains { $0.contains(viaName) }
  }

  /// Set by the cache: it requests missing ranges, on its own conditions, in no content coding.
  private static let ofTheCache: Set<String> = [
    "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    "accept-encoding", "cache-control", "pragma", "icy-metadata", "content-length",
    "content-type", "expect",
  ]

  /// Removes what is not for an origin: URLs of this proxy (`isOwn`), which contain its token; and
  /// of a browser the cookies that it stores for the proxy's address, and its page, which may be
  /// none of the origin's. A program that sends Referer or Origin was told to.
  func ofClient(_ fields: HeaderFields, isOwn: (String) -> Bool) -> HeaderFields {
    guard isForManyOrigins else { return fields }
    let isBrowser = fields["Sec-Fetch-Mode"] != nil
    return fields.filter { field in
      switch field.name.lowercased() {
      case "cookie": !isBrowser
      case "referer", "origin": !isBrowser && !isOwn(field.value)
      default: true
      }
    }
  }

  /// Without `sendsOwn`, the proxy's own fields are reduced to the harmless ones.
  func forCache(_ fields: HeaderFields, sendsOwn: Bool = true) -> HeaderFields {
    build(fields, without: Self.ofTheCache, adding: sendsOwn ? own : own.harmless)
  }

  func forRelay(_ fields: HeaderFields, sendsOwn: Bool) -> HeaderFields {
    var own = sendsOwn ? own : own.harmless
    // Metadata between the bytes is only for clients that request it.
    own["Icy-MetaData"] = nil
    return build(fields, without: ["content-length", "expect"], adding: own)
  }

  private func build(
    _ fields: HeaderFields, without excluded: Set<String>, adding own: HeaderFields
  ) -> HeaderFields {
    var result = fields.forwarded.filter { field in
      let name = field.name.lowercased()
      // Only browsers send these, for a page that may not be one of the origin's.
      let isOfBrowser =
        name.hasPrefix("sec-") || name.hasPrefix("access-control-request-")
        || ["upgrade-insecure-requests", "dnt"].contains(name)
      return !["host", "via", "cdn-loop"].contains(name) && !excluded.contains(name)
        && own[name] == nil && !(isForManyOrigins && isOfBrowser)
        && !(isShared && (name.hasPrefix("x-forwarded-") || Self.unkeyed.contains(name)))
    }
    let via = fields.values(of: "Via") + ["1.1 \(viaName)"]
    result.append("Via", via.joined(separator: ", "))
    let loop = fields.values(of: "CDN-Loop") + [viaName]
    result.append("CDN-Loop", loop.joined(separator: ", "))
    for field in own.fields { result.append(field.name, field.value) }
    return result
  }

  /// Fields by which, as by `X-Forwarded-`, a client could make an origin respond with other
  /// content than the URL's: in a shared cache, one client could choose it for the others.
  private static let unkeyed: Set<String> = [
    "forwarded", "front-end-https", "x-host", "x-http-host-override", "x-original-url",
    "x-original-uri", "x-original-host", "x-rewrite-url", "x-http-method-override",
    "x-http-method", "x-method-override", "x-real-ip", "x-client-ip", "x-cluster-client-ip",
    "client-ip", "true-client-ip",
  ]
}

extension HeaderFields {
  /// Fields that are forwarded even if Connection names them, which RFC 9110 §7.6.1 forbids:
  /// without them the message would have another meaning.
  private static let endToEnd: Set<String> = [
    "host", "content-length", "content-type", "content-encoding", "content-range", "range",
    "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    "authorization", "cookie", "set-cookie", "cache-control", "pragma", "expires", "vary", "etag",
    "last-modified", "date", "age", "location", "via", "max-forwards",
  ]

  /// Without hop-by-hop fields, and without those that Connection names.
  var forwarded: HeaderFields {
    let left = Self.hopByHop.union(Set(members(of: "Connection")).subtracting(Self.endToEnd))
    return filter { !left.contains($0.name.lowercased()) }
  }

  func filter(_ isIncluded: (Field) -> Bool) -> HeaderFields {
    HeaderFields(fields.lazy.filter(isIncluded).map { ($0.name, $0.value) })
  }
}
