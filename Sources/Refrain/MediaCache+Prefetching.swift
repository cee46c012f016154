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
      } catch let error as MediaCacheError
        where attemptsLeft > 0 && mayPass(error, of: prefetch, wasMeasured)
      {
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

  /// Whether a prefetch may succeed if the resource is opened again.
  private func mayPass(
    _ error: MediaCacheError, of prefetch: Prefetch, _ wasMeasured: Bool
  ) -> Bool {
    if error.hasNoRoom {
      // Little is stored until the directory is measured, for example after a reboot.
      return prefetch.fits && !wasMeasured
        && budget.index.withLock { $0.scan != nil || $0.lastScan != nil }
    }
    // A removal, or another process, has the entry, perhaps for a moment; or nothing shows whether
    // what another process has stored is the version that this one received. Opened again, the
    // resource is the stored version, or replaces it.
    return [.inUse, .resourceChanged].contains(error.code)
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
    if !holdsAll(reader.knownInformation?.length), await isTaken() { throw MediaCacheError.inUse }
    var information = try await reader.contentInformation()
    if !holdsAll(information.length) {
      // Before anything is evicted.
      guard fits else { throw MediaCacheError.noRoom }
      try await bring()
      information = try await reader.contentInformation()
      guard holdsAll(information.length) else { throw GenerationState.changed }
    }
    report?(progress)
    return information
  }

  private func isTaken() async -> Bool {
    let (entry, generation) = (reader.entry, reader.generation)
    // Not cancelled with the caller: what is prepared then serves other readers, too.
    return await Task(executorPreference: IOThreads.background) {
      guard entry.beginTask() else { return false }
      defer { entry.endTask() }
      return await entry.storage.isTaken(for: generation)
    }.value
  }

  /// Whether the range, as far as its length is known, could be stored at all.
  var fits: Bool {
    let wanted = reader.knownInformation?.length.flatMap { self.wanted($0)?.count }.map(Int64.init)
    return reader.entry.storage.budget.canHold(wanted, for: reader.entry.name)
  }

  private func holdsAll(_ length: Int64?) -> Bool {
    guard let wanted = wanted(length) else { return false }
    return reader.cachedSpans.byteCount(in: wanted) == Int64(wanted.count)
  }

  /// Returns what the resource has of the range; nil if its end is not known.
  private func wanted(_ length: Int64?) -> ByteRange? {
    guard length != nil || range.upperBound < .max else { return nil }
    return range.clamped(to: 0..<max(length ?? .max, 0))
  }

  private func bring() async throws {
    let interval = Duration.milliseconds(100)
    var offset = range.lowerBound
    var nextReport = ContinuousClock.now + interval
    while offset < range.upperBound {
      try Task.checkCancellation()
      let readable: ByteRange
      do {
        readable = try await reader.waitUntilReadable(at: offset)
      } catch let error as MediaCacheError where error.code == .badRange {
        guard offset > range.lowerBound else { throw error }
        // The bytes up to here belong to a replaced version, and the new one may end here or
        // earlier: the next attempt fetches it from its start.
        return
      }
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
      totalBytes: wanted(reader.knownInformation?.length).map { Int64($0.count) },
      bytesFromOrigin: receivedBefore + reader.statistics.bytesFromOrigin)
  }
}

extension DiskBudget {
  /// Returns a size for errors, such as `12 MiB`.
  static func text(_ bytes: Int64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)]
    guard let (unit, shift) = units.first(where: { bytes >= 10 << $0.1 }) else {
      return "\(bytes) bytes"
    }
    return "\(bytes >> shift) \(unit)"
  }
}
