// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Reads the tags of one media: of a file directly, otherwise through the cache, which keeps the
/// bytes.
struct TagLookup: Sendable {
  struct Answer: Sendable, Hashable {
    /// Nil: none were found.
    var tags: MediaMetadata?
    /// Whether the origin has sent the whole resource in place of a range: another look there would
    /// cost too much.
    var refusesRanges = false
    /// Whether the origin could not be reached: another look later may succeed.
    var isUnreachable = false
  }

  let cache: MediaCache
  let subject: TagSubject
  /// Whether nothing is requested.
  var isOnlyStored = false

  /// The first bytes that are read.
  static let firstStep: Int64 = 16 << 10
  /// The fewest bytes that are read at once after that.
  static let step: Int64 = 4 << 10
  /// The most bytes that are requested from the origin.
  static let mostBytes: Int64 = 256 << 10
  /// The most times that bytes are read, and the time for it: a look must not stay behind forever.
  static let mostSteps = 12
  static let patience = Duration.seconds(20)

  private static let scan = MediaScan<MediaMetadata>(
    limits: ScanLimits(
      firstStep: firstStep, step: step, longestStep: step, mostBytes: mostBytes,
      mostSteps: mostSteps),
    parse: { bytes throws(TagBytes.Missing) in try TagFormat.metadata(in: bytes) })

  /// Returns nothing for a media that cannot be read: that is reported when it is to play.
  ///
  /// - Throws: `CancellationError`.
  func run() async throws -> Answer {
    do {
      guard subject.resource != nil else { return try await look() }
      return try await withDeadline { try await look() }
    } catch {
      try Task.checkCancellation()
      return Answer(isUnreachable: (error as? MediaCacheError)?.code == .unreachable)
    }
  }

  private func look() async throws -> Answer {
    let outcome = try await Self.scan.run(subject, in: cache, isOnlyStored: isOnlyStored)
    return Answer(tags: outcome.found, refusesRanges: outcome.refusesRanges)
  }

  private func withDeadline(
    _ body: @Sendable @escaping () async throws -> Answer
  ) async throws -> Answer {
    try await withThrowingTaskGroup(of: Answer.self) { group in
      group.addTask { try await body() }
      group.addTask {
        try await Task.sleep(for: Self.patience)
        return Answer()
      }
      defer { group.cancelAll() }
      return try await group.next() ?? Answer()
    }
  }
}
