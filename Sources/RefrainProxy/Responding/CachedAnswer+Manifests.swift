// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// Rewrites the references of manifests to lead through this proxy. The cache stores originals.
extension CachedAnswer {
  /// Returns false if the response is sent as it is. Throws as `Exchange.send(manifest:)`.
  func respondWithManifest(_ selected: SelectedResponse) async throws -> Bool {
    guard let body = try await manifestBody(of: selected) else { return false }
    let url = baseURL(of: selected.known)
    let stream = service.stream(of: exchange.url, recorded: selected.reader.group)
    var sent = body
    if service.cache.isOffline || selected.source == .stale {
      sent = try await StoredVariants(cache: service.cache, url: url).filtered(body) ?? body
    }
    // A range of an unchanged body is a range of the original.
    return try await exchange.send(
      manifest: sent, at: url, in: stream, isFiltered: sent != body
    ) { head(200, selected, 0..<(selected.length ?? .max)).fields }
  }

  /// Returns nil if the body is too long for a manifest, or does not begin like one.
  func manifestBody(of selected: SelectedResponse) async throws -> [UInt8]? {
    let length = selected.length
    if let length, length > Manifest.longest { return nil }
    var body: [UInt8] = []
    for try await bytes in selected.reader.chunks() {
      body += bytes
      // The first bytes may come in several pieces.
      let isOther = body.count >= 64 && !Manifest.mayBegin(with: Data(body.prefix(64)))
      if isOther || body.count > Manifest.longest { return nil }
      if Int64(body.count) == length { break }
    }
    return Manifest.mayBegin(with: Data(body.prefix(64))) ? body : nil
  }

  /// Returns the response as the origin confirms it, if it is a fresh manifest that names more than
  /// is stored: while it is fresh, nothing else shows that the origin cannot be reached, and a player
  /// would select a variant that is not stored and fail. Any other response is returned as it is.
  ///
  /// An origin that has confirmed it to this proxy is asked once in ten seconds at most. A shared
  /// cache does not ask: its clients would cost the origin that for each manifest, however fresh.
  func confirmed(_ selected: SelectedResponse) async throws -> SelectedResponse {
    let (cache, freshness) = (service.cache, selected.known.freshness)
    guard selected.isManifest == true, selected.source == .hit,
      freshness.confirmedAt < service.began
        || cache.now.wall.timeIntervalSince(freshness.confirmedAt) >= 10,
      // Nothing is removed from an MPD that changes, and a list of segments names no variants.
      freshness.pace?.isLive != true, !service.sharing.isShared,
      !cache.isOffline, !terms.directives.onlyIfCached,
      let body = try await manifestBody(of: selected),
      try await StoredVariants(cache: cache, url: baseURL(of: selected.known)).isReducible(body)
    else { return selected }
    var terms = terms
    terms.directives.maxAge = 0
    // It is fresh: an origin that is silent does not hold the client up for long.
    terms.acceptsForbidden = true
    do {
      let confirmed = try await select(terms)
      selected.reader.cancel()
      return confirmed
    } catch is MediaCacheError, is Elsewhere, is HTTPError {
      // The fresh response is used, but not as a confirmed one.
      var selected = selected
      selected.source = .stale
      return selected
    }
  }
}
