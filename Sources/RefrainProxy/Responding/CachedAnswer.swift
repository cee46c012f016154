// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain
import RefrainStreams

/// Responds to GET and HEAD from the cache, which fetches missing bytes.
struct CachedAnswer: Sendable {
  let exchange: Exchange
  /// The requested range; everything for HEAD.
  let range: RequestedRange
  let resource: Resource
  let resourceKey: CacheKey
  /// That of the response: in a shared cache another one for each set of credentials.
  let key: CacheKey
  /// The conditions of the request.
  let terms: ReadTerms

  init(exchange: Exchange) {
    let service = exchange.service
    let policy = service.cachePolicy
    self.exchange = exchange
    range = exchange.isHEAD ? .whole : RequestedRange(exchange.fields["Range"])
    resource = exchange.resource
    resourceKey = service.cache.key(for: resource)
    key = policy.key(for: resource, exchange.fields, of: service.cache)
    var terms = ReadTerms()
    terms.directives = RequestDirectives(exchange.fields)
    terms.passesOnErrors = true
    terms.audience = service.rules.servesOnePlay ? .player : .client
    terms.hasCookies = policy.isPersonal(resource)
    terms.followsStaleDirectives = policy == .shared
    policy.relax(&terms, for: exchange.url, isPart: service.parts.contains(exchange.url))
    if key != resourceKey { terms.notBefore = service.invalidations.last(of: resourceKey) }
    if range == .whole || !service.parts.isGrowing(exchange.url) {
      terms.listing = service.listings.naming(of: resourceKey, in: resource.policy.group?.first)
    }
    self.terms = terms
  }

  var service: ProxyService { exchange.service }
  var delivery: Delivery { exchange.delivery }
  var isHEAD: Bool { exchange.isHEAD }

  private var policy: CachePolicy { service.cachePolicy }

  /// The key under which uncacheable responses are remembered. A response that is not stored because
  /// of cookies may be stored for requests without them.
  var memory: CacheKey {
    terms.hasCookies ? CacheKey(rawValue: "\(key.rawValue) cookies") : key
  }

  enum Outcome: Sendable {
    case sent
    /// The origin's response to this request is to be relayed, which does not come from the cache for
    /// this reason (RFC 9211 §2.2).
    ///
    /// `asksWhole`: whether to request all of the resource despite the client's Range.
    case relayed(CacheStatus.Forwarded, asksWhole: Bool = false)
    /// The origin's error response, received in place of the resource: no further request is made.
    ///
    /// `isJoined`: whether another client has received it, whose request this one shared.
    case received(ErrorResponse, isJoined: Bool)
  }

  func run() async throws -> Outcome {
    if let stored = await smallResponse() {
      try await RelayedAnswer(exchange: exchange, reason: .uriMiss)
        .pass(stored, key: resourceKey)
      return .sent
    }
    if let bypass = try bypass() { return bypass }
    let selected: SelectedResponse
    switch try await select(terms) {
    case .response(let response): selected = try await confirmed(response)
    case .other(.received(let response, let isJoined)):
      if let target = await newTarget(refusedWith: response.status) {
        try await exchange.redirect(to: target)
        return .sent
      }
      if policy == .shared, !isJoined {
        service.responses.insert(response, on: key, for: resource)
      }
      return .received(response, isJoined: isJoined)
    case .other(let outcome): return outcome
    }
    defer { selected.reader.cancel() }
    let (reader, known) = (selected.reader, selected.known)
    guard reader.isSelected(known, by: resource.headers) else { return .relayed(.varyMiss) }
    if policy == .shared, known.freshness.noStore {
      // The response to another request may be for that one only: it is not remembered.
      if reader.statistics.requests > 0 {
        service.uncacheable.insert(.notStorable, on: memory, at: .now)
      }
      guard try await isHanded(selected) else { return .relayed(.bypass) }
    } else if terms.hasCookies, !known.isForEverybody {
      // The response may be that of a concurrent request without cookies.
      return .relayed(.bypass)
    }
    confirmIfStale(selected)
    if let location = redirection(selected) {
      if selected.isManifest == true {
        try exchange.noteChain(naming: [VariantChains.hash(baseURL(of: known))])
        try await storeManifest(selected)
      }
      noteStream(of: selected)
      try await exchange.redirect(to: location)
      return .sent
    }
    if selected.isManifest == true, try await respondWithManifest(selected) { return .sent }
    if service.rules.fetchesWhole, !known.freshness.noStore {
      var whole = resource
      whole.key = reader.key
      service.fills.begin(whole)
    }
    // A manifest may have to be rewritten next time.
    if selected.isManifest == false { holdOpen(reader, known) }
    try await send(selected)
    return .sent
  }

  /// Returns a response without a resource that answered an earlier request, and may be reused; nil if
  /// the cache has received a resource since, for whomever.
  private func smallResponse() async -> SmallResponses.Stored? {
    guard policy == .shared, !terms.directives.noStore || terms.directives.onlyIfCached,
      let found = service.responses.response(
        on: key, for: resource, on: terms, changed: service.invalidations.last(of: resourceKey),
        at: service.cache.now.wall)
    else { return nil }
    if let date = await service.cache.lastConfirmation(of: resource, key: key),
      date > found.requestTime
    {
      service.responses.remove(key)
      return nil
    }
    return found
  }

  /// Returns why the cache is not asked; nil if it is.
  private func bypass() throws -> Outcome? {
    let uncacheable = service.uncacheable.note(on: memory, at: .now)
    if terms.directives.onlyIfCached {
      if uncacheable != nil { throw Self.notThere }
      return nil
    }
    if terms.directives.noStore { return .relayed(.request) }
    if policy.isSharedKey(resource) { return .relayed(.bypass) }
    if let uncacheable { return .relayed(.bypass, asksWhole: uncacheable == .encoded) }
    return service.cache.isArrivingForOthers(resource, key: key, on: terms)
      ? .relayed(.stale) : nil
  }

  /// Whether a response that is not stored was handed to this request, and brings all that the client
  /// wants: then no further request is made for it.
  private func isHanded(_ selected: SelectedResponse) async throws -> Bool {
    let reader = selected.reader
    guard reader.handedFields != nil else { return false }
    let length = selected.known.information.length
    func brings(_ range: ByteRange) -> Bool {
      reader.announcedEnd(from: range.lowerBound).map { $0 >= range.upperBound } ?? true
    }
    func bringsWhole() async throws -> Bool {
      guard length == nil, let end = reader.announcedEnd(from: 0) else {
        return brings(0..<(length ?? .max))
      }
      // All of it has come by now, and its end has shown the length.
      return try await reader.knownResponse().information.length.map { end >= $0 } ?? false
    }
    if selected.isManifest == true { return try await bringsWhole() }
    if isHEAD { return true }
    switch length.map({ range.selection(length: $0) }) ?? .whole {
    case .whole: return try await bringsWhole()
    case .single(let range): return brings(range)
    case .several: return false
    case .unsatisfiable: return true
    }
  }

  /// Waits until a manifest is stored to which the client is redirected: without a stored response
  /// the redirect could not be repeated offline, and the manifest would be sent as a whole each time.
  private func storeManifest(_ selected: SelectedResponse) async throws {
    guard !isHEAD, !selected.known.freshness.noStore else { return }
    _ = try await manifestBody(of: selected)
  }

  /// Notes that the manifest to which the client is redirected belongs to the stream of this one.
  private func noteStream(of selected: SelectedResponse) {
    guard selected.isManifest == true else { return }
    let stream = service.stream(of: exchange.url, recorded: selected.reader.group)
    service.parts.insert(redirected: baseURL(of: selected.known), in: stream)
  }
}

/// Serves a stale response at once while the origin is asked to confirm it, where it permits that to
/// shared caches (RFC 5861 §3).
extension CachedAnswer {
  /// The most bytes of a new version that are requested without a client that waits for them.
  private static let longestPart: Int64 = 1 << 20

  /// Begins to confirm a response that is stale, and is served without a request. The new version, if
  /// there is one, comes with the confirmation.
  func confirmIfStale(_ selected: SelectedResponse) {
    let (reader, known) = (selected.reader, selected.known)
    let now = service.cache.now.wall
    guard terms.followsStaleDirectives, reader.statistics.requests == 0, !service.cache.isOffline,
      !known.freshness.isFresh(at: now), known.freshness.isUsableWhileConfirmed(at: now),
      let length = known.information.length
    else { return }
    let wanted: ByteRange =
      switch isHEAD ? .whole : range.selection(length: length) {
      case .whole, .several, .unsatisfiable: 0..<length
      case .single(let range): range
      }
    // A request for missing bytes confirms the stored ones, too.
    guard isHEAD || wanted.isEmpty || RangeSet(wanted).isSubset(of: reader.spansBefore) else {
      return
    }
    var terms = terms
    (terms.directives, terms.followsStaleDirectives) = (RequestDirectives(), false)
    terms.directives.maxAge = 0
    var resource = resource
    resource.key = reader.key
    let part = wanted.lowerBound..<min(wanted.upperBound, wanted.lowerBound + Self.longestPart)
    service.fills.confirm(resource, on: terms, part)
  }
}
