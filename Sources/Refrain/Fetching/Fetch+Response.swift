// SPDX-License-Identifier: MIT
import Foundation

extension Fetch {
  /// Creates the files of an empty resource; otherwise the first byte creates them.
  func prepareIfEmpty() async {
    if generation.withState({ $0.length == 0 }) { _ = await entry.storage.prepare(generation) }
  }

  typealias Judgement = (ResponseCheck.Verdict?, [GenerationState.Action])

  /// Judges a response against what is known by now, and records its metadata in the same critical
  /// section: of two first responses, possibly of two versions, the second is judged by the first.
  /// Without a verdict, another response brings the same bytes.
  @inline(never)
  func judged(
    _ response: OriginExchange.Response, asked: ByteRange, sentIfRange: Bool
  ) -> Judgement {
    let (now, url) = (now.wall, entry.resource.url)
    return generation.withState { state -> Judgement in
      let known = state.info == nil ? nil : state.knownToCheck
      let check = ResponseCheck(
        asked: asked, known: known, sentIfRange: sentIfRange,
        statedLength: response.chain.statedLength, isNoPage: state.isNoPage(at: url))
      var verdict = check.verdict(status: response.status, headers: response.headers, now: now)
      if known == nil, state.isOneResponse {
        switch verdict {
        case .part(let range, let facts) where range == 0..<(facts.length ?? .max):
          verdict = .whole(facts)
        case .part, .beyondEnd: verdict = .changed
        default: break
        }
      }
      if state.isFirstToVouch(verdict) { return (.changed, []) }
      switch verdict {
      case .part(let range, let facts):
        state.fetches[id]?.announcedEnd = range.upperBound
        note(facts, response, isWhole: false, in: &state)
      case .whole(let facts):
        if response.droppedRange { state.fetches.note(.refused) }
        if response.isLive || state.isLive {
          // Readers wait for another response, which is arriving already.
          if state.isLive,
            state.fetches.all.contains(where: { $0.key != id && $0.value.phase == .whole })
          {
            return (nil, [])
          }
          let isFirst = state.liveEnd.map { $0 == 0 } ?? (state.info == nil)
          guard isFirst else { return (.changed, []) }
          state.liveEnd = 0
          state.fetches.note(.ignored)
          state.storage.refuse(.endless)
        }
        let end = state.length ?? .max
        guard state.fetches.beginWhole(id, to: end, at: asked.lowerBound) else { return (nil, []) }
        note(facts, response, isWhole: true, in: &state)
      case .beyondEnd(let length?) where known == nil:
        let facts = ResponseCheck.Facts(
          length: length, mimeType: nil, supportsRanges: true,
          validator: Validator(headers: response.headers))
        note(facts, response, isWhole: false, in: &state)
      default: break
      }
      return (verdict, state.takeActions())
    }
  }

  func use(
    _ verdict: ResponseCheck.Verdict, of response: OriginExchange.Response, asked: ByteRange,
    exchange: OriginExchange
  ) async -> Outcome {
    switch verdict {
    case .part(let range, _):
      return await receive(response, range: range, exchange: exchange)
    case .whole(let facts):
      tell { $0.begin(StreamStation(response.headers)) }
      let length = facts.length ?? generation.withState(\.length)
      return await receive(response, range: 0..<(length ?? .max), exchange: exchange)
    default: return await useOther(verdict, of: response, asked: asked, exchange: exchange)
    }
  }

  /// Apart, so that a fetch that receives does not hold what this needs.
  @inline(never)
  private func useOther(
    _ verdict: ResponseCheck.Verdict, of response: OriginExchange.Response, asked: ByteRange,
    exchange: OriginExchange
  ) async -> Outcome {
    switch verdict {
    case .part, .whole: return .done
    case .notModified:
      var error = ResponseCheck.invalid("answered 304, but was not asked to revalidate")
      guard exchange.passesOnErrors() else { return .again(error) }
      error = await exchange.keeping(response, in: error)
      error.status = response.status
      return .failed(error)
    case .changed:
      let now = now.uptime
      if generation.withState({ $0.hasChangedTooOften(at: now) }) {
        return .failed(GenerationState.keepsChanging)
      }
      return await giveWay(to: response, asked: asked, exchange: exchange)
    case .beyondEnd(let length): return beyondEnd(length, asked: asked.lowerBound)
    case .transient(let error, let wait):
      return .again(await exchange.keeping(response, in: error), retryAfter: wait)
    case .invalid(let error):
      // Neither the response to the range nor that without it was usable. Two that contradict each
      // other may be an accident.
      return response.droppedRange && response.chain.statedLength == nil
        ? .failed(error) : .again(error)
    case .failed(let error): return .failed(await exchange.keeping(response, in: error))
    }
  }

  private func beyondEnd(_ length: Int64?, asked: Int64) -> Outcome {
    if length == nil, asked == 0 {
      return .failed(
        MediaCacheError(
          .status, "The origin answered 416 to a request for the whole resource.",
          remedy: "Check the URL.", status: 416))
    }
    return generation.withState { state in
      // The origin sent no length, and nothing follows the last byte received.
      guard let end = length ?? (state.readable.contains(asked - 1) ? asked : nil) else {
        return .failed(
          MediaCacheError(
            .badRange, "The origin has no bytes at \(asked) and does not report the length."))
      }
      state.end(at: end)
      return .done
    }
  }

  func tell(_ note: @Sendable (inout StreamTitles) -> StreamTitle?) {
    guard let title = generation.withState({ note(&$0.representation.titles) }) else { return }
    events.send(.streamTitle(entry.key, title))
  }

  func note(
    _ facts: ResponseCheck.Facts, _ response: OriginExchange.Response, isWhole: Bool,
    in state: inout GenerationState
  ) {
    let keeper = self.keeper(response)
    let freshness = Freshness(
      status: response.status == 203 ? 203 : 200, headers: response.headers,
      requestTime: response.requestTime,
      responseTime: response.responseTime, keeper: keeper
    ).behind(response.chain.redirections, keeper: keeper)
    var headers = state.representation.headers
    let isSuccess = (200..<300).contains(response.status)
    // Found before it is woken. A redirect may be for one client as well, and is left to it; the
    // response behind it may be another origin's, or have come for another client.
    let reader =
      entry.storage.isShared && response.chain.redirections.isEmpty && isSuccess
      ? state.reader(asking: response.asked.given) : nil
    // A refusal describes itself, not the resource.
    if isSuccess {
      headers = StoredFields.merged(headers, with: response.headers, isConfirmation: false)
        .varying(by: response.chain.redirections)
    }
    state.representation.respond(headers, selectedBy: response.asked.resource.headers)
    state.representation.lastContact = (now.uptime, true)
    // A range was answered: the origin supports them after all.
    if !isWhole { state.fetches.note(.answered) }
    let isFirst = state.info == nil
    if isFirst {
      let replacements = state.validator.replacements
      state.representation.validator = facts.validator
      state.representation.validator.replacements = replacements
    }
    var information =
      state.info
      ?? ContentInformation(
        length: nil, mimeType: nil, supportsRanges: false, validator: nil, finalURL: response.url)
    if isFirst || state.representation.validator.learn(from: facts.validator) {
      information.validator = state.validator.display
      state.storage.noteRecordStale()
    }
    information.mimeType = information.mimeType ?? facts.mimeType
    information.length = information.length ?? facts.length
    // A station's support for ranges is useless: its next response has other bytes.
    information.supportsRanges =
      state.fetches.ranges != .refused
      && (information.supportsRanges || facts.supportsRanges && !state.isLive)
    information.finalURL = response.url
    state.representation.refresh(
      freshness, askedAt: response.requestTime, confirmedAt: now.uptime)
    if state.isForbidden { state.storage.refuse(.forbidden) }
    state.establish(information)
    state.hand(response.headers, response.status, to: reader)
  }
}

extension Fetch {
  /// Begins another generation with a response whose bytes differ from this one's, which ends in any
  /// case. The fetch continues there, so that nothing is requested twice; readers that have read
  /// nothing move over, and join it.
  func giveWay(
    to response: OriginExchange.Response, asked: ByteRange, exchange: OriginExchange
  ) async -> Outcome {
    let next = Generation(entry: entry, state: entry.stateAfter(generation))
    let (isBackground, isContradicted) = generation.withState { state in
      (
        state.fetches[id]?.isBackground == true,
        // The stored bytes could be confirmed by a validator that the new ones have, too.
        state.validator.isShared(with: Validator(headers: response.headers))
      )
    }
    let fetch = next.withState { state in
      let id = state.makeID()
      let fetch = GenerationState.RunningFetch(
        range: asked, position: asked.lowerBound, isBackground: isBackground)
      state.fetches.add(fetch, as: id)
      return Fetch(id: id, generation: next)
    }
    let (verdict, actions) = fetch.judged(response, asked: asked, sentIfRange: false)
    switch verdict {
    case .part, .whole, .beyondEnd: break
    default:
      entry.supersede(generation, isContradicted: isContradicted)
      return .done
    }
    var task: Task<Void, Never>?
    let isReplaced = entry.replace(generation, with: next) {
      // Before the old generation ends its fetches, it forgets this one.
      task = generation.withState { $0.fetches.remove(id)?.task }
    }
    guard let verdict, isReplaced else {
      // Yet another generation has taken the place.
      generation.withState { $0.supersede() }
      return .done
    }
    let isLate = next.withState { state in
      state.fetches[fetch.id]?.task = task
      state.watch()
      return state.isOver
    }
    if isLate { task?.cancel() }
    entry.superseded(generation, isContradicted: isContradicted)
    next.carryOut(actions)
    events.send(.fetchStarted(entry.key, asked))
    await fetch.prepareIfEmpty()
    return .movedOn(
      fetch, await fetch.use(verdict, of: response, asked: asked, exchange: exchange))
  }
}

extension Fetch {
  func confirm(
    by response: OriginExchange.Response, to request: FetchRequest, _ exchange: OriginExchange
  ) async -> Outcome {
    let url = entry.resource.url
    let (isNoPage, hasBeenRead) = generation.withState { ($0.isNoPage(at: url), $0.hasBeenRead) }
    let check = ResponseCheck(
      asked: request.range, known: request.known, sentIfRange: request.ifRange != nil,
      statedLength: response.chain.statedLength, isNoPage: isNoPage)
    let verdict = check.verdict(status: response.status, headers: response.headers, now: now.wall)
    switch verdict {
    case .notModified,
      .beyondEnd(length: 0) where request.known.length == 0:
      confirmed(response, bringing: nil)
      return .done
    case _ where request.isConfirmed(by: verdict, hasBeenRead: hasBeenRead):
      guard confirmed(response, bringing: verdict) else { return .done }
      events.send(.fetchStarted(entry.key, request.range))
    case .part, .whole, .changed, .beyondEnd:
      // A reader asked for the newest version: its request is not one of a row.
      generation.withState { state in
        if state.isOneResponse {
          state.representation.follow(replacements: Validator.mostReplacements)
        }
      }
      return await giveWay(to: response, asked: request.range, exchange: exchange)
    case .transient(let error, _), .invalid(let error):
      return .again(await exchange.keeping(response, in: error))
    case .failed: break
    }
    return await use(verdict, of: response, asked: request.range, exchange: exchange)
  }

  /// Records that the origin has confirmed the generation, a part of which the response may bring.
  /// Returns whether these bytes are useful: from then on this is an ordinary fetch.
  @discardableResult
  private func confirmed(
    _ response: OriginExchange.Response, bringing verdict: ResponseCheck.Verdict?
  ) -> Bool {
    generation.withState { state in
      if response.droppedRange { state.fetches.note(.refused) }
      let merged = StoredFields.merged(
        state.representation.headers, with: response.headers, isConfirmation: true
      ).varying(by: response.chain.redirections)
      let keeper = self.keeper(response)
      let freshness = state.freshness.map { _ in
        Freshness.confirmed(
          by: response.headers, merged: merged, requestTime: response.requestTime,
          responseTime: response.responseTime, keeper: keeper
        ).behind(response.chain.redirections, keeper: keeper)
      }
      state.representation.refresh(
        freshness, askedAt: response.requestTime, confirmedAt: now.uptime)
      state.representation.respond(merged, selectedBy: response.asked.resource.headers)
      // Ranges are requested again once all that one response brought is confirmed.
      if state.isComplete { state.representation.follow(replacements: 0) }
      state.storage.noteRecordStale()
      let isOfUse = verdict.map { state.goOnAsFetch(id, with: $0) } ?? false
      state.confirmed(at: now)
      return isOfUse
    }
  }

  func keeper(_ response: OriginExchange.Response) -> Freshness.Keeper {
    response.keeper(
      isShared: entry.storage.isShared,
      isSecret: entry.resource.policy.group?.isSecret == true)
  }
}

extension GenerationState {
  /// Whether a response is the first with a validator: its bytes may be of another version. If no
  /// reader has received any, it begins a generation with that validator. A reader in the middle
  /// continues, and later responses have to agree with the validator (`Validator.learn`).
  func isFirstToVouch(_ verdict: ResponseCheck.Verdict) -> Bool {
    guard info != nil, !isLive, validator.isEmpty, !hasBeenRead else { return false }
    switch verdict {
    case .part(_, let facts), .whole(let facts): return !facts.validator.isEmpty
    default: return false
    }
  }

  /// Turns a confirmation that brings bytes into an ordinary fetch; false if none are needed.
  mutating func goOnAsFetch(_ id: FetchID, with verdict: ResponseCheck.Verdict) -> Bool {
    guard fetches[id] != nil, !isComplete else { return false }
    switch verdict {
    case .part(let range, _):
      fetches.note(.answered)
      if fetches.ranges != .refused { representation.info?.supportsRanges = true }
      guard stored.byteCount(in: range) < range.upperBound - range.lowerBound else { return false }
      // Others may have shortened a request for missing bytes and continued from its end.
      if fetches[id]?.bringsBytes == false { fetches[id]?.range = range }
      fetches[id]?.position = range.lowerBound
    case .whole:
      let offset = fetches[id]?.range.lowerBound ?? 0
      guard fetches.beginWhole(id, to: length ?? .max, at: offset) else { return false }
    default:
      return false
    }
    fetches[id]?.purpose = .bytes
    return true
  }
}
