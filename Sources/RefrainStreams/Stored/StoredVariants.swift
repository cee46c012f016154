// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain

/// Reduces a multivariant playlist or an MPD to what is stored, for clients while the origin cannot
/// be reached: a player would select another variant and fail.
package struct StoredVariants: Sendable {
  private typealias Variant = HLSMultivariantPlaylist.Variant
  private typealias Rendition = HLSMultivariantPlaylist.Rendition

  private let cache: MediaCache
  private let url: URL

  /// - Parameter url: the URL of the playlist after redirects.
  package init(cache: MediaCache, url: URL) {
    self.cache = cache
    self.url = url
  }

  /// Returns the manifest with the variants of which all is stored; if there are none, with those
  /// of which the most is stored. Makes no request.
  ///
  /// - Returns: nil if the body names no variants, or none of them is stored in part.
  /// - Throws: `CancellationError`.
  package func filtered(_ body: [UInt8]) async throws -> [UInt8]? {
    // A long manifest, or one of many segments, takes seconds.
    try await withTaskExecutorPreference(IOThreads.background) { try await reduced(body) }
  }

  /// Whether the manifest names variants, renditions or Representations of which not all is stored,
  /// so that `filtered` may remove some. Looks no further than to the first of them. Makes no
  /// request.
  ///
  /// - Throws: `CancellationError`.
  package func isReducible(_ body: [UInt8]) async throws -> Bool {
    try await withTaskExecutorPreference(IOThreads.background) {
      guard let playlist = HLSMultivariantPlaylist(body, url: url) else {
        guard let presentation = try? DASHPresentation(body, url: url) else { return false }
        return try await StoredRepresentations(cache: cache, presentation).isReducible()
      }
      return try await isReducible(playlist)
    }
  }

  private func isReducible(_ playlist: HLSMultivariantPlaylist) async throws -> Bool {
    let references = Self.references(of: playlist)
    var (hasStored, hasMissing) = (false, false)
    for reference in references {
      try Task.checkCancellation()
      if await manifest(of: reference) == nil { hasMissing = true } else { hasStored = true }
      if hasStored, hasMissing { return true }
    }
    // Nothing is removed if nothing is stored.
    guard hasStored else { return false }
    for reference in references {
      guard let plan = await plan(of: reference, playlist.variables),
        try await cache.holdsAll(of: plan)
      else { return true }
    }
    return false
  }

  private func reduced(_ body: [UInt8]) async throws -> [UInt8]? {
    guard let playlist = HLSMultivariantPlaylist(body, url: url) else {
      // An MPD that does not describe the stream itself is served as it is.
      guard let presentation = try? DASHPresentation(body, url: url) else { return nil }
      return try await StoredRepresentations(cache: cache, presentation).filtered(body)
    }
    let shares = try await shares(of: playlist)
    let limit = Self.limit(playlist.variants.compactMap { shares[$0.uri]?.fraction })
    guard limit > 0 else { return nil }
    let limits = Self.limits(of: playlist.renditions, shares)
    // Variants may share their pictures and differ in the sound alone: a player could select one
    // whose sound is missing, and play none.
    let sounds = Self.sounds(of: playlist.renditions, shares)
    func sound(of variant: Variant) -> Double? { variant.audioGroup.map { sounds[$0] ?? 0 } }
    let longest = playlist.variants.filter { (shares[$0.uri]?.fraction ?? 0) >= limit }
    let soundLimit = Self.limit(longest.compactMap(sound))
    let filtered = playlist.filtered(body) { variant in
      guard let share = shares[variant.uri] else { return false }
      if variant.isIFrames { return share.isWhole }
      return share.fraction >= limit && sound(of: variant) ?? 1 >= soundLimit
    } keepingRendition: { rendition in
      // A rendition without a URL is part of the variants' own media.
      guard let uri = rendition.uri else { return true }
      guard let share = shares[uri] else { return false }
      // Playing ends at missing subtitles, and goes on without any.
      guard rendition.type != .subtitles else { return share.isWhole }
      let limit = limits[rendition.group] ?? 1
      return share.fraction > 0 && share.fraction >= limit
    }
    return HLSMultivariantPlaylist(filtered, url: url)?.removingEmptyGroups(filtered) ?? filtered
  }

  /// Returns the least fraction to keep: only a whole one has the fraction 1.
  private static func limit(_ fractions: [Double]) -> Double { fractions.max() ?? 0 }

  /// Returns, by the audio groups, the fraction of the rendition of which the most is stored.
  private static func sounds(
    of renditions: [Rendition], _ shares: [String: StoredShare]
  ) -> [String: Double] {
    var sounds: [String: Double] = [:]
    for rendition in renditions where rendition.type == .audio {
      // A rendition without a URL is part of the variants' own media.
      let fraction = rendition.uri.map { shares[$0]?.fraction ?? 0 } ?? 1
      sounds[rendition.groupID, default: 0].formMax(fraction)
    }
    return sounds
  }

  private static func limits(
    of renditions: [Rendition], _ shares: [String: StoredShare]
  ) -> [HLSMultivariantPlaylist.Group: Double] {
    var limits: [HLSMultivariantPlaylist.Group: Double] = [:]
    for rendition in renditions {
      guard let share = rendition.uri.flatMap({ shares[$0] }) else { continue }
      limits[rendition.group, default: 0].formMax(share.fraction)
    }
    return limits
  }

  /// Returns the shares by the references to media playlists.
  private func shares(of playlist: HLSMultivariantPlaylist) async throws -> [String: StoredShare] {
    var shares: [String: StoredShare] = [:]
    for reference in Self.references(of: playlist) {
      try Task.checkCancellation()
      guard let plan = await plan(of: reference, playlist.variables) else {
        shares[reference] = StoredShare()
        continue
      }
      shares[reference] = try await cache.storedShare(of: plan)
    }
    return shares
  }

  /// Returns the references to media playlists.
  private static func references(of playlist: HLSMultivariantPlaylist) -> Set<String> {
    Set(
      (playlist.variants + playlist.iFrameVariants).map(\.uri)
        + playlist.renditions.compactMap(\.uri))
  }

  /// Returns a media playlist; nil if it is not stored.
  private func manifest(of reference: String) async -> StoredManifest? {
    guard let url = URL(text: reference, relativeTo: url), WebURL(url.absoluteString) != nil
    else { return nil }
    return await cache.storedManifest(at: url)
  }

  /// Returns the parts of a media playlist; nil if it is not stored.
  private func plan(of reference: String, _ variables: [String: String]) async -> StreamPlan? {
    guard let manifest = await manifest(of: reference),
      let playlist = HLSMediaPlaylist(manifest.body, url: manifest.url, imported: variables)
    else { return nil }
    var plan = StreamPlan()
    plan.append(playlist, at: manifest.url)
    return plan
  }
}

/// How much of a variant, a rendition or a Representation is stored.
struct StoredShare: Sendable, Hashable {
  var isWhole = false
  /// 0…1, by playing time. Only a whole one has 1.
  var fraction = 0.0
}

extension MediaCache {
  private static let step = 256

  /// Returns whether all of a plan is stored, but for the end that the origin does not have. Looks no
  /// further than to the first parts that are not.
  ///
  /// - Throws: `CancellationError`.
  func holdsAll(of plan: StreamPlan) async throws -> Bool {
    guard plan.skipped.isEmpty else { return false }
    for start in stride(from: 0, to: plan.parts.count, by: Self.step) {
      let parts = plan.parts[start..<min(start + Self.step, plan.parts.count)]
      let amounts = try await storedAmounts(of: Array(parts))
      let missing = parts.indices.filter { !amounts[$0 - start].isComplete }
      guard await areAbsent(missing, of: plan) else { return false }
    }
    return true
  }

  /// - Throws: `CancellationError`.
  func storedShare(of plan: StreamPlan) async throws -> StoredShare {
    let amounts = try await storedAmounts(of: plan.parts)
    let missing = amounts.indices.filter { !amounts[$0].isComplete }
    let isAll = await areAbsent(missing, of: plan)
    let isWhole = plan.skipped.isEmpty && isAll
    guard !isWhole else { return StoredShare(isWhole: true, fraction: 1) }
    guard plan.seconds > 0 else { return StoredShare() }
    let stored = zip(plan.parts, amounts).reduce(0.0) { $0 + $1.0.seconds * $1.1.fraction }
    // All segments without their key are less than all.
    return StoredShare(fraction: min(stored / plan.seconds, 0.999_999))
  }
}

extension Double {
  mutating func formMax(_ other: Double) { self = max(self, other) }
}
