// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// The removal of all private files, which leaves a record: a process that keeps the contents of a
/// file in memory must not store again what is older than the removal.
extension PrivateFiles {
  static let removalName = "removal"

  package struct RemovalRecord: Codable, Sendable, Hashable {
    /// Random.
    package var id: String
    /// Nil if the record is damaged.
    var time: Uptime?

    /// Whether the removal came after this time; nil if it was in another run of the machine, or on
    /// another machine.
    package func isAfter(_ earlier: Uptime) -> Bool? {
      time?.seconds(since: earlier).map { $0 >= 0 }
    }
  }

  /// Returns the record of the last removal; nil if there was none.
  package func lastRemoval() throws -> RemovalRecord? {
    guard let contents = try contents(of: Self.removalName, limit: 4096) else { return nil }
    let removal = try? JSONDecoder().decode(RemovalRecord.self, from: Data(contents.bytes))
    return removal ?? RemovalRecord(id: "damaged")
  }

  /// Whether this cache has removed all files since a time. Other caches of the directory are not
  /// considered. Does not block.
  package func isRemovedHere(since earlier: Uptime) -> Bool {
    let time: Uptime? = budget?.privateRemoval.withLock { $0 }
    return time?.seconds(since: earlier).map { $0 >= 0 } ?? false
  }

  /// The files were removed, and the record of the removal was not written.
  struct UnrecordedRemoval: Error {
    var reason: any Error
  }

  /// Removes all files but the permanent ones.
  ///
  /// - Parameter now: returns the time; called before the first file is removed.
  /// - Throws: `UnrecordedRemoval`; the first other error, after the rest is done.
  func removeAll(at now: () -> Uptime) throws {
    try withLock {
      let time = now()
      budget?.privateRemoval.withLock { $0 = time }
      let removal = RemovalRecord(id: UUID().uuidString, time: time)
      var failure: (any Error)?
      // Before the record is written, for which there may be no room otherwise.
      for name in try disk.names(in: path) where !Self.permanent.contains(name) {
        do {
          if try !disk.isDirectory(path(of: name)) { try disk.removeFile(path(of: name)) }
        } catch {
          failure = failure ?? error
        }
      }
      do {
        try replace(Self.removalName, with: Array(JSONEncoder().encode(removal)))
      } catch {
        if let failure { throw failure }
        // A power cut must not bring the files back.
        try disk.syncDirectory(path)
        throw UnrecordedRemoval(reason: error)
      }
      if let failure { throw failure }
    }
  }
}
