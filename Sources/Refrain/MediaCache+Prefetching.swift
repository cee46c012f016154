// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

extension MediaCache {
  package func prefetch(
    _ resource: Resource, on terms: ReadTerms, _ range: ByteRange?,
    _ progress: (@Sendable (PrefetchProgress) -> Void)?
  ) async throws -> ContentInformation {
    var (attemptsLeft, received) = (3, Int64(0))
    while true {
      let wasMeasured = budget.index.withLock { $0.lastScan != nil }
      let reader = try await open(resource, on: terms, fill: .onDemand, isBackground: true)
      let prefetch = Prefetch(
        reader: reader, range: range ?? 0..<Int64.max, receivedBefore: received, report: progress)
      do {
        return try await withTaskCancellationHandler {
          try await prefetch.run()
        } onCancel: {
          reader.cancel()
        }
      } catch let error as MediaCacheError where attemptsLeft > 0 {
        // Little is stored until the directory is measured, for example after a reboot. A removal, or
        // another process, may have the entry for a moment. Opened again, a resource that changed is
        // the stored version, or replaces it.
        guard
          error.hasNoRoom
            ? prefetch.fits && !wasMeasured
            : [.inUse, .resourceChanged].contains(error.code) || error == .otherVersion
        else { throw error }
        attemptsLeft -= 1
        received += reader.statistics.bytesFromOrigin
        let scan = error.hasNoRoom ? budget.index.withLock { $0.scan } : nil
        repeat {
          // Longer than storing rests without room.
          try await Task.sleep(for: .milliseconds(600))
        } while scan != nil && budget.index.withLock { $0.scan == scan }
      }
    }
  }
}

/// Fetches a range into the cache: a background reader that moves from hole to hole and reads
/// nothing.
private struct Prefetch: Sendable {
  let reader: MediaReader
  let range: ByteRange
  /// From the origin, by earlier attempts.
  let receivedBefore: Int64
  let report: (@Sendable (MediaCache.PrefetchProgress) -> Void)?

  func run() async throws -> ContentInformation {
    defer { reader.cancel() }
    let start = try MediaReader.place(range.lowerBound)
    reader.setEnd(range.upperBound, readsOn: true)
    // The first request begins there.
    reader.withState { state, id in state.readers[id]?.position = start }
    // Before the origin is asked for bytes that cannot be stored.
    if !isStored, await reader.entry.isTaken(for: reader.generation) {
      throw MediaCacheError.inUse
    }
    var information = try await reader.contentInformation()
    if !isStored {
      // Before anything is evicted.
      guard fits else { throw MediaCacheError.noRoom }
      try await bring()
      information = try await reader.contentInformation()
      guard isStored else { throw GenerationState.changed }
    }
    report?(progress)
    return information
  }

  /// What the resource has of the range; nil if its length is not known.
  private var size: Int64? {
    reader.knownInformation?.length.map { Int64(range.clamped(to: 0..<max($0, 0)).count) }
  }

  private var isStored: Bool {
    guard let size = size ?? (range.upperBound < .max ? Int64(range.count) : nil) else {
      return false
    }
    return reader.cachedSpans.byteCount(in: range) == size
  }

  /// Whether the range, as far as its length is known, could be stored at all.
  var fits: Bool { reader.entry.storage.budget.canHold(size, for: reader.entry.name) }

  private func bring() async throws {
    let interval = Duration.milliseconds(100)
    var offset = range.lowerBound
    var nextReport = ContinuousClock.now + interval
    while offset < range.upperBound {
      try Task.checkCancellation()
      let readable = try await reader.waitUntilReadable(at: offset)
      if readable.isEmpty { break }
      guard reader.isStoring || reader.cachedSpans.contains(offset) else {
        throw reader.generation.withState(\.storageProblem)
      }
      offset = min(readable.upperBound, range.upperBound)
      guard let report, ContinuousClock.now >= nextReport else { continue }
      nextReport = .now + interval
      report(progress)
    }
  }

  private var progress: MediaCache.PrefetchProgress {
    .init(
      storedBytes: reader.cachedSpans.byteCount(in: range),
      totalBytes: size,
      bytesFromOrigin: receivedBefore + reader.statistics.bytesFromOrigin)
  }
}

extension DiskBudget {
  /// Returns a size for errors.
  static func text(_ bytes: Int64) -> String {
    bytes >= 10 << 20 ? "\(bytes >> 20) MiB" : "\(bytes >> 10) KiB"
  }
}
