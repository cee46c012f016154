// SPDX-License-Identifier: MIT
import Refrain

/// Reduces an MPD to the Representations that are stored.
struct StoredRepresentations: Sendable {
  private typealias AdaptationSet = DASHPresentation.AdaptationSet

  /// The most segments to look for, of all Representations together.
  private static let mostSegments: Int64 = 400_000

  private let cache: MediaCache
  private let presentation: DASHPresentation

  init(cache: MediaCache, _ presentation: DASHPresentation) {
    self.cache = cache
    self.presentation = presentation
  }

  /// Returns the MPD with the Representations of which all is stored, and without AdaptationSets
  /// that have none. If none of a period's pictures, or of its sounds, are stored as a whole, those
  /// of which the most is stored remain. All other bytes stay as they are, also periods of which
  /// nothing is stored, and Representations whose segments are not known.
  ///
  /// - Returns: nil if there is nothing to remove, nothing is stored, or the origin may change the
  ///   MPD.
  /// - Throws: `CancellationError`.
  func filtered(_ body: [UInt8]) async throws -> [UInt8]? {
    guard !presentation.isDynamic, let shares = try await shares() else { return nil }
    var edits = ByteEdits()
    for period in presentation.periods {
      let limits = limits(of: period, shares)
      guard limits.values.contains(where: { $0 > 0 }) else { continue }
      for set in period.sets {
        let limit = limits[set.kind] ?? 0
        let removed = set.representations.filter { representation in
          shares[representation.bytes].map { !isKept($0, set, limit) } ?? false
        }
        if removed.count == set.representations.count {
          edits.replace(set.bytes, with: [])
        } else {
          for representation in removed { edits.replace(representation.bytes, with: []) }
        }
      }
    }
    return edits.isEmpty ? nil : edits.applied(to: body)
  }

  /// Whether a Representation whose segments are known is not stored as a whole. Looks no further
  /// than to the first of them.
  ///
  /// - Throws: `CancellationError`.
  func isReducible() async throws -> Bool {
    guard !presentation.isDynamic else { return false }
    var allowance = DASHPresentation.Allowance(segments: Self.mostSegments)
    for period in presentation.periods {
      for representation in period.sets.flatMap(\.representations) {
        try Task.checkCancellation()
        var plan = StreamPlan()
        do {
          try plan.append([representation], duration: period.duration, &allowance)
        } catch {
          if error == .isTooLarge { return false }
          continue
        }
        if try await !cache.holdsAll(of: plan) { return true }
      }
    }
    return false
  }

  private func isKept(_ share: StoredShare, _ set: AdaptationSet, _ limit: Double) -> Bool {
    switch set.kind {
    case _ where set.isTrickPlay: share.isWhole
    case .video, .audio: share.fraction > 0 && share.fraction >= limit
    // Playing ends at missing subtitles, and goes on without any.
    case .text, .other: share.isWhole
    }
  }

  /// Returns the least fractions to keep.
  private func limits(
    of period: DASHPresentation.Period, _ shares: [Range<Int>: StoredShare]
  ) -> [DASHPresentation.MediaKind: Double] {
    var limits: [DASHPresentation.MediaKind: Double] = [:]
    for set in period.sets where !set.isTrickPlay {
      for representation in set.representations {
        guard let share = shares[representation.bytes] else { continue }
        limits[set.kind, default: 0].formMax(share.fraction)
      }
    }
    return limits
  }

  /// Returns the shares by the bytes of the Representations whose segments are known; nil if there
  /// are too many segments.
  private func shares() async throws -> [Range<Int>: StoredShare]? {
    var allowance = DASHPresentation.Allowance(segments: Self.mostSegments)
    var shares: [Range<Int>: StoredShare] = [:]
    for period in presentation.periods {
      for representation in period.sets.flatMap(\.representations) {
        try Task.checkCancellation()
        var plan = StreamPlan()
        do {
          try plan.append([representation], duration: period.duration, &allowance)
        } catch {
          if error == .isTooLarge { return nil }
          continue
        }
        shares[representation.bytes] = try await cache.storedShare(of: plan)
      }
    }
    return shares
  }
}
