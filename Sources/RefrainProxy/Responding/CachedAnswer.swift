// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// Responds to GET and HEAD from the cache, which fetches missing bytes; or with what the origin sends,
/// unchanged and not stored. An object: each function that a task awaits keeps its copies of a value
/// in the task's memory.
final class CachedAnswer: Sendable {
  let exchange: Exchange
  /// Nil for all, and for HEAD.
  let range: RequestedRange?
  let conditions: Preconditions?
  let resource: Resource
  private let resourceKey: CacheKey
  let key: CacheKey
  let terms: ReadTerms
  /// Whether the client requests a range of a segment that the origin may still write.
  let isGrowing: Bool

  init(_ exchange: Exchange) {
    let (service, url) = (exchange.service, exchange.url)
    self.exchange = exchange
    range = RequestedRange(exchange.isHEAD ? nil : exchange.fields["Range"])
    let isConditional = exchange.delivery.request.head.isConditional
    conditions = isConditional ? Preconditions(fields: exchange.fields) : nil
    resource = exchange.resource
    resourceKey = service.cache.key(for: resource)
    let asked = Resource(url: url, headers: exchange.fields)
    key = service.sharing.key(resourceKey, for: asked)
    isGrowing = range != nil && service.parts.isGrowing(url)
    var terms = ReadTerms()
    terms.directives = RequestDirectives(exchange.fields)
    terms.passesOnErrors = true
    terms.onInterim = exchange.onInterim
    terms.audience = service.rules.servesOnePlay ? .player : .client
    service.sharing.complete(
      &terms, of: resource, resourceKey, on: key, isPart: service.parts.contains(url))
    if !isGrowing {
      terms.listing = service.listings.naming(of: resourceKey, in: resource.policy.group?.first)
    }
    self.terms = terms
  }

  var service: ProxyService { exchange.service }
  var delivery: Delivery { exchange.delivery }
  var isHEAD: Bool { exchange.isHEAD }

  /// A response that is not stored because of cookies may be stored for requests without them.
  private var memory: CacheKey {
    terms.hasCookies ? CacheKey(rawValue: "\(key.rawValue) cookies") : key
  }

  /// Thrown where the response is another one than the cache's.
  enum Elsewhere: Error {
    /// The origin's response is to be relayed, for this reason (RFC 9211 §2.2).
    case relayed(CacheStatus.Forwarded)
    /// The origin's response, which is not stored: no further request is made. `isJoined`: another
    /// client has received it, whose request this one shared.
    case received(HandedResponse, PassedResponse, isJoined: Bool)
  }

  func run() async throws {
    do {
      try await respond()
    } catch Elsewhere.relayed(let reason) {
      try await exchange.relay(reason)
    } catch Elsewhere.received(let response, let passed, let isJoined) {
      if !isJoined { service.sharing.memory?.insert(response, on: key, for: resource) }
      try await exchange.pass(response, as: passed, isJoined: isJoined)
    }
  }

  private func respond() async throws {
    if let stored = remembered { return try await exchange.pass(stored) }
    try checkIsForCache()
    let selected = try await confirmed(try await select(terms))
    defer { selected.reader.cancel() }
    try checkIsForClient(selected)
    confirmIfStale(selected)
    if let location = redirection(selected) {
      if selected.isManifest == true { try await noteRedirected(selected) }
      return try await exchange.redirect(to: location)
    }
    if selected.isManifest == true, try await respondWithManifest(selected) { return }
    fillIfWanted(selected)
    // A manifest may have to be rewritten next time.
    if selected.isManifest == false { holdOpen(selected) }
    try await send(selected)
  }

  // MARK: What the cache may serve

  private var remembered: SharedMemory.Response? {
    @inline(never)
    get {
      guard !terms.directives.noStore || terms.directives.onlyIfCached else { return nil }
      return service.sharing.memory?.response(
        on: key, for: resource, resourceKey, on: terms, at: service.cache.now.wall)
    }
  }

  /// - Throws: `Elsewhere` if the cache is not asked.
  @inline(never)
  private func checkIsForCache() throws {
    let isUncacheable = service.isUncacheable(memory)
    if terms.directives.onlyIfCached {
      guard !isUncacheable else { throw Self.notThere }
    } else if terms.directives.noStore {
      throw Elsewhere.relayed(.request)
    } else if isUncacheable || service.sharing.bypassesCache(resource) {
      throw Elsewhere.relayed(.bypass)
    } else if service.cache.isArrivingForOthers(key, on: terms) {
      throw Elsewhere.relayed(.stale)
    }
  }

  /// Decides what becomes of an error of the cache, and notes what it shows of the resource.
  func outcome(of error: MediaCacheError, _ terms: ReadTerms) throws(HTTPError) -> any Error {
    if terms.directives.onlyIfCached, error.isPersonal || error.code == .offline {
      return Self.notThere
    }
    if error.isEncoded || error.isPersonal {
      // An encoded one the client may be able to decode.
      service.noteUncacheable(memory)
      return try received(with: error) ?? .relayed(error.isPersonal ? .bypass : .uriMiss)
    }
    // This proxy's own, behind a redirect: relayed, that would only send the client round as well.
    if error.status == 508, error.response?.status != 508 { return HTTPError.loop }
    guard error.status != nil,
      error.code == .status || error.code == .redirect || error.response != nil
    else { return error }
    // The client should receive the origin's own error, or redirect that leads nowhere.
    if let received = try received(with: error) { return received }
    return Elsewhere.relayed(.uriMiss)
  }

  /// Returns nil if this client may not receive the response, or it brings not all that it wants.
  private func received(with error: MediaCacheError) throws(HTTPError) -> Elsewhere? {
    guard let response = error.response,
      let isJoined = response.take(for: resource, isShared: service.sharing.isShared),
      let passed = try passed(response)
    else { return nil }
    return .received(response, passed, isJoined: isJoined)
  }

  /// A 206 brings the range that the cache has requested, which need not be the client's.
  private func passed(_ response: HandedResponse) throws(HTTPError) -> PassedResponse? {
    var passed = PassedResponse(status: response.status, headers: response.headers)
    let isPart = response.status == 206
    guard isPart || WholeResponse.statuses.contains(response.status),
      response.headers.contentCodings.isEmpty
    else { return passed }
    let content = isPart ? response.headers.contentRange : nil
    let length = isPart ? content?.total : response.headers.bodyLength
    let all = 0..<(length ?? .max)
    let brought = content?.range ?? all
    if isPart { passed.status = 200 }
    let validator = Validator(headers: response.headers)
    let outcome = try conditions?.evaluate(validator, hasRange: range != nil) ?? .proceed
    let takesAll = outcome != .proceed || exchange.mayBeManifest(passed) == true
    let part = takesAll ? nil : length.flatMap { range?.resolved(length: $0) }
    if outcome == .notModified {
      passed.status = 304
    } else if !isHEAD {
      guard brought.clamped(to: part ?? all) == part ?? all else { return nil }
      if brought != all { passed.status = 206 }
    }
    passed.headers["Transfer-Encoding"] = nil
    passed.headers["Content-Length"] = length.map { String($0) }
    passed.headers["Content-Range"] = part.map {
      "bytes \($0.lowerBound)-\($0.upperBound - 1)/\(all.upperBound)"
    }
    let start = brought.lowerBound
    passed.part = part.map { ($0.lowerBound - start)..<($0.upperBound - start) }
    return passed
  }

  static let notThere = HTTPError(
    504, "The resource is not fully cached, and only-if-cached was requested.")

  /// - Throws: `Elsewhere` if the selected response is for other clients.
  @inline(never)
  private func checkIsForClient(_ selected: SelectedResponse) throws {
    let (reader, known) = (selected.reader, selected.known)
    guard known.otherKey(than: reader.key, for: resource.headers) == nil else {
      throw Elsewhere.relayed(.varyMiss)
    }
    guard service.sharing.mayReceive(known, hasCookies: terms.hasCookies) else {
      // A response to another request may be for that one only: it is not remembered.
      if known.freshness.noStore, reader.statistics.requests > 0 {
        service.noteUncacheable(memory)
      }
      throw Elsewhere.relayed(.bypass)
    }
  }

  func wanted(of length: Int64?) -> ByteRange {
    if isHEAD { return 0..<0 }
    guard let range, let length else { return 0..<(length ?? .max) }
    return range.resolved(length: length) ?? 0..<0
  }

  var bounds: (start: Int64, end: Int64?) { range?.bounds ?? (0, .max) }

  /// Begins to confirm a stale response served without a request, where the origin permits that to
  /// shared caches (RFC 5861 §3). Up to 1 MiB of a new version comes with that.
  @inline(never)
  private func confirmIfStale(_ selected: SelectedResponse) {
    let (reader, freshness) = (selected.reader, selected.known.freshness)
    let now = service.cache.now.wall
    guard terms.followsStaleDirectives, reader.statistics.requests == 0, !service.cache.isOffline,
      !freshness.isFresh(at: now), freshness.isUsableWhileConfirmed(at: now),
      let length = selected.length
    else { return }
    let wanted = wanted(of: length)
    // A request for missing bytes confirms the stored ones, too.
    guard reader.spansBefore.byteCount(in: wanted) == wanted.count else { return }
    var terms = terms
    (terms.directives, terms.followsStaleDirectives) = (RequestDirectives(), false)
    terms.directives.maxAge = 0
    var resource = resource
    resource.key = reader.key
    let end = min(max(wanted.upperBound, 1), wanted.lowerBound + (1 << 20))
    service.fills.confirm(resource, on: terms, wanted.lowerBound..<end)
  }

  @inline(never)
  private func fillIfWanted(_ selected: SelectedResponse) {
    guard service.rules.fetchesWhole, !selected.known.freshness.noStore else { return }
    var whole = resource
    whole.key = selected.reader.key
    service.fills.begin(whole)
  }

  /// Further requests for the entry are then served at once.
  @inline(never)
  private func holdOpen(_ selected: SelectedResponse) {
    let (reader, known) = (selected.reader, selected.known)
    let target = delivery.request.head.target
    guard !known.varies, !known.freshness.noStore, reader.isStoring, target.hasPrefix("/"),
      exchange.fields["Authorization"] == nil,
      service.hits.resource(for: target) == nil,
      let lease = service.cache.hold(reader)
    else { return }
    service.hits.insert(
      CachedHit(
        lease: lease, urlText: exchange.url.absoluteString, fields: service.fields,
        sharing: service.sharing
      ) { [listings = service.listings, resourceKey, stream = resource.policy.group?.first] in
        listings.naming(of: resourceKey, in: stream)
      }, for: target)
  }

  // MARK: Redirects

  /// Returns where to redirect the client. A playlist found at another URL is redirected, because
  /// its references are relative to that URL; so is a page whose own URL players need.
  @inline(never)
  private func redirection(_ selected: SelectedResponse) -> String? {
    // Scripts send playlists and segments as `text/html` too, if they set no type.
    let isPage =
      selected.known.information.mimeType == "text/html" && selected.isManifest != true
      && !service.parts.contains(exchange.url)
    if service.rules.redirectsPages, isPage { return exchange.url.absoluteString }
    guard service.rules.origin == nil, selected.isManifest == true else { return nil }
    let final = baseURL(of: selected.known)
    guard final != exchange.url else { return nil }
    // Credentials stay with the host to which the client has sent them.
    let session = exchange.session ?? exchange.session()
    return service.routes.target(for: final, from: exchange.url, session: session?.id)
  }

  /// Notes that the manifest to which the client is redirected belongs to the stream of this one.
  private func noteRedirected(_ selected: SelectedResponse) async throws {
    let url = baseURL(of: selected.known)
    // Without a stored response the redirect could not be repeated offline, and the manifest would be
    // sent as a whole each time.
    if !isHEAD, !selected.known.freshness.noStore { _ = try await manifestBody(of: selected) }
    let stream = service.stream(of: exchange.url, recorded: selected.reader.group)
    service.parts.insert(redirected: url, in: stream)
  }

  /// Returns the URL to which the response's references are relative: the requested one, or that of
  /// a redirect. A query alone makes no difference: the stored response may be that of an earlier
  /// token, which the cache key ignores.
  func baseURL(of known: StoredResponse) -> URL {
    func place(_ url: URL) -> Substring { url.absoluteString.prefix { $0 != "?" && $0 != "#" } }
    let final = known.information.finalURL
    return place(final) == place(exchange.url) ? exchange.url : final
  }
}
