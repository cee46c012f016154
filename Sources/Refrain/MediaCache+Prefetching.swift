// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// Fetches a range into the cache: a background reader that moves from hole to hole and reads
/// nothing.
struct Prefetch: Sendable {
  let reader: MediaReader
  let range: ByteRange
  let report: (@Sendable (MediaCache.PrefetchProgress) -> Void)?

  private static let reportInterval: Duration = .milliseconds(100)
  private static let mostRounds = 3
  /// Longer than storing rests without room.
  private static let pause: Duration = .milliseconds(600)

  func run() async throws -> ContentInformation {
    defer { reader.cancel() }
    reader.setEnd(range.upperBound, readsOn: true)
    // The first request begins at the start of the range.
    reader.withState { state, id in
      if state.readers[id]?.isActive == false, let place = try? MediaReader.place(range.lowerBound)
      {
        state.readers[id]?.position = place
      }
    }
    let information = try await bringAll()
    report?(progress)
    return information
  }

  /// Goes over the range until all of it is stored: again if the resource changed meanwhile, or if
  /// the directory was being measured.
  private func bringAll() async throws -> ContentInformation {
    let budget = reader.entry.storage.budget
    var refusal: MediaCacheError?
    for round in 0...Self.mostRounds {
      let wasScanned = budget.index.withLock { $0.lastScan != nil }
      // Before the origin is asked for bytes that cannot be stored.
      if !holdsAll(reader.knownInformation?.length), await isTaken() {
        throw MediaCacheError.inUse
      }
      let information = try await reader.contentInformation()
      let length = information.length
      if holdsAll(length) { return information }
      if length != nil, let wanted = wanted(length) { try checkLimit(Int64(wanted.count)) }
      guard round < Self.mostRounds else { break }
      do {
        try await bring()
        refusal = nil
      } catch let error as MediaCacheError where error.hasNoRoom {
        refusal = error
        // Little is stored until the directory is measured, for example after a reboot.
        let (scan, isScanned) = budget.index.withLock { ($0.scan, $0.lastScan != nil) }
        guard scan != nil || isScanned && !wasScanned else { throw error }
        repeat {
          try await Task.sleep(for: Self.pause)
        } while scan != nil && budget.index.withLock { $0.scan == scan }
      }
    }
    throw refusal
      ?? MediaCacheError(
        .resourceChanged, "The resource keeps changing at the origin while it is fetched.",
        remedy: "Try again later.")
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
    var offset = range.lowerBound
    var nextReport = ContinuousClock.now + Self.reportInterval
    while offset < range.upperBound {
      try Task.checkCancellation()
      let readable: ByteRange
      do {
        readable = try await reader.waitUntilReadable(at: offset)
      } catch let error as MediaCacheError where error.code == .badRange {
        guard offset > range.lowerBound else { throw error }
        // The bytes up to here belong to a replaced version, and the new one may end here or
        // earlier: the next round fetches it from its start.
        return
      }
      if readable.isEmpty { break }
      guard reader.isStoring || reader.cachedSpans.contains(offset) else {
        throw reader.generation.withState(\.storageProblem)
      }
      offset = min(readable.upperBound, range.upperBound)
      guard let report, ContinuousClock.now >= nextReport else { continue }
      nextReport = .now + Self.reportInterval
      report(progress)
    }
  }

  private var progress: MediaCache.PrefetchProgress {
    .init(
      storedBytes: reader.cachedSpans.byteCount(in: range),
      totalBytes: wanted(reader.knownInformation?.length).map { Int64($0.count) },
      bytesFromOrigin: reader.statistics.bytesFromOrigin)
  }

  /// Refuses a range that could never be stored, before anything is evicted for it.
  private func checkLimit(_ wanted: Int64) throws(MediaCacheError) {
    let (budget, name) = (reader.entry.storage.budget, reader.entry.name)
    guard let limit = budget.limit, !budget.canHold(wanted, for: name) else { return }
    let pinned = DiskBudget.text(budget.pinnedBytes(except: [name]))
    var error = MediaCacheError(
      .storage,
      "\(DiskBudget.text(wanted)) cannot be stored: the limit of the cache is "
        + "\(DiskBudget.text(limit)), of which other pinned entries take \(pinned).",
      remedy: "Raise the limit, unpin other entries, or play the resource without storing it.")
    error.hasNoRoom = true
    throw error
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
