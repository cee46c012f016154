// SPDX-License-Identifier: MIT
import Foundation

/// Signed URLs: all signatures of a URL share one entry, as long as the origin confirms for each of
/// them that the bytes are the same.
///
/// An entry knows the signatures under which it was stored or confirmed. With another one, nothing
/// is used, and nothing requested for the entry, before `SignatureConfirmation`. If the content
/// differs, or its validator is not strong, the URL has an entry of its own under its whole key;
/// that entry is found from then on, and is all that has to be remembered. While the origin cannot
/// be asked, the bytes of another signature are used only if both differ in parameters that never
/// select content (`URLSignature.differsInRightsAlone`).
extension MediaCache {
  /// Returns the signature of a resource's URL, or the lack of one. Nil if signatures do not
  /// matter: for an explicit key, under the user's own rule, and in a shared cache, where a stored
  /// response would outlive the rights of its signature.
  func signature(of resource: Resource) -> URLSignature? {
    let configuration = context.configuration
    guard resource.key == nil, !configuration.isShared, !configuration.hasOwnKeys else {
      return nil
    }
    return URLSignature(of: resource.url)
  }

  /// Ensures that an entry may serve and fetch for the signature of a resource.
  ///
  /// - Parameters:
  ///   - resource: replaced if the user's hook has renewed it.
  ///   - terms: adjusted if the origin has confirmed the entry, or cannot be asked.
  /// - Returns: the key of the entry to use instead; nil if this one may.
  /// - Throws: `MediaCacheError`, if the origin refuses the URL; `CancellationError`.
  func settleSignature(
    _ entry: Entry, _ resource: inout Resource, _ terms: inout FreshnessRequirements
  ) async throws -> CacheKey? {
    guard let signature = terms.signature, !terms.waivesSignature else { return nil }
    let generation = entry.current
    let isConfirmed = generation?.withState { state -> Bool? in
      state.known == nil ? nil : state.isConfirmed(for: signature)
    }
    if isConfirmed == true { return nil }
    guard let generation, isConfirmed == false else {
      return signature.isSigned ? await storedOwn(signature, terms.credentials) : nil
    }
    if let own = await storedOwn(signature, terms.credentials) { return own }
    let isAssumed = generation.withState { $0.isAssumed(for: signature) }
    if context.isOffline {
      terms.waivesSignature = isAssumed
      return isAssumed ? nil : signature.ownKey
    }
    if terms.isOnlyStored {
      throw MediaCacheError(
        .offline, "The stored response was received under another signature of the URL.")
    }
    // Without a strong validator, the request can only show whether the origin is reachable: not
    // worth it for a part.
    let isWorthAsking = generation.withState { $0.validator.ifRange != nil || $0.isComplete }
    guard isWorthAsking else { return signature.ownKey }
    let confirmation = SignatureConfirmation(
      entry: entry, generation: generation, resource: resource,
      passesOnErrors: terms.passesOnErrors)
    if isAssumed, confirmation.isInVain {
      terms.waivesSignature = true
      return nil
    }
    switch try await confirmation.ask() {
    case .same(let asked):
      resource = resource.replaced(by: asked)
      terms.isJustConfirmed = true
      return nil
    case .different: return signature.ownKey
    case .unanswered:
      terms.waivesSignature = isAssumed
      return isAssumed ? nil : signature.ownKey
    case .failed(let error): throw error
    }
  }

  /// Returns the key of the entry stored for this signature alone; nil if there is none.
  private func storedOwn(
    _ signature: URLSignature, _ credentials: String? = nil
  ) async -> CacheKey? {
    if await storedSelection(signature.ownKey) != nil { return signature.ownKey }
    return await ownStoredKey(signature.ownKey, credentials) == nil ? nil : signature.ownKey
  }

  // MARK: Without a request

  /// Returns the key of the resource's entries: `key(for:)`, or that of content which the signature
  /// of its URL alone selects, or may select. Makes no request.
  package func entryKey(for resource: Resource) async -> CacheKey {
    guard let signature = signature(of: resource) else { return key(for: resource) }
    let stored = await storedSignatures(signature.key)
    // An unsigned URL has a key of its own only while the common one is taken.
    if stored?.contains(signature.text) ?? !signature.isSigned { return signature.key }
    if let own = await storedOwn(signature) { return own }
    guard let stored, !signature.differsInRightsAlone(from: stored) else { return signature.key }
    return signature.ownKey
  }

  /// Returns the keys under which a resource may be stored, the first to look under first.
  package func possibleKeys(for resource: Resource) -> [CacheKey] {
    guard let signature = signature(of: resource) else { return [key(for: resource)] }
    return signature.isSigned
      ? [signature.ownKey, signature.key] : [signature.key, signature.ownKey]
  }

  /// Whether the stored entry of a resource may be used for the signature of its URL without asking
  /// the origin.
  func isSettled(_ resource: Resource) async -> Bool {
    guard !context.isOffline, let signature = signature(of: resource),
      await entryKey(for: resource) == signature.key,
      let signatures = await storedSignatures(signature.key)
    else { return true }
    return signatures.contains(signature.text)
  }

  /// Returns the signatures under which an entry was stored or confirmed; nil if nothing is stored.
  private func storedSignatures(_ key: CacheKey) async -> [String]? {
    let inspector = CacheInspector(context: context)
    // One that is being closed is about to record its newest URL.
    _ = await context.table.settledEntry(for: key)
    if let open = inspector.openSignatures(for: key) { return open }
    return await IOThreads.background.run { inspector.recordedSignatures(for: key) }
  }
}

extension CacheInspector {
  /// Whether an entry stored under the key of a signature counts as stored for that signature.
  func isStored(_ entry: EntrySummary, for signature: URLSignature?) -> Bool {
    guard let signature, entry.key == signature.key,
      URLSignature.text(of: entry.url.absoluteString) != signature.text
    else { return true }
    let signatures = openSignatures(for: entry.key) ?? recordedSignatures(for: entry.key)
    return signature.differsInRightsAlone(from: signatures ?? [])
  }

  fileprivate func openSignatures(for key: CacheKey) -> [String]? {
    context.table.openEntry(for: key)?.current?.withState { state in
      state.known == nil ? nil : state.representation.signatures
    }
  }

  fileprivate func recordedSignatures(for key: CacheKey) -> [String]? {
    let directory = context.budget.entryDirectory(named: KeyHash.name(of: key))
    guard let (record, _) = try? directory.loadRecord(), record.key == key.rawValue else {
      return nil
    }
    return [URLSignature.text(of: record.url)]
      + context.recentSignatures.signatures(of: key, generation: record.generation)
  }
}
