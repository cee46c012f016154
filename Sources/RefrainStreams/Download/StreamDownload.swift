// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain

/// Brings a stream into the cache: the chosen qualities and tracks, with all manifests and segments
/// that they need.
package struct StreamDownload: Sendable {
  /// What is to be fetched.
  package struct Selection: Sendable {
    /// Nil if the stream has one quality alone.
    package var variant: StreamVariant?
    package var renditions: [StreamRendition] = []
    package var plan = StreamPlan()
    /// The size of the stream in bytes, by bit rates and by the lengths that are known; nil if
    /// nothing shows it.
    package internal(set) var estimatedBytes: Int64?
    /// The fetched manifests, by all URLs under which they are stored.
    var manifests: [Resource] = []
  }

  let cache: MediaCache
  let resource: Resource
  /// Whether all that is fetched is pinned, and stored even where the origin forbids it.
  let isPinned: Bool
  let newPins = NewPins()
  /// What a manifest refers to is allowed as through a proxy: nothing in a private network, if the
  /// stream's URL is public.
  private let filter: URLFilter?
  /// Those that the stream's responses set; nil in a shared cache.
  private let cookies: CookieJar?

  /// - Parameters:
  ///   - resource: the stream's first manifest.
  ///   - isPinned: whether to pin all that is fetched.
  package init(_ resource: Resource, into cache: MediaCache, isPinned: Bool = false) {
    self.cache = cache
    self.resource = cache.possibleStream(resource)
    cookies = cache.isShared ? nil : cache.cookies(of: resource)
    self.isPinned = isPinned
    filter = resource.filter ?? (PrivateNetwork.contains(resource.url) ? nil : .publicOnly())
  }

  // MARK: The first manifest

  /// Whether the resource, of which at least the beginning was fetched just now, may be the first
  /// manifest of a stream: by its type or its name, or else by its content, if all of it is stored.
  package func mayBeStream(_ information: ContentInformation) async -> Bool {
    if Self.mayBeStream(information, at: resource.url) { return true }
    guard Manifest.mayBeUnnamed(mimeType: information.mimeType, length: information.length),
      let stored = await cache.storedManifest(for: cache.storedKey(for: resource))
    else { return false }
    return Manifest.isShown(by: stored.body)
  }

  /// Whether a fetched resource may be the manifest of a stream, by its type or its name.
  package static func mayBeStream(_ information: ContentInformation, at url: URL) -> Bool {
    guard (information.length ?? 0) <= Manifest.longest else { return false }
    return [url, information.finalURL].contains {
      Manifest.isNamed(mimeType: information.mimeType, url: $0)
    }
  }

  /// Returns the stream whose first manifest has been fetched; nil if the resource is none.
  ///
  /// - Throws: `MediaCacheError`, also if the manifest is damaged; `CancellationError`.
  package func source() async throws -> StreamSource? {
    do {
      return try await storedSource()
    } catch let error as MediaCacheError {
      // The first manifest is useless without its stream.
      await liftNewPins(removes: true)
      throw error
    }
  }

  private func storedSource() async throws -> StreamSource? {
    let key = await cache.storedKey(for: resource)
    guard let manifest = await cache.storedManifest(for: key) else { return nil }
    guard let source = try await StreamSource(manifest) else { return nil }
    // A pinned one is fetched by `select`.
    if !isPinned { try await bringRedirected(manifest, of: resource) }
    return source
  }

  /// Fetches a manifest also under its URL after redirects, if it is needed there.
  func bringRedirected(_ manifest: StoredManifest, of resource: Resource) async throws {
    guard let redirected = redirected(resource, to: manifest.url) else { return }
    _ = try await bring(redirected)
  }

  /// Returns the stream with its first manifest as the origin sends it, which need not be
  /// storable; nil if the resource is none.
  ///
  /// - Throws: `MediaCacheError`; `CancellationError`.
  package func readSource() async throws -> StreamSource? {
    guard let manifest = try await read(resource) else { return nil }
    return try await StreamSource(manifest)
  }

  func read(_ resource: Resource) async throws -> StoredManifest? {
    let reader = try await cache.open(resource, fill: .onDemand)
    defer { reader.cancel() }
    let information = try await reader.contentInformation()
    let isNamed = Self.mayBeStream(information, at: resource.url)
    guard
      isNamed
        || Manifest.mayBeUnnamed(mimeType: information.mimeType, length: information.length)
    else { return nil }
    var body: [UInt8] = []
    for try await chunk in reader.chunks(in: 0..<Manifest.longest) {
      let isKnown = body.count >= Manifest.longestBeginning
      body += chunk
      if !isNamed, !isKnown, Manifest.isBeginning(body, isWhole: false) == false { return nil }
    }
    guard isNamed || Manifest.isShown(by: body) else { return nil }
    return StoredManifest(body: body, url: information.finalURL)
  }

  /// Returns the resource at the URL after redirects, if the manifest is also needed there
  /// (`MediaCache.isNeeded`). One with an explicit key is needed under that of its URL as well.
  func redirected(_ resource: Resource, to final: URL) -> Resource? {
    let isNeeded =
      resource.key.map { $0 != cache.key(for: Resource(url: final)) }
      ?? cache.isNeeded(at: final, besides: resource.url)
    return isNeeded ? self.resource(at: final) : nil
  }

  // MARK: Requests

  /// Returns a resource of the stream. Headers that may grant access are sent to the origin of the
  /// first manifest alone.
  package func resource(at url: URL, isKey: Bool = false) -> Resource {
    var headers = resource.headers
    if Self.origin(of: url) == Self.origin(of: resource.url) {
      if headers["Authorization"] == nil, url.basicAuthorization == nil {
        headers["Authorization"] = resource.url.basicAuthorization
      }
    } else {
      headers = headers.forOtherOrigins
    }
    headers = cookies?.complete(headers, for: url, at: Date()) ?? headers
    var part = Resource(url: url, headers: headers)
    part.observer = resource.observer
    filter?.noteReference(to: url, from: resource.url)
    part.filter = filter
    part.policy = ResourcePolicy.streams
    part.policy.group = ResourcePolicy.Group(
      first: cache.key(for: resource), isSecret: isKey, isKept: isPinned)
    return part
  }

  private static func origin(of url: URL) -> [String] {
    let scheme = url.scheme?.lowercased() ?? ""
    let port = url.port ?? (scheme == "https" ? 443 : 80)
    return [scheme, url.host()?.lowercased() ?? "", String(port)]
  }
}
