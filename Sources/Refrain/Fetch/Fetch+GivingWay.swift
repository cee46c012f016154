// SPDX-License-Identifier: MIT
import Foundation

/// An answer of another generation is that generation's first: the fetch goes on with it there, and
/// nothing is asked for twice.
extension Fetch {
  /// The origin has another generation: the response begins it. Unless it is another server's that
  /// has the same bytes, which readers in the middle can go on with.
  func giveWay(
    to response: OriginExchange.Response, asked: ByteRange, exchange: OriginExchange
  ) async -> Outcome {
    if let outcome = await compare(response, asked: asked, exchange: exchange) { return outcome }
    return await supersede(by: response, asked: asked, exchange: exchange)
  }

  /// - Parameter body: what is left of the response's body, and what of it is to be read again; nil:
  ///   all of it.
  func supersede(
    by response: OriginExchange.Response, asked: ByteRange, exchange: OriginExchange,
    body: IncomingBody? = nil
  ) async -> Outcome {
    guard let (fetch, verdict) = entry.supersede(generation, by: self, response, asked: asked)
    else { return .done }
    context.events.send(.fetchStarted(entry.key, asked))
    await fetch.prepareIfEmpty()
    if case .whole = verdict { fetch.tell { $0.begin(StreamStation(response.headers)) } }
    return .movedOn(
      fetch, await fetch.use(verdict, of: response, asked: asked, exchange: exchange, body: body))
  }

  /// Does with a response what its head calls for.
  func use(
    _ verdict: ResponseCheck.Verdict, of response: OriginExchange.Response, asked: ByteRange,
    exchange: OriginExchange, body: IncomingBody? = nil
  ) async -> Outcome {
    switch verdict {
    case .part(let range, _):
      return await receive(response, range: range, exchange: exchange, body: body)
    case .whole(let facts):
      let length = facts.length ?? generation.withState(\.length)
      return await receive(
        response, range: 0..<(length ?? .max), exchange: exchange, body: body)
    case .notModified:
      return .again(
        ResponseCheck.invalid("answered 304 to what was no question"), retryAfter: nil)
    case .changed:
      return await giveWay(to: response, asked: asked, exchange: exchange)
    case .otherServer:
      // The next answer may be the right server's, and the whole resource can be compared.
      let count = generation.withState { $0.countOtherAnswer(id) }
      if count <= GenerationState.mostOtherAnswers { return .askAnew }
      return await giveWay(to: response, asked: asked, exchange: exchange)
    case .beyondEnd(let length): return beyondEnd(length, asked: asked.lowerBound)
    case .refused(let status): return .failed(ResponseCheck.refusal(status))
    case .transient(let error, let wait): return .again(error, retryAfter: wait)
    case .invalid(let error): return .again(error, retryAfter: nil)
    case .failed(let error): return .failed(error)
    }
  }

  /// Goes on as `run` does, after an attempt that was made already.
  func goOn(after outcome: Outcome) async {
    let range = generation.withState { $0.fetches[id]?.range }
    await run(range ?? 0..<0, after: outcome)
  }
}

extension Entry {
  /// The origin has other bytes than this generation's, and a response brings them: a new generation
  /// begins with it. Readers who have read nothing go over, and join the fetch.
  ///
  /// - Parameters:
  ///   - fetch: has asked for the response, and is taken over by the new generation.
  ///   - asked: the range that was asked for.
  /// - Returns: the fetch in the new generation, and what the response is worth to it; nil where it
  ///   is of no use, or another generation has taken the place already. The old one is over in any
  ///   case.
  func supersede(
    _ generation: Generation, by fetch: Fetch, _ response: OriginExchange.Response, asked: ByteRange
  ) -> (Fetch, ResponseCheck.Verdict)? {
    let next = Generation(entry: self, state: stateAfter(generation))
    let (isBackground, coming) = generation.withState { state in
      (
        state.fetches[fetch.id]?.isBackground == true,
        Set(state.readers.filter { $0.value.isActive && !$0.value.hasRead }.keys)
      )
    }
    let successor = next.withState { state in
      state.expectedReaders = coming
      let id = state.makeID()
      state.fetches[id] = .init(
        range: asked, position: asked.lowerBound, isBackground: isBackground)
      return Fetch(id: id, generation: next)
    }
    let (verdict, actions) = successor.judged(response, asked: asked, sentIfRange: false)
    switch verdict {
    case .part, .whole, .beyondEnd: break
    default:
      supersede(generation)
      return nil
    }
    // Where each request may be answered by another server, the whole answer in hand is waited for,
    // however far the reader: a request for its offset alone could end this generation, too.
    if case .whole = verdict {
      next.withState { if $0.unreadReplacements >= 2 { $0.ignoresRanges = true } }
    }
    guard let verdict, replace(generation, with: next) else {
      generation.perform { $0.supersede() }
      return nil
    }
    // Nobody is short of it any more in the old generation, which no longer knows it from here on.
    generation.perform { $0.endBody(fetch.id) }
    // Before the old generation ends its fetches.
    let task = generation.withState { $0.fetches.removeValue(forKey: fetch.id)?.task }
    let isLate = next.withState { state in
      state.fetches[successor.id]?.task = task
      return state.isClosed || state.isSuperseded
    }
    if isLate { task?.cancel() }
    superseded(generation)
    next.carryOut(actions)
    return (successor, verdict)
  }
}
