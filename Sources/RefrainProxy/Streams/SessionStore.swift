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
/// nobody uses is removed after 30 days.
///
/// All methods block: call them on `IOThreads` only.
final class SessionStore: Sendable {
  static let capacity = 1024
  static let mostBytes = 1 << 20
  static let longestUnused: TimeInterval = 30 * 86_400

  struct Contents: Sendable {
    /// The most recently used first.
    var records: [SessionRecord] = []
    /// Why some or all sessions were not read; nil if all were.
    var problem: String?
  }

  /// The first line of the file.
  private struct Head: Codable, Equatable {
    var version = 1
    /// The SHA-256 hash of the token.
    var token: String
    /// Random, and another one if the file was removed and made again.
    var file: String
  }

  /// What this process knows of the file.
  private struct Known {
    /// `Head.file`; nil if no file was found or written.
    var file: String?
    var sessions: Set<String> = []
    /// Those that the user removed: they are not stored again.
    var removed: Set<String> = []
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
        let (file, found) = try readFile(at: now)
        contents = found
        known.file = file
        known.sessions = Set(found.records.map(\.id))
      } catch {
        contents = Contents(problem: "\(error)")
      }
      do {
        try files.removeFiles(except: name, unchangedSince: now - Self.longestUnused)
      } catch {
        contents.problem = contents.problem ?? "\(error)"
      }
      return contents
    }
  }

  /// Adds sessions to the stored ones. Another process with the same token may have stored some.
  ///
  /// - Parameter records: returns the sessions; called when it is this call's turn to write.
  /// - Returns: the identifiers of sessions that the user has removed with the file
  ///   (`MediaCache.removeAll`, in any process): they are not stored.
  /// - Throws: also if the file cannot be read: the sessions in it would be lost. A damaged one is
  ///   replaced.
  @discardableResult
  func add(_ records: () -> [SessionRecord], at now: Date) throws -> Set<String> {
    try known.withLock { known in
      let records = records()
      guard !records.isEmpty else { return [] }
      return try files.withLock { try add(records, at: now, &known) }
    }
  }

  private func add(
    _ records: [SessionRecord], at now: Date, _ known: inout Known
  ) throws -> Set<String> {
    let (file, contents) = try readFile(at: now)
    // Of a damaged file nobody knows which one it was.
    if let before = known.file, file != before, file != nil || contents.problem == nil {
      known.removed.formUnion(known.sessions)
      known.file = nil
    }
    known.removed.formIntersection(records.map(\.id))
    var all = Dictionary(
      contents.records.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    for record in records
    where !known.removed.contains(record.id)
      && record.lastUse >= all[record.id]?.lastUse ?? .distantPast
    {
      all[record.id] = record
    }
    if !all.isEmpty || file != nil || contents.problem != nil {
      let head = Head(token: token, file: file ?? known.file ?? TokenCheck.random())
      try files.replace(name, with: encoded(Array(all.values), head))
      known.file = head.file
    }
    known.sessions = Set(all.keys)
    return known.removed
  }

  /// - Returns: `Head.file`, or nil if there is no file or it is damaged; and the contents.
  private func readFile(at now: Date) throws -> (file: String?, Contents) {
    guard let bytes = try files.contents(of: name, limit: 2 * Self.mostBytes) else {
      return (nil, Contents())
    }
    return decoded(bytes, at: now)
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

  private func decoded(_ bytes: [UInt8], at now: Date) -> (file: String?, Contents) {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    var lines = bytes.split(separator: 0x0A)[...]
    guard let first = lines.popFirst(),
      let head = try? decoder.decode(Head.self, from: Data(first)),
      head == Head(token: token, file: head.file)
    else {
      return (nil, Contents(problem: "the file is damaged, or another version wrote it"))
    }
    var contents = Contents()
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
      guard record.lastUse > now - Self.longestUnused else { continue }
      contents.records.append(record)
    }
    if broken > 0 { contents.problem = "\(broken) of its lines are damaged" }
    return (head.file, contents)
  }
}
