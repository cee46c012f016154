// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Reduces a multivariant playlist or an MPD to what is stored, for clients while the origin cannot
/// be reached: a player would select another variant and fail.
struct StoredVariants: Sendable {
  private typealias Variant = HLSMultivariantPlaylist.Variant
  private typealias Rendition = HLSMultivariantPlaylist.Rendition

  private struct Group: Hashable {
    var type: Rendition.MediaType
    var id: String
  }

  private let cache: MediaCache
  private let url: URL

  /// - Parameter url: the URL of the playlist after redirects.
  init(cache: MediaCache, url: URL) {
    self.cache = cache
    self.url = url
  }

  /// Returns the manifest with the variants of which all is stored; if there are none, with those
  /// of which the most is stored. Makes no request.
  ///
  /// - Returns: nil if the body names no variants, or none of them is stored in part.
  /// - Throws: `CancellationError`.
  func filtered(_ body: [UInt8]) async throws -> [UInt8]? {
    // A long manifest, or one of many segments, takes seconds.
    try await withTaskExecutorPreference(IOThreads.background) { try await reduced(body) }
  }

  private func reduced(_ body: [UInt8]) async throws -> [UInt8]? {
    guard let playlist = HLSMultivariantPlaylist(body, url: url) else {
      // An MPD that does not describe the stream itself is served as it is.
      guard let presentation = try? DASHPresentation(body, url: url) else { return nil }
      return try await StoredRepresentations(cache: cache, presentation).filtered(body)
    }
    let shares = try await shares(of: playlist)
    let variants = playlist.variants.compactMap { shares[$0.uri] }
    let limit = Self.limit(variants)
    guard limit > 0 else { return nil }
    let limits = Self.limits(of: playlist.renditions, shares)
    let filtered = playlist.filtered(body) { variant in
      guard let share = shares[variant.uri] else { return false }
      return variant.isIFrames ? share.isWhole : share.fraction >= limit
    } keepingRendition: { rendition in
      // A rendition without a URL is part of the variants' own media.
      guard let uri = rendition.uri else { return true }
      guard let share = shares[uri] else { return false }
      // Playing ends at missing subtitles, and goes on without any.
      guard rendition.type != .subtitles else { return share.isWhole }
      let limit = limits[Group(type: rendition.type, id: rendition.groupID)] ?? 1
      return share.fraction > 0 && share.fraction >= limit
    }
    return HLSMultivariantPlaylist(filtered, url: url)?.removingEmptyGroups(filtered) ?? filtered
  }

  /// Returns the least fraction to keep: only a whole one has the fraction 1.
  private static func limit(_ shares: [StoredShare]) -> Double {
    shares.map(\.fraction).max() ?? 0
  }

  private static func limits(
    of renditions: [Rendition], _ shares: [String: StoredShare]
  ) -> [Group: Double] {
    var limits: [Group: Double] = [:]
    for rendition in renditions {
      guard let share = rendition.uri.flatMap({ shares[$0] }) else { continue }
      limits[Group(type: rendition.type, id: rendition.groupID), default: 0].formMax(share.fraction)
    }
    return limits
  }

  /// Returns the shares by the references to media playlists.
  private func shares(of playlist: HLSMultivariantPlaylist) async throws -> [String: StoredShare] {
    let references =
      (playlist.variants + playlist.iFrameVariants).map(\.uri)
      + playlist.renditions.compactMap(\.uri)
    var shares: [String: StoredShare] = [:]
    for reference in references where shares[reference] == nil {
      try Task.checkCancellation()
      shares[reference] = try await share(of: reference, playlist.variables)
    }
    return shares
  }

  private func share(
    of reference: String, _ variables: [String: String]
  ) async throws -> StoredShare {
    guard let url = URL(text: reference, relativeTo: url), WebURL(url.absoluteString) != nil,
      let manifest = await cache.storedManifest(at: url),
      let playlist = HLSMediaPlaylist(manifest.body, url: manifest.url, imported: variables)
    else { return StoredShare() }
    var plan = StreamPlan()
    plan.append(playlist, at: manifest.url)
    return try await cache.storedShare(of: plan)
  }
}

/// How much of a variant, a rendition or a Representation is stored.
struct StoredShare: Sendable, Hashable {
  var isWhole = false
  /// 0…1, by playing time. Only a whole one has 1.
  var fraction = 0.0
}

extension MediaCache {
  /// - Throws: `CancellationError`.
  func storedShare(of plan: StreamPlan) async throws -> StoredShare {
    let amounts = try await storedAmounts(of: plan.parts)
    let isWhole = plan.skipped.isEmpty && amounts.allSatisfy(\.isComplete)
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
