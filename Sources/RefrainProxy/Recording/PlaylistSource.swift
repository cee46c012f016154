// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Where a recorded playlist comes from: its URL, and the requests for it and for its parts, which
/// are those of the client that plays it.
struct PlaylistSource: Sendable {
  /// The URL under which clients request the playlist.
  let url: URL
  /// The URL to which its references are relative.
  let base: URL
  /// The fields of the client's request.
  let fields: HeaderFields
  let session: StreamSession
  let service: ProxyService

  var cache: MediaCache { service.cache }

  /// The variables that the playlist may import.
  var imported: [String: String] { session.importable }

  /// The present, in seconds of a time axis of its own.
  var time: Double { cache.now.uptime.seconds }

  /// The key of the playlist's URL.
  var key: CacheKey { cache.key(for: Resource(url: url)) }

  /// The key of the stream's first manifest.
  private var stream: CacheKey { service.stream(of: url, recorded: nil) }

  /// Returns the key of a reference; nil if it is not fetched through this proxy.
  func key(of reference: String) -> CacheKey? {
    url(of: reference).map { cache.key(for: Resource(url: $0)) }
  }

  private func url(of reference: String) -> URL? {
    guard let url = URL(text: reference, relativeTo: base),
      service.routes.target(for: url, from: base, session: session.id) != nil
    else { return nil }
    return url
  }

  /// Returns the resource that the client's request for a URL of the stream would name.
  private func resource(at url: URL, isKey: Bool = false) -> Resource {
    let fields = session.complete(fields, for: url)
    var resource = Resource(
      url: url,
      headers: service.originFields.forCache(fields, sendsOwn: session.isOwn(url)))
    resource.filter = service.routes.filter(for: url)
    resource.observer = session.observer
    // The player may not have been given the playlist that names it.
    resource.membership =
      service.membership(of: url) ?? StreamMembership(stream: stream, isKey: isKey)
    return resource
  }

  /// Loads the playlist; a stored one is used while it is fresh.
  ///
  /// - Throws: `MediaCacheError`; `CancellationError`.
  func load() async throws -> HLSMediaPlaylist {
    var terms = FreshnessRequirements()
    (terms.isStrict, terms.reportsErrors) = (true, true)
    let reader = try await cache.open(resource(at: url), on: terms, fill: .onDemand)
    defer { reader.cancel() }
    return try await withTaskCancellationHandler {
      var body: [UInt8] = []
      for try await chunk in reader.chunks(in: 0..<Manifest.longest) { body += chunk }
      service.listings.note(
        body, of: url, at: base, in: stream, imported: imported, cache)
      guard let playlist = HLSMediaPlaylist(body, url: base, imported: imported) else {
        throw MediaCacheError(
          .invalidResponse,
          "The origin no longer sends a playlist at \(url.withoutUserInfo.absoluteString).",
          remedy: "Load the stream again.")
      }
      return playlist
    } onCancel: {
      reader.cancel()
    }
  }

  /// Stores a part of the stream.
  ///
  /// - Returns: its bytes; nil if they could not be fetched.
  func store(_ part: RecordingState.Part) async -> Int64? {
    guard let url = url(of: part.uri) else { return nil }
    do {
      let resource = resource(at: url)
      var terms = FreshnessRequirements()
      terms.listing = service.listings.naming(of: cache.key(for: resource), in: stream)
      let information = try await cache.prefetch(resource, on: terms, part.range, nil)
      return part.range.map { $0.upperBound - $0.lowerBound } ?? information.length ?? 0
    } catch {
      return nil
    }
  }

  /// Whether bytes of a resource, or all those of a range, are stored. An entry that cannot be read counts as missing.
  func isStored(_ part: RecordingState.Part) async -> Bool {
    guard let url = url(of: part.uri),
      let progress = try? await cache.progress(of: resource(at: url))
    else { return false }
    guard let range = part.range else { return !progress.spans.isEmpty }
    return progress.spans.ranges.contains {
      $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound
    }
  }
}
