// SPDX-License-Identifier: MIT
import Foundation

extension MediaCache {
  package func prefetch(
    _ resource: Resource, on terms: ReadTerms, _ range: ByteRange?,
    _ progress: (@Sendable (PrefetchProgress) -> Void)?
  ) async throws -> ContentInformation {
    let range = range ?? 0..<Int64.max
    var (attemptsLeft, received) = (3, Int64(0))
    while true {
      let reader = try await open(resource, on: terms, fill: .onDemand, isBackground: true)
      do {
        return try await withTaskCancellationHandler {
          try await reader.bring(range) { [received] in
            progress?(
              PrefetchProgress(
                storedBytes: reader.cachedSpans.byteCount(in: range),
                totalBytes: reader.size(of: range),
                bytesFromOrigin: received + reader.statistics.bytesFromOrigin))
          }
        } onCancel: {
          reader.cancel()
        }
      } catch let error as MediaCacheError where attemptsLeft > 0 {
        // A removal, or another process, may have the entry for a moment; opened again, a resource
        // that has changed is replaced.
        guard [.inUse, .resourceChanged].contains(error.code) else { throw error }
        attemptsLeft -= 1
        received += reader.statistics.bytesFromOrigin
        try await Task.sleep(for: .milliseconds(600))
      }
    }
  }
}

/// A prefetch is a background reader that moves from hole to hole and reads nothing.
extension MediaReader {
  fileprivate func bring(
    _ range: ByteRange, _ report: @Sendable () -> Void
  ) async throws -> ContentInformation {
    defer { cancel() }
    let start = try Self.place(range.lowerBound)
    setEnd(range.upperBound, readsOn: true)
    // The first request begins there.
    withState { state, id in state.readers[id]?.position = start }
    // Before the origin is asked for bytes that cannot be stored.
    if !holds(range), await entry.isTaken(for: generation) { throw MediaCacheError.inUse }
    var information = try await contentInformation()
    if !holds(range) {
      // Before anything is evicted.
      guard entry.storage.budget.canHold(size(of: range), for: entry.name) else {
        throw MediaCacheError.noRoom
      }
      var offset = range.lowerBound
      var nextReport = ContinuousClock.now + .milliseconds(100)
      while offset < range.upperBound {
        try Task.checkCancellation()
        let readable = try await waitUntilReadable(at: offset)
        if readable.isEmpty { break }
        guard isStoring || cachedSpans.contains(offset) else {
          throw generation.withState(\.storageProblem)
        }
        offset = min(readable.upperBound, range.upperBound)
        guard ContinuousClock.now >= nextReport else { continue }
        nextReport = .now + .milliseconds(100)
        report()
      }
      information = try await contentInformation()
      guard holds(range) else { throw GenerationState.changed }
    }
    report()
    return information
  }

  /// What the resource has of a range; nil if its length is not known.
  fileprivate func size(of range: ByteRange) -> Int64? {
    knownInformation?.length.map { Int64(range.clamped(to: 0..<max($0, 0)).count) }
  }

  private func holds(_ range: ByteRange) -> Bool {
    let size = size(of: range) ?? (range.upperBound < .max ? Int64(range.count) : nil)
    return size == cachedSpans.byteCount(in: range)
  }
}

extension DiskBudget {
  /// Returns a size for errors.
  static func text(_ bytes: Int64) -> String {
    bytes >= 10 << 20 ? "\(bytes >> 20) MiB" : "\(bytes >> 10) KiB"
  }
}
