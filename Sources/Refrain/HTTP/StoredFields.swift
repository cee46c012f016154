// SPDX-License-Identifier: MIT

/// Selects the response fields stored with an entry, and updates them from later responses.
enum StoredFields {
  /// Larger fields do not describe media, and are left out.
  static let longestField = 4 << 10
  /// The most bytes of all fields, besides Vary.
  static let longestAll = 16 << 10

  /// Fields that describe the message and not the resource (RFC 9110 §7.6.1, RFC 9111 §3.1), or the
  /// one range or exchange; and cookies, which are for the requester.
  private static let excluded: Set<String> = [
    "connection", "keep-alive", "proxy-connection", "proxy-authenticate",
    "proxy-authentication-info", "proxy-authorization", "te", "trailer", "transfer-encoding",
    "upgrade", "content-length", "content-range", "age", "set-cookie", "set-cookie2", "warning",
    "cache-status", "via", "accept-ranges",
  ]

  /// Fields of the stored bytes, which a mere confirmation cannot change (RFC 9111 §3.2).
  private static let ofContent: Set<String> = [
    "content-encoding", "content-type", "content-md5", "content-digest", "repr-digest",
  ]

  /// Fields in which the proxies and caches on the way of one response name themselves.
  private static let ofWay: Set<String> = ["via", "cache-status"]

  /// Returns Via and Cache-Status of a response, in order, without those that are too long. They are
  /// not stored: a client receives them with that response, and not with later ones (RFC 9110
  /// §7.6.3, RFC 9211 §2).
  static func way(of headers: HeaderFields) -> HeaderFields {
    bounded(headers.fields.filter { ofWay.contains($0.name.lowercased()) }, to: longestField)
  }

  /// Returns the fields to store after a response.
  ///
  /// - Parameter isConfirmation: whether the response has no bytes, and confirms the stored ones.
  static func merged(
    _ stored: HeaderFields, with headers: HeaderFields, isConfirmation: Bool
  ) -> HeaderFields {
    var left = excluded.union(headers.members(of: "Connection").map { $0.lowercased() })
    if isConfirmation { left.formUnion(ofContent) }
    let news = headers.fields.filter { !left.contains($0.name.lowercased()) }
    var replaced = Set(news.map { $0.name.lowercased() })
    // The Date of an older message would make the newer one as old (RFC 9110 §6.6.1).
    if isConfirmation { replaced.insert("date") }
    let kept = stored.fields.filter { !replaced.contains($0.name.lowercased()) }
    return bounded(kept + news, to: longestAll)
  }

  /// Returns the fields that fit, in order.
  private static func bounded(_ fields: [HeaderFields.Field], to longest: Int) -> HeaderFields {
    var room = longest
    var bounded = HeaderFields()
    for field in fields {
      let size = field.name.utf8.count + field.value.utf8.count
      // Without Vary, all requests would receive one representation. A response's head is bounded.
      if field.name.lowercased() != "vary" {
        guard size <= min(longestField, room) else { continue }
        room -= size
      }
      bounded.append(field.name, field.value)
    }
    return bounded
  }
}
