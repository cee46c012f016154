// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain

/// Fetches the chosen playlists, and lists what they name.
extension StreamDownload {
  private static let mostSegments = 200_000

  /// Fetches the manifests of a choice.
  ///
  /// - Throws: `MediaCacheError`, if one cannot be fetched or stored, is no media playlist, is that
  ///   of a live stream, or does not state its segments; `.storage` if the stream is to be pinned
  ///   and does not fit beside what else is pinned. `CancellationError`.
  package func select(
    _ choice: StreamChoice, of source: StreamSource, reports: Reports = Reports()
  ) async throws -> Selection {
    do {
      let source = try await storedPart(of: source, choice)
      var selection = try await selected(choice, of: source, reports)
      try await estimate(&selection)
      if isPinned { try await checkRoom(for: &selection) }
      return selection
    } catch let error as MediaCacheError {
      // The manifests are useless without their stream.
      await liftNewPins(removes: true)
      throw error
    }
  }

  private func selected(
    _ choice: StreamChoice, of source: StreamSource, _ reports: Reports
  ) async throws -> Selection {
    var selection = Selection()
    selection.manifests = [resource]
    if let redirected = redirected(resource, to: source.url) {
      if isPinned { _ = try await bring(redirected) }
      selection.manifests.append(redirected)
    }
    switch source.content {
    case .media(let playlist):
      selection.plan = try await Self.plan(selection.plan) {
        try Self.append(playlist, at: source.url, .unstated, to: &$0)
      }
    case .multivariant(let playlist):
      try await select(choice, of: playlist, at: source.url, reports, into: &selection)
    case .presentation(let presentation):
      selection = try await IOThreads.background.runCancellably { [selection] in
        var selection = selection
        try Self.select(choice, of: presentation, at: source.url, into: &selection)
        return selection
      }
    }
    guard !selection.plan.parts.isEmpty || !selection.plan.skipped.isEmpty else {
      throw Self.empty(source.url)
    }
    return selection
  }

  /// Extends a plan on a thread for long work: a manifest may name hundreds of thousands of
  /// segments.
  static func plan(
    _ plan: StreamPlan, _ extend: @Sendable @escaping (inout StreamPlan) throws -> Void
  ) async throws -> StreamPlan {
    try await IOThreads.background.runCancellably {
      var plan = plan
      try extend(&plan)
      return plan
    }
  }

  /// Returns the duration of a stream in seconds, without fetching more than one playlist; nil if
  /// the stream is live, or does not state it.
  ///
  /// - Throws: `MediaCacheError`; `CancellationError`.
  package func duration(
    of source: StreamSource, quality: StreamChoice.Quality
  ) async throws -> Double? {
    let media: HLSMediaPlaylist
    var choice = StreamChoice()
    choice.quality = quality
    switch try await storedPart(of: source, choice).content {
    case .presentation(let presentation):
      return presentation.isDynamic ? nil : presentation.duration
    case .media(let playlist): media = playlist
    case .multivariant(let playlist):
      let url = try Self.resolve(playlist.variant(of: quality).uri, against: source.url)
      guard let manifest = try await read(resource(at: url)) else { throw Self.noPlaylist(url) }
      media = try Self.media(manifest, playlist.variables)
    }
    return media.isLive ? nil : media.totalDuration
  }

  // MARK: HLS

  private func select(
    _ choice: StreamChoice, of playlist: HLSMultivariantPlaylist, at base: URL, _ reports: Reports,
    into selection: inout Selection
  ) async throws {
    let variant = try playlist.variant(of: choice.quality)
    let renditions = try playlist.renditions(of: variant, choice)
    var tracks: [(uri: String, rate: StreamPlan.Rate)] = [(variant.uri, variant.rate)]
    for (rendition, rate) in zip(renditions, variant.rates(of: renditions)) {
      if let uri = rendition.uri { tracks.append((uri, rate)) }
    }
    var known: Set<URL> = []
    for (uri, rate) in tracks {
      let url = try Self.resolve(uri, against: base)
      guard known.insert(url).inserted else { continue }
      let manifest = try await fetch(url, reports)
      let resource = resource(at: url)
      selection.manifests +=
        [resource] + [redirected(resource, to: manifest.url)].compactMap(\.self)
      selection.plan = try await Self.plan(selection.plan) {
        let media = try Self.media(manifest, playlist.variables)
        try Self.append(media, at: manifest.url, rate, to: &$0)
      }
    }
    selection.variant = StreamVariant(variant)
    selection.renditions = renditions.map { StreamRendition($0) }
  }

  private func fetch(_ url: URL, _ reports: Reports) async throws -> StoredManifest {
    let resource = resource(at: url)
    reports.began(cache.key(for: resource), url)
    defer { reports.ended(cache.key(for: resource)) }
    let information: ContentInformation
    do {
      information = try await bring(resource)
    } catch let error as MediaCacheError where error.code == .offline {
      throw Self.notStored("The playlist \(url.withoutUserInfo.absoluteString)")
    }
    let key = await cache.storedKey(for: resource)
    guard Self.isShort(information), let manifest = await cache.storedManifest(for: key) else {
      throw Self.noPlaylist(url)
    }
    try await bringRedirected(manifest, of: resource)
    return manifest
  }

  private static func isShort(_ information: ContentInformation) -> Bool {
    (information.length ?? 0) <= Manifest.longest
  }

  private static func media(
    _ manifest: StoredManifest, _ variables: [String: String]
  ) throws -> HLSMediaPlaylist {
    let playlist = try HLSMediaPlaylist.read(
      manifest.body, url: manifest.url, imported: variables)
    guard let playlist else { throw noPlaylist(manifest.url) }
    return playlist
  }

  private static func append(
    _ playlist: HLSMediaPlaylist, at url: URL, _ rate: StreamPlan.Rate, to plan: inout StreamPlan
  ) throws {
    guard !playlist.isLive else { throw live(url) }
    guard playlist.segments.count <= mostSegments else {
      throw MediaCacheError(
        .invalidResponse,
        "\(url.withoutUserInfo.absoluteString) has more than \(mostSegments) segments.",
        remedy: "Play the stream instead.")
    }
    plan.append(playlist, at: url, rate: rate)
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

  /// The error of a playlist that is named as a variant or a rendition, and is no media playlist.
  package static func noPlaylist(_ url: URL) -> MediaCacheError {
    MediaCacheError(
      .invalidResponse,
      "\(url.withoutUserInfo.absoluteString) is no media playlist of an HTTP Live Stream.",
      remedy: "Check the stream's first playlist.")
  }

  private static func empty(_ url: URL) -> MediaCacheError {
    MediaCacheError(
      .invalidResponse,
      "\(url.withoutUserInfo.absoluteString) is a stream without segments.",
      remedy: "Check the stream's first playlist: it may be cut off.")
  }

  private static func live(_ url: URL) -> MediaCacheError {
    MediaCacheError(
      .invalidResponse,
      "\(url.withoutUserInfo.absoluteString) is a live stream: its playlist has no end.",
      remedy: "Fetch it when the broadcast has ended, or play it.")
  }

  // MARK: DASH

  private static func select(
    _ choice: StreamChoice, of presentation: DASHPresentation, at url: URL,
    into selection: inout Selection
  ) throws(MediaCacheError) {
    guard !presentation.isDynamic else { throw live(url) }
    let choices = try presentation.choose(choice)
    var allowance = DASHPresentation.Allowance(segments: Int64(mostSegments))
    for choice in choices {
      let duration = choice.period.duration
      do throws(DASHProblem) {
        try selection.plan.append(choice.representations, duration: duration, &allowance)
      } catch {
        throw error.error(at: url)
      }
    }
    let main = choices.max { ($0.period.duration ?? 0) < ($1.period.duration ?? 0) }
    selection.variant = main?.variant.map { StreamVariant($0) }
    selection.renditions = main?.tracks.map(\.rendition) ?? []
    guard !selection.plan.parts.isEmpty || !selection.plan.skipped.isEmpty else {
      throw DASHProblem.namesNoSegments.error(at: url)
    }
  }
}
