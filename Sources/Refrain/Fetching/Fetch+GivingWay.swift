// SPDX-License-Identifier: MIT
import Foundation

/// The first response of another generation is used there: the fetch moves to that generation, and
/// nothing is requested twice.
extension Fetch {
  /// Begins another generation with a response whose bytes differ from this one's, which ends in any
  /// case. Readers that have read nothing move over, and join the fetch.
  func giveWay(
    to response: OriginExchange.Response, asked: ByteRange, exchange: OriginExchange
  ) async -> Outcome {
    let next = Generation(entry: entry, state: entry.stateAfter(generation))
    let (isBackground, coming, isContradicted) = generation.withState { state in
      (
        state.fetches[id]?.isBackground == true,
        Set(state.readers.filter { $0.value.isActive && !$0.value.hasRead }.keys),
        // The stored bytes could be confirmed by a validator that the new ones have, too.
        state.validator.isShared(with: Validator(headers: response.headers))
      )
    }
    let fetch = next.withState { state in
      state.expected = coming
      let id = state.makeID()
      state.fetches[id] = .init(range: asked, isBackground: isBackground)
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
      // Before the old generation ends its fetches, it forgets this one, which no player of it waits
      // for any more.
      task = generation.withState { state in
        state.endBody(id)
        return state.fetches.removeValue(forKey: id)?.task
      }
    }
    guard let verdict, isReplaced else {
      // Yet another generation has taken the place.
      generation.withState { $0.supersede() }
      return .done
    }
    let isLate = next.withState { state in
      state.fetches[fetch.id]?.task = task
      return state.isOver
    }
    if isLate { task?.cancel() }
    entry.superseded(generation, isContradicted: isContradicted)
    // Readers that left before the old generation was superseded are unknown to the new one.
    let left = generation.withState { coming.subtracting($0.readers.keys) }
    for id in left { next.withState { $0.stopExpecting(id) } }
    next.carryOut(actions)
    events.send(.fetchStarted(entry.key, asked))
    await fetch.prepareIfEmpty()
    if case .whole = verdict { fetch.tell { $0.begin(StreamStation(response.headers)) } }
    return .movedOn(
      fetch, await fetch.use(verdict, of: response, asked: asked, exchange: exchange))
  }
}
