// SPDX-License-Identifier: MIT
import Foundation
package import Refrain
import RefrainLocks

/// Pins all parts of a stream, and lifts their pins.
extension StreamDownload {
  /// Returns the stored amounts of the representations that the download's requests select.
  func storedAmounts(
    of parts: [StreamPlan.Part]
  ) async throws -> [MediaCache.StoredAmount] {
    try await cache.storedAmounts(of: parts) { resource(at: $0.url, isKey: $0.isKey) }
  }

  /// Fetches the first manifest, or what else the resource is. A pinned download pins it first, as
  /// `MediaCache.pin` does.
  ///
  /// - Throws: `MediaCacheError`; `CancellationError`. If there is no room, the pin is lifted.
  package func bringFirst(
    progress: (@Sendable (MediaCache.PrefetchProgress) -> Void)? = nil
  ) async throws -> ContentInformation {
    if isPinned { try await pinFirst() }
    do {
      return try await cache.prefetch(keptFirst(), progress: progress)
    } catch let error as MediaCacheError where isPinned && error.hasNoRoom {
      throw await liftingNewPins(error)
    }
  }

  /// Returns the first resource. A pinned manifest is stored even if the origin forbids it, as
  /// `MediaCache.pin` does: one without a validator is replaced by the next response.
  private func keptFirst() async throws -> Resource {
    guard isPinned, let entry = try await cache.entry(for: resource),
      Manifest.isNamed(mimeType: entry.mimeType, url: resource.url)
    else { return resource }
    var kept = resource
    kept.policy.group = ResourcePolicy.Group(first: cache.key(for: resource), isKept: true)
    return kept
  }

  private func pinFirst() async throws {
    let entry = try await cache.entry(for: resource)
    try await cache.pin(resource)
    guard entry?.isPinned != true else { return }
    let key = await cache.storedKey(for: resource)
    newPins.insert(.init(key: key, wasStored: entry != nil))
  }

  /// Stores a resource, and pins it if the download is pinned.
  func bring(
    _ resource: Resource, on terms: ReadTerms = ReadTerms(),
    _ range: ByteRange? = nil, _ progress: (@Sendable (MediaCache.PrefetchProgress) -> Void)? = nil
  ) async throws -> ContentInformation {
    guard isPinned else { return try await cache.prefetch(resource, on: terms, range, progress) }
    let wasStored = try await cache.entry(for: resource) != nil
    let reader = try await cache.open(resource, on: terms, fill: .onDemand, isBackground: true)
    // Closed without a pin, the entry would lose what the origin forbids to store.
    let lease = cache.hold(reader)
    reader.cancel()
    defer { withExtendedLifetime(lease) {} }
    let information = try await cache.prefetch(resource, on: terms, range, progress)
    try await pin(resource, wasStored: wasStored)
    return information
  }

  /// Pins those of the parts that are stored.
  ///
  /// - Returns: the stored amounts of all parts, in the entries that were pinned.
  func pinStored(
    _ parts: [StreamPlan.Part], _ amounts: [MediaCache.StoredAmount]
  ) async throws -> [MediaCache.StoredAmount] {
    let stored = parts.indices.filter { amounts[$0].isComplete }
    var amounts = amounts
    try await withThrowingTaskGroup(of: (Int, MediaCache.StoredAmount).self) { group in
      for (number, index) in stored.enumerated() {
        if number >= Self.width, let (done, pinned) = try await group.next() {
          amounts[done] = pinned
        }
        group.addTask { (index, try await pinStored(parts[index])) }
      }
      for try await (done, pinned) in group { amounts[done] = pinned }
    }
    return amounts
  }

  /// Pins the entry that the request for a part selects, if there is one.
  ///
  /// - Returns: its stored amount, which may be less than before: until it was pinned, it could be
  ///   evicted, and an entry for other credentials may be the one that is stored completely.
  private func pinStored(_ part: StreamPlan.Part) async throws -> MediaCache.StoredAmount {
    let key = await cache.storedKey(for: resource(at: part.url, isKey: part.isKey))
    guard try await place(key, wasStored: true) else { return .init() }
    return try await cache.storedAmounts(of: 1) { _ in (key, nil, part.range) }[0]
  }

  /// Pins a resource that is stored.
  func pin(_ resource: Resource, wasStored: Bool = true) async throws {
    guard try await place(cache.storedKey(for: resource), wasStored: wasStored) else {
      throw MediaCacheError(
        .storage,
        "\(resource.url.withoutUserInfo.absoluteString) was removed before it could be pinned.",
        remedy: "Try again.")
    }
  }

  /// - Returns: false if nothing is stored under the key.
  private func place(_ key: CacheKey, wasStored: Bool) async throws -> Bool {
    guard let isNew = try await cache.pinStored(key) else { return false }
    if isNew { newPins.insert(.init(key: key, wasStored: wasStored)) }
    return true
  }

  // MARK: Unpinning

  /// Lifts the pins that this download has set: they take the room of others for a stream that is
  /// not complete.
  ///
  /// - Parameter removes: whether to remove the entries as well, but for those that were stored
  ///   before.
  /// - Returns: the number of lifted pins, and of those that could not be lifted.
  @discardableResult
  func liftNewPins(removes: Bool = false) async -> (lifted: Int, kept: Int) {
    var (lifted, kept) = (0, 0)
    // The manifests were pinned first: while they are, `unpin` finds the rest.
    for pin in newPins.takeAll() {
      do {
        if try await cache.unpin(pin.key) { lifted += 1 }
        if removes, !pin.wasStored { try await cache.remove(pin.key) }
      } catch {
        kept += 1
      }
    }
    return (lifted, kept)
  }

  /// Lifts the pins that this download has set, and reports that in its error.
  func liftingNewPins(_ error: MediaCacheError) async -> MediaCacheError {
    let (lifted, kept) = await liftNewPins()
    var error = error
    if lifted > 0 { error.reason += " The pins that this download had set were lifted." }
    if kept > 0 { error.reason += " Pins of \(kept) files could not be lifted: unpin the stream." }
    return error
  }

  /// Lifts the pins of the first manifest, and of all that is stored of its stream in any quality
  /// and language, but for what other pinned streams need too. Makes no request.
  ///
  /// - Returns: the number of entries that were pinned.
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be read or written: the first
  ///   error, after the other parts are unpinned. The manifests then stay pinned, so that another
  ///   call finds the rest. `CancellationError`.
  package func unpin() async throws -> Int {
    let keys = try await storedKeys()
    var count = 0
    var failure: MediaCacheError?
    // The origin may forbid to store a manifest, which is removed with its pin.
    for keys in [keys.segments, keys.manifests, [keys.first]] where failure == nil {
      for key in keys {
        try Task.checkCancellation()
        do {
          if try await cache.unpin(key) { count += 1 }
        } catch let error as MediaCacheError {
          failure = failure ?? error
        }
      }
    }
    if let failure { throw failure }
    return count
  }

  /// The keys of what is stored of a stream, each in one of the sets.
  private struct StoredKeys {
    var first: CacheKey
    var manifests: Set<CacheKey> = []
    /// Of the segments and encryption keys, and of all other parts that no manifest names.
    var segments: Set<CacheKey> = []

    func contains(_ key: CacheKey) -> Bool {
      key == first || manifests.contains(key) || segments.contains(key)
    }

    mutating func subtract(_ other: StoredKeys) {
      for keys in [other.manifests, other.segments, [other.first]] {
        manifests.subtract(keys)
        segments.subtract(keys)
      }
    }
  }

  /// Returns the keys of the first manifest and of its parts that no other pinned stream needs.
  private func storedKeys() async throws -> StoredKeys {
    let own = await cache.storedKey(for: resource)
    guard await cache.mayBeManifest(own) else { return StoredKeys(first: own) }
    let pinned = try await cache.entries().filter(\.isPinned)
    var keys = try await keys(below: own, stream: cache.key(for: resource), pinned)
    for other in pinned where other.group == nil && other.key != own {
      if keys.contains(other.key) { continue }
      try Task.checkCancellation()
      guard await cache.mayBeManifest(other.key) else { continue }
      let others = try await StreamDownload(Resource(url: other.url), into: cache)
        .keys(below: other.key, stream: other.key, pinned)
      // A stream that contains all of this one is the same one under another URL.
      if !others.contains(own) { keys.subtract(others) }
    }
    return keys
  }

  /// Returns the keys of all that the stored manifests name, and of what was pinned as a part of
  /// the stream.
  ///
  /// - Parameters:
  ///   - own: of the first manifest.
  ///   - stream: by which the parts name it.
  /// - Throws: `CancellationError`.
  private func keys(
    below own: CacheKey, stream: CacheKey, _ pinned: [EntrySummary]
  ) async throws -> StoredKeys {
    var keys = StoredKeys(first: own)
    keys.segments = Set(pinned.lazy.filter { $0.group == stream }.map(\.key))
    if let manifest = await cache.storedManifest(for: own),
      let source = try? await StreamSource(manifest)
    {
      var manifests = [redirected(resource, to: manifest.url)].compactMap(\.self)
      for part in try await storedPlan(source, &manifests).parts {
        keys.segments.insert(await cache.storedKey(for: resource(at: part.url)))
      }
      for manifest in manifests {
        keys.manifests.insert(await cache.storedKey(for: manifest))
      }
    }
    keys.manifests.remove(own)
    keys.segments.subtract(keys.manifests.union([own]))
    return keys
  }

  /// Returns the parts that the stored manifests name.
  ///
  /// - Parameter manifests: receives the manifests besides the first.
  /// - Throws: `CancellationError`.
  private func storedPlan(
    _ source: StreamSource, _ manifests: inout [Resource]
  ) async throws -> StreamPlan {
    var plan = StreamPlan()
    switch source.content {
    case .media(let playlist):
      plan = try await Self.plan(plan) { $0.append(playlist, at: source.url) }
    case .multivariant(let playlist):
      let references =
        (playlist.variants + playlist.iFrameVariants).map(\.uri)
        + playlist.renditions.compactMap(\.uri)
      for reference in Set(references) {
        guard let url = URL(text: reference, relativeTo: source.url),
          WebURL(url.absoluteString) != nil
        else { continue }
        let resource = resource(at: url)
        let key = await cache.storedKey(for: resource)
        guard let manifest = await cache.storedManifest(for: key) else { continue }
        manifests += [resource] + [redirected(resource, to: manifest.url)].compactMap(\.self)
        plan = try await Self.plan(plan) { plan in
          let media = HLSMediaPlaylist(
            manifest.body, url: manifest.url, imported: playlist.variables)
          if let media { plan.append(media, at: manifest.url) }
        }
      }
    case .presentation(let presentation):
      plan = try await Self.plan(plan) { plan in
        var allowance = DASHPresentation.Allowance()
        for period in presentation.periods {
          for representation in period.sets.flatMap(\.representations) {
            // One whose segments are not known was never fetched.
            try? plan.append([representation], duration: period.duration, &allowance)
          }
        }
      }
    }
    return plan
  }
}

/// The entries that a download has pinned, without those that were pinned before.
final class NewPins: Sendable {
  struct Pin: Sendable, Hashable {
    var key: CacheKey
    /// Whether something was stored under the key before.
    var wasStored: Bool
  }

  private let pins = Mutex<[Pin]>([])

  func insert(_ pin: Pin) { pins.withLock { $0.append(pin) } }

  /// Returns the pins, the latest first, and forgets them.
  func takeAll() -> [Pin] {
    pins.withLock { pins in
      defer { pins = [] }
      return pins.reversed()
    }
  }
}
