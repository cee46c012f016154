// SPDX-License-Identifier: MIT
public import Foundation

/// Selects the entry of a request: that of its key, or of a representation (RFC 9111 §4.1).
extension MediaCache {
  /// - Parameter key: common to the representations of the resource; nil: the resource's own.
  package func open(
    _ resource: Resource, on terms: ReadTerms, fill: FillPolicy? = nil,
    key: CacheKey? = nil, isBackground: Bool = false
  ) async throws -> MediaReader {
    let resource = try completed(checked(resource))
    var (key, terms) = (key ?? requestKey(for: resource), terms)
    // A representation may vary by more fields than the one found first, and so on.
    for _ in 0..<6 {
      let entry = try await entry(for: key, resource)
      // One that is not returned is cancelled as it is deallocated.
      let reader = try MediaReader(
        entry: entry, resource: resource, fill: fill ?? configuration.fill,
        isBackground: isBackground, terms: terms)
      let known = try await known(entry, reader, resource)
      if terms.hasCookies, known?.isForEverybody == false { throw MediaCacheError.personal }
      guard !terms.namesEntry, let other = known?.otherKey(than: key, for: resource.headers) else {
        entry.current?.withState { entry.renew(resource, &$0) }
        return reader
      }
      terms.notBefore = [terms.notBefore, known?.invalidatedAt].compactMap { $0 }.max()
      key = other
    }
    throw MediaCacheError(
      .invalidResponse, "The origin's Vary names other request headers in each response.",
      remedy: "Correct the Vary header at the origin.")
  }

  @inline(never)
  private func checked(_ resource: Resource) throws -> Resource {
    guard let authority = WebURL(resource.url.absoluteString)?.authority,
      !authority.isEmpty, !authority.hasPrefix(":")
    else {
      throw MediaCacheError(
        .badURL, "\(resource.url.withoutUserInfo.absoluteString) is not an http or https URL.",
        remedy: "Give the URL in full, as https://host/path.")
    }
    return resource
  }

  /// Returns what is known of the resource, after the response to another request with other
  /// headers, by which it may vary; nil if this reader's request is the first.
  private func known(
    _ entry: Entry, _ reader: MediaReader, _ resource: Resource
  ) async throws -> StoredResponse? {
    for _ in 0..<6 {
      if let known = entry.current?.withState({ $0.known }) { return known }
      if try isFirst(reader, of: entry, resource) { return nil }
      // If the other request fails, this one may succeed.
      _ = try? await reader.contentInformation()
      try Task.checkCancellation()
    }
    return nil
  }

  @inline(never)
  private func isFirst(
    _ reader: MediaReader, of entry: Entry, _ resource: Resource
  ) throws -> Bool {
    let asked = entry.resource
    if asked.headers == resource.headers, Credentials.of(asked) == Credentials.of(resource) {
      return true
    }
    let (generation, id) = try reader.current()
    return generation.withState { state in
      guard !state.isAsked(byOthersThan: id) else { return false }
      // Before another reader can attach and take the previous request for its own.
      entry.renew(resource, &state)
      return true
    }
  }

  func completed(_ resource: Resource) -> Resource {
    var resource = resource
    resource.policy = resource.policy.completed(by: configuration.policy)
    return resource
  }

  func entry(for key: CacheKey, _ resource: Resource) async throws -> Entry {
    let entry = try await table.entry(for: key) { [self] in
      Entry(
        key: key, resource: resource, starter: starter, evictor: evictor, events: events,
        table: table)
    }
    // It may have been open for long.
    if entry.current?.isRemoved == true {
      await withTaskExecutorPreference(IOThreads.shared) {
        await entry.storage.noticeRemoval(of: entry)
      }
    }
    return entry
  }

  // MARK: Without a request

  /// In a cache for several people, requests with credentials have entries of their own.
  func requestKey(for resource: Resource) -> CacheKey {
    let key = key(for: resource)
    return isShared && resource.key == nil ? Credentials.key(key, for: resource) : key
  }

  /// Returns the key of the representation that the resource's headers select; its own key if
  /// nothing is stored. Makes no request.
  public func storedKey(for resource: Resource) async -> CacheKey {
    let (stored, key) = (stored, requestKey(for: resource))
    return await IOThreads.background.run { stored.storedKey(from: key, for: resource.headers) }
  }

  /// Removes the entries of all representations of the resource; see `remove(_:)`.
  @discardableResult
  public func remove(_ resource: Resource) async throws -> Int64? {
    try await remove(key(for: resource))
  }

  /// Returns `completeFile(for:)` for the representation that the resource selects.
  public func completeFile(for resource: Resource) async throws -> URL? {
    try await completeFile(for: storedKey(for: resource))
  }

  /// Returns `entry(for:)` for the representation that the resource selects.
  public func entry(for resource: Resource) async throws -> EntrySummary? {
    try await entry(for: storedKey(for: resource))
  }

  // MARK: By URLs that need neither headers nor a key of their own

  /// Returns a reader of the resource at this URL; see `open(_:fill:)`.
  public func open(_ url: URL, fill: FillPolicy? = nil) async throws -> MediaReader {
    try await open(Resource(url: url), fill: fill)
  }

  /// Prefetches the resource at this URL; see `prefetch(_:range:progress:)`.
  @discardableResult
  public func prefetch(
    _ url: URL, range: ByteRange? = nil,
    progress: (@Sendable (PrefetchProgress) -> Void)? = nil
  ) async throws -> ContentInformation {
    try await prefetch(Resource(url: url), range: range, progress: progress)
  }

  /// Returns how much of the resource at this URL is stored; see `progress(of:)`.
  public func progress(of url: URL) async throws -> CacheProgress {
    try await progress(of: Resource(url: url))
  }

  /// Returns the progress of the resource at this URL after each change.
  public func progressUpdates(of url: URL) -> AsyncStream<CacheProgress> {
    progressUpdates(of: Resource(url: url))
  }

  /// Returns the entry of the resource at this URL; see `entry(for:)`.
  public func entry(for url: URL) async throws -> EntrySummary? {
    try await entry(for: Resource(url: url))
  }

  /// Returns the media file of the resource at this URL if all of it is stored.
  public func completeFile(for url: URL) async throws -> URL? {
    try await completeFile(for: Resource(url: url))
  }

  /// Pins the resource at this URL; see `pin(_:)`.
  public func pin(_ url: URL) async throws { try await pin(Resource(url: url)) }

  /// Removes the pin of the resource at this URL; see `unpin(_:)`.
  @discardableResult
  public func unpin(_ url: URL) async throws -> Bool { try await unpin(Resource(url: url)) }

  /// Removes what is stored of the resource at this URL; see `remove(_:)`.
  @discardableResult
  public func remove(_ url: URL) async throws -> Int64? {
    try await remove(Resource(url: url))
  }

  // MARK: By keys, as `entries()` lists them

  /// Returns a reader of a stored entry; see `open(_:fill:)`. Missing bytes are requested from its
  /// URL, without headers. Throws `.badURL` if nothing is stored under the key.
  public func open(_ key: CacheKey, fill: FillPolicy? = nil) async throws -> MediaReader {
    let (resource, terms) = try await stored(key)
    return try await open(resource, on: terms, fill: fill)
  }

  /// Prefetches the rest of an entry, opened as by its key; see `prefetch(_:range:progress:)`.
  @discardableResult
  public func prefetch(
    _ key: CacheKey, range: ByteRange? = nil,
    progress: (@Sendable (PrefetchProgress) -> Void)? = nil
  ) async throws -> ContentInformation {
    let (resource, terms) = try await stored(key)
    return try await prefetch(resource, on: terms, range, progress)
  }

  private func stored(_ key: CacheKey) async throws -> (Resource, ReadTerms) {
    guard let entry = try await entry(for: key) else {
      throw MediaCacheError(
        .badURL, "Nothing is stored under the key \(key), so its URL is unknown.",
        remedy: "Open the resource by its URL.")
    }
    var terms = ReadTerms()
    terms.namesEntry = true
    return (Resource(url: entry.url, key: key), terms)
  }
}
