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

  /// Returns nothing for a media that cannot be read: that is reported when it is to play.
  ///
  /// - Throws: `CancellationError`.
  func run() async throws -> Answer {
    do {
      guard let resource = subject.resource else {
        let url = subject.url
        return try await IOThreads.background.run { Answer(tags: try Self.tags(ofFile: url)) }
      }
      return try await withDeadline { try await tags(of: resource) }
    } catch {
      try Task.checkCancellation()
      return Answer(isUnreachable: (error as? MediaCacheError)?.code == .unreachable)
    }
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

  // MARK: The cache

  private func tags(of resource: Resource) async throws -> Answer {
    let stored = try await cache.progress(of: resource)
    let mayRequest = !isOnlyStored && TagFormat.isNamed(subject.url)
    // Anything else may be a live stream.
    let isBeginningStored =
      stored.isComplete || RangeSet(0..<Self.firstStep).isSubset(of: stored.spans)
    guard mayRequest || isBeginningStored else { return Answer() }
    var budget = Self.mostBytes
    var answer = Answer()
    var bytes = TagBytes()
    // Keeps the resource open from step to step.
    let first = try await cache.openInBackground(resource, range: 0..<Self.firstStep)
    defer { first.cancel() }
    var wanted = 0..<Self.firstStep
    for step in 0..<Self.mostSteps {
      let reader =
        step == 0 ? first : try await cache.openInBackground(resource, range: wanted)
      defer { reader.cancel() }
      let information = try await reader.contentInformation()
      answer.refusesRanges = !information.supportsRanges
      // A live stream has no tags at its beginning, and a manifest none at all.
      guard let length = information.length, !reader.isPassing,
        !Manifest.isNamed(mimeType: information.mimeType, url: information.finalURL)
      else { return answer }
      bytes.length = length
      bytes.add([UInt8](try await reader.bytes(in: wanted)), at: wanted.lowerBound)
      budget -= min(budget, reader.statistics.bytesFromOrigin)
      let left = mayRequest && !answer.refusesRanges ? budget : 0
      guard let next = nextStep(in: &bytes, &answer, reader.cachedSpans, left) else { break }
      wanted = next
    }
    return answer
  }

  /// Parses what was read.
  ///
  /// - Parameter budget: the most bytes that may be requested.
  /// - Returns: the range to read next; nil: nothing more is needed.
  private func nextStep(
    in bytes: inout TagBytes, _ answer: inout Answer, _ stored: RangeSet<Int64>, _ budget: Int64
  ) -> Range<Int64>? {
    while true {
      do throws(TagBytes.Missing) {
        answer.tags = try TagFormat.metadata(in: bytes)
        return nil
      } catch {
        let needed = error.range
        if RangeSet(needed).isSubset(of: stored) { return bytes.unread(of: needed) }
        let end = max(needed.upperBound, needed.lowerBound + Self.step)
        if !error.isOptional,
          let next = bytes.unread(of: needed.lowerBound..<min(end, bytes.length ?? end)),
          next.upperBound - next.lowerBound <= budget
        {
          return next
        }
        bytes.leaveOut(needed)
      }
    }
  }

  // MARK: Files

  /// Blocks.
  private static func tags(ofFile url: URL) throws -> MediaMetadata? {
    guard TagFormat.isNamed(url), let file = try RegularFile(url) else { return nil }
    defer { file.close() }
    var bytes = TagBytes(length: file.length)
    for _ in 0..<mostSteps {
      do throws(TagBytes.Missing) {
        return try TagFormat.metadata(in: bytes)
      } catch {
        let start = error.range.lowerBound
        let usual = start == 0 ? firstStep : step
        let end = min(max(error.range.upperBound, start + usual), file.length)
        if let next = bytes.unread(of: start..<end) {
          let part = file.bytes(in: next)
          bytes.add(part, at: next.lowerBound)
          if part.isEmpty { bytes.leaveOut(error.range) }
        } else {
          bytes.leaveOut(error.range)
        }
      }
    }
    return nil
  }
}
