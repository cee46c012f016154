// SPDX-License-Identifier: MIT

/// Which fields of responses are stored with an entry, and how a later response updates them.
enum StoredFields {
  /// More than this is no description of media: what does not fit is left out.
  static let longestField = 4 << 10
  static let longestAll = 16 << 10

  /// Those that describe the message and not the resource (RFC 9110 §7.6.1, RFC 9111 §3.1), or the
  /// one range or the one exchange; and cookies, which are for whoever asked.
  private static let excluded: Set<String> = [
    "connection", "keep-alive", "proxy-connection", "proxy-authenticate",
    "proxy-authentication-info", "proxy-authorization", "te", "trailer", "transfer-encoding",
    "upgrade", "content-length", "content-range", "age", "set-cookie", "set-cookie2", "warning",
    "cache-status", "via", "accept-ranges",
  ]

  /// Those that belong to the stored bytes, so that the one who only confirms them cannot change
  /// them (RFC 9111 §3.2).
  private static let ofContent: Set<String> = [
    "content-encoding", "content-type", "content-md5", "content-digest", "repr-digest",
  ]

  /// The fields to store after a response.
  ///
  /// - Parameters:
  ///   - stored: those of the responses before it.
  ///   - headers: the response's.
  ///   - isConfirmation: it brings no bytes, and says that those stored still hold.
  static func merged(
    _ stored: HTTPFields, with headers: HTTPFields, isConfirmation: Bool
  ) -> HTTPFields {
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
    var merged = HTTPFields()
    for field in kept + news {
      let size = field.name.utf8.count + field.value.utf8.count
      // Without Vary, one representation would be given for all.
      let isVital = field.name.lowercased() == "vary"
      guard isVital || (size <= longestField && size <= room) else { continue }
      room -= size
      merged.append(field.name, field.value)
    }
    return merged
  }
}
