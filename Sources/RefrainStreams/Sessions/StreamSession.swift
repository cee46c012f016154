// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain
import RefrainLocks

/// The state that the requests of one stream share: the headers and cookies that its playlists,
/// segments and keys need, and the variables that its playlists import.
///
/// The identifier stands in the path of the stream's URLs, where relative references inherit it.
package final class StreamSession: Sendable {
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
      StreamSession.isIdentifier(id) && WebOrigin(url) != nil
        && headers.allSatisfy { HeaderFields.Field(name: $0.name, value: $0.value).isValid }
    }
  }

  package let id: String
  let url: URL
  package let headers: HeaderFields
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

  /// Whether a text can identify a session: up to 64 characters that a URL never encodes (RFC 3986
  /// §2.3).
  package static func isIdentifier(_ text: some StringProtocol) -> Bool {
    (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(\.isUnreserved)
  }

  /// Returns a new identifier of 192 random bits.
  static func newIdentifier() -> String {
    (0..<3).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
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
  package var observer: ResponseObserver { cookies.observer(id, onChange: noteChange) }

  /// Whether all headers are sent to the URL: the stream began at the same origin.
  package func isOwn(_ url: URL) -> Bool { origin != nil && WebOrigin(url) == origin }

  /// Returns a request's fields with those of the session: the harmless ones, in place of those by
  /// which a player describes itself, and on the stream's own host the others that the client did
  /// not send.
  package func complete(_ fields: HeaderFields, for url: URL) -> HeaderFields {
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
  package var importable: [String: String] { state.withLock { $0.variables } }

  /// Playlists that define new names each time must not fill the memory.
  private static let mostVariableBytes = 1 << 18

  /// Adds the variables of a multivariant playlist. If they do not fit beside those of earlier
  /// playlists, they replace them.
  ///
  /// - Returns: whether all are known now. Without its variables, a playlist would lead clients past
  ///   the proxy.
  @discardableResult
  package func define(_ new: [String: String]) -> Bool {
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

/// The sessions of streams in a file of the cache directory, so that the URLs of a proxy stay valid
/// when it starts again with the same token.
///
/// The file contains credentials in the clear: Authorization and other headers, and cookies, also
/// those without an expiry, which signed streams use most. It has mode 0600. Its name is a hash of
/// the token, which only keeps proxies with different tokens apart.
///
/// After `MediaCache.removeAll`, in any process, no session that had begun before is stored again.
///
/// The methods block: call them on `IOThreads` only.
struct SessionStore: Sendable {
  static let capacity = 1024
  static let mostBytes = 1 << 20
  /// In seconds.
  static let longestUnused = 30 * 86_400

  /// The sessions after an exchange with the file.
  struct Exchanged: Sendable {
    /// What the file has, the most recently used first.
    var records: [StreamSession.Record] = []
    /// The sessions that the user has removed.
    var removed: [StreamSession] = []
  }

  /// The file as it was last read or written.
  struct Known: Sendable {
    fileprivate var isRead = false
    /// Nil if there was none.
    fileprivate var identity: String?
  }

  private let files: PrivateFiles
  private let name: String

  init(_ files: PrivateFiles, token: String) {
    self.files = files
    name = "sessions-\(CacheKey(rawValue: token).fileName)"
  }

  /// The path of the file, for messages.
  var path: String { files.path(of: name) }

  /// Whether this cache has removed all files since a session began. Does not block.
  func isRemovedHere(since begun: Uptime) -> Bool { files.isRemovedHere(since: begun) }

  /// Adds sessions to those in the file, where another process with the same token may have stored
  /// some: of two records of one session, the one that was used last stays. Drops those that were
  /// not used for 30 days, and the files of tokens that were not used for so long.
  ///
  /// - Parameters:
  ///   - known: the file after the exchange before this one.
  ///   - unlessUnchanged: whether to return nil if no other process has changed or removed the file
  ///     since then.
  /// - Throws: if the file cannot be read, too: the sessions in it would be lost.
  func exchange(
    _ sessions: [StreamSession], at now: Date, _ known: inout Known, unlessUnchanged: Bool = false
  ) throws -> Exchanged? {
    if unlessUnchanged, known.isRead, try files.identity(of: name) == known.identity {
      return nil
    }
    if !known.isRead {
      try files.removeOld(
        withPrefix: "sessions-", unchangedSince: now - Double(Self.longestUnused), except: name)
    }
    guard try !sessions.isEmpty || files.identity(of: name) != nil else {
      known = Known(isRead: true)
      return Exchanged()
    }
    return try files.withLock {
      let removal = try files.lastRemoval()
      let before = try files.contents(of: name, limit: 2 * Self.mostBytes)
      var exchanged = Exchanged()
      var records = decoded(before ?? [])
      for session in sessions {
        if removal?.isAfter(session.cookies.begun) == true {
          exchanged.removed.append(session)
        } else {
          records.append(session.record(at: now))
        }
      }
      exchanged.records = Self.newest(of: records, at: Int(now.timeIntervalSince1970))
      let bytes = try encoded(exchanged.records)
      if bytes != before ?? [] {
        try files.replace(name, with: bytes)
        // A removal comes in between only if it did not wait for the lock.
        if try files.lastRemoval() != removal { try files.remove([name]) }
      }
      known = Known(isRead: true, identity: try files.identity(of: name))
      return exchanged
    }
  }

  /// Returns the newest record of each session, the most recently used first, without those that
  /// were not used for long.
  private static func newest(
    of records: [StreamSession.Record], at now: Int
  ) -> [StreamSession.Record] {
    var newest: [String: StreamSession.Record] = [:]
    for var record in records {
      // The clock may have been wrong.
      record.lastUse = min(record.lastUse, now)
      guard record.lastUse > now - longestUnused,
        record.lastUse >= newest[record.id]?.lastUse ?? .min
      else { continue }
      newest[record.id] = record
    }
    return newest.values.sorted { $0.lastUse > $1.lastUse }
  }

  // MARK: The format

  /// Returns a line of JSON for each session: the first ones that fit.
  private func encoded(_ records: [StreamSession.Record]) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    var bytes: [UInt8] = []
    for record in records.prefix(Self.capacity) {
      let line = try encoder.encode(record) + [0x0A]
      if bytes.count + line.count <= Self.mostBytes { bytes += line }
    }
    return bytes
  }

  /// Returns the sessions of the lines that are valid.
  private func decoded(_ bytes: [UInt8]) -> [StreamSession.Record] {
    let decoder = JSONDecoder()
    return bytes.split(separator: 0x0A).compactMap {
      try? decoder.decode(StreamSession.Record.self, from: Data($0))
    }.filter(\.isValid)
  }
}
