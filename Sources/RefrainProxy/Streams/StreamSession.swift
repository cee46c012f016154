// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import RefrainStreams

/// The state that the requests of one stream share: the headers and cookies that its playlists,
/// segments and keys need, and the variables that its playlists import.
///
/// The identifier stands in the path of the stream's URLs, where relative references inherit it.
final class StreamSession: Sendable {
  /// A session as it is stored.
  struct Record: Sendable, Hashable, Codable {
    struct Header: Sendable, Hashable, Codable {
      var name: String
      var value: String
    }

    var id: String
    /// The URL with which the stream began.
    var url: URL
    var headers: [Header]
    var cookies: [Cookie] = []
    var variables: [String: String] = [:]
    /// In seconds since 1970.
    var lastUse: Int

    /// Whether a session can have these contents: a damaged header must not split a request.
    var isValid: Bool {
      ProxyURL.isSession(id) && WebOrigin(url) != nil
        && headers.allSatisfy { header in
          header.name.isToken
            && header.value.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
        }
    }
  }

  let id: String
  let url: URL
  let headers: HeaderFields
  /// Those that the responses of the stream have set.
  let cookies: CookieJar
  /// Headers are sent there, and nowhere else but for the harmless ones.
  private let origin: WebOrigin?
  /// Without the cookies.
  private let state: Mutex<Record>
  /// Called when there is something new to store.
  private let noteChange: @Sendable () -> Void

  init(_ record: Record, _ cookies: CookieJar, noteChange: @escaping @Sendable () -> Void) {
    (id, url, self.cookies, self.noteChange) = (record.id, record.url, cookies, noteChange)
    headers = HeaderFields(record.headers.map { ($0.name, $0.value) })
    origin = WebOrigin(record.url)
    state = Mutex(record)
  }

  func record(at now: Date) -> Record {
    var record = state.withLock { $0 }
    record.cookies = cookies.all(at: now)
    return record
  }

  /// Adopts what another process has stored of this session, if that has used it since.
  func adopt(_ record: Record, at now: Date) {
    let isNewer = state.withLock { state in
      guard record.lastUse > state.lastUse else { return false }
      state = record
      return true
    }
    if isNewer { cookies.add(record.cookies, at: now) }
  }

  var lastUse: Int { state.withLock { $0.lastUse } }

  func noteUse(at now: Date) { state.withLock { $0.lastUse = Int(now.timeIntervalSince1970) } }

  // MARK: Requests

  /// Stores the cookies of responses.
  var observer: ResponseObserver { cookies.observer(id, onChange: noteChange) }

  /// Whether all headers are sent to the URL: the stream began at the same origin.
  func isOwn(_ url: URL) -> Bool { origin != nil && WebOrigin(url) == origin }

  /// Returns a request's fields with those of the session: the harmless ones, in place of those by
  /// which a player describes itself, and on the stream's own host the others that the client did
  /// not send.
  func complete(_ fields: HeaderFields, for url: URL) -> HeaderFields {
    var complete = fields
    let (isOwn, harmless) = (isOwn(url), headers.harmless.fields)
    for field in harmless { complete[field.name] = nil }
    for field in harmless { complete.append(field.name, field.value) }
    for field in headers.fields where !harmless.contains(field) {
      switch complete[field.name] {
      case nil where isOwn: complete.append(field.name, field.value)
      // A client that was redirected here sends its credentials to this proxy again: they are for
      // the stream's own host.
      case field.value where !isOwn: complete[field.name] = nil
      default: continue
      }
    }
    return cookies.complete(complete, for: url, at: Date())
  }

  // MARK: Variables

  /// The variables that playlists of the stream may import (`EXT-X-DEFINE`).
  var importable: [String: String] { state.withLock { $0.variables } }

  /// Playlists that define new names each time must not fill the memory.
  private static let mostVariableBytes = 1 << 18

  /// Adds the variables of a multivariant playlist. If they do not fit beside those of earlier
  /// playlists, they replace them.
  ///
  /// - Returns: whether all are known now. Without its variables, a playlist would lead clients past
  ///   the proxy.
  @discardableResult
  func define(_ new: [String: String]) -> Bool {
    guard !new.isEmpty else { return true }
    func isTooLong(_ variables: [String: String]) -> Bool {
      variables.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } > Self.mostVariableBytes
    }
    guard !isTooLong(new) else { return false }
    let isChanged = state.withLock { state in
      var all = state.variables.merging(new) { $1 }
      if isTooLong(all) { all = new }
      defer { state.variables = all }
      return state.variables != all
    }
    if isChanged { noteChange() }
    return true
  }
}
