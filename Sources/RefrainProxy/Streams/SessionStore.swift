// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

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
      try files.removeFiles(
        withPrefix: "sessions-", except: name,
        unchangedSince: now - TimeInterval(Self.longestUnused))
    }
    guard try !sessions.isEmpty || files.identity(of: name) != nil else {
      known = Known(isRead: true)
      return Exchanged()
    }
    return try files.withLock {
      let removal = try files.lastRemoval()
      let before = try files.contents(of: name, limit: 2 * Self.mostBytes)?.bytes
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
