// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// The state that the requests of one stream share: the headers and cookies that its playlists,
/// segments and keys need, and the variables that its playlists import.
///
/// The identifier stands in the path of the stream's URLs, where relative references inherit it.
final class StreamSession: Sendable {
  let id: String
  /// The URL with which the stream began.
  let url: URL
  let headers: HeaderFields
  /// When the stream began here, or when the session was read from the file.
  let begun: Uptime
  /// Headers are sent there, and nowhere else but for the harmless ones.
  private let origin: WebOrigin?
  private let cookies: CookieJar
  private let variables: Mutex<[String: String]>
  /// In seconds since 1970.
  private let lastUse: Atomic<Int>
  /// The use that was stored last, or is about to be stored, in seconds since 1970.
  private let storedUse: Atomic<Int>
  /// Called when there is something new to store.
  private let noteChange: @Sendable () -> Void
  /// Stores the cookies of responses.
  let observer: ResponseObserver

  /// - Parameters:
  ///   - record: the contents; must be valid.
  ///   - url: the URL to whose origin the headers are sent.
  init(
    _ record: SessionRecord, url: URL, begun: Uptime = .now,
    noteChange: @escaping @Sendable () -> Void = {}
  ) {
    id = record.id
    self.url = url
    headers = record.fields
    self.begun = begun
    origin = WebOrigin(url)
    variables = Mutex(record.variables)
    lastUse = Atomic(Int(record.lastUse.timeIntervalSince1970))
    storedUse = Atomic(Int(record.lastUse.timeIntervalSince1970))
    self.noteChange = noteChange
    let cookies = CookieJar(record.cookies)
    self.cookies = cookies
    observer = ResponseObserver { source, headers, _ in
      if cookies.store(headers.values(of: "Set-Cookie"), from: source, at: Date()) { noteChange() }
    }
  }

  convenience init(
    id: String, headers: HeaderFields, for url: URL, at now: Date = Date(), begun: Uptime = .now,
    noteChange: @escaping @Sendable () -> Void = {}
  ) {
    let record = SessionRecord(
      id: id, url: url.absoluteString,
      headers: headers.fields.map { SessionRecord.Header(name: $0.name, value: $0.value) },
      cookies: [], variables: [:], lastUse: now)
    self.init(record, url: url, begun: begun, noteChange: noteChange)
  }

  /// Returns the contents to store.
  func record(at now: Date) -> SessionRecord {
    let use = secondsOfLastUse
    storedUse.store(use, ordering: .relaxed)
    return SessionRecord(
      id: id, url: url.absoluteString,
      headers: headers.fields.map { SessionRecord.Header(name: $0.name, value: $0.value) },
      cookies: cookies.all(at: now), variables: importable,
      lastUse: Date(timeIntervalSince1970: Double(use)))
  }

  // MARK: Use

  var secondsOfLastUse: Int { lastUse.load(ordering: .relaxed) }

  /// A use is worth storing for its own sake once a day.
  private static let precision = 86_400

  func noteUse(at now: Date) {
    let seconds = Int(now.timeIntervalSince1970)
    lastUse.store(seconds, ordering: .relaxed)
    guard seconds - storedUse.load(ordering: .relaxed) >= Self.precision else { return }
    storedUse.store(seconds, ordering: .relaxed)
    noteChange()
  }

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

  /// Adds cookies that were received before the session began.
  func add(_ new: [CookieJar.Cookie]) {
    if cookies.add(new, at: Date()) { noteChange() }
  }

  func store(cookies fields: [String], from url: URL) {
    if cookies.store(fields, from: url, at: Date()) { noteChange() }
  }

  // MARK: Variables

  /// The variables that playlists of the stream may import (`EXT-X-DEFINE`).
  var importable: [String: String] { variables.withLock { $0 } }

  /// Adds the variables of a multivariant playlist. If they do not fit beside those of earlier
  /// playlists, they replace them.
  ///
  /// - Returns: whether all are known now. Without its variables, a playlist would lead clients past
  ///   the proxy.
  @discardableResult
  func define(_ new: [String: String]) -> Bool {
    guard !new.isEmpty else { return true }
    guard Self.size(new) <= Self.mostVariableBytes else { return false }
    let isChanged = variables.withLock { known in
      var all = known.merging(new) { $1 }
      if Self.size(all) > Self.mostVariableBytes { all = new }
      defer { known = all }
      return known != all
    }
    if isChanged { noteChange() }
    return true
  }

  private static func size(_ variables: [String: String]) -> Int {
    variables.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
  }

  /// Playlists that define new names each time must not fill the memory.
  private static let mostVariableBytes = 1 << 18
}
