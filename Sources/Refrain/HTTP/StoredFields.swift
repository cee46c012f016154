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

  /// Fields that belong to the stored bytes, which a mere confirmation cannot change (RFC 9111
  /// §3.2).
  private static let ofContent: Set<String> = [
    "content-encoding", "content-type", "content-md5", "content-digest", "repr-digest",
  ]

  /// Fields in which the proxies and caches on the way of one response name themselves.
  private static let ofWay: Set<String> = ["via", "cache-status"]

  /// Returns Via and Cache-Status of a response, in order, without those that are too long. They are
  /// not stored: a client receives them with that response, and not with later ones (RFC 9110
  /// §7.6.3, RFC 9211 §2).
  static func way(of headers: HeaderFields) -> HeaderFields {
    var room = longestField
    var way = HeaderFields()
    for field in headers.fields where ofWay.contains(field.name.lowercased()) {
      let size = field.name.utf8.count + field.value.utf8.count
      guard size <= room else { continue }
      room -= size
      way.append(field.name, field.value)
    }
    return way
  }

  /// Returns the fields to store after a response.
  ///
  /// - Parameters:
  ///   - stored: those of the responses before it.
  ///   - headers: the response's.
  ///   - isConfirmation: whether the response has no bytes, and confirms the stored ones.
  static func merged(
    _ stored: HeaderFields, with headers: HeaderFields, isConfirmation: Bool
  ) -> HeaderFields {
    let nominated = Set(
      headers.values(of: "Connection").flatMap {
        $0.split(separator: ",").map { $0.trimmingOWS.lowercased() }
      })
    let news = headers.fields.filter { field in
      let name = field.name.lowercased()
      if excluded.contains(name) || nominated.contains(name) { return false }
      return !(isConfirmation && ofContent.contains(name))
    }
    var replaced = Set(news.map { $0.name.lowercased() })
    // The Date of an older message would make the newer one as old (RFC 9110 §6.6.1).
    if isConfirmation { replaced.insert("date") }
    let kept = stored.fields.filter { !replaced.contains($0.name.lowercased()) }
    var room = longestAll
    var merged = HeaderFields()
    for field in kept + news {
      let size = field.name.utf8.count + field.value.utf8.count
      // Without Vary, all requests would receive one representation. The head of a response is
      // bounded.
      if field.name.lowercased() != "vary" {
        guard size <= longestField, size <= room else { continue }
        room -= size
      }
      merged.append(field.name, field.value)
    }
    return merged
  }
}
