// SPDX-License-Identifier: MIT
import Foundation

/// Pins all parts of a stream, and lifts their pins.
extension StreamDownload {
  /// - Throws: `MediaCacheError`, `.storage` if the stream does not fit beside what else is pinned.
  func checkRoom(for selection: Selection) async throws {
    let amounts = try await cache.storedAmounts(of: selection.plan.parts)
    let parts = selection.plan.parts.map { cache.key(for: Resource(url: $0.url)) }
    let manifests = selection.manifests.map { cache.key(for: $0) }
    try await Pinning(context: cache.context).checkRoom(
      for: resource.url.withoutUserInfo.absoluteString, parts + manifests,
      lengths: Self.length(of: selection, amounts))
  }

  /// Returns the sum of the lengths of parts: those known, and a share of the estimate for the
  /// others.
  static func length(
    of selection: Selection, _ amounts: [MediaCache.StoredAmount]
  ) -> Int64 {
    var known: Int64 = 0
    var unknownSeconds = 0.0
    for (part, amount) in zip(selection.plan.parts, amounts) {
      if let total = amount.total ?? part.range.map({ $0.upperBound - $0.lowerBound }) {
        known = known.addingSaturated(total)
      } else {
        unknownSeconds += part.seconds
      }
    }
    guard selection.plan.seconds > 0, let estimate = selection.estimatedBytes else { return known }
    let share = min(unknownSeconds / selection.plan.seconds, 1)
    return known.addingSaturated(Int64(Double(min(estimate, 1 << 60)) * share))
  }

  /// Stores a resource, and pins it if the download is pinned.
  func bring(
    _ resource: Resource, on terms: FreshnessRequirements = FreshnessRequirements(),
    _ range: ByteRange? = nil, _ progress: (@Sendable (MediaCache.PrefetchProgress) -> Void)? = nil
  ) async throws -> ContentInformation {
    guard isPinned else { return try await cache.prefetch(resource, on: terms, range, progress) }
    let reader = try await cache.open(resource, on: terms, fill: .onDemand, isBackground: true)
    let entry = reader.entry
    let isHeld = entry.tryHold()
    reader.cancel()
    // Closed without a pin, the entry would lose what the origin forbids to store.
    defer { if isHeld { entry.release() } }
    let information = try await cache.prefetch(resource, on: terms, range, progress)
    try await pin(resource)
    return information
  }

  /// Pins those of the parts that are stored.
  ///
  /// - Returns: the stored amounts of all parts; nothing of a part that is stored as a whole, but
  ///   not under the key that its request selects.
  func pinStored(
    _ parts: [StreamPlan.Part], _ amounts: [MediaCache.StoredAmount]
  ) async throws -> [MediaCache.StoredAmount] {
    let stored = parts.indices.filter { amounts[$0].isComplete }
    var missing: [Int] = []
    try await withThrowingTaskGroup(of: (Int, isPinned: Bool).self) { group in
      for (number, index) in stored.enumerated() {
        if number >= Self.width, let pinned = try await group.next(), !pinned.isPinned {
          missing.append(pinned.0)
        }
        let resource = resource(at: parts[index].url, isKey: parts[index].isKey)
        group.addTask { (index, try await cache.pin(cache.storedKey(for: resource))) }
      }
      for try await (index, isPinned) in group where !isPinned { missing.append(index) }
    }
    // Until it was pinned, a part could be evicted.
    var amounts = try await cache.storedAmounts(of: parts)
    for index in missing { amounts[index] = .init() }
    return amounts
  }

  /// Pins a resource that is stored.
  func pin(_ resource: Resource) async throws {
    guard try await cache.pin(cache.storedKey(for: resource)) else {
      throw MediaCacheError(
        .storage,
        "\(resource.url.withoutUserInfo.absoluteString) was removed before it could be pinned.",
        remedy: "Try again.")
    }
  }

  // MARK: Unpinning

  /// Lifts the pins of the first manifest, and of all that is stored of its stream in any quality
  /// and language, but for what other pinned streams need too. Makes no request.
  ///
  /// - Returns: the number of entries that were pinned.
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be read or written;
  ///   `CancellationError`.
  package func unpin() async throws -> Int {
    var count = 0
    for key in try await storedKeys() {
      try Task.checkCancellation()
      if try await cache.unpin(key) { count += 1 }
    }
    return count
  }

  /// Returns the keys of the first manifest and of its parts that no other pinned stream needs.
  private func storedKeys() async throws -> Set<CacheKey> {
    let own = await cache.storedKey(for: resource)
    guard try await cache.mayHaveParts(own) else { return [own] }
    let pinned = try await cache.entries().filter(\.isPinned)
    var keys = await keys(below: own, stream: cache.key(for: resource), pinned)
    for other in pinned where other.stream == nil && other.key != own {
      if keys.contains(other.key) { continue }
      try Task.checkCancellation()
      guard try await cache.mayHaveParts(other.key) else { continue }
      let others = await StreamDownload(Resource(url: other.url), into: cache)
        .keys(below: other.key, stream: other.key, pinned)
      // A stream that contains all of this one is the same one under another URL.
      if !others.contains(own) { keys.subtract(others) }
    }
    return keys.union([own])
  }

  /// Returns the keys of all that the stored manifests name, and of what was pinned as a part of
  /// the stream.
  ///
  /// - Parameters:
  ///   - own: of the first manifest.
  ///   - stream: by which the parts name it.
  private func keys(
    below own: CacheKey, stream: CacheKey, _ pinned: [EntrySummary]
  ) async -> Set<CacheKey> {
    var keys = Set(pinned.lazy.filter { $0.stream == stream }.map(\.key))
    guard let manifest = await cache.storedManifest(for: own),
      let source = try? await StreamSource(manifest)
    else { return keys }
    var resources = [redirected(resource, to: manifest.url)].compactMap(\.self)
    for part in await storedPlan(source, &resources).parts {
      resources.append(self.resource(at: part.url))
    }
    for resource in resources { keys.insert(await cache.storedKey(for: resource)) }
    return keys
  }

  /// Returns the parts that the stored manifests name.
  ///
  /// - Parameter manifests: receives the manifests besides the first.
  private func storedPlan(
    _ source: StreamSource, _ manifests: inout [Resource]
  ) async -> StreamPlan {
    var plan = StreamPlan()
    switch source.content {
    case .media(let playlist): plan.append(playlist, at: source.url)
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
        let media = HLSMediaPlaylist(
          manifest.body, url: manifest.url, imported: playlist.variables)
        if let media { plan.append(media, at: manifest.url) }
      }
    case .presentation(let presentation):
      var allowance = DASHPresentation.Allowance()
      for period in presentation.periods {
        for representation in period.sets.flatMap(\.representations) {
          // One whose segments are not known was never fetched.
          try? plan.append([representation], duration: period.duration, &allowance)
        }
      }
    }
    return plan
  }
}
