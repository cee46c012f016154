// SPDX-License-Identifier: MIT
import Foundation

extension Fetch {
  /// Judges a response against what is known by now, and records its metadata in the same critical
  /// section: of two first responses, possibly of two versions, the second is judged by the first.
  /// Returns nil if it brings nothing that is needed.
  @inline(never)
  func judged(
    _ response: OriginExchange.Response, _ exchange: OriginExchange
  ) -> ResponseCheck.Verdict? {
    let (now, url, request) = (now.wall, entry.resource.url, exchange.wanted)
    return generation.withState { state in
      // A generation that the response to a confirmation has begun is not confirmed by it.
      let isConfirming = request.isConfirmation && state.info != nil
      let known = state.info == nil ? nil : isConfirming ? request.known : state.knownToCheck
      let check = ResponseCheck(
        asked: request.range, known: known, sentIfRange: request.ifRange != nil,
        isNoPage: state.info.map { MediaType.isKnownNoPage($0.mimeType, url: url) } ?? false)
      var verdict = check.verdict(status: response.status, headers: response.headers, now: now)
      // Behind a redirect, it may be another origin's, or have come for another client.
      if verdict.facts != nil, entry.storage.isShared, response.chain.redirections.isEmpty,
        state.reader(asking: response.asked.given) != nil, response.isPersonal,
        !response.isLive, response.metadataInterval == nil
      {
        return .failed(.personal)
      }
      if isConfirming {
        switch verdict {
        case .transient, .invalid, .failed: return verdict
        case .notModified,
          .beyondEnd(length: 0) where request.known.length == 0:
          confirmed(response, in: &state)
          return nil
        case _ where !request.isConfirmed(by: verdict, hasBeenRead: state.hasBeenRead):
          // A reader asked for the newest version: its request is not one of a row.
          if state.isOneResponse {
            state.representation.follow(replacements: Validator.mostReplacements)
          }
          return .changed
        case _ where !state.turnIntoFetch(id, by: verdict):
          confirmed(response, in: &state)
          return nil
        default: break
        }
      }
      if known == nil, state.isOneResponse {
        switch verdict {
        case .part(let range, let facts) where range == 0..<(facts.length ?? .max):
          verdict = .whole(facts)
        case .part, .beyondEnd: verdict = .changed
        default: break
        }
      }
      switch verdict {
      case .part(_, let facts) where state.isVouchedFor(first: facts),
        .whole(let facts) where state.isVouchedFor(first: facts):
        return .changed
      case .part(let range, let facts):
        state.fetches[id]?.announcedEnd = range.upperBound
        state.fetches.note(.answered)
        note(facts, response, in: &state)
      case .whole(let facts):
        if response.droppedRange { state.fetches.note(.refused) }
        if response.isLive || state.isLive {
          let isFirst = state.transient.liveEnd.map { $0 == 0 } ?? (state.info == nil)
          guard isFirst else {
            // Readers wait for another response if one is arriving already.
            let others = state.fetches.all.filter { $0.key != id }.values
            return state.isLive && others.contains { $0.phase == .whole } ? nil : .changed
          }
          state.transient.liveEnd = 0
          state.fetches.note(.ignored)
          state.storage.refuse(.endless)
        }
        let end = state.length ?? .max
        guard state.fetches.beginWhole(id, to: end, at: request.range.lowerBound) else {
          if isConfirming { confirmed(response, in: &state) }
          return nil
        }
        note(facts, response, in: &state)
      case .beyondEnd(let length?) where known == nil:
        let facts = ResponseCheck.Facts(
          length: length, mimeType: nil, supportsRanges: true,
          validator: Validator(headers: response.headers))
        state.fetches.note(.answered)
        note(facts, response, in: &state)
      default: break
      }
      // Once the fetch is known to bring what readers would request.
      if isConfirming {
        state.storage.noteRecordStale()
        state.confirmed(at: entry.now)
      }
      return verdict
    }
  }

  func use(
    _ verdict: ResponseCheck.Verdict?, of response: OriginExchange.Response,
    _ exchange: OriginExchange
  ) async -> Outcome {
    await prepare(exchange)
    switch verdict {
    case .part(let range, _)?: return await receive(response, range, exchange)
    case .whole(let facts)?:
      tell { $0.begin(StreamStation(response.headers)) }
      let length = facts.length ?? generation.withState(\.length)
      return await receive(response, 0..<(length ?? .max), exchange)
    case let verdict?: return await useOther(verdict, of: response, exchange)
    case nil: return .done
    }
  }

  @inline(never)
  private func prepare(_ exchange: OriginExchange) async {
    let (isEmpty, isConfirming) = generation.withState {
      ($0.length == 0, $0.fetches[id]?.isConfirmation == true)
    }
    if exchange.wanted.isConfirmation, !isConfirming {
      entry.events.send(.fetchStarted(entry.key, exchange.wanted.range))
    }
    // Otherwise the first byte creates the files.
    if isEmpty { _ = await entry.storage.prepare(generation) }
  }

  // Apart, so that a fetch that receives does not hold what this needs.
  @inline(never)
  private func useOther(
    _ verdict: ResponseCheck.Verdict, of response: OriginExchange.Response,
    _ exchange: OriginExchange
  ) async -> Outcome {
    switch verdict {
    case .part, .whole: return .done
    case .notModified:
      var error = ResponseCheck.invalid("answered 304, but was not asked to revalidate")
      error = await exchange.keeping(response, in: error)
      guard error.response != nil else { return .again(error) }
      error.status = response.status
      return .failed(error)
    case .changed:
      let now = now.uptime
      if generation.withState({ $0.hasChangedTooOften(at: now) }) {
        return .failed(GenerationState.keepsChanging)
      }
      return await giveWay(to: response, exchange)
    case .beyondEnd(let length):
      let asked = exchange.wanted.range.lowerBound
      return generation.withState { state in
        // The origin sent no length, and nothing follows the last byte received.
        guard let end = length ?? (state.readable.contains(asked - 1) ? asked : nil) else {
          return .failed(
            MediaCacheError(
              asked == 0 ? .status : .badRange,
              "The origin has no bytes at \(asked) and does not report the length.",
              remedy: "Check the URL.", status: 416))
        }
        state.end(at: end)
        return .done
      }
    case .transient(let error, let wait):
      return .again(await exchange.keeping(response, in: error), retryAfter: wait)
    case .invalid(let error):
      // Neither the response to the range nor that without it was usable. A confirmation that fails
      // leaves the stored bytes.
      let isFinal = response.droppedRange && !exchange.wanted.isConfirmation
      return isFinal ? .failed(error) : .again(error)
    case .failed(let error): return .failed(await exchange.keeping(response, in: error))
    }
  }

  func tell(_ note: @Sendable (inout StreamTitles) -> StreamTitle?) {
    guard let title = generation.withState({ note(&$0.representation.titles) }) else { return }
    entry.events.send(.streamTitle(entry.key, title))
  }

  private func note(
    _ facts: ResponseCheck.Facts, _ response: OriginExchange.Response,
    in state: inout GenerationState
  ) {
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
    state.representation.lastContact = (now.uptime, true)
    record(response, isConfirmation: false, in: &state.representation)
    if state.isForbidden { state.storage.refuse(.forbidden) }
    state.establish(information)
  }

  /// Records that the origin has confirmed the generation, by a response that brings nothing else.
  private func confirmed(
    _ response: OriginExchange.Response, in state: inout GenerationState
  ) {
    if response.droppedRange { state.fetches.note(.refused) }
    if response.status == 206 { state.fetches.note(.answered) }
    record(response, isConfirmation: true, in: &state.representation)
    // Ranges are requested again once all that one response brought is confirmed.
    if state.isComplete { state.representation.follow(replacements: 0) }
    state.storage.noteRecordStale()
    state.confirmed(at: now)
  }

  private func record(
    _ response: OriginExchange.Response, isConfirmation: Bool,
    in representation: inout Representation
  ) {
    let keeper = response.keeper(isShared: entry.storage.isShared)
    var headers = representation.headers
    // A refusal describes itself, not the resource.
    if isConfirmation || response.status != 416 {
      headers = StoredFields.merged(
        headers, with: response.headers, isConfirmation: isConfirmation
      ).varying(by: response.chain.redirections)
    }
    let freshness = Freshness(
      status: response.status == 203 && !isConfirmation ? 203 : 200,
      headers: isConfirmation ? headers : response.headers,
      confirmation: isConfirmation ? response.headers : nil, requestTime: response.requestTime,
      responseTime: response.responseTime, keeper: keeper)
    representation.respond(headers, selectedBy: response.asked.resource.headers)
    representation.refresh(
      freshness.behind(response.chain.redirections, keeper: keeper),
      askedAt: response.requestTime, confirmedAt: now.uptime)
  }
}

extension Fetch {
  /// Begins another generation with a response of other bytes than this one's, which ends in any
  /// case. The fetch continues there, so that nothing is requested twice; readers that have read
  /// nothing move over, and join it.
  private func giveWay(
    to response: OriginExchange.Response, _ exchange: OriginExchange
  ) async -> Outcome {
    let next = Generation(entry: entry, state: entry.stateAfter(generation))
    let (running, isContradicted) = generation.withState { state in
      (
        state.fetches[id],
        // The stored bytes could be confirmed by a validator that the new ones have, too.
        [.same, .weaklySame].contains(
          state.validator.comparison(with: Validator(headers: response.headers)))
      )
    }
    let range = exchange.wanted.range
    let fetch = next.withState { state in
      let id = state.makeID()
      var fetch = GenerationState.RunningFetch(
        range: range, position: range.lowerBound, isBackground: running?.isBackground == true)
      fetch.task = running?.task
      state.fetches.add(fetch, as: id)
      return Fetch(id: id, generation: next)
    }
    let verdict = fetch.judged(response, exchange)
    switch verdict {
    case .part, .whole, .beyondEnd: break
    default:
      entry.supersede(generation, isContradicted: isContradicted)
      return .done
    }
    guard entry.replace(generation, with: next) else {
      // Yet another generation has taken the place.
      generation.withState { $0.supersede() }
      return .done
    }
    // Before the old generation ends its fetches, it forgets this one.
    _ = generation.withState { $0.fetches.remove(id) }
    next.withState { $0.watch() }
    entry.superseded(generation, isContradicted: isContradicted)
    if !exchange.wanted.isConfirmation { entry.events.send(.fetchStarted(entry.key, range)) }
    return .movedOn(fetch, await fetch.use(verdict, of: response, exchange))
  }
}

extension GenerationState {
  /// Whether a response is the first with a validator: its bytes may be of another version. If no
  /// reader has received any, it begins a generation with that validator. A reader in the middle
  /// continues, and later responses have to agree with the validator (`Validator.learn`).
  fileprivate func isVouchedFor(first facts: ResponseCheck.Facts) -> Bool {
    info != nil && !isLive && validator.isEmpty && !facts.validator.isEmpty && !hasBeenRead
  }

  /// Turns a confirmation into an ordinary fetch; false if its response brings no missing bytes.
  fileprivate mutating func turnIntoFetch(
    _ id: FetchID, by verdict: ResponseCheck.Verdict
  ) -> Bool {
    if isComplete { return false }
    if case .part(let range, _) = verdict {
      guard stored.byteCount(in: range) < range.upperBound - range.lowerBound else { return false }
      // Others may have shortened a request for missing bytes and continued from its end.
      if fetches[id]?.bringsBytes == false { fetches[id]?.range = range }
      fetches[id]?.position = range.lowerBound
    }
    fetches[id]?.purpose = .bytes
    return true
  }
}
