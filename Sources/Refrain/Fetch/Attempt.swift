// SPDX-License-Identifier: MIT
import Foundation
import Synchronization

/// One try at a request: redirects and authorization included, under a limit of silence.
final class Attempt: Sendable {
  struct Response: Sendable {
    var status: Int
    var headers: HTTPFields
    var body: any AsyncSequence<Data, any Error> & Sendable
    /// The URL that answered.
    var url: URL
    /// The user's headers that were sent.
    var asked: HTTPFields
    /// Stand for the credentials that the request was made for.
    var credentials: [String]
    var requestTime: Date
    var responseTime: Date
    /// It is a live stream's.
    var isLive = false
    /// After so many bytes of audio the body has metadata (`ICYDemultiplexer`).
    var interval: Int64?
    /// Its length was given, of audio and metadata together.
    var hasInterleavedLength = false
  }

  private let entry: Entry
  private let headers: HTTPFields
  private let purpose: OriginRequest.Purpose
  private let isConfirmation: Bool
  private let candidate: Resource?
  private let onConnectivity: @Sendable (OriginRequest.Connectivity) -> Waiting
  private let watch = Mutex<Watchdog.Watch?>(nil)
  private let ending = Mutex(Ending())

  /// What becomes of a wait for a network.
  enum Waiting: Sendable {
    case goesOn
    /// Nobody is left who would wait for it.
    case ends
    /// Another request may be answered where this one waits.
    case beginsAnew
  }

  private struct Ending {
    var isOver = false
    var beginsAnew = false
    var cancel: (@Sendable () -> Void)?
  }

  /// A confirmation is not waited for as long: what is stored can play.
  private static let confirmationTimeout: Duration = .seconds(5)

  /// - Parameters:
  ///   - candidate: asked for in place of what the entry asks for; no hook is called for it.
  ///   - onConnectivity: told when the transport begins or ends to wait for a network.
  init(
    entry: Entry, headers: HTTPFields, purpose: OriginRequest.Purpose,
    isConfirmation: Bool = false, candidate: Resource? = nil,
    onConnectivity: @Sendable @escaping (OriginRequest.Connectivity) -> Waiting = { _ in .goesOn }
  ) {
    self.entry = entry
    self.headers = headers
    self.purpose = purpose
    self.isConfirmation = isConfirmation
    self.candidate = candidate
    self.onConnectivity = onConnectivity
  }

  /// Sends the request and hands over the response; or says why there is none.
  func run<Outcome: Sendable>(
    _ body: @Sendable @escaping (Response) async -> Outcome,
    failure: @Sendable @escaping (_ error: MediaCacheError, _ isLasting: Bool) -> Outcome,
    cancelled: @Sendable @escaping () -> Outcome
  ) async -> Outcome {
    let watchdog = entry.context.watchdog
    let watch = watchdog.watch { [weak self] in self?.end() }
    self.watch.withLock { $0 = watch }
    defer { watchdog.forget(watch) }
    let task = Task(executorPreference: IOThreads.shared) {
      do {
        return await body(try await self.exchange())
      } catch let error as MediaCacheError {
        return failure(error, true)
      } catch {
        return self.outcome(of: error, { failure($0, Self.isLasting(error)) }, cancelled: cancelled)
      }
    }
    let isOver = ending.withLock { state in
      state.cancel = { task.cancel() }
      return state.isOver
    }
    if isOver { task.cancel() }
    defer { ending.withLock { $0.cancel = nil } }
    return await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
  }

  private func end() {
    ending.withLock { state in
      state.isOver = true
      return state.cancel
    }?()
  }

  /// Ends it, so that another one may ask otherwise.
  func beginAnew() {
    ending.withLock { $0.beginsAnew = true }
    end()
  }

  /// It was ended by `beginAnew`.
  var beginsAnew: Bool { ending.withLock { $0.beginsAnew } }

  private var timeout: Duration {
    let limit = entry.context.configuration.responseTimeout
    return isConfirmation ? min(limit, Self.confirmationTimeout) : limit
  }

  func expect(within limit: Duration) { watch.withLock { $0 }?.expect(within: limit) }

  func rest() { watch.withLock { $0 }?.rest() }

  /// Waiting for a network is no silence of the origin's: it has no limit but being called off.
  private func connectivityChanged(_ connectivity: OriginRequest.Connectivity) {
    let waiting = onConnectivity(connectivity)
    switch connectivity {
    case .waiting: rest()
    case .available: expect(within: timeout)
    }
    switch waiting {
    case .goesOn: break
    case .ends: end()
    case .beginsAnew: beginAnew()
    }
  }

  /// What an error of the transport means.
  func outcome<Outcome>(
    of error: any Error, _ failure: (MediaCacheError) -> Outcome, cancelled: () -> Outcome
  ) -> Outcome {
    let host = entry.resource.url.host() ?? "The origin"
    if watch.withLock({ $0 })?.hasFired == true {
      var error = MediaCacheError(
        .unreachable, "\(host) was silent for too long.", remedy: "Check the network.")
      error.isTimeout = true
      return failure(error)
    }
    if error is CancellationError { return cancelled() }
    guard let error = error as? TransportError else {
      return failure(MediaCacheError(.unreachable, "\(host) could not be asked: \(error)."))
    }
    switch error.code {
    case .unreachable, .connectionLost, .timedOut:
      var translated = MediaCacheError(
        .unreachable, error.reason, remedy: "Check the network and the URL.")
      translated.isTimeout = error.code == .timedOut
      return failure(translated)
    case .malformed:
      return failure(
        MediaCacheError(
          .invalidResponse, error.reason, remedy: "Check that the URL leads to a web server."))
    case .badURL:
      return failure(MediaCacheError(.badURL, error.reason, remedy: "Check the URL."))
    case .networkNotAllowed:
      return failure(
        MediaCacheError(
          .networkNotAllowed, error.reason,
          remedy: "Use another network, or allow this one in Configuration.network.\(purpose)."))
    }
  }

  private static func isLasting(_ error: any Error) -> Bool {
    switch (error as? TransportError)?.code {
    case .badURL, .networkNotAllowed: true
    default: false
    }
  }

  // MARK: Exchange

  private func exchange() async throws -> Response {
    if let candidate { return try await follow(request(for: candidate), for: candidate) }
    var wasAuthorized = false
    while true {
      let (resource, number) = entry.authorized
      let response = try await follow(request(for: resource), for: resource)
      guard [401, 403, 410].contains(response.status), !wasAuthorized else { return response }
      rest()
      guard try await authorize(number, response.status) else { return response }
      wasAuthorized = true
    }
  }

  private func authorize(_ number: Int, _ status: Int) async throws -> Bool {
    do {
      return try await entry.authorize(refused: number, status: status)
    } catch let error as MediaCacheError {
      throw error
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      throw MediaCacheError(
        .status, "The origin answered \(status), and authorizing failed: \(error).",
        status: status)
    }
  }

  private static func check(_ url: URL, against filter: URLFilter?) throws(MediaCacheError) {
    guard let filter, !filter.allows(url) else { return }
    throw MediaCacheError(
      .redirect, "\(url.host() ?? "That host") may not be asked.",
      remedy: "Allow the host, if it is to be reached.")
  }

  private func request(for resource: Resource) -> OriginRequest {
    var fields = resource.headers
    fields["Range"] = nil
    fields["If-Range"] = nil
    fields["If-None-Match"] = nil
    fields["If-Modified-Since"] = nil
    fields["Accept-Encoding"] = "identity"
    if fields["User-Agent"] == nil { fields["User-Agent"] = "Refrain" }
    if fields["Authorization"] == nil { fields["Authorization"] = resource.url.basicAuthorization }
    for field in headers.fields { fields.append(field.name, field.value) }
    let plain = resource.url.withoutUserInfo
    let text = plain.absoluteString
    // The fragment is the user agent's own business (RFC 9110 §4.2.5).
    let url = text.firstIndex(of: "#").flatMap { URL(string: String(text[..<$0])) }
    var request = OriginRequest(url: url ?? plain, headers: fields)
    let policy = entry.context.configuration.network
    request.purpose = purpose
    request.access = purpose == .playback ? policy.playback : policy.prefetch
    // What is stored plays rather than that its confirmation is waited for.
    request.waitsForConnectivity = policy.waitsForConnectivity && !isConfirmation
    request.onConnectivity = { [weak self] in self?.connectivityChanged($0) }
    return request
  }

  /// - Parameter plainly: nothing was interleaved though it was asked for. A 304 may say that it
  ///   would have been: of what is stored that is not true.
  private static func live(
    _ response: Response, _ interval: Int64? = nil, plainly: Bool = false
  ) -> Response {
    var response = response
    if plainly { response.headers[ICYAnswer.interval] = nil }
    guard response.status == 200 else { return response }
    response.isLive = ICYAnswer.isLive(response.headers)
    guard let interval else { return response }
    response.interval = interval
    // It counts the metadata too, so that nobody knows how long the audio is.
    response.hasInterleavedLength = ResponseCheck.contentLength(response.headers) != nil
    response.headers = ICYAnswer.plainHeaders(response.headers)
    return response
  }

  private func follow(
    _ request: OriginRequest, for resource: Resource
  ) async throws -> Response {
    var redirects = RedirectPolicy(request: request)
    while true {
      try Self.check(redirects.request.url, against: resource.filter)
      expect(within: timeout)
      entry.countRequest()
      let requestTime = entry.context.now.wall
      let response = try await entry.context.transport.send(redirects.request)
      rest()
      let answered = redirects.request.url
      guard
        try redirects.follow(status: response.status, headers: response.headers) != nil
      else {
        let sent = redirects.request.headers
        let received = Response(
          status: response.status, headers: response.headers, body: response.body, url: answered,
          asked: resource.headers,
          credentials: candidate == nil
            ? entry.credentials(behind: resource) : [Credentials.of(resource)],
          requestTime: requestTime, responseTime: entry.context.now.wall)
        switch ICYAnswer(request: sent, status: response.status, headers: response.headers) {
        case .plain: return Self.live(received, plainly: ICYAnswer.isAsked(sent))
        case .interleaved(let interval): return Self.live(received, interval)
        case .askAgain(let field): redirects.drop(field)
        }
        continue
      }
      if let length = ResponseCheck.contentLength(response.headers), length <= 16 << 10 {
        // A connection that was read to its end can be used again; a failure shows on the next.
        expect(within: timeout)
        for try await _ in response.body {}
        rest()
      }
    }
  }
}
