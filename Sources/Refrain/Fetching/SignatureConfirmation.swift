// SPDX-License-Identifier: MIT
import Foundation

/// Asks the origin whether a URL with another signature has the stored bytes: one conditional
/// request to that URL, before a byte is used or requested. Nothing changes for the stored
/// generation if the answer is no: it remains that of its own signature.
struct SignatureConfirmation: Sendable {
  let entry: Entry
  let generation: Generation
  let resource: Resource
  /// Whether the reader passes on an error response.
  var passesOnErrors = false

  private enum Answer: Sendable {
    case outcome(SignatureAnswer)
    /// A 401, 403 or 410.
    case refused(MediaCacheError, status: Int)
  }

  /// - Throws: `MediaCacheError`, if the origin refuses the URL or the user's hook fails;
  ///   `CancellationError`.
  func ask() async throws -> SignatureAnswer {
    let outcome = try await entry.confirmations.value(for: SignatureQuestion(resource)) {
      try await askNow()
    }
    if case .failed(let error) = outcome { throw error }
    return outcome
  }

  /// Whether the origin was silent a moment ago: the next request would wait for it in vain.
  var isInVain: Bool {
    entry.context.silentOrigins.isSilent(resource.url, at: entry.context.now)
  }

  private func askNow() async throws -> SignatureAnswer {
    let renewals = entry.context.renewals
    var asked = renewals.current(resource)
    var attempts = OriginExchange.mostAuthorizations
    while true {
      switch await ask(asked) {
      case .outcome(let outcome): return outcome
      case .refused(let error, let status):
        guard attempts > 0, let hook = entry.context.authorize,
          let renewed = try await renewals.renewed(asked, status, by: hook)
        else { return .failed(error) }
        asked = renewed.resource
        attempts = renewed.isShared ? attempts - 1 : 0
      }
    }
  }

  private func ask(_ resource: Resource) async -> Answer {
    let (known, isNoPage, ranges) = generation.withState { state in
      let known = ResponseCheck.Known(
        length: state.length, validator: state.validator,
        isPage: MediaType.isPage(state.info?.mimeType))
      return (known, state.isNoPage(at: resource.url), state.ranges)
    }
    var headers = Self.headers(known.validator)
    if ranges != .answered { headers.dropRange() }
    let check = ResponseCheck(
      asked: 0..<1, known: known, sentIfRange: headers["If-Range"] != nil, isNoPage: isNoPage)
    let exchange = OriginExchange(
      entry: entry, headers: headers, purpose: .playback, isConfirmation: true, isBrief: true,
      candidate: resource)
    // Not while the user's hook is asked, which may never answer.
    entry.beginTask()
    defer { entry.endTask() }
    return await exchange.run { response in
      let verdict = check.verdict(
        status: response.status, headers: response.headers, now: entry.context.now.wall)
      switch verdict {
      case .refused(let status):
        let error = await keeping(response, in: ResponseCheck.refusal(status), exchange)
        return .refused(error, status: status)
      case .transient: return .outcome(.unanswered)
      case .failed(let error):
        return .outcome(.failed(await keeping(response, in: error, exchange)))
      case .invalid: return .outcome(.different)
      case .notModified, .part, .whole, .changed, .beyondEnd:
        guard Self.isSame(verdict, response.headers, known) else { return .outcome(.different) }
        confirm(resource, by: response)
        return .outcome(.same(resource))
      }
    } failure: { error, _ in
      switch error.code {
      case .unreachable:
        entry.context.silentOrigins.note(resource.url, at: entry.context.now)
        return .outcome(.unanswered)
      case .offline, .networkNotAllowed: return .outcome(.unanswered)
      default: return .outcome(.failed(error))
      }
    } cancelled: {
      .outcome(.failed(MediaCacheError(.closed, "The request was cancelled.")))
    }
  }

  private func keeping(
    _ response: OriginExchange.Response, in failure: MediaCacheError, _ exchange: OriginExchange
  ) async -> MediaCacheError {
    guard passesOnErrors else { return failure }
    return await exchange.keeping(response, to: resource, in: failure)
  }

  /// Returns a condition on the strong validator alone: a 304 to a date means only that the other
  /// content is no newer (RFC 9110 §13.1.3), while If-Range compares exactly (§13.1.5).
  private static func headers(_ validator: Validator) -> HeaderFields {
    var headers: HeaderFields = ["Range": RangeHeader.value(0, to: 1)]
    guard let strong = validator.ifRange else { return headers }
    headers.append(validator.etag == nil ? "If-Range" : "If-None-Match", strong)
    return headers
  }

  /// Whether a response proves that a URL has the stored bytes: it has their strong validator.
  static func isSame(
    _ verdict: ResponseCheck.Verdict, _ headers: HeaderFields, _ known: ResponseCheck.Known
  ) -> Bool {
    guard let strong = known.validator.ifRange else { return false }
    switch verdict {
    case .part(_, let facts), .whole(let facts):
      if let length = facts.length, let before = known.length, length != before { return false }
      return known.validator.matches(facts.validator) == .same && facts.validator.ifRange != nil
    case .notModified:
      // The origin's comparison is weak (RFC 9110 §13.1.2).
      return known.validator.etag != nil && headers["ETag"].map { $0.trimmingOWS == strong } ?? true
    default:
      return false
    }
  }

  /// Whether the response to another confirming request (`ConfirmingRequest`) proves it. That may
  /// carry a date as well, to which a 304 without an ETag may be the response.
  static func isProven(
    by verdict: ResponseCheck.Verdict, _ headers: HeaderFields, _ known: ResponseCheck.Known
  ) -> Bool {
    if case .notModified = verdict, headers["ETag"] == nil { return false }
    return isSame(verdict, headers, known)
  }

  /// Records that the generation may be used under the signature; the response also confirms that
  /// it is current.
  private func confirm(_ asked: Resource, by response: OriginExchange.Response) {
    let context = entry.context
    // Before the record is written next: its URL is the newest that was confirmed. Nothing is known
    // of a generation that has replaced this one meanwhile.
    if entry.current === generation { entry.renew(asked) }
    let keeper = Freshness.Keeper(
      isShared: false, isAuthorized: response.asked["Authorization"] != nil,
      hasCookies: response.asked["Cookie"] != nil)
    generation.withState { state in
      if state.known?.otherKey(than: entry.key, for: response.asked) == nil {
        let merged = StoredFields.merged(
          state.representation.headers, with: response.headers, isConfirmation: true
        ).varying(by: response.redirections)
        let freshness = state.freshness?.confirmed(
          by: response.headers, merged: state.representation.headers.isEmpty ? nil : merged,
          requestTime: response.requestTime, responseTime: response.responseTime, keeper: keeper
        ).behind(response.redirections, keeper: keeper)
        state.representation.refresh(
          freshness, askedAt: response.requestTime, confirmedAt: context.now.uptime)
        state.representation.respond(merged, selectedBy: response.asked)
        state.vouchedAt = context.now.uptime
      }
      state.grant(to: [Credentials.of(self.resource)] + response.credentials)
      state.confirm(
        [URLSignature.text(of: self.resource.url.absoluteString)] + response.signatures,
        at: asked.url)
      state.storage.noteRecordStale()
    }
  }
}
