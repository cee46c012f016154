// SPDX-License-Identifier: MIT
import Foundation

/// One attempt at a request, redirects and authorization included. A deadline limits each wait.
final class OriginExchange: Sendable {
  struct Response: Sendable {
    var status: Int
    var headers: HeaderFields
    var body: any AsyncSequence<Data, any Error> & Sendable
    var hasMore: (@Sendable () -> Bool)?
    var isDecoded = false
    let asked: Asked
    /// Whether the response to the same request with a range was unusable.
    var droppedRange = false
    var requestTime: Date
    var responseTime: Date
    var wasHeldBack = false
    var metadataInterval: Int64?
    var isLive = false
    /// A station's body has no end unless a length was sent.
    var hasEnd = true

    var chain: RequestChain { asked.chain }
    var resource: Resource { asked.resource }
    var request: OriginRequest { chain.request }
    var url: URL { request.url }

    func keeper(isShared: Bool) -> Freshness.Keeper {
      Freshness.Keeper(
        isShared: isShared, isAuthorized: resource.headers["Authorization"] != nil,
        hasCookies: resource.headers["Cookie"] != nil,
        isSecret: resource.policy.group?.isSecret == true, wasHeldBack: wasHeldBack)
    }

    /// Whether a shared cache must not store it (RFC 9111 §3): it is handed to the reader that asked.
    var isPersonal: Bool {
      Freshness(
        status: status, headers: headers, requestTime: requestTime, responseTime: responseTime,
        keeper: keeper(isShared: true)
      ).noStore
    }
  }

  /// What was requested: one object, since each function that a task awaits keeps its copies of a
  /// response in the task's memory.
  final class Asked: Sendable {
    let chain: RequestChain
    let resource: Resource
    /// The resource as its reader gave it; nil if that is not known any more.
    let given: Resource?

    init(_ chain: RequestChain, for resource: Resource, given: Resource?) {
      (self.chain, self.resource, self.given) = (chain, resource, given)
    }
  }

  let origin: Origin
  let requests: EntryRequests
  let wanted: FetchRequest
  let passesOnErrors: @Sendable () -> Bool
  /// Returns whether the request goes on.
  private let onConnectivity: @Sendable (OriginRequest.Connectivity) -> Bool
  /// As in `OriginRequest`, with `Asked.given`.
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
  }

  /// - Throws: `MediaCacheError`, whose `retry` is nil if nothing else helps; `CancellationError`.
  func run<Value: Sendable>(
    _ body: @Sendable @escaping (Response) async -> Value
  ) async throws -> Value {
    try await deadline.run {
      do {
        return await body(try await self.exchange())
      } catch {
        throw self.problem(error) ?? CancellationError()
      }
    }
  }

  func expectHead() {
    let resource = requests.resource
    let isHeldBack = resource.policy.documents?.isHeldBack(resource.url) ?? false
    let limit = isHeldBack ? max(origin.responseTimeout, .seconds(60)) : origin.responseTimeout
    deadline.expect(within: wanted.isBrief ? min(limit, .seconds(5)) : limit)
  }

  func expectBody(isFirst: Bool) {
    let limit = origin.silenceTimeout
    deadline.expect(within: isFirst ? max(limit, origin.responseTimeout) : limit)
  }

  /// Returns the error for callers; nil if cancelled. `hasBegun`: a part of the body has come.
  @inline(never)
  func problem(_ error: any Error, hasBegun: Bool = false) -> MediaCacheError? {
    if let error = error as? MediaCacheError { return error }
    let isTimeout = deadline.end == .passed
    if error is CancellationError, !isTimeout { return nil }
    let cause =
      error as? TransportError
      ?? TransportError(.unreachable, "The request to \(host) failed: \(error).")
    var problem = isTimeout ? silence : MediaCacheError(cause, wanted.purpose)
    if problem.isTimeout, !hasBegun { problem.retry = .silent }
    return problem
  }

  private var host: String { requests.resource.url.host() ?? "The origin" }

  var silence: MediaCacheError {
    .init(TransportError(.timedOut, "\(host) was silent for too long."), wanted.purpose)
  }

  private func exchange() async throws -> Response {
    if origin.isOffline { throw MediaCacheError.offline }
    var resource = requests.authorized()
    var response = try await follow(request(for: resource), for: resource)
    if [401, 403, 410].contains(response.status) {
      deadline.rest()
      if try await requests.authorize(insteadOf: resource, status: response.status) {
        resource = requests.authorized()
        response = try await follow(request(for: resource), for: resource)
      }
    }
    guard hasUnusableRange(response) else { return response }
    let stated = response.headers
    response = try await follow(request(for: resource, isWhole: true), for: resource)
    // A body that was cut off must not count as whole. Lengths beside a coding say nothing of that.
    if WholeResponse.statuses.contains(response.status), stated.contentCodings.isEmpty,
      response.headers.contentCodings.isEmpty, let length = response.headers.bodyLength,
      length != stated.contentRange?.total ?? length
    {
      var error = ResponseCheck.invalid("reports two lengths of the resource")
      error.retry = .invalid
      throw error
    }
    return response
  }

  /// Whether the same request without its range has a better response.
  private func hasUnusableRange(_ response: Response) -> Bool {
    guard !wanted.isWhole else { return false }
    // A part of an encoded document cannot be decoded, and that of a station is not continued.
    if response.status == 206, response.decoder != nil || response.isLive { return true }
    guard let range = wanted.optionalRange else { return false }
    switch ResponseCheck(asked: range, known: nil).verdict(
      status: response.status, headers: response.headers, now: response.responseTime)
    {
    case .invalid, .beyondEnd(length: nil): return true
    case .failed(let error): return [400, 403, 405, 501].contains(error.status)
    default: return false
    }
  }

  @inline(never)
  private func request(for resource: Resource, isWhole: Bool = false) -> OriginRequest {
    var fields = resource.headers
    for name in HeaderFields.ofRange + ["If-None-Match", "If-Modified-Since"] { fields[name] = nil }
    fields["Accept-Encoding"] = "identity"
    fields.addDefaults()
    if fields["Authorization"] == nil { fields["Authorization"] = resource.url.basicAuthorization }
    for field in wanted.headers.fields { fields.append(field.name, field.value) }
    if isWhole { for name in HeaderFields.ofRange { fields[name] = nil } }
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
    guard !wanted.isConfirmation else { return request }
    request.waitsForConnectivity = policy.waitsForConnectivity
    request.onConnectivity = { [weak self] connectivity in
      guard let self else { return }
      let goesOn = onConnectivity(connectivity)
      // A wait for a network is not the origin's silence: only cancellation limits it.
      if connectivity == .waiting { deadline.rest() } else { expectHead() }
      if !goesOn { deadline.cancel() }
    }
    return request
  }
}

/// A request for the bytes that a reader wants next, which confirms the generation if it is stored.
struct FetchRequest: Sendable {
  var range: ByteRange
  /// Whether the bytes at the range's start are missing: a 304 would cost a second request.
  var fills: Bool
  var isWhole = false
  var known: ResponseCheck.Known
  /// Whether the request is about stored bytes, which play without a network.
  var isConfirmation = false
  /// Whether a response is expected within seconds: without one, stored bytes play.
  var isBrief = false
  /// Whether the request goes to the end of the last redirect chain. The first one, and a
  /// confirming one, do not: the chain may lead elsewhere by now.
  var usesShortcut = false
  /// The range if an error may be due to it alone: no response has brought one.
  var optionalRange: ByteRange?
  var purpose = OriginRequest.Purpose.playback

  /// A range, and the condition that suits it. Stored bytes are confirmed by If-None-Match and
  /// If-Modified-Since (RFC 9110 §13.1.2, §13.1.3): by a 304, or the range of the new version.
  /// Missing bytes are requested under If-Range (§13.1.5): a 206 confirms and fills, a 200 is the
  /// new version. All else is unconditional, also a document whose validator may stay.
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

  /// Whether a response brings bytes of the stored generation. If nothing shows that, ending a
  /// reader that has received bytes (`hasBeenRead`) would be worse than continuing.
  func isConfirmed(by verdict: ResponseCheck.Verdict, hasBeenRead: Bool) -> Bool {
    guard let facts = verdict.facts else { return false }
    switch known.validator.matches(facts.validator) {
    case .same, .weaklySame: return !known.validator.stored.isEmpty || hasBeenRead
    case .different: return false
    case .unknown:
      // The origin itself has compared the validator that was sent.
      if case .part = verdict, ifRange != nil { return true }
      return hasBeenRead
    }
  }
}
