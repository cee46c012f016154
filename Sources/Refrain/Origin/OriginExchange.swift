// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// One attempt at a request, redirects and authorization included, with a silence timeout.
final class OriginExchange: Sendable {
  struct Response: Sendable {
    var status: Int
    var headers: HeaderFields
    var body: any AsyncSequence<Data, any Error> & Sendable
    /// See `OriginResponse.hasMore`.
    var hasMore: (@Sendable () -> Bool)?
    /// See `OriginResponse.isDecoded`.
    var isDecoded = false
    /// The request that was answered, after redirects.
    var request: OriginRequest
    /// The resource that was requested, before redirects.
    var resource: Resource
    /// The redirects from there, also those of an earlier request that led to `url`.
    var redirections: [Redirection] = []
    /// The first of them, for whoever passes on a response that nobody else may use.
    var redirect: ErrorResponse?
    /// The resource as its reader gave it; nil if that is not known any more.
    var given: Resource?
    /// Whether the range of the request was dropped, since the response to it was unusable.
    var droppedRange = false
    /// The length of the resource that the unusable response stated.
    var statedLength: Int64?
    /// Whether it repeats an earlier response, without a request of its own.
    var isRepeated = false
    var requestTime: Date
    var responseTime: Date
    /// Whether the origin held it back until the resource existed.
    var wasHeldBack = false
    /// Whether this is a live stream.
    var isLive = false
    /// The number of audio bytes between two metadata blocks (`ICYDemultiplexer`).
    var interval: Int64?
    /// Whether a length was sent, of audio and metadata together.
    var hasInterleavedLength = false
  }

  let origin: Origin
  let asked: AskedResource
  let traffic: EntryTraffic
  let headers: HeaderFields
  private let purpose: OriginRequest.Purpose
  let isConfirmation: Bool
  private let isBrief: Bool
  let usesShortcut: Bool
  /// Whether a response that brings no resource is kept for a reader that passes it on.
  let keepsErrors: Bool
  /// The requested range, if the request may be sent without it.
  let optionalRange: ByteRange?
  /// Whether the origin holds the response back until the resource exists.
  let isHeldBack: Bool
  private let onConnectivity: @Sendable (OriginRequest.Connectivity) -> Waiting
  /// Ends the exchange when the origin is silent for too long.
  private let watch = SilenceTimeout.Watch()
  private let isAbandoned = Atomic(false)

  /// How a wait for a network continues.
  enum Waiting: Sendable {
    case goesOn
    /// Nobody waits for the response any more.
    case ends
    /// Another request may be answered where this one waits.
    case beginsAnew
  }

  /// The timeout of a request without whose response stored bytes play, in place of the usual one.
  private static let briefTimeout: Duration = .seconds(5)

  /// - Parameters:
  ///   - isConfirmation: whether the request is about stored bytes. It does not wait for a network.
  ///   - isBrief: whether a response is expected within seconds: without one, stored bytes play.
  ///   - usesShortcut: whether the request goes directly to the end of the last redirect chain. Not
  ///     for the first request, and not for a confirming one: the chain may lead elsewhere by now.
  ///   - keepsErrors: whether a redirect that is not followed is kept for a reader that passes it on.
  ///     In a shared cache, one for the requester alone is such a redirect.
  ///   - optionalRange: the range in `headers`, if the request may be sent once more without it
  ///     where the response is unusable.
  ///   - onConnectivity: called when the transport begins or stops waiting for a network.
  init(
    _ asked: AskedResource, of origin: Origin, counting traffic: EntryTraffic,
    headers: HeaderFields, purpose: OriginRequest.Purpose,
    isConfirmation: Bool = false, isBrief: Bool = false, usesShortcut: Bool = false,
    keepsErrors: Bool = false, optionalRange: ByteRange? = nil,
    onConnectivity: @Sendable @escaping (OriginRequest.Connectivity) -> Waiting = { _ in .goesOn }
  ) {
    (self.asked, self.origin, self.traffic) = (asked, origin, traffic)
    self.headers = headers
    self.purpose = purpose
    self.isConfirmation = isConfirmation
    self.isBrief = isBrief
    self.usesShortcut = usesShortcut
    self.keepsErrors = keepsErrors
    self.optionalRange = headers["Range"] == nil ? nil : optionalRange
    self.onConnectivity = onConnectivity
    let resource = asked.resource
    isHeldBack = resource.policy.documents?.isHeldBack(resource.url) ?? false
  }

  /// Sends the request and passes the response to `body`, or the reason for its absence to
  /// `failure`.
  func run<Outcome: Sendable>(
    _ body: @Sendable @escaping (Response) async -> Outcome,
    failure: @Sendable @escaping (_ error: MediaCacheError, _ isLasting: Bool) -> Outcome,
    cancelled: @Sendable @escaping () -> Outcome
  ) async -> Outcome {
    await origin.silence.run(watch) {
      do {
        let response = try await self.exchange()
        self.traffic.note(
          status: response.status, response.headers, at: response.responseTime)
        return await body(response)
      } catch let error as MediaCacheError {
        return failure(error, error.retry == nil)
      } catch {
        guard let problem = self.problem(error) else { return cancelled() }
        let isLasting = [.badURL, .networkNotAllowed].contains(problem.code)
        return failure(problem.withoutFirstByte, isLasting)
      }
    }
  }

  /// Ends this exchange, so that another one may send a different request.
  func beginAnew() {
    isAbandoned.store(true, ordering: .releasing)
    watch.cancel()
  }

  /// Whether `beginAnew` ended this exchange.
  var beginsAnew: Bool { isAbandoned.load(ordering: .acquiring) }

  /// The longest silence before the head of a response.
  private var headTimeout: Duration {
    let limit = origin.responseTimeout
    if isBrief { return min(limit, Self.briefTimeout) }
    return isHeldBack ? max(limit, Self.heldBackTimeout) : limit
  }

  func expectHead() { watch.expect(within: headTimeout) }

  /// - Parameter isFirst: whether nothing of the body has come yet.
  func expectBody(isFirst: Bool) {
    let limit = origin.silenceTimeout
    watch.expect(within: isFirst ? max(limit, origin.responseTimeout) : limit)
  }

  /// Expects all of a short body, of which nothing is used but that it ended, or that helps no
  /// reader to play.
  func expectShortBody() { watch.expect(within: min(headTimeout, origin.silenceTimeout)) }

  /// The longest silence of an origin that holds its response back until the resource exists.
  private static let heldBackTimeout: Duration = .seconds(60)

  func rest() { watch.rest() }

  /// Suspends the timeout while the transport waits for a network, which is not the origin's
  /// silence: only cancellation limits that wait.
  private func connectivityChanged(_ connectivity: OriginRequest.Connectivity) {
    let waiting = onConnectivity(connectivity)
    switch connectivity {
    case .waiting: rest()
    case .available: expectHead()
    }
    switch waiting {
    case .goesOn: break
    case .ends: watch.cancel()
    case .beginsAnew: beginAnew()
    }
  }

  /// Returns the error for callers from one of the transport; nil if the exchange was cancelled.
  func problem(_ error: any Error) -> MediaCacheError? {
    let host = asked.resource.url.host() ?? "The origin"
    if watch.hasFired {
      var error = MediaCacheError(
        .unreachable, "\(host) was silent for too long.", remedy: "Check the network.")
      error.isTimeout = true
      return error
    }
    if error is CancellationError { return nil }
    guard let error = error as? TransportError else {
      return MediaCacheError(.unreachable, "The request to \(host) failed: \(error).")
    }
    return MediaCacheError(error, purpose)
  }

  // MARK: Exchange

  private func exchange() async throws -> Response {
    if origin.isOffline { throw MediaCacheError.offline }
    var attempts = Self.mostAuthorizations
    var isWhole = false
    while true {
      let (resource, number) = asked.authorized(by: origin.renewals)
      var request = request(for: resource)
      if isWhole { request.headers.dropRange() }
      let response = try await follow(request, for: resource)
      guard [401, 403, 410].contains(response.status), !isWhole else { return response }
      rest()
      let authorization: AskedResource.Authorization =
        if attempts > 0 {
          try await asked.authorize(refused: number, status: response.status, by: origin.renewals)
        } else {
          .none
        }
      switch authorization {
      case .none:
        // The origin may refuse the range, and not the client.
        guard response.status == 403, optionalRange != nil, !response.droppedRange else {
          return response
        }
        isWhole = true
      case .renewed: attempts = 0
      // The answer was for another URL of the stream: this one may need its own.
      case .shared: attempts -= 1
      }
    }
  }

  /// The most authorizations of a request, of which the hook is called for one at most: the last.
  private static let mostAuthorizations = 2

  private func request(for resource: Resource) -> OriginRequest {
    var fields = resource.headers
    fields.dropRange()
    fields["If-None-Match"] = nil
    fields["If-Modified-Since"] = nil
    fields["Accept-Encoding"] = "identity"
    fields.addDefaults()
    if fields["Authorization"] == nil { fields["Authorization"] = resource.url.basicAuthorization }
    for field in headers.fields { fields.append(field.name, field.value) }
    let plain = resource.url.withoutUserInfo
    // The fragment is only for the user agent (RFC 9110 §4.2.5).
    let url = URL(
      string: URIReference(plain.absoluteString).textWithoutFragment,
      encodingInvalidCharacters: false)
    var request = OriginRequest(url: url ?? plain, headers: fields)
    let policy = origin.network
    request.purpose = purpose
    request.documents = resource.policy.documents
    request.expectsDocument =
      request.documents?.isDocument(mimeType: nil, url: resource.url) ?? false
    request.access = purpose == .playback ? policy.playback : policy.prefetch
    // Stored bytes play without waiting for their confirmation.
    request.waitsForConnectivity = policy.waitsForConnectivity && !isConfirmation
    request.onConnectivity = { [weak self] in self?.connectivityChanged($0) }
    return request
  }
}
