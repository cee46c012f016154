// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// One attempt at a request, redirects and authorization included, with a silence timeout.
final class OriginExchange: Sendable {
  struct Response: Sendable {
    var status: Int
    var headers: HeaderFields
    var body: any AsyncSequence<Data, any Error> & Sendable
    /// As in `OriginResponse`.
    var hasMore: (@Sendable () -> Bool)?
    var isDecoded = false
    /// The request that was answered, after redirects.
    @Boxed var request: OriginRequest
    /// The resource that was requested, before redirects.
    @Boxed var resource: Resource
    /// The redirects from there, also those of an earlier request that led to `url`.
    var redirections: [Redirection] = []
    /// The first of them, for whoever passes on a response that nobody else may use.
    var redirect: ErrorResponse?
    /// The resource as its reader gave it; nil if that is not known any more.
    @Boxed var given: Resource?
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

  /// A value on the heap, which copies share until one is changed. Each function that a task awaits
  /// keeps its copies of a response in the task's memory.
  @propertyWrapper
  struct Boxed<Value: Sendable>: Sendable {
    private final class Box: Sendable {
      let value: Value

      init(_ value: Value) { self.value = value }
    }

    private var box: Box

    init(wrappedValue: Value) { box = Box(wrappedValue) }

    var wrappedValue: Value {
      get { box.value }
      set { box = Box(newValue) }
    }
  }

  let origin: Origin
  let requests: EntryRequests
  let wanted: FetchRequest
  /// Whether a reader passes on a response that brings no resource, such as a redirect that is not
  /// followed.
  let passesOnErrors: @Sendable () -> Bool
  /// Whether the origin holds the response back until the resource exists.
  let isHeldBack: Bool
  /// Called when the transport begins or stops waiting for a network; returns whether the request
  /// goes on.
  private let onConnectivity: @Sendable (OriginRequest.Connectivity) -> Bool
  private let watch = SilenceTimeout.Watch()

  init(
    _ wanted: FetchRequest, of requests: EntryRequests,
    passesOnErrors: @Sendable @escaping () -> Bool,
    onConnectivity: @Sendable @escaping (OriginRequest.Connectivity) -> Bool
  ) {
    (self.wanted, self.requests, origin) = (wanted, requests, requests.origin)
    (self.passesOnErrors, self.onConnectivity) = (passesOnErrors, onConnectivity)
    let resource = requests.resource
    isHeldBack = resource.policy.documents?.isHeldBack(resource.url) ?? false
  }

  /// Sends the request. Passes the response to `body`, or the reason for its absence to `failure`.
  func run<Value: Sendable>(
    _ body: @Sendable @escaping (Response) async -> Value,
    failure: @Sendable @escaping (_ error: MediaCacheError, _ isLasting: Bool) -> Value,
    cancelled: @Sendable @escaping () -> Value
  ) async -> Value {
    await origin.silence.run(watch) {
      do {
        let response = try await self.exchange()
        self.requests.note(
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
  func cancel() { watch.cancel() }

  /// Whether `cancel` ended this exchange.
  var isCancelled: Bool { watch.isCancelled }

  // MARK: Timeouts

  /// The longest silence before the head of a response.
  private var headTimeout: Duration {
    let limit = origin.responseTimeout
    if wanted.isBrief { return min(limit, .seconds(5)) }
    return isHeldBack ? max(limit, .seconds(60)) : limit
  }

  func expectHead() { watch.expect(within: headTimeout) }

  /// - Parameter isFirst: whether nothing of the body has come yet.
  func expectBody(isFirst: Bool) {
    let limit = origin.silenceTimeout
    watch.expect(within: isFirst ? max(limit, origin.responseTimeout) : limit)
  }

  /// Expects all of a short body, which helps no reader to play.
  func expectShortBody() { watch.expect(within: min(headTimeout, origin.silenceTimeout)) }

  func rest() { watch.rest() }

  /// Suspends the timeout while the transport waits for a network, which is not the origin's
  /// silence: only cancellation limits that wait.
  private func connectivityChanged(_ connectivity: OriginRequest.Connectivity) {
    let goesOn = onConnectivity(connectivity)
    switch connectivity {
    case .waiting: rest()
    case .available: expectHead()
    }
    if !goesOn { cancel() }
  }

  /// Returns the error for callers from one of the transport; nil if the exchange was cancelled.
  @inline(never)
  func problem(_ error: any Error) -> MediaCacheError? {
    let host = requests.resource.url.host() ?? "The origin"
    if watch.hasFired {
      var error = MediaCacheError(
        .unreachable, "\(host) was silent for too long.", remedy: "Check the network.")
      error.isTimeout = true
      return error
    }
    if error is CancellationError { return nil }
    if let error = error as? MediaCacheError { return error }
    guard let error = error as? TransportError else {
      return MediaCacheError(.unreachable, "The request to \(host) failed: \(error).")
    }
    return MediaCacheError(error, wanted.purpose)
  }

  // MARK: Exchange

  private func exchange() async throws -> Response {
    if origin.isOffline { throw MediaCacheError.offline }
    // The hook is called for one of them at most: the last.
    var authorizationsLeft = 2
    var isWhole = false
    while true {
      let (resource, number) = requests.authorized()
      var request = request(for: resource)
      if isWhole { request.headers.dropRange() }
      let response = try await follow(request, for: resource)
      guard [401, 403, 410].contains(response.status), !isWhole else { return response }
      rest()
      let authorization =
        authorizationsLeft > 0
        ? try await requests.authorize(insteadOf: number, status: response.status) : .none
      switch authorization {
      case .none:
        // The origin may refuse the range, and not the client.
        guard response.status == 403, wanted.optionalRange != nil, !response.droppedRange else {
          return response
        }
        isWhole = true
      case .renewed: authorizationsLeft = 0
      // The answer was for another URL of the stream: this one may need its own.
      case .shared: authorizationsLeft -= 1
      }
    }
  }

  @inline(never)
  private func request(for resource: Resource) -> OriginRequest {
    var fields = resource.headers
    fields.dropRange()
    for name in ["If-None-Match", "If-Modified-Since"] { fields[name] = nil }
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

/// Keeps responses that bring no resource for readers that pass them on.
extension OriginExchange {
  /// Returns the error with the response that it reports, if a reader passes that on. Its body is read
  /// here unless it is long. Without it if it is repeated, or of another origin and behind no
  /// redirect: whoever passes it on has to request it again.
  func keeping(_ response: Response, in failure: MediaCacheError) async -> MediaCacheError {
    guard passesOnErrors() else { return failure }
    var failure = failure
    failure.response = await kept(response) ?? response.redirect
    return failure
  }

  /// Returns a response with the beginning of its body, for whoever passes it on; nil if nobody may.
  func kept(_ response: Response) async -> ErrorResponse? {
    // 416 is about the range, which is the cache's own. So is one range of a body in a coding. The
    // fields of another origin, such as cookies and challenges, are not for this one.
    guard let given = response.given, response.status != 416, response.status != 206,
      !response.isRepeated, !response.isDecoded,
      WebOrigin.isOne(of: response.url, response.resource.url)
    else { return nil }
    expectShortBody()
    defer { self.rest() }
    let reading = BodyReading(response.body, by: requests)
    var (body, isWhole) = (Data(), false)
    do {
      while !isWhole, body.count <= ErrorResponse.longestBody {
        if let chunk = try await reading.next() { body += chunk } else { isWhole = true }
      }
    } catch {
      // The body broke off, or nobody waits for it any more. The head has reported the error.
      return nil
    }
    // The request is over by then, but the origin's silence is limited all the same.
    let rest: @Sendable () async throws -> Data? = { [origin] in
      let watch = SilenceTimeout.Watch()
      watch.expect(within: origin.silenceTimeout)
      return try await origin.silence.run(watch) { try await reading.next() }
    }
    return ErrorResponse(
      status: response.status, headers: response.headers, requestTime: response.requestTime,
      responseTime: response.responseTime, body: body,
      rest: isWhole ? nil : rest, to: given)
  }
}
