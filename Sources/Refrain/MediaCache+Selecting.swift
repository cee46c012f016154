// SPDX-License-Identifier: MIT
public import Foundation

/// Selects the entry that answers a request: the one of the representation that the request selects
/// (RFC 9111 §4.1), which the origin gave to these credentials or confirmed for them.
extension MediaCache {
  /// Returns a reader for one request, on its terms.
  ///
  /// - Parameter key: the key of the resource, common to its representations; nil: the resource's
  ///   own.
  package func open(
    _ resource: Resource, on terms: FreshnessRequirements, fill: FillPolicy? = nil,
    key: CacheKey? = nil,
    isBackground: Bool = false
  ) async throws -> MediaReader {
    try Self.check(resource.url)
    var (resource, terms) = (completed(resource), terms)
    let signature = signature(of: resource)
    var key = key ?? signature?.key ?? self.key(for: resource)
    if signature?.key == key { terms.signature = signature }
    // An explicit key names one resource, whoever asks. With trusted bytes, or offline, the origin
    // is not asked about credentials either.
    let configuration = context.configuration
    if resource.key == nil, !configuration.trustStored, !context.isOffline {
      terms.credentials = Credentials.of(resource)
    }
    for _ in 0..<Self.longestChain {
      let entry = try await entry(for: key, resource, terms.signature)
      do {
        if let own = try await settleSignature(entry, &resource, &terms) {
          entry.release()
          (key, terms.signature) = (own, nil)
          terms.isJustConfirmed = false
          continue
        }
      } catch {
        entry.release()
        throw error
      }
      let reader = try reader(of: entry, on: terms, fill: fill, isBackground: isBackground)
      do {
        switch try await choose(entry, reader, resource, key, terms) {
        case .this(let asked):
          // Its own URL is asked for what is missing, unless this one was confirmed.
          if !terms.waivesSignature || entry.isConfirmed(for: terms.signature) {
            entry.renew(asked)
          }
          return reader
        case .again: (terms.waivesSignature, terms.isJustConfirmed) = (false, false)
        case .unbound:
          // The origin cannot be asked about the credentials, and the stored bytes need none.
          terms.credentials = nil
        case .other(let next):
          let invalidatedAt = reader.generation.withState { $0.representation.invalidatedAt }
          terms.notBefore = [terms.notBefore, invalidatedAt].compactMap { $0 }.max()
          terms.isJustConfirmed = false
          if terms.signature?.isOwn(next) == true { terms.signature = nil }
          key = next
        }
        reader.cancel()
      } catch {
        reader.cancel()
        throw error
      }
    }
    throw MediaCacheError(
      .invalidResponse, "The origin's Vary names other request headers in each response.",
      remedy: "Correct the Vary header at the origin.")
  }

  private enum Choice {
    /// This entry serves the request; later requests to the origin use this resource.
    case this(Resource)
    /// The resource has become known under another signature of its URL.
    case again
    case unbound
    case other(CacheKey)
  }

  private func choose(
    _ entry: Entry, _ reader: MediaReader, _ resource: Resource, _ key: CacheKey,
    _ terms: FreshnessRequirements
  ) async throws -> Choice {
    func look() -> (known: StoredResponse, isConfirmed: Bool)? {
      entry.current?.withState { state in
        state.known.map { ($0, state.isConfirmed(on: terms)) }
      }
    }
    var stored = look()
    if stored == nil {
      if let own = await ownStoredKey(key, terms.credentials) { return .other(own) }
      if Self.mayDiffer(entry, resource, terms) {
        let next = try await awaitOthers(entry, reader, resource, key, terms)
        if let next { return next }
        stored = look()
      }
    }
    guard let (known, isConfirmed) = stored else { return .this(resource) }
    if !isConfirmed { return .again }
    if terms.hasCookies, !known.isForEverybody { throw FreshnessRequirements.personal }
    if !terms.namesEntry, let other = known.otherKey(than: key, for: resource.headers) {
      return .other(other)
    }
    guard !known.selection.isGranted(to: terms.credentials), let credentials = terms.credentials,
      let generation = entry.current
    else { return .this(resource) }
    let own = Selection.key(key, for: credentials)
    if await storedSelection(own) != nil { return .other(own) }
    if terms.isOnlyStored {
      throw MediaCacheError(
        .offline, "The stored response was received with other credentials.")
    }
    let admission = Admission(
      entry: entry, generation: generation, resource: resource,
      passesOnErrors: terms.passesOnErrors)
    switch try await admission.ask() {
    case .granted(let asked): return .this(asked)
    case .different: return .other(own)
    case .failed(let error):
      // Bytes that need no credentials play as they would without any.
      guard error.code == .unreachable,
        known.selection.grants?.contains(Credentials.none) == true
      else { throw error }
      return .unbound
    }
  }

  /// Returns the key of the entry stored for these credentials alone. Looked up before any request:
  /// the entry may have been stored while requests with other credentials were refused.
  ///
  /// - Returns: nil if nothing is stored for them.
  func ownStoredKey(_ key: CacheKey, _ credentials: String?) async -> CacheKey? {
    guard let credentials, credentials != Credentials.none else { return nil }
    let own = Selection.key(key, for: credentials)
    return await storedSelection(own) == nil ? nil : own
  }

  /// Waits, while nothing is known of the resource, for another request whose response may differ.
  /// That response is never given to this request if the credentials differ.
  ///
  /// - Returns: nil once the resource is known.
  private func awaitOthers(
    _ entry: Entry, _ reader: MediaReader, _ resource: Resource, _ key: CacheKey,
    _ terms: FreshnessRequirements
  ) async throws -> Choice? {
    let own =
      Self.ownSignature(entry, terms)?.ownKey
      ?? terms.credentials.flatMap { credentials in
        entry.credentials(behind: entry.resource).contains(credentials)
          ? nil : Selection.key(key, for: credentials)
      }
    let (generation, id) = try reader.current()
    let others = generation.withState { state in
      let others = state.otherReaders(than: id)
      // Before another reader can attach and take the previous request for its own.
      if others == .none { entry.renew(resource) }
      return others
    }
    switch others {
    case .none: return .this(resource)
    case .refused: if let own { return .other(own) }
    case .asking: break
    }
    do {
      _ = try await reader.knownResponse()
      return nil
    } catch let error as MediaCacheError where error != GenerationState.closed {
      // The request failed, or its response is withheld from this reader.
      let (generation, id) = try reader.current()
      let isAlone = generation.withState { state -> Bool? in
        guard state.known == nil else { return nil }
        let isAlone = state.otherReaders(than: id) == .none
        if isAlone { entry.renew(resource) }
        return isAlone
      }
      guard let isAlone else { return nil }
      guard !isAlone, let own else { return .this(resource) }
      return .other(own)
    }
  }

  /// Whether the response to an entry's request may differ from that to another one.
  private static func mayDiffer(
    _ entry: Entry, _ other: Resource, _ terms: FreshnessRequirements
  ) -> Bool {
    let one = entry.resource
    return one.headers != other.headers
      || (terms.credentials != nil && Credentials.of(one) != terms.credentials)
      || ownSignature(entry, terms) != nil
  }

  /// Returns the signature of a request if it is not that of an entry's request.
  private static func ownSignature(
    _ entry: Entry, _ terms: FreshnessRequirements
  ) -> URLSignature? {
    guard let signature = terms.signature, !terms.waivesSignature,
      !entry.signatures(behind: entry.resource).contains(signature.text)
    else { return nil }
    return signature
  }

  /// Returns the resource with what its policy does not set.
  func completed(_ resource: Resource) -> Resource {
    var resource = resource
    resource.policy = resource.policy.completed(by: context.configuration.policy)
    return resource
  }

  /// - Parameter signature: see `Entry`.
  func entry(
    for key: CacheKey, _ resource: Resource, _ signature: URLSignature? = nil
  ) async throws -> Entry {
    let context = context
    return try await context.table.entry(for: key) {
      try await context.slots.take { _ = context.reclaimableLeases.releaseAll() }
    } open: { slot in
      Entry(key: key, resource: resource, signature: signature, context: context, slot: slot)
    }
  }

  /// Creates a reader, which takes over the hold on the entry.
  private func reader(
    of entry: Entry, on terms: FreshnessRequirements, fill: FillPolicy?, isBackground: Bool
  ) throws -> MediaReader {
    do {
      return try MediaReader(
        entry: entry, configuration: context.configuration,
        fill: fill ?? context.configuration.fill, isBackground: isBackground, terms: terms)
    } catch {
      entry.release()
      throw error
    }
  }

  // MARK: Without a request

  /// Returns the key under which the resource is stored: that of the representation that its
  /// headers select, for its credentials. Makes no request. If nothing is stored, returns the
  /// resource's own key.
  public func storedKey(for resource: Resource) async -> CacheKey {
    var key = await entryKey(for: resource)
    let credentials = resource.key == nil ? Credentials.of(resource) : nil
    for _ in 0..<Self.longestChain {
      guard let selection = await storedSelection(key) else {
        return await ownStoredKey(key, credentials) ?? key
      }
      if let other = selection.otherKey(than: key, for: resource.headers) {
        key = other
      } else if let credentials, !selection.isGranted(to: credentials) {
        let own = Selection.key(key, for: credentials)
        return await storedSelection(own) == nil ? key : own
      } else {
        return key
      }
    }
    return key
  }

  func storedSelection(_ key: CacheKey) async -> Selection? {
    if let known = context.table.openEntry(for: key)?.current?.withState({ $0.known }) {
      return known.selection
    }
    let context = context
    return await IOThreads.background.run { CacheInspector(context: context).selection(for: key) }
  }

  /// Removes the entries of all representations of the resource; see `remove(_:)`.
  @discardableResult
  public func remove(_ resource: Resource) async throws -> Int64? {
    try await remove(entryKey(for: resource))
  }

  /// Returns `completeFile(for:)` for the representation that the resource selects.
  public func completeFile(for resource: Resource) async throws -> URL? {
    try await completeFile(for: storedKey(for: resource))
  }

  /// Returns `entry(for:)` for the representation that the resource selects.
  public func entry(for resource: Resource) async throws -> EntrySummary? {
    try await entry(for: storedKey(for: resource))
  }
}
