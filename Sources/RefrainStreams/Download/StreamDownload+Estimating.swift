// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Estimates the size of a stream, and refuses to pin one that does not fit.
extension StreamDownload {
  /// Estimates the size of a stream without any choice, and requests the lengths of a few segments
  /// if nothing else shows it.
  ///
  /// - Returns: nil if the stream has a choice of qualities, is live, or its size remains unknown.
  /// - Throws: `CancellationError`, and the errors of a long playlist.
  package func estimatedBytes(of source: StreamSource) async throws -> Int64? {
    guard case .media(let playlist) = source.content, !playlist.isLive else { return nil }
    let plan = try await Self.plan(StreamPlan()) { $0.append(playlist, at: source.url) }
    var lengths = try await storedAmounts(of: plan.parts).map(\.total)
    var estimate = try await Self.estimate(plan, lengths)
    for index in estimate.samples where !cache.isOffline {
      guard let length = try await length(of: plan.parts[index]) else { break }
      lengths[index] = length
      estimate = try await Self.estimate(plan, lengths)
    }
    return estimate.total
  }

  /// Sets the estimated size of a choice.
  func estimate(_ selection: inout Selection) async throws {
    let unknown = [Int64?](repeating: nil, count: selection.plan.parts.count)
    selection.estimatedBytes = try await Self.estimate(selection.plan, unknown).total
    guard selection.estimatedBytes == nil else { return }
    let lengths = try await storedAmounts(of: selection.plan.parts).map(\.total)
    selection.estimatedBytes = try await Self.estimate(selection.plan, lengths).total
  }

  /// Refuses a stream that does not fit beside what else is pinned. Where nothing shows the lengths
  /// of a track, those of two segments are requested, and each is a reason to refuse the stream.
  ///
  /// - Throws: `MediaCacheError`, `.storage` if the stream does not fit; `CancellationError`.
  func checkRoom(for selection: inout Selection) async throws {
    let plan = selection.plan
    let amounts = try await storedAmounts(of: plan.parts)
    let manifests = selection.manifests
    let keys = try await IOThreads.background.runCancellably {
      let parts = zip(plan.parts, amounts).map { part, amount in
        amount.key ?? cache.key(for: Resource(url: part.url))
      }
      return parts + manifests.map { cache.key(for: $0) }
    }
    var lengths = amounts.map(\.total)
    var estimate = try await Self.estimate(plan, lengths)
    try await checkRoom(for: estimate, keys)
    for index in estimate.samples where !cache.isOffline {
      guard let length = try await length(of: plan.parts[index]) else { continue }
      lengths[index] = length
      estimate = try await Self.estimate(plan, lengths)
      try await checkRoom(for: estimate, keys)
    }
    selection.estimatedBytes = selection.estimatedBytes ?? estimate.total
  }

  private func checkRoom(for estimate: StreamEstimate, _ keys: [CacheKey]) async throws {
    try await cache.checkRoomToPin(
      resource.url.withoutUserInfo.absoluteString, keys, lengths: estimate.bytes)
  }

  private static func estimate(
    _ plan: StreamPlan, _ lengths: [Int64?]
  ) async throws -> StreamEstimate {
    try await IOThreads.background.runCancellably { StreamEstimate(plan, lengths) }
  }

  /// Returns the length of a part by the response to a request for its first bytes, which are kept;
  /// nil if the origin does not state it, or the request fails.
  ///
  /// - Throws: `CancellationError`.
  private func length(of part: StreamPlan.Part) async throws -> Int64? {
    do {
      var terms = ReadTerms()
      terms.directives.maxStale = .max
      let reader = try await cache.open(
        resource(at: part.url, isKey: part.isKey), on: terms, fill: .onDemand, isBackground: true)
      defer { reader.cancel() }
      return try await reader.contentInformation().length
    } catch is MediaCacheError {
      // The download reports a part that cannot be fetched.
      return nil
    }
  }
}

extension IOThreads {
  /// Runs long work here, which should end early if the task is cancelled (`Task.isCancelled`).
  func runCancellably<Result: Sendable>(
    _ work: @Sendable () throws -> Result
  ) async throws -> Result {
    let result = await run { Swift.Result(catching: work) }
    // Cancelled work ends early, perhaps with another error.
    try Task.checkCancellation()
    return try result.get()
  }
}
