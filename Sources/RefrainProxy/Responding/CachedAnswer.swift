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

  init(exchange: Exchange) {
    self.exchange = exchange
    range =
      exchange.request.head.isHEAD ? .none : RequestedRange(exchange.fields["Range"])
  }

  var service: ProxyService { exchange.service }
  var writer: ResponseWriter { exchange.writer }
  var isHEAD: Bool { exchange.request.head.isHEAD }

  func run() async throws {
    let directives = RequestDirectives(exchange.fields)
    let resource = resource
    let key = key(for: resource)
    var terms = ReadTerms()
    (terms.directives, terms.passesOnErrors) = (directives, true)
    terms.audience = service.configuration.servesOnePlay ? .player : .client
    terms.hasCookies = isPersonal(resource)
    terms.followsStaleDirectives = service.cache.isShared
    if !service.cache.isShared { relax(&terms) }
    if !isGrowing {
      terms.listing = service.listings.naming(
        of: service.cache.key(for: resource), in: resource.policy.group?.first)
    }
    // A response not stored because of cookies may be stored for requests without them.
    let memory = terms.hasCookies ? CacheKey(rawValue: "\(key.rawValue) cookies") : key
    if key != service.cache.key(for: resource) {
      terms.notBefore = service.invalidations.last(of: service.cache.key(for: resource))
    }
    if service.cache.isShared, !directives.noStore || directives.onlyIfCached,
      let stored = service.responses.response(
        on: key, for: resource.headers, on: terms,
        changed: service.invalidations.last(of: service.cache.key(for: resource)),
        at: service.cache.now.wall)
    {
      return try await RelayedAnswer(exchange: exchange, reason: .uriMiss).pass(stored)
    }
    let uncacheable = service.uncacheable.note(on: memory, at: .now)
    if directives.onlyIfCached {
      if uncacheable != nil { throw Self.notThere }
    } else {
      if directives.noStore { return try await relay(.request) }
      if isSharedKey(resource) { return try await relay(.bypass) }
      if let uncacheable {
        return try await relay(.bypass, asksWhole: uncacheable == .encoded)
      }
      if service.cache.isArrivingForOthers(resource, key: key, on: terms) {
        return try await relay(.stale)
      }
    }
    let selected: SelectedResponse
    switch try await select(resource, key, terms, memory) {
    case .response(let response):
      selected = try await confirmed(response, terms) {
        try await select(resource, key, $0, memory)
      }
    case .relayed(let reason, let asksWhole):
      return try await relay(reason, asksWhole: asksWhole)
    case .refused(let response, let isJoined):
      if let target = await newTarget(refusedWith: response.status) {
        return try await redirect(to: target)
      }
      if service.cache.isShared, !isJoined {
        service.responses.insert(response, on: key, for: resource.headers)
      }
      return try await RelayedAnswer(exchange: exchange, reason: .uriMiss)
        .pass(response, isJoined: isJoined)
    }
    defer { selected.reader.cancel() }
    let (reader, known) = (selected.reader, selected.known)
    guard reader.isSelected(known, by: resource.headers) else { return try await relay(.varyMiss) }
    if service.cache.isShared, known.freshness.noStore {
      // The response to another request may be for that one only: it is not remembered.
      if reader.statistics.requests > 0 {
        service.uncacheable.insert(.notStorable, on: memory, at: .now)
      }
      guard try await isHanded(selected) else { return try await relay(.bypass) }
    } else if terms.hasCookies, !known.isForEverybody {
      // The response may be that of a concurrent request without cookies.
      return try await relay(.bypass)
    }
    confirmIfStale(selected, terms)
    if let location = redirection(selected) {
      if selected.isManifest == true {
        try exchange.noteChain(naming: [VariantChains.hash(baseURL(of: known))])
        try await storeManifest(selected)
      }
      noteStream(of: selected)
      return try await redirect(to: location)
    }
    if selected.isManifest == true, try await ManifestAnswer(self, selected).run() { return }
    if service.configuration.fetchesWhole, !known.freshness.noStore {
      var whole = resource
      whole.key = reader.key
      service.fills.begin(whole)
    }
    // A manifest may have to be rewritten next time.
    if selected.isManifest == false { holdOpen(reader, known) }
    try await send(selected)
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

  /// The resource requested from the cache.
  var resource: Resource {
    var resource = Resource(
      url: exchange.url,
      headers: service.originFields.forCache(
        exchange.fields, sendsOwn: exchange.sendsOwnFields))
    resource.filter = service.routes.filter(for: exchange.url)
    resource.observer = exchange.observer
    resource.policy = service.policy(of: exchange.url)
    return resource
  }

  /// Whether the resource decrypts segments, and the cache serves several people: it is not stored.
  private func isSharedKey(_ resource: Resource) -> Bool {
    service.cache.isShared && resource.policy.group?.isSecret == true
  }

  /// Waits until a manifest is stored to which the client is redirected: without a stored response
  /// the redirect could not be repeated offline, and the manifest would be sent as a whole each time.
  private func storeManifest(_ selected: SelectedResponse) async throws {
    guard !isHEAD, !selected.known.freshness.noStore else { return }
    _ = try await ManifestAnswer(self, selected).body()
  }

  /// Notes that the manifest to which the client is redirected belongs to the stream of this one.
  private func noteStream(of selected: SelectedResponse) {
    guard selected.isManifest == true else { return }
    let stream = service.stream(of: exchange.url, recorded: selected.reader.group)
    service.parts.insert(redirected: baseURL(of: selected.known), in: stream)
  }

  /// Returns the key of the response: separate for each set of credentials in a shared cache
  /// (RFC 9111 §3.5).
  func key(for resource: Resource) -> CacheKey {
    let key = service.cache.key(for: resource)
    guard service.cache.isShared else { return key }
    return Credentials.key(key, for: Resource(url: exchange.url, headers: exchange.fields))
  }

  /// Whether the response may be personal: the request has cookies, and the cache serves several
  /// people.
  func isPersonal(_ resource: Resource) -> Bool {
    service.cache.isShared && resource.headers["Cookie"] != nil
  }

  /// Relaxes the conditions of a request for a manifest or a part of a stream.
  ///
  /// VLC sends `no-cache` with all of them, which states a preference (RFC 9111 §5.2.1.4). Many
  /// origins send `no-cache` with every playlist. RFC 9111 §4.2.4 forbids to use such a response while
  /// the origin is unavailable; a private cache does so all the same, so that a stored stream plays.
  /// A live playlist is used for a short time only (`UpdatePace.longestUnconfirmedUse`).
  private func relax(_ terms: inout ReadTerms) {
    if Manifest.isNamed(mimeType: nil, url: exchange.url) {
      terms.acceptsForbidden = true
      guard terms.directives.noCache else { return }
      // A stored manifest is used if the origin cannot be reached.
      terms.directives.noCache = false
      terms.directives.maxAge = 0
    } else if service.parts.contains(exchange.url) {
      terms.acceptsForbidden = true
      terms.directives.noCache = false
      terms.directives.maxStale = .max
    }
  }

  func relay(_ reason: CacheStatus.Forwarded, asksWhole: Bool = false) async throws {
    var answer = RelayedAnswer(exchange: exchange, reason: reason)
    answer.asksWhole = asksWhole
    try await answer.run()
  }
}

/// Why a response is not stored.
enum Uncacheable: Sendable {
  /// The origin forbids it.
  case notStorable
  /// It has a content coding, of which no ranges are requested.
  case encoded
}
