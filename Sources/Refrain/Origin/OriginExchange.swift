// SPDX-License-Identifier: MIT
import Foundation

/// One attempt at a request, redirects and authorization included. A deadline limits each wait.
final class OriginExchange: Sendable {
  struct Response: Sendable {
    var status: Int
    var headers: HeaderFields
    var body: any AsyncSequence<Data, any Error> & Sendable
    /// As in `OriginResponse`.
    var hasMore: (@Sendable () -> Bool)?
    var isDecoded = false
    let asked: Asked
    /// The first redirect, for whoever passes on a response that nobody else may use.
    var redirect: ErrorResponse?
    /// Whether the range of the request was dropped, since the response to it was unusable.
    var droppedRange = false
    var requestTime: Date
    var responseTime: Date
    var wasHeldBack = false
    /// As `ICYFields.metadataInterval`.
    var metadataInterval: Int64?
    var isLive = false
    /// Whether the body has an end: a station's has none unless a length was sent.
    var hasEnd = true

    var chain: RequestChain { asked.chain }
    var resource: Resource { asked.resource }
    /// The request that was answered, after redirects.
    var request: OriginRequest { chain.request }
    var url: URL { request.url }

    func keeper(isShared: Bool, isSecret: Bool = false) -> Freshness.Keeper {
      Freshness.Keeper(
        isShared: isShared, isAuthorized: resource.headers["Authorization"] != nil,
        hasCookies: resource.headers["Cookie"] != nil, isSecret: isSecret,
        wasHeldBack: wasHeldBack)
    }
  }

  /// What was requested: one object, since each function that a task awaits keeps its copies of a
  /// response in the task's memory.
  final class Asked: Sendable {
    let chain: RequestChain
    let resource: Resource
    /// The resource as its reader gave it; nil if that is not known any more.
    let given: Resource?

    init(_ chain: RequestChain, for resource: Resource, given: Resource? = nil) {
      (self.chain, self.resource, self.given) = (chain, resource, given)
    }
  }

  let origin: Origin
  let requests: EntryRequests
  let wanted: FetchRequest
  /// As in `ReadTerms`.
  let passesOnErrors: @Sendable () -> Bool
  let isHeldBack: Bool
  /// Called when the wait for a network begins or ends; returns whether the request goes on.
  private let onConnectivity: @Sendable (OriginRequest.Connectivity) -> Bool
  /// Receives interim responses (`OriginRequest.onInterim`), with the resource as in `Asked.given`.
  let onInterim: @Sendable (Int, HeaderFields, Resource?) -> Void
  let deadline = Deadline()

  init(
    _ wanted: FetchRequest, of requests: EntryRequests,
    passesOnErrors: @Sendable @escaping () -> Bool,
    onConnectivity: @Sendable @escaping (OriginRequest.Connectivity) -> Bool,
    onInterim: @Sendable @escaping (Int, HeaderFields, Resource?) -> Void
  ) {
    (self.wanted, self.requests, origin) = (wanted, requests, requests.origin)
    (self.passesOnErrors, self.onConnectivity) = (passesOnErrors, onConnectivity)
    self.onInterim = onInterim
    let resource = requests.resource
    isHeldBack = resource.policy.documents?.isHeldBack(resource.url) ?? false
  }

  /// - Throws: `MediaCacheError`, whose `retry` is nil if no other attempt helps; `CancellationError`.
  func run<Value: Sendable>(
    _ body: @Sendable @escaping (Response) async -> Value
  ) async throws -> Value {
    try await deadline.run {
      let response: Response
      do {
        response = try await self.exchange()
      } catch {
        throw self.problem(error) ?? CancellationError()
      }
      return await body(response)
    }
  }

  private var headTimeout: Duration {
    let limit = origin.responseTimeout
    if wanted.isBrief { return min(limit, .seconds(5)) }
    return isHeldBack ? max(limit, .seconds(60)) : limit
  }

  func expectHead() { deadline.expect(within: headTimeout) }

  func expectBody(isFirst: Bool) {
    let limit = origin.silenceTimeout
    deadline.expect(within: isFirst ? max(limit, origin.responseTimeout) : limit)
  }

  /// Expects all of a short body, which helps no reader to play.
  func expectShortBody() { deadline.expect(within: min(headTimeout, origin.silenceTimeout)) }

  /// Suspends the timeout while the transport waits for a network, which is not the origin's
  /// silence: only cancellation limits that wait.
  private func connectivityChanged(_ connectivity: OriginRequest.Connectivity) {
    let goesOn = onConnectivity(connectivity)
    switch connectivity {
    case .waiting: deadline.rest()
    case .available: expectHead()
    }
    if !goesOn { deadline.cancel() }
  }

  /// Returns the error for callers; nil if cancelled. `hasBegun`: a part of the body has come.
  @inline(never)
  func problem(_ error: any Error, hasBegun: Bool = false) -> MediaCacheError? {
    if let error = error as? MediaCacheError { return error }
    let host = requests.resource.url.host() ?? "The origin"
    var problem: MediaCacheError
    if deadline.end == .passed {
      problem = MediaCacheError(
        .unreachable, "\(host) was silent for too long.", remedy: "Check the network.")
      (problem.isTimeout, problem.retry) = (true, .network)
    } else if error is CancellationError {
      return nil
    } else if let error = error as? TransportError {
      problem = MediaCacheError(error, wanted.purpose)
    } else {
      problem = MediaCacheError(.unreachable, "The request to \(host) failed: \(error).")
      problem.retry = .network
    }
    if problem.isTimeout, !hasBegun { problem.retry = .silent }
    return problem
  }

  private func exchange() async throws -> Response {
    if origin.isOffline { throw MediaCacheError.offline }
    var resource = requests.authorized()
    var request = request(for: resource)
    var response = try await follow(request, for: resource)
    if [401, 403, 410].contains(response.status) {
      deadline.rest()
      if try await requests.authorize(insteadOf: resource, status: response.status) {
        resource = requests.authorized()
        request = self.request(for: resource)
        response = try await follow(request, for: resource)
      }
    }
    // The origin may refuse the range, and not the client.
    guard response.status == 403, wanted.optionalRange != nil, !response.droppedRange else {
      return response
    }
    for name in HeaderFields.ofRange { request.headers[name] = nil }
    return try await follow(request, for: resource)
  }

  @inline(never)
  private func request(for resource: Resource) -> OriginRequest {
    var fields = resource.headers
    for name in HeaderFields.ofRange + ["If-None-Match", "If-Modified-Since"] { fields[name] = nil }
    fields["Accept-Encoding"] = "identity"
    fields.addDefaults()
    if fields["Authorization"] == nil { fields["Authorization"] = resource.url.basicAuthorization }
    for field in wanted.headers.fields { fields.append(field.name, field.value) }
    let plain = resource.url.withoutUserInfo
    // The fragment is only for the user agent (RFC 9110 §4.2.5).
    let url = URL(
      string: URIReference(plain.absoluteString).textWithoutFragment,
      encodingInvalidCharacters: false)
    var request = OriginRequest(url: url ?? plain, headers: fields)
    let policy = origin.withMemory { $0.network }
    request.purpose = wanted.purpose
    request.documents = resource.policy.documents
    request.expectsDocument =
      request.documents?.isDocument(mimeType: nil, url: resource.url) ?? false
    request.access = wanted.purpose == .playback ? policy.playback : policy.prefetch
    // Stored bytes play without waiting for their confirmation.
    guard !wanted.isConfirmation else { return request }
    request.waitsForConnectivity = policy.waitsForConnectivity
    request.onConnectivity = { [weak self] in self?.connectivityChanged($0) }
    return request
  }
}

/// A request for the bytes that a reader wants next. If these are stored, it confirms the generation
/// as well: every response to it is used. A pure value.
struct FetchRequest: Sendable {
  var range: ByteRange
  /// Whether the bytes at the range's start are missing: a 304 would cost a second request.
  var fills: Bool
  /// Whether the request names no range (`GenerationState.isRequestedWhole`).
  var isWhole = false
  var known: ResponseCheck.Known
  /// Whether the request is about stored bytes. It does not wait for a network.
  var isConfirmation = false
  /// Whether a response is expected within seconds: without one, stored bytes play.
  var isBrief = false
  /// Whether the request goes directly to the end of the last redirect chain. Not for the first
  /// request, and not for a confirming one: the chain may lead elsewhere by now.
  var usesShortcut = false
  /// The requested range, if the request may be sent once more without it where the response is
  /// unusable: an error of an origin that has never sent a range may be due to the range alone.
  var optionalRange: ByteRange?
  var purpose = OriginRequest.Purpose.playback

  /// A range, and the condition that suits it. Stored bytes are confirmed by If-None-Match and
  /// If-Modified-Since (RFC 9110 §13.1.2, §13.1.3): a 304 when they are unchanged, else the range
  /// of the new version. Missing bytes are requested under If-Range (§13.1.5) if the validator is
  /// strong: a 206 confirms and fills, a 200 is the new version. All else is unconditional, also a
  /// document whose validator may stay while it changes.
  var headers: HeaderFields {
    let validator = known.validator
    let isUnconditional = fills || (known.isDocument && !validator.followsDocument)
    var headers: HeaderFields = isUnconditional ? [:] : validator.conditional
    if isWhole { return headers }
    headers.append("Range", range.fieldValue)
    if let ifRange { headers.append("If-Range", ifRange) }
    return headers
  }

  var ifRange: String? { fills && !isWhole ? known.validator.ifRange : nil }

  /// Whether a response that brings bytes is of the stored generation. If nothing shows whether the
  /// origin has another one, ending a reader that has received bytes (`hasBeenRead`) would be worse
  /// than continuing.
  func isConfirmed(by verdict: ResponseCheck.Verdict, hasBeenRead: Bool) -> Bool {
    switch verdict {
    case .part(_, let facts), .whole(let facts):
      switch known.validator.matches(facts.validator) {
      case .same, .weaklySame: return !known.validator.stored.isEmpty || hasBeenRead
      case .different: return false
      case .unknown:
        // The origin itself has compared the validator that was sent.
        if case .part = verdict, ifRange != nil { return true }
        return hasBeenRead
      }
    default:
      return false
    }
  }
}
