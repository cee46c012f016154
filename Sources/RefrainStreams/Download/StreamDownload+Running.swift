// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain
import RefrainLocks

extension StreamDownload {
  package struct Progress: Sendable, Hashable {
    /// The playing time of the stored parts, in seconds.
    package var storedSeconds = 0.0
    package var totalSeconds = 0.0
    /// The stored bytes of the parts.
    package var storedBytes: Int64 = 0
    /// Whether every part is stored.
    package var isComplete = false

    package init() {}
  }

  /// What a running download reports, on no particular thread.
  package struct Reports: Sendable {
    package var progress: @Sendable (Progress) -> Void = { _ in }
    /// Called before a part is fetched.
    package var began: @Sendable (CacheKey, URL) -> Void = { _, _ in }
    /// Called after a part was fetched, or failed.
    package var ended: @Sendable (CacheKey) -> Void = { _ in }

    package init() {}
  }

  static let width = 4
  private static let mostFailures = 8

  /// Fetches the parts that are not stored, a few at a time. Cancelling the task stops it and
  /// keeps the received bytes. A pinned download pins the manifests and the parts that are stored,
  /// then each further part once it is stored; of a part that the origin forbids to store, it keeps
  /// all or nothing.
  ///
  /// - Returns: the bytes of all parts.
  /// - Throws: `MediaCacheError`; `CancellationError`. If single parts fail, the others are fetched
  ///   first. If there is no room, the pins that this download has set are lifted.
  @discardableResult
  package func run(
    _ selection: Selection, reports: Reports = Reports()
  ) async throws -> Int64 {
    do {
      return try await bringAll(selection, reports)
    } catch let error as MediaCacheError where isPinned && error.hasNoRoom {
      throw await liftingNewPins(error)
    }
  }

  private func bringAll(_ selection: Selection, _ reports: Reports) async throws -> Int64 {
    let plan = selection.plan
    var amounts = try await storedAmounts(of: plan.parts)
    if isPinned {
      for manifest in selection.manifests { try await pin(manifest) }
      // Room for the others could be made by evicting them.
      amounts = try await pinStored(plan.parts, amounts)
    }
    let counter = DownloadCounter(plan, amounts)
    var missing = plan.parts.indices.filter { !amounts[$0].isComplete }
    // Otherwise they are requested again: the origin may have them by now.
    if cache.isOffline, await cache.areAbsent(missing, of: plan) {
      for index in missing { counter.finish(index) }
      missing = []
    }
    reports.progress(counter.progress)
    var failures: [Int: MediaCacheError] = [:]
    var absent: [URL] = []
    var next = 0
    try await withThrowingTaskGroup(of: (Int, MediaCacheError?).self) { group in
      var running = 0
      while true {
        while running < Self.width, next < missing.count, failures.count < Self.mostFailures {
          let index = missing[next]
          let part = plan.parts[index]
          group.addTask { (index, try await fetch(part, index, counter, reports)) }
          next += 1
          running += 1
        }
        guard let (index, failure) = try await group.next() else { break }
        running -= 1
        if let failure, plan.absentable.contains(index), failure.isAbsence {
          // The stream ends before it.
          absent.append(plan.parts[index].url)
          counter.finish(index)
          reports.progress(counter.progress)
        } else {
          failures[index] = failure
        }
      }
    }
    await cache.noteAbsent(absent)
    guard let first = failures.min(by: { $0.key < $1.key }) else {
      var progress = counter.progress
      progress.isComplete = true
      reports.progress(progress)
      return progress.storedBytes
    }
    var error = Self.error(first.value, at: plan.parts[first.key].url, failures.count, of: plan)
    if next < missing.count { error.reason += " The others were not requested any more." }
    throw error
  }

  /// - Returns: a failure that concerns this part alone.
  private func fetch(
    _ part: StreamPlan.Part, _ index: Int, _ counter: DownloadCounter, _ reports: Reports
  ) async throws -> MediaCacheError? {
    let resource = resource(at: part.url, isKey: part.isKey)
    let key = cache.key(for: resource)
    reports.began(key, part.url)
    defer { reports.ended(key) }
    do {
      // Segments do not change under their URLs (RFC 8216 §6.2.1, ISO/IEC 23009-1 §5.3.9).
      var terms = ReadTerms()
      terms.directives.maxStale = .max
      _ = try await bring(resource, on: terms, part.range) { progress in
        counter.note(
          index, .init(bytes: progress.storedBytes, total: progress.totalBytes))
        reports.progress(counter.progress)
      }
      counter.finish(index)
      reports.progress(counter.progress)
      return nil
    } catch let error as MediaCacheError where Self.isOfPart(error) {
      return error
    } catch let error as MediaCacheError where error.code == .offline {
      throw Self.notStored("The part \(part.url.withoutUserInfo.absoluteString) of the stream")
    }
  }

  /// The error of a part or a playlist of the choice that is missing offline.
  ///
  /// - Parameter name: begins the sentence.
  static func notStored(_ name: String) -> MediaCacheError {
    MediaCacheError(
      .offline, "\(name) is not stored, and no request is sent while offline.",
      remedy: "Go online, or choose a quality and languages that are stored.")
  }

  /// Whether other parts may be fetched all the same.
  private static func isOfPart(_ error: MediaCacheError) -> Bool {
    switch error.code {
    case .status, .redirect, .invalidResponse, .badRange, .badURL, .resourceChanged, .inUse: true
    case .storage: error == .forbidden
    case .unreachable, .networkNotAllowed, .offline, .closed: false
    }
  }

  private static func error(
    _ first: MediaCacheError, at url: URL, _ count: Int, of plan: StreamPlan
  ) -> MediaCacheError {
    var error = first
    let address = url.withoutUserInfo.absoluteString
    let reason = first.reason.contains(address) ? first.reason : "\(address): \(first.reason)"
    error.reason =
      "\(count) of the stream's \(plan.parts.count) parts could not be fetched. "
      + (count == 1 ? reason : "The first: \(reason)")
    return error
  }
}

/// Sums the stored amounts of a stream's parts.
private final class DownloadCounter: Sendable {
  private struct State {
    var progress = StreamDownload.Progress()
    var amounts: [MediaCache.StoredAmount]
  }

  private let parts: [StreamPlan.Part]
  private let state: Mutex<State>

  init(_ plan: StreamPlan, _ amounts: [MediaCache.StoredAmount]) {
    parts = plan.parts
    var progress = StreamDownload.Progress()
    progress.totalSeconds = plan.seconds
    for (part, amount) in zip(plan.parts, amounts) {
      progress.storedBytes += amount.bytes
      progress.storedSeconds += part.seconds * amount.fraction
    }
    state = Mutex(State(progress: progress, amounts: amounts))
  }

  var progress: StreamDownload.Progress { state.withLock(\.progress) }

  func note(_ index: Int, _ amount: MediaCache.StoredAmount) {
    state.withLock { Self.note(index, amount, parts[index].seconds, &$0) }
  }

  /// Records that all of a part is stored.
  func finish(_ index: Int) {
    state.withLock { state in
      var amount = state.amounts[index]
      amount.total = amount.bytes
      Self.note(index, amount, parts[index].seconds, &state)
    }
  }

  private static func note(
    _ index: Int, _ amount: MediaCache.StoredAmount, _ seconds: Double, _ state: inout State
  ) {
    let before = state.amounts[index]
    state.amounts[index] = amount
    state.progress.storedBytes += amount.bytes - before.bytes
    state.progress.storedSeconds += seconds * (amount.fraction - before.fraction)
  }
}
