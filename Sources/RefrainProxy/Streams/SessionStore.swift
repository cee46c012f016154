// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// The sessions of streams in a file of the cache directory, so that the URLs of a proxy stay valid
/// when it starts again with the same token.
///
/// The file contains credentials in the clear: Authorization and other headers, and cookies, also
/// those without an expiry, which signed streams use most. After a restart, the URLs of such a
/// stream work only with its credentials.
///
/// The file has mode 0600: only a program that can also read the stored media and keys can read it.
/// It is named by a hash of the token: a proxy with another token finds nothing. A session that
/// nobody uses for 30 days is removed when a proxy starts, or writes the file. So is a file that
/// cannot be read and was not changed for 30 days.
///
/// After `MediaCache.removeAll`, in any process, no session that had begun before is stored or read
/// again. The file names the last removal that its writer knew: if that is not the last one, all of
/// the file is too old, however late it was written.
///
/// The methods block unless they say otherwise: call them on `IOThreads` only.
final class SessionStore: Sendable {
  static let capacity = 1024
  static let mostBytes = 1 << 20
  static let longestUnused: TimeInterval = 30 * 86_400

  struct Contents: Sendable {
    /// The most recently used first.
    var records: [SessionRecord] = []
    /// Why some or all sessions were not read; nil if all were.
    var problem: String?
    /// Whether the file has more than is in `records`, which must not stay there.
    var isOutdated = false
  }

  /// The first line of the file.
  private struct Head: Codable, Equatable {
    var version = 1
    /// The SHA-256 hash of the token.
    var token: String
    /// The last removal that the writer knew.
    var removal: String?
  }

  /// What was found on disk.
  private struct Found {
    var isThere: Bool
    /// The last removal of all private files.
    var removal: PrivateFiles.RemovalRecord?
    var contents = Contents()
  }

  /// What this process knows of the file.
  private struct Known {
    /// Whether the file, or its absence, was seen.
    var isRead = false
    var isThere = false
    var isOutdated = false
    var removal: PrivateFiles.RemovalRecord?
    var sessions: Set<String> = []
    /// Those that the user removed: they are not stored again.
    var removed: Set<String> = []

    mutating func note(_ found: Found, _ ids: some Sequence<String>) {
      (isRead, isThere, removal) = (true, found.isThere, found.removal)
      isOutdated = found.contents.isOutdated
      sessions = Set(ids)
    }

    /// Finds the sessions that the user has removed.
    mutating func noteRemoved(_ begun: [BegunSession], _ found: Found) {
      let isNew = isRead && found.removal != nil && found.removal?.id != removal?.id
      // Somebody may also have removed the file alone.
      if isNew || (isThere && !found.isThere) { removed.formUnion(sessions) }
      for session in begun where found.removal?.isAfter(session.begun) ?? isNew {
        removed.insert(session.record.id)
      }
      removed.formIntersection(begun.map(\.record.id))
    }
  }

  private let files: PrivateFiles
  private let token: String
  private let known = Mutex(Known())

  init(_ files: PrivateFiles, token: String) {
    self.files = files
    self.token = SHA256.hexadecimal(of: Array(token.utf8))
  }

  private var name: String { "sessions-\(token.prefix(32))" }

  /// The path of the file, for messages.
  var path: String { files.path(of: name) }

  /// Reads the sessions, and removes the files of tokens that are not used any more.
  func read(at now: Date) -> Contents {
    known.withLock { known in
      var contents: Contents
      do {
        let found = try find(at: now)
        contents = found.contents
        known.note(found, contents.records.map(\.id))
      } catch {
        contents = Contents(problem: "\(error)")
      }
      do {
        try files.removeFiles(
          withPrefix: "sessions-", except: name, unchangedSince: now - Self.longestUnused)
      } catch {
        contents.problem = contents.problem ?? "\(error)"
      }
      return contents
    }
  }

  /// Adds sessions to the stored ones. Another process with the same token may have stored some.
  ///
  /// - Parameter sessions: returns the sessions; called when it is this call's turn to write.
  /// - Returns: the identifiers of sessions that the user has removed (`MediaCache.removeAll`, in
  ///   any process): they are not stored.
  /// - Throws: also if the file cannot be read: the sessions in it would be lost. A damaged one is
  ///   replaced, and one that is too large is shortened.
  @discardableResult
  func add(_ sessions: () -> [BegunSession], at now: Date) throws -> Set<String> {
    try known.withLock { known in
      let sessions = sessions()
      guard !sessions.isEmpty || known.isOutdated else { return [] }
      return try files.withLock { try add(sessions, at: now, &known) }
    }
  }

  private func add(
    _ sessions: [BegunSession], at now: Date, _ known: inout Known
  ) throws -> Set<String> {
    var found = try find(at: now)
    known.noteRemoved(sessions, found)
    var all = Dictionary(
      found.contents.records.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    for record in sessions.lazy.map(\.record)
    where !known.removed.contains(record.id) && !Self.isExpired(record, at: now)
      && record.lastUse >= all[record.id]?.lastUse ?? .distantPast
    {
      all[record.id] = record
    }
    if !all.isEmpty || found.isThere {
      let head = Head(token: token, removal: found.removal?.id)
      try files.replace(name, with: encoded(Array(all.values), head))
      // A removal can come in between only if the file system has no locks, or the removing process
      // stopped waiting for this one's.
      if try files.lastRemoval() != found.removal { try files.remove(name) }
      found.isThere = true
      found.contents.isOutdated = false
    }
    known.note(found, all.keys)
    return known.removed
  }

  private func find(at now: Date) throws -> Found {
    let file = try files.contents(of: name, limit: 2 * Self.mostBytes)
    // Read last: if the file names it, the file is not older.
    let removal = try files.lastRemoval()
    guard let file else { return Found(isThere: false, removal: removal) }
    return Found(
      isThere: true, removal: removal, contents: decoded(file, after: removal?.id, at: now))
  }

  /// Whether this cache has removed all files since a session began. Does not block.
  func isRemovedHere(since begun: Uptime) -> Bool { files.isRemovedHere(since: begun) }

  /// Returns the last removal of all files by any process; nil if there was none, or its record
  /// cannot be read.
  func lastRemoval() -> PrivateFiles.RemovalRecord? {
    // The next write reports that the directory cannot be read.
    try? files.lastRemoval()
  }

  private static func isExpired(_ record: SessionRecord, at now: Date) -> Bool {
    record.lastUse <= now - longestUnused
  }

  // MARK: The format

  /// Returns a line of JSON for the file, and one for each session: the most recently used ones
  /// that fit.
  private func encoded(_ records: [SessionRecord], _ head: Head) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .secondsSince1970
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    var bytes = Array(try encoder.encode(head)) + [0x0A]
    var room = Self.capacity
    for record in records.sorted(by: { $0.lastUse > $1.lastUse }) where room > 0 {
      let line = Array(try encoder.encode(record)) + [0x0A]
      guard bytes.count + line.count <= Self.mostBytes else { continue }
      bytes += line
      room -= 1
    }
    return bytes
  }

  /// - Parameter removal: the last removal of all private files.
  private func decoded(
    _ file: PrivateFiles.Contents, after removal: String?, at now: Date
  ) -> Contents {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    var lines = file.bytes.split(separator: 0x0A)[...]
    guard let first = lines.popFirst(),
      let head = try? decoder.decode(Head.self, from: Data(first)),
      head == Head(token: token, removal: head.removal)
    else {
      // The version that wrote it may still be in use.
      return Contents(
        problem: "the file is damaged, or another version wrote it",
        isOutdated: file.changed <= now - Self.longestUnused)
    }
    var contents = Contents()
    guard head.removal == removal else {
      contents.isOutdated = true
      return contents
    }
    if file.isCut {
      // A part of a line.
      _ = lines.popLast()
      contents.problem = "it is too large, so that only its beginning was read"
      contents.isOutdated = true
    }
    var broken = 0
    for line in lines {
      guard var record = try? decoder.decode(SessionRecord.self, from: Data(line)),
        record.validURL != nil
      else {
        broken += 1
        continue
      }
      // The clock may have been wrong.
      record.lastUse = min(record.lastUse, now)
      if Self.isExpired(record, at: now) {
        contents.isOutdated = true
      } else {
        contents.records.append(record)
      }
    }
    if broken > 0 {
      contents.problem = contents.problem ?? "\(broken) of its lines are damaged"
      contents.isOutdated = true
    }
    return contents
  }
}
