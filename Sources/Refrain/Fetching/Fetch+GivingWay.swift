// SPDX-License-Identifier: MIT
import Foundation

/// The first response of another generation is used there: the fetch moves to that generation, and
/// nothing is requested twice.
extension Fetch {
  /// Begins another generation with the response.
  func giveWay(
    to response: OriginExchange.Response, asked: ByteRange, exchange: OriginExchange
  ) async -> Outcome {
    guard let (fetch, verdict) = entry.supersede(generation, by: self, response, asked: asked)
    else { return .done }
    events.send(.fetchStarted(entry.key, asked))
    await fetch.prepareIfEmpty()
    if case .whole = verdict { fetch.tell { $0.begin(StreamStation(response.headers)) } }
    return .movedOn(
      fetch, await fetch.use(verdict, of: response, asked: asked, exchange: exchange))
  }
}

extension Entry {
  /// Begins a new generation with a response whose bytes differ from this generation's. Readers
  /// that have read nothing move over, and join the fetch.
  ///
  /// - Parameters:
  ///   - fetch: the fetch that sent the request, which the new generation takes over.
  ///   - asked: the requested range.
  /// - Returns: the fetch in the new generation, and its verdict on the response; nil if the
  ///   response is useless, or another generation has taken the place already. The old generation
  ///   ends in any case.
  func supersede(
    _ generation: Generation, by fetch: Fetch, _ response: OriginExchange.Response, asked: ByteRange
  ) -> (Fetch, ResponseCheck.Verdict)? {
    let next = Generation(entry: self, state: stateAfter(generation))
    let (isBackground, coming) = generation.withState { state in
      (
        state.fetches[fetch.id]?.isBackground == true,
        Set(state.readers.filter { $0.value.isActive && !$0.value.hasRead }.map(\.key))
      )
    }
    let successor = next.withState { state in
      state.expected = coming
      let id = state.makeID()
      state.fetches[id] = .init(range: asked, isBackground: isBackground)
      return Fetch(id: id, generation: next)
    }
    // The stored bytes could be confirmed by a validator that the new ones have, too.
    let isContradicted = generation.withState {
      $0.validator.isShared(with: Validator(headers: response.headers))
    }
    let (verdict, actions) = successor.judged(response, asked: asked, sentIfRange: false)
    switch verdict {
    case .part, .whole, .beyondEnd: break
    default:
      supersede(generation, isContradicted: isContradicted)
      return nil
    }
    var task: Task<Void, Never>?
    let isReplaced = replace(generation, with: next) {
      // Before the old generation ends its fetches, it forgets this one, which no player of it waits
      // for any more.
      task = generation.withState { state in
        state.endBody(fetch.id)
        return state.fetches.removeValue(forKey: fetch.id)?.task
      }
    }
    guard let verdict, isReplaced else {
      generation.withState { $0.supersede() }
      return nil
    }
    let isLate = next.withState { state in
      state.fetches[successor.id]?.task = task
      return state.isOver
    }
    if isLate { task?.cancel() }
    superseded(generation, isContradicted: isContradicted)
    // Readers that left before the old generation was superseded are unknown to the new one.
    let left = generation.withState { coming.subtracting($0.readers.keys) }
    for id in left { next.withState { $0.stopExpecting(id) } }
    next.carryOut(actions)
    return (successor, verdict)
  }
}
