// SPDX-License-Identifier: MIT
import Foundation

/// The conditional request that confirms stored bytes (RFC 9111 §4.3), and fetches those that a
/// reader wants next.
extension Fetch {
  /// Confirms the generation, and continues as a fetch if the response brings bytes.
  func confirm(_ range: ByteRange) async {
    let beginning = now
    let asking = generation.withState {
      state -> (FetchRequest, ResponseCheck.Known, isBrief: Bool, keepsErrors: Bool)? in
      guard let fetch = state.fetches[id], !state.isOver else { return nil }
      return (
        FetchRequest(
          range: range, fills: fetch.bringsBytes,
          isWhole: state.isRequestedWhole || state.isReceivedDocument),
        ResponseCheck.Known(
          length: state.length, validator: state.validator,
          isPage: MediaType.isPage(state.info?.mimeType), isDocument: state.isReceivedDocument),
        state.confirmsBriefly(at: beginning), state.passesOnErrors
      )
    }
    guard let (request, known, isBrief, keepsErrors) = asking else {
      generation.withState { $0.fetchEnded(id, error: nil) }
      return
    }
    let purpose = confirmationPurpose
    let exchange = OriginExchange(
      entry.asked, of: origin, counting: entry.traffic, headers: request.headers(of: known),
      purpose: purpose,
      isConfirmation: true, isBrief: isBrief, keepsErrors: keepsErrors,
      optionalRange: generation.withState { $0.optionalRange(request.range) })
    let outcome: Outcome = await exchange.run { response in
      await confirm(by: response, to: request, known, exchange)
    } failure: { error, isLasting in
      failure(error, isLasting, purpose)
    } cancelled: {
      .done
    }
    if case .movedOn(let fetch, let outcome) = outcome { return await fetch.goOn(after: outcome) }
    if generation.withState({ $0.fetches[id]?.isConfirmation == false }) {
      return await run(range, after: outcome)
    }
    switch outcome {
    case .done, .askAnew, .movedOn:
      generation.withState { $0.fetchEnded(id, error: nil) }
    case .onlyForPlayback where purpose != confirmationPurpose:
      // A player now waits for the confirmation.
      await confirm(range)
    case .again(let error, _), .onlyForPlayback(let error):
      // An unreachable origin does not mean a gone resource: stored bytes play, and the next reader
      // asks again.
      events.send(
        .warning(
          "\(entry.key) could not be revalidated; the stored bytes are used, unless the origin "
            + "forbids that: \(error)"))
      generation.withState { state in
        state.unconfirmed(error, at: now)
        state.fetchEnded(id, error: nil)
      }
    case .failed(let error):
      events.send(.failed(entry.key, error.withoutResponse))
      generation.withState { $0.fetchEnded(id, error: error) }
    }
  }

  private func confirm(
    by response: OriginExchange.Response, to request: FetchRequest,
    _ known: ResponseCheck.Known,
    _ exchange: OriginExchange
  ) async -> Outcome {
    let url = entry.resource.url
    let check = ResponseCheck(
      asked: request.range, known: known,
      sentIfRange: request.sentIfRange(known.validator) != nil,
      statedLength: response.statedLength,
      isNoPage: generation.withState { $0.isNoPage(at: url) })
    let verdict = check.verdict(
      status: response.status, headers: response.headers, now: now.wall)
    let isInUse = generation.withState { $0.readers.values.contains(where: \.hasRead) }
    switch request.meaning(of: verdict, known: known, isInUse: isInUse) {
    case .confirmed:
      confirmed(response, bringing: nil)
      return .done
    case .confirmedAndBrings(let verdict):
      guard confirmed(response, bringing: verdict) else { return .done }
      events.send(.fetchStarted(entry.key, request.range))
      return await use(verdict, of: response, asked: request.range, exchange: exchange)
    case .replaced:
      generation.withState { $0.isReplacedOnRequest() }
      return await giveWay(to: response, asked: request.range, exchange: exchange)
    case .unanswered(let error):
      // Readers that may use the stale bytes do not wait for the body of the error.
      guard !generation.withState({ $0.confirmsBriefly(at: now) }) else {
        return .again(error, retryAfter: nil)
      }
      return .again(await keeping(response, in: error, exchange), retryAfter: nil)
    case .failed(let error): return .failed(await keeping(response, in: error, exchange))
    }
  }

  /// Playback if a reader in the foreground waits for the confirmation, else prefetch.
  private var confirmationPurpose: OriginRequest.Purpose {
    generation.withState { state in
      state.readers.values.contains { $0.awaitsConfirmation && !$0.isBackground }
    } ? .playback : .prefetch
  }

  /// Records that the origin has confirmed the generation.
  ///
  /// - Parameter verdict: the part of the generation, or the whole, that the response brings.
  /// - Returns: whether the bytes are useful: from then on this is an ordinary fetch.
  @discardableResult
  private func confirmed(
    _ response: OriginExchange.Response, bringing verdict: ResponseCheck.Verdict?
  ) -> Bool {
    let (isOfUse, earlier) = generation.withState { state in
      if response.droppedRange { state.note(.refused) }
      let merged = StoredFields.merged(
        state.representation.headers, with: response.headers, isConfirmation: true
      ).varying(by: response.redirections)
      let keeper = self.keeper(response)
      let freshness = state.freshness.map { _ in
        Freshness.confirmed(
          by: response.headers, merged: merged, requestTime: response.requestTime,
          responseTime: response.responseTime, keeper: keeper
        ).behind(response.redirections, keeper: keeper)
      }
      state.representation.refresh(
        freshness, askedAt: response.requestTime, confirmedAt: now.uptime)
      state.representation.respond(merged, selectedBy: response.resource.headers)
      let earlier = state.representation.confirm(at: response.url)
      state.noteConstancy()
      state.storage.noteRecordStale()
      let isOfUse = verdict.map { state.goOnAsFetch(id, with: $0) } ?? false
      state.confirmed(at: now)
      return (isOfUse, earlier)
    }
    if let earlier {
      origin.moved.note(entry.resource, from: earlier, to: response.url)
    }
    return isOfUse
  }

  func keeper(_ response: OriginExchange.Response) -> Freshness.Keeper {
    response.keeper(
      isShared: entry.storage.isShared,
      isSecret: entry.resource.policy.group?.isSecret == true)
  }
}

extension GenerationState {
  /// Turns a confirmation that has brought bytes into an ordinary fetch.
  ///
  /// - Returns: false if all these bytes are stored.
  mutating func goOnAsFetch(_ id: FetchID, with verdict: ResponseCheck.Verdict) -> Bool {
    guard fetches[id] != nil, !isComplete else { return false }
    switch verdict {
    case .part(let range, _):
      note(.answered)
      if ranges != .refused { representation.info?.supportsRanges = true }
      guard stored.byteCount(in: range) < range.upperBound - range.lowerBound else { return false }
      // Others may have shortened a request for missing bytes and continued from its end.
      if fetches[id]?.bringsBytes == false { fetches[id]?.range = range }
      fetches[id]?.purpose = .bytes
      fetches[id]?.position = range.lowerBound
      return true
    case .whole:
      guard beginWhole(id, at: fetches[id]?.range.lowerBound ?? 0) else { return false }
      fetches[id]?.purpose = .bytes
      return true
    default:
      return false
    }
  }
}
