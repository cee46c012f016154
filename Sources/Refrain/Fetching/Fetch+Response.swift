// SPDX-License-Identifier: MIT
import Foundation

/// Judges a response and records its metadata.
extension Fetch {
  /// Judges a response against what is known by now, which may be more than when the request was
  /// sent. Its metadata is recorded in the same critical section: of two first responses, possibly
  /// of two versions, the second is judged by the first.
  ///
  /// - Returns: nil if another response brings the same bytes.
  func judge(
    _ response: OriginExchange.Response, asked: ByteRange, sentIfRange: Bool
  ) async -> ResponseCheck.Verdict? {
    let (verdict, actions) = judged(
      response, asked: asked, sentIfRange: sentIfRange, mayHand: entry.storage.isShared)
    if generation.withState({ $0.handed != nil }) { entry.setApart(generation) }
    await prepareIfEmpty()
    generation.carryOut(actions)
    if case .whole = verdict { tell { $0.begin(StreamStation(response.headers)) } }
    return verdict
  }

  /// Creates the files of an empty resource; otherwise the first byte creates them.
  func prepareIfEmpty() async {
    if generation.withState({ $0.length == 0 }) { _ = await entry.storage.prepare(generation) }
  }

  /// As `judge`, without the actions that follow.
  ///
  /// - Parameter mayHand: whether a response that must not be stored is handed to the reader that
  ///   asked for it (`GenerationState.hand`).
  func judged(
    _ response: OriginExchange.Response, asked: ByteRange, sentIfRange: Bool, mayHand: Bool = false
  ) -> (ResponseCheck.Verdict?, [GenerationState.Action]) {
    let now = now.wall
    let url = entry.resource.url
    return generation.withState {
      state -> (ResponseCheck.Verdict?, [GenerationState.Action]) in
      let known = state.info.map {
        ResponseCheck.Known(
          length: $0.length, validator: state.validator, isPage: MediaType.isPage($0.mimeType))
      }
      let check = ResponseCheck(
        asked: asked, known: known, sentIfRange: sentIfRange,
        statedLength: response.statedLength, isNoPage: state.isNoPage(at: url))
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
      // Found before it is woken. A redirect may be for one client as well, and is left to it; the
      // response behind it may be another origin's, or have come for another client.
      let reader =
        mayHand && response.redirections.isEmpty && (200..<300).contains(response.status)
        ? state.reader(asking: response.given) : nil
      switch verdict {
      case .part(let range, let facts):
        state.fetches[id]?.announcedEnd = range.upperBound
        note(facts, response, isWhole: false, in: &state)
        state.hand(response.headers, response.status, to: reader)
      case .whole(let facts):
        if response.droppedRange { state.note(.refused) }
        if response.isLive || state.isLive {
          switch state.liveAnswer(to: id) {
          case .first: state.beginLive()
          case .needless: return (nil, [])
          case .other: return (.changed, [])
          }
        }
        guard state.beginWhole(id, at: asked.lowerBound) else { return (nil, []) }
        note(facts, response, isWhole: true, in: &state)
        state.hand(response.headers, response.status, to: reader)
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

  /// Records a title, and reports it if it is new.
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
      status: 200, headers: response.headers, requestTime: response.requestTime,
      responseTime: response.responseTime, keeper: keeper
    ).behind(response.redirections, keeper: keeper)
    let headers = state.representation.headers
    // A refusal describes itself, not the resource.
    let describes = (200..<300).contains(response.status)
    state.representation.respond(
      describes
        ? StoredFields.merged(headers, with: response.headers, isConfirmation: false)
          .varying(by: response.redirections) : headers,
      selectedBy: response.resource.headers)
    state.lastContact = .responded(at: now.uptime)
    // A range was answered: the origin supports them after all.
    if !isWhole { state.note(.answered) }
    // A station's support for ranges is useless: the same range of its next response has other
    // bytes.
    let supportsRanges = facts.supportsRanges && !state.isLive && state.ranges != .refused
    let isFirst = state.info == nil
    if isFirst { state.representation.identify(by: facts.validator) }
    var information =
      state.info
      ?? ContentInformation(
        length: facts.length, mimeType: facts.mimeType, supportsRanges: supportsRanges,
        validator: nil, finalURL: response.url)
    if isFirst || state.representation.learn(from: facts.validator) {
      information.validator = state.validator.display
      state.storage.noteRecordStale()
    }
    information.mimeType = information.mimeType ?? facts.mimeType
    information.length = information.length ?? facts.length
    if state.ranges == .refused { information.supportsRanges = false }
    information.supportsRanges = information.supportsRanges || supportsRanges
    information.finalURL = response.url
    state.representation.refresh(
      freshness, askedAt: response.requestTime, confirmedAt: now.uptime)
    if state.isForbidden { state.storage.refuse(.forbidden) }
    state.establish(information)
  }
}

extension GenerationState {
  /// Whether a response is the first with a validator, of a generation that began without one:
  /// nobody knows whether its bytes are of the same version. If no reader has received any, the
  /// response begins a generation with that validator. A reader in the middle continues, and every
  /// later response has to agree with the validator (`Validator.learn`).
  func isFirstToVouch(_ verdict: ResponseCheck.Verdict) -> Bool {
    guard info != nil, !isLive, validator.isEmpty else { return false }
    switch verdict {
    case .part(_, let facts), .whole(let facts):
      return !facts.validator.isEmpty && !readers.values.contains(where: \.hasRead)
    default:
      return false
    }
  }
}
