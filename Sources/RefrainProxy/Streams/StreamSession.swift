// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// The state that the requests of one stream share: the headers and cookies that its playlists,
/// segments and keys need, and the variables that its playlists import.
///
/// The identifier stands in the path of the stream's URLs, where relative references inherit it.
final class StreamSession: Sendable {
  /// The origin of a URL (RFC 6454): headers are sent there, and nowhere else.
  struct Place: Sendable, Hashable {
    private let text: String

    init?(_ url: URL) {
      guard let parts = WebURL(url.absoluteString), let authority = Authority(parts.authority)
      else { return nil }
      let port = authority.port ?? (parts.scheme == "https" ? 443 : 80)
      text = "\(parts.scheme)://\(authority.plainHost):\(port)"
    }
  }

  let id: String
  private let place: Place?
  private let headers: HeaderFields
  private let cookies: CookieJar
  private let variables = Mutex<[String: String]>([:])
  /// Stores the cookies of responses.
  let observer: ResponseObserver

  /// - Parameters:
  ///   - url: the URL to whose origin the headers are sent.
  init(id: String, headers: HeaderFields, for url: URL) {
    self.id = id
    self.headers = headers
    place = Place(url)
    let cookies = CookieJar()
    self.cookies = cookies
    observer = ResponseObserver { cookies.store($1.values(of: "Set-Cookie"), from: $0, at: Date()) }
  }

  /// Returns a request's fields with those of the session that the client did not send.
  func complete(_ fields: HeaderFields, for url: URL) -> HeaderFields {
    var complete = fields
    let isOwn = place != nil && Place(url) == place
    for field in headers.fields {
      switch complete[field.name] {
      case nil where isOwn: complete.append(field.name, field.value)
      // A client that was redirected here sends its credentials to this proxy again: they are for
      // the stream's own host.
      case field.value where !isOwn: complete[field.name] = nil
      default: continue
      }
    }
    let stored = cookies.cookies(for: url, at: Date())
    guard !stored.isEmpty else { return complete }
    // The client's value of a cookie is the newer one.
    let sent = CookieJar.pairs(complete["Cookie"] ?? "")
    let missing = stored.filter { cookie in !sent.contains { $0.name == cookie.name } }
    complete["Cookie"] = (sent + missing).map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    return complete
  }

  func store(cookies fields: [String], from url: URL) {
    cookies.store(fields, from: url, at: Date())
  }

  /// The variables that playlists of the stream may import (`EXT-X-DEFINE`).
  var importable: [String: String] { variables.withLock { $0 } }

  /// Adds the variables of a multivariant playlist.
  func define(_ new: [String: String]) {
    guard !new.isEmpty else { return }
    variables.withLock { known in
      var room = Self.mostVariableBytes
      for (name, value) in known { room -= name.utf8.count + value.utf8.count }
      for (name, value) in new {
        let old = known[name].map { name.utf8.count + $0.utf8.count } ?? 0
        let change = name.utf8.count + value.utf8.count - old
        guard change <= room else { continue }
        room -= change
        known[name] = value
      }
    }
  }

  /// Playlists that define new names each time must not fill the memory.
  private static let mostVariableBytes = 1 << 20
}
