// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// Finds out whether the origin can be reached before a client selects a variant of a stream.
extension CachedAnswer {
  /// Returns the response as the origin confirms it, if it is a fresh manifest that names more than
  /// is stored: while it is fresh, nothing else shows that the origin cannot be reached, and a player
  /// would select a variant that is not stored and fail. Any other response is returned as it is.
  ///
  /// An origin is asked once in ten seconds at most. A shared cache does not ask: its clients would
  /// cost the origin a request every ten seconds for each manifest, however fresh.
  ///
  /// - Parameter again: selects the response on other terms.
  /// - Throws: `CancellationError`.
  func confirmed(
    _ selected: SelectedResponse, _ terms: ReadTerms,
    again: (ReadTerms) async throws -> Selected
  ) async throws -> SelectedResponse {
    guard selected.isManifest == true else { return selected }
    let cache = service.cache
    guard source(of: selected) == .hit else {
      note(selected)
      return selected
    }
    // Nothing is removed from an MPD that changes, and a list of segments names no variants.
    guard selected.known.freshness.pace?.isLive != true, service.cachePolicy == .personal,
      !cache.isOffline,
      !terms.directives.onlyIfCached,
      service.hasReachedOrigin(of: exchange.url) == nil,
      let body = try await ManifestAnswer(self, selected).body(),
      try await StoredVariants(cache: cache, url: baseURL(of: selected.known)).isReducible(body)
    else { return selected }
    var terms = terms
    terms.directives.maxAge = 0
    // It is fresh: an origin that is silent does not hold the client up for long.
    terms.acceptsForbidden = true
    do {
      // After an error of the origin, the fresh response is used, but not as a confirmed one: its
      // source is `.stale` then.
      guard case .response(let confirmed) = try await again(terms) else { return selected }
      note(confirmed)
      selected.reader.cancel()
      return confirmed
    } catch let error as MediaCacheError {
      let isReached = ![.unreachable, .offline, .networkNotAllowed].contains(error.code)
      service.noteOrigin(of: exchange.url, isReached: isReached)
      return selected
    } catch is HTTPError {
      return selected
    }
  }

  /// Notes whether the request that brought or confirmed a response has reached its origin.
  private func note(_ selected: SelectedResponse) {
    let isReached: Bool
    switch source(of: selected) {
    case .stale: isReached = false
    case .miss, .revalidated: isReached = true
    case .hit, .partial, .relayed, .proxy: return
    }
    service.noteOrigin(of: exchange.url, isReached: isReached)
  }

  /// Returns the source of the whole response.
  func source(of selected: SelectedResponse) -> ServedRequest.Source {
    let length = selected.known.information.length ?? .max
    return ResponseSource(
      reader: selected.reader, known: selected.known, wanted: [0..<length],
      since: selected.started, isStale: false
    ).source
  }
}
