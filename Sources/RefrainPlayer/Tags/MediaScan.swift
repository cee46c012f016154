// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Reads the bytes of a media that a parser asks for: of a file directly, otherwise through the
/// cache, which keeps them.
struct MediaScan<Found: Sendable>: Sendable {
  let limits: ScanLimits
  /// Whether the media plays: then its beginning is stored, or nothing of it is.
  var isPlaying = false
  /// Returns what was looked for; nil if it is not there.
  let parse: @Sendable (TagBytes) throws(TagBytes.Missing) -> Found?

  /// - Parameter isOnlyStored: whether nothing is requested.
  /// - Throws: `MediaCacheError`; for a file, the error of opening it; `CancellationError`.
  func run(
    _ subject: TagSubject, in cache: MediaCache, isOnlyStored: Bool = false
  ) async throws -> ScanOutcome<Found> {
    guard let resource = subject.resource else {
      let url = subject.url
      return try await IOThreads.background.run { try scan(fileAt: url) }
    }
    let stored = try await cache.progress(of: resource)
    // Anything else may be a live stream, until its beginning is stored.
    let mayRequest = !isOnlyStored && (isPlaying || TagFormat.isNamed(subject.url))
    let isBeginningStored =
      stored.isComplete || RangeSet(0..<limits.firstStep).isSubset(of: stored.spans)
    guard isBeginningStored || mayRequest && !isPlaying else { return ScanOutcome(isPartial: true) }
    return try await scan(
      resource, in: cache, isBeginningStored: isBeginningStored, mayRequest: mayRequest)
  }

  // MARK: The cache

  private func scan(
    _ resource: Resource, in cache: MediaCache, isBeginningStored: Bool, mayRequest: Bool
  ) async throws -> ScanOutcome<Found> {
    var outcome = ScanOutcome<Found>(isPartial: true)
    var steps = ScanSteps(limits)
    var bytes = TagBytes(mostAtOnce: limits.mostAtOnce)
    var wanted = steps.first(isStored: isBeginningStored)
    // Keeps the resource open from step to step.
    let first = try await cache.openInBackground(resource, range: wanted, isPlaying: isPlaying)
    defer { first.cancel() }
    let version = try await first.contentInformation()
    outcome.refusesRanges = !version.supportsRanges
    // A live stream has no tags at its beginning, and a manifest none at all.
    guard let length = version.length, !first.isPassing,
      !Manifest.isNamed(mimeType: version.mimeType, url: version.finalURL)
    else { return outcome }
    bytes.length = length
    for step in 0..<limits.mostSteps {
      let reader =
        step == 0
        ? first
        : try await cache.openInBackground(resource, range: wanted, isPlaying: isPlaying)
      defer { reader.cancel() }
      let information = step == 0 ? version : try await reader.contentInformation()
      // Parts of two versions are no media.
      guard information.length == length, information.validator == version.validator else { break }
      let part = wanted.clamped(to: 0..<length)
      // What is not stored, the origin would send for this look alone.
      guard reader.isStoring || RangeSet(part).isSubset(of: reader.cachedSpans) else { break }
      bytes.add([UInt8](try await reader.bytes(in: part)), at: part.lowerBound)
      let next = advance(
        &bytes, &outcome, &steps, stored: reader.cachedSpans,
        mayRequest: mayRequest && !outcome.refusesRanges && reader.isStoring)
      guard let next else { break }
      wanted = next
    }
    return outcome
  }

  /// Parses what was read.
  ///
  /// - Returns: the range to read next; nil: nothing more is needed.
  private func advance(
    _ bytes: inout TagBytes, _ outcome: inout ScanOutcome<Found>, _ steps: inout ScanSteps,
    stored: RangeSet<Int64>, mayRequest: Bool
  ) -> Range<Int64>? {
    while true {
      do throws(TagBytes.Missing) {
        outcome.found = try parse(bytes)
        outcome.isPartial = bytes.hasGaps
        return nil
      } catch {
        let next = steps.next(for: error, in: bytes, stored: stored, mayRequest: mayRequest)
        if let next { return next }
        bytes.leaveOut(error.range)
      }
    }
  }

  // MARK: Files

  /// Blocks.
  private func scan(fileAt url: URL) throws -> ScanOutcome<Found> {
    var outcome = ScanOutcome<Found>()
    guard TagFormat.isNamed(url), let file = try RegularFile(url) else { return outcome }
    defer { file.close() }
    var steps = ScanSteps(limits)
    var bytes = TagBytes(length: file.length, mostAtOnce: limits.mostAtOnce)
    let all = RangeSet(0..<file.length)
    var wanted = steps.first(isStored: true).clamped(to: 0..<file.length)
    for _ in 0..<limits.mostSteps {
      let part = file.bytes(in: wanted)
      bytes.add(part, at: wanted.lowerBound)
      // The file is shorter by now.
      if part.isEmpty { bytes.leaveOut(wanted) }
      let next = advance(&bytes, &outcome, &steps, stored: all, mayRequest: false)
      guard let next else { break }
      wanted = next
    }
    return outcome
  }
}

/// The result of a scan.
struct ScanOutcome<Found: Sendable>: Sendable {
  /// Nil: nothing was found.
  var found: Found?
  /// Whether the origin has sent the whole resource in place of a range: another look there would
  /// cost too much.
  var refusesRanges = false
  /// Whether the parser went without bytes that it asked for: a look at the whole media may find
  /// more.
  var isPartial = false
}
