// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The fields of a client's request that are sent to the origin.
struct OriginFields: Sendable {
  /// Sent in place of the client's fields of the same name; they may grant access.
  var own: HeaderFields
  /// Whether many origins share the proxy's address: data that a browser stores for the address is
  /// for none of them.
  var isForManyOrigins: Bool
  /// The name of this proxy in Via (RFC 9110 §7.6.3) and CDN-Loop (RFC 8586).
  var viaName: String
  /// Whether the responses are for several people.
  var isShared = false

  /// Whether this proxy has sent the request itself, in a loop.
  func hasSent(_ fields: HeaderFields) -> Bool {
    (fields.values(of: "Via") + fields.values(of: "CDN-Loop")).contains { $0.contains(viaName) }
  }

  /// Fields that the proxy sets itself in requests that fill the cache: it requests missing ranges,
  /// on its own conditions, and never in a content coding.
  private static let ofTheCache: Set<String> = [
    "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    "accept-encoding", "cache-control", "pragma", "icy-metadata", "content-length",
    "content-type", "expect",
  ]

  /// Whether the field describes a browser's page, which may not be one of the origin's.
  private static func isOfBrowser(_ name: String) -> Bool {
    name.hasPrefix("sec-") || name == "origin" || name == "upgrade-insecure-requests"
      || name == "dnt" || name.hasPrefix("access-control-request-")
  }

  /// Returns a request's fields without the cookies that a browser stores for the proxy's address.
  /// The cookies of a stream's session, which are for its origin, are added afterwards.
  func withoutBrowserCookies(_ fields: HeaderFields) -> HeaderFields {
    guard isForManyOrigins, fields["Sec-Fetch-Mode"] != nil else { return fields }
    var remaining = fields
    remaining["Cookie"] = nil
    return remaining
  }

  /// Whether the requests of a stream differ by host: a playlist may name hosts for which the
  /// proxy's own fields are not meant.
  var distinguishesHosts: Bool { isForManyOrigins && !own.isEmpty }

  /// Returns the fields of a request that fills the cache.
  ///
  /// - Parameters:
  ///   - sendsOwn: whether the proxy's own fields are sent.
  ///   - referrer: returns the origin's URL for a Referer that names a URL of this proxy.
  func forCache(
    _ fields: HeaderFields, sendsOwn: Bool = true, referrer: (String) -> String?
  ) -> HeaderFields {
    sending(sendsOwn).build(fields, referrer: referrer) { Self.ofTheCache.contains($0) }
  }

  private func sending(_ sendsOwn: Bool) -> OriginFields {
    var sent = self
    if !sendsOwn { sent.own = [:] }
    return sent
  }

  /// Returns the fields of a request that is relayed unchanged. Parameters as `forCache`.
  func forRelay(
    _ fields: HeaderFields, sendsOwn: Bool = true, referrer: (String) -> String?
  ) -> HeaderFields {
    var relayed = sending(sendsOwn)
    // Metadata between the bytes is only for clients that request it.
    relayed.own["Icy-MetaData"] = nil
    return relayed.build(fields, referrer: referrer) { $0 == "content-length" || $0 == "expect" }
  }

  private func build(
    _ fields: HeaderFields, referrer: (String) -> String?, without excluded: (String) -> Bool
  ) -> HeaderFields {
    var result = HeaderFields()
    for field in HopByHop.removed(from: fields).fields {
      let name = field.name.lowercased()
      if name == "host" || excluded(name) || own[name] != nil { continue }
      if isForManyOrigins {
        if Self.isOfBrowser(name) { continue }
        if name == "referer" {
          if let original = referrer(field.value) { result.append(field.name, original) }
          continue
        }
      }
      if name == "via" || name == "cdn-loop" { continue }
      if isShared && UnkeyedField.isOne(name) { continue }
      result.append(field.name, field.value)
    }
    let via = fields.values(of: "Via") + ["1.1 \(viaName)"]
    result.append("Via", via.joined(separator: ", "))
    let loop = fields.values(of: "CDN-Loop") + [viaName]
    result.append("CDN-Loop", loop.joined(separator: ", "))
    for field in own.fields { result.append(field.name, field.value) }
    return result
  }
}
