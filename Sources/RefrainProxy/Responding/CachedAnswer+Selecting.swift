// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// The response that a request selects: the value that selecting returns, and sending takes.
struct SelectedResponse: Sendable {
  /// Cancelled by the caller of `select`.
  let reader: MediaReader
  let known: StoredResponse
  /// Whether it may be a manifest; nil if that is unknown (`CachedAnswer.isManifest`).
  let isManifest: Bool?
  /// When the request was made.
  let started: Date
}

/// Selects the representation.
extension CachedAnswer {
  enum Selected {
    case response(SelectedResponse)
    /// The cache cannot serve the request.
    case other(Outcome)
  }

  /// Returns the response that the request selects.
  ///
  /// - Parameter terms: those of the request, or stricter ones.
  /// - Throws: `HTTPError`; `MediaCacheError`; `CancellationError`.
  func select(_ terms: ReadTerms) async throws -> Selected {
    do {
      return .response(try await find(terms))
    } catch let error as MediaCacheError where error.isEncoded {
      // The client may be able to decode a response that cannot be stored.
      service.uncacheable.insert(.encoded, on: memory, at: .now)
      if let refusal = refusal(in: error) { return refusal }
      return .other(.relayed(.uriMiss, asksWhole: true))
    } catch let error as MediaCacheError where error.status == 508 {
      // A relayed redirect would only send the client round as well.
      throw HTTPError.loop
    } catch let error as MediaCacheError where error.isPersonal {
      if terms.directives.onlyIfCached { throw Self.notThere }
      service.uncacheable.insert(.notStorable, on: memory, at: .now)
      return .other(.relayed(.bypass))
    } catch let error as MediaCacheError where error.isOriginsAnswer {
      if let refusal = refusal(in: error) { return refusal }
      // The origin asked for a pause, which applies to this client too.
      if let rest = service.cache.rest(of: resource) { throw HTTPError(rest) }
      return .other(.relayed(.uriMiss))
    }
  }

  /// Returns the error response that came with an error; nil if there is none that this client may
  /// receive.
  private func refusal(in error: MediaCacheError) -> Selected? {
    guard let response = error.response, response.answers(resource) else { return nil }
    let isJoined = !response.take()
    guard !isJoined || response.mayBeShared(isShared: service.cachePolicy == .shared) else {
      return nil
    }
    return .other(.received(response, isJoined: isJoined))
  }

  /// Opens readers until one has the representation that the request selects: a response shared with
  /// other requests may be for one of them, and the origin may have responded to another one meanwhile.
  private func find(_ terms: ReadTerms) async throws -> SelectedResponse {
    let started = service.cache.now.wall
    var attemptsLeft = 4
    while true {
      let reader = try await open(terms)
      do {
        if terms.directives.onlyIfCached { try checkIsThere(reader) }
        let known = try await learn(reader)
        if attemptsLeft == 0 || reader.isSelected(known, by: resource.headers) {
          return SelectedResponse(
            reader: reader, known: known, isManifest: try await isManifest(reader, known),
            started: started)
        }
        reader.cancel()
      } catch {
        reader.cancel()
        guard attemptsLeft > 0, (error as? MediaCacheError)?.code == .resourceChanged else {
          throw error
        }
      }
      attemptsLeft -= 1
    }
  }

  private func open(_ terms: ReadTerms) async throws -> MediaReader {
    do {
      return try await service.cache.open(resource, on: terms, fill: .onDemand, key: key)
    } catch let error as MediaCacheError
      where terms.directives.onlyIfCached && error.code == .offline && !error.isPersonal
    {
      throw Self.notThere
    }
  }

  /// Throws 504 if a request would be needed (RFC 9111 §5.2.1.7).
  private func checkIsThere(_ reader: MediaReader) throws {
    let lease = service.cache.hold(reader)
    let known = lease?.known(terms, at: service.cache.now)
    let isThere =
      known.flatMap { known -> Bool? in
        guard let length = known.information.length else { return nil }
        let ranges: [ByteRange] =
          switch range.selection(length: length) {
          case .whole: isHEAD ? [] : [0..<length]
          case .single(let range): [range]
          case .several(let ranges): ranges
          case .unsatisfiable: []
          }
        return ranges.allSatisfy { $0.isEmpty || lease?.file(of: known, holding: $0) != nil }
      } ?? false
    guard isThere else { throw Self.notThere }
  }

  static let notThere = HTTPError(
    504, "The resource is not fully cached, and only-if-cached was requested.")

  /// Waits until the resource is known, and the first byte that the client wants is there or on its
  /// way: the response that brings it may be of another version than the one that is stored. The
  /// first request to the origin begins at that offset.
  private func learn(_ reader: MediaReader) async throws -> StoredResponse {
    let (start, end) = range.bounds
    if let end { reader.setEnd(end, readsOn: true) }
    if isGrowing { reader.requestNothingBeyondEnd() }
    if isHEAD { reader.setEnd(1) }
    if start > 0 {
      do {
        if case .end = try await reader.available(at: start, count: 0) {
          // The origin may have reported nothing but the end.
          reader.setEnd(.max)
          _ = try await reader.available(at: 0, count: 0)
        }
      } catch let error as MediaCacheError where error.code == .badRange {
        // Beyond the end, which the origin did not report: the beginning shows it.
      }
    } else if end != nil, !isHEAD, Preconditions(fields: exchange.fields) == nil {
      _ = try await reader.knownResponse()
      if reader.announcedEnd(from: 0) == 0 { _ = try await reader.available(at: 0, count: 0) }
    }
    return try await reader.settle()
  }

  /// Returns where to redirect the client. A playlist found at another URL is redirected, because
  /// its references are relative to that URL; so is a page whose own URL players need.
  func redirection(_ selected: SelectedResponse) -> String? {
    let known = selected.known
    if service.rules.redirectsPages, isPage(selected) {
      return exchange.url.absoluteString
    }
    guard service.rules.origin == nil, selected.isManifest == true else { return nil }
    let final = baseURL(of: known)
    guard final != exchange.url else { return nil }
    // Credentials stay with the host to which the client has sent them.
    let session = exchange.session ?? exchange.session()
    return service.routes.target(for: final, from: exchange.url, session: session?.id)
  }

  /// Returns where to redirect a client that was redirected to a manifest whose URL the origin
  /// refuses, if the origin redirects elsewhere by now.
  func newTarget(refusedWith status: Int) async -> String? {
    // Those for the stream's own host are not sent to the host to which it redirects.
    let fields = [resource.headers, exchange.session?.headers, service.originFields.own]
    guard service.rules.origin == nil, MediaCacheError.refusesURL(status),
      let url = await service.cache.relocate(
        from: exchange.url, for: fields.compactMap(\.self)),
      let target = service.routes.target(
        for: url, from: exchange.url, session: exchange.session?.id)
    else { return nil }
    let stream = service.stream(of: exchange.url, recorded: nil)
    service.parts.insert(redirected: url, in: stream)
    return target
  }

  /// Whether the response is a web page. Scripts send playlists and segments as `text/html` too, if
  /// they set no type.
  private func isPage(_ selected: SelectedResponse) -> Bool {
    selected.known.information.mimeType == "text/html" && selected.isManifest != true
      && !service.parts.contains(exchange.url)
  }

  /// Returns the URL to which the response's references are relative: the requested one, or that of
  /// a redirect. A query alone makes no difference: the stored response may be that of an earlier
  /// token, which the cache key ignores.
  func baseURL(of known: StoredResponse) -> URL {
    func place(_ url: URL) -> Substring { url.absoluteString.prefix { $0 != "?" && $0 != "#" } }
    let final = known.information.finalURL
    return place(final) == place(exchange.url) ? exchange.url : final
  }

  /// Holds the entry open: further requests for it are served at once.
  func holdOpen(_ reader: MediaReader, _ known: StoredResponse) {
    guard !known.varies, !known.freshness.noStore, reader.isStoring,
      exchange.target.hasPrefix("/"),
      exchange.fields["Authorization"] == nil,
      service.hits.resource(for: exchange.target)?.isLeased != true,
      let lease = service.cache.hold(reader)
    else { return }
    service.hits.insert(
      CachedHit(
        lease: lease, urlText: exchange.url.absoluteString, key: resourceKey,
        fields: service.fields, isShared: service.cachePolicy == .shared
      ) { [listings = service.listings, resourceKey, stream = resource.policy.group?.first] in
        listings.naming(of: resourceKey, in: stream)
      }, for: exchange.target)
  }
}

extension HTTPError {
  /// Repeats the origin's response.
  init(_ rest: OriginRests.Rest) {
    self.init(
      rest.status, "The origin answered \(rest.status). Retry after the time in Retry-After.",
      retryAfter: rest.seconds)
  }
}

extension MediaCacheError {
  /// Whether the origin did respond, with an error or a redirect that leads nowhere: the client
  /// should receive that response.
  fileprivate var isOriginsAnswer: Bool {
    status != nil && (code == .status || code == .redirect || response != nil)
  }
}
