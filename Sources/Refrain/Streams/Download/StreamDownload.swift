// SPDX-License-Identifier: MIT
package import Foundation

/// Brings an HLS stream into the cache: the chosen playlists, and all that they name.
package struct StreamDownload: Sendable {
  /// The playlists to fetch, and what they name.
  package struct Selection: Sendable {
    /// Nil if the stream is a media playlist alone.
    package var variant: HLSMultivariantPlaylist.Variant?
    package var renditions: [HLSMultivariantPlaylist.Rendition] = []
    package var plan = StreamPlan()

    /// The size of the stream in bytes, by the variant's bit rate, or by the ranges of the parts;
    /// nil if neither is known.
    package var estimatedBytes: Int64? {
      if let variant { return variant.estimatedBytes(seconds: plan.duration) }
      var sum: Int64 = 0
      for part in plan.parts {
        guard let range = part.range else { return nil }
        sum = sum.addingSaturated(Int64(range.count))
      }
      return plan.parts.isEmpty ? nil : sum
    }
  }

  private static let mostSegments = 200_000

  let cache: MediaCache
  let resource: Resource

  /// - Parameter resource: the stream's first playlist.
  package init(_ resource: Resource, into cache: MediaCache) {
    self.cache = cache
    self.resource = resource
  }

  // MARK: Playlists

  /// Whether a fetched resource may be the manifest of a stream.
  package static func mayBeStream(_ information: ContentInformation, at url: URL) -> Bool {
    guard (information.length ?? 0) <= Manifest.longest else { return false }
    return [url, information.finalURL].contains {
      Manifest.isNamed(mimeType: information.mimeType, url: $0)
    }
  }

  /// Returns the stream whose first playlist has been fetched; nil if the resource is none.
  ///
  /// - Throws: `MediaCacheError`, also for a DASH stream; `CancellationError`.
  package func source() async throws -> StreamSource? {
    let key = await cache.storedKey(for: resource)
    guard let manifest = await cache.storedManifest(for: key) else { return nil }
    guard let source = try StreamSource(manifest) else { return nil }
    try await fetchRedirected(resource, to: source.url)
    return source
  }

  /// Returns the stream with its first playlist as the origin sends it, which need not be
  /// storable; nil if the resource is none.
  ///
  /// - Throws: `MediaCacheError`, also for a DASH stream; `CancellationError`.
  package func readSource() async throws -> StreamSource? {
    guard let manifest = try await read(resource) else { return nil }
    return try StreamSource(manifest)
  }

  private func read(_ resource: Resource) async throws -> StoredManifest? {
    let reader = try await cache.open(resource, fill: .onDemand)
    defer { reader.cancel() }
    let information = try await reader.contentInformation()
    guard Self.mayBeStream(information, at: resource.url) else { return nil }
    var body: [UInt8] = []
    for try await chunk in reader.chunks(in: 0..<Manifest.longest) { body += chunk }
    return StoredManifest(body: body, url: information.finalURL)
  }

  /// Fetches the chosen playlists.
  ///
  /// - Throws: `MediaCacheError`, if one cannot be fetched or stored, is no media playlist, or is
  ///   that of a live stream; `CancellationError`.
  package func select(
    _ choice: StreamChoice, of source: StreamSource, reports: Reports = Reports()
  ) async throws -> Selection {
    var selection = Selection()
    switch source.playlist {
    case .media(let playlist):
      try append(playlist, at: source.url, to: &selection.plan)
    case .multivariant(let playlist):
      let variant = try playlist.variant(of: choice.quality)
      selection.variant = variant
      selection.renditions = try playlist.renditions(of: variant, choice)
      var known: Set<URL> = []
      for uri in [variant.uri] + selection.renditions.compactMap(\.uri) {
        let url = try Self.resolve(uri, against: source.url)
        guard known.insert(url).inserted else { continue }
        let manifest = try await fetch(url, reports)
        let media = try Self.media(manifest, playlist.variables)
        try append(media, at: manifest.url, to: &selection.plan)
      }
    }
    return selection
  }

  /// Returns the duration of a stream in seconds, without fetching more than one playlist; nil if
  /// the stream is live.
  ///
  /// - Throws: `MediaCacheError`; `CancellationError`.
  package func duration(
    of source: StreamSource, quality: StreamChoice.Quality
  ) async throws -> Double? {
    let media: HLSMediaPlaylist
    switch source.playlist {
    case .media(let playlist): media = playlist
    case .multivariant(let playlist):
      let url = try Self.resolve(playlist.variant(of: quality).uri, against: source.url)
      guard let manifest = try await read(resource(at: url)) else { throw Self.noPlaylist(url) }
      media = try Self.media(manifest, playlist.variables)
    }
    return media.isLive ? nil : media.totalDuration
  }

  private func fetch(_ url: URL, _ reports: Reports) async throws -> StoredManifest {
    let resource = resource(at: url)
    reports.began(cache.key(for: resource), url)
    defer { reports.ended(cache.key(for: resource)) }
    let information = try await cache.prefetch(resource)
    let key = await cache.storedKey(for: resource)
    guard Self.isShort(information), let manifest = await cache.storedManifest(for: key) else {
      throw Self.noPlaylist(url)
    }
    try await fetchRedirected(resource, to: manifest.url)
    return manifest
  }

  private static func isShort(_ information: ContentInformation) -> Bool {
    (information.length ?? 0) <= Manifest.longest
  }

  /// Fetches a playlist under its URL after redirects too: proxies redirect clients to that URL,
  /// to which the playlist's references are relative.
  private func fetchRedirected(_ resource: Resource, to final: URL) async throws {
    guard cache.key(for: Resource(url: final)) != cache.key(for: resource) else { return }
    try await cache.prefetch(self.resource(at: final))
  }

  private static func media(
    _ manifest: StoredManifest, _ variables: [String: String]
  ) throws -> HLSMediaPlaylist {
    let playlist = HLSMediaPlaylist(manifest.body, url: manifest.url, imported: variables)
    guard let playlist else { throw noPlaylist(manifest.url) }
    return playlist
  }

  private func append(
    _ playlist: HLSMediaPlaylist, at url: URL, to plan: inout StreamPlan
  ) throws {
    guard !playlist.isLive else {
      throw MediaCacheError(
        .invalidResponse,
        "\(url.withoutUserInfo.absoluteString) is a live stream: its playlist has no end.",
        remedy: "Fetch it when the broadcast has ended, or play it.")
    }
    guard playlist.segments.count <= Self.mostSegments else {
      throw MediaCacheError(
        .invalidResponse,
        "\(url.withoutUserInfo.absoluteString) has more than \(Self.mostSegments) segments.",
        remedy: "Play the stream instead.")
    }
    plan.append(playlist, at: url)
  }

  private static func resolve(_ reference: String, against base: URL) throws -> URL {
    guard let url = URL(text: reference, relativeTo: base), WebURL(url.absoluteString) != nil
    else {
      throw MediaCacheError(
        .badURL, "The stream names a playlist that is neither http nor https: \(reference)",
        remedy: "Choose another variant or language.")
    }
    return url
  }

  private static func noPlaylist(_ url: URL) -> MediaCacheError {
    MediaCacheError(
      .invalidResponse,
      "\(url.withoutUserInfo.absoluteString) is no media playlist of an HTTP Live Stream.",
      remedy: "Check the stream's first playlist.")
  }

  // MARK: Requests

  /// Returns a resource of the stream. Headers that may grant access are sent to the origin of the
  /// first playlist alone.
  func resource(at url: URL) -> Resource {
    var headers = resource.headers
    if Self.origin(of: url) == Self.origin(of: resource.url) {
      if headers["Authorization"] == nil, url.basicAuthorization == nil {
        headers["Authorization"] = resource.url.basicAuthorization
      }
    } else {
      let carried = headers.fields.filter {
        RedirectPolicy.carried.contains($0.name.lowercased())
      }
      headers = HeaderFields(carried.map { ($0.name, $0.value) })
    }
    return Resource(url: url, headers: headers)
  }

  private static func origin(of url: URL) -> [String] {
    let scheme = url.scheme?.lowercased() ?? ""
    let port = url.port ?? (scheme == "https" ? 443 : 80)
    return [scheme, url.host()?.lowercased() ?? "", String(port)]
  }
}

extension HLSMultivariantPlaylist.Variant {
  /// The size of the variant with its audio in bytes; nil if its bit rate is unknown.
  package func estimatedBytes(seconds: Double) -> Int64? {
    let rate = averageBandwidth ?? bandwidth
    guard rate > 0, seconds > 0 else { return nil }
    return Int64(min(Double(rate) / 8 * seconds, 9e18))
  }
}
