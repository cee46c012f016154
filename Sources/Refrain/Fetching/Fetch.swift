// SPDX-License-Identifier: MIT
import Foundation

/// Fills a hole from the origin: requests, checks, stores, and retries from the byte where the
/// response broke off. A confirmation is conditional (RFC 9111 §4.3), and fetches the bytes that a
/// reader wants next. Runs on `IOThreads`, since it writes.
struct Fetch: Sendable {
  let id: FetchID
  let generation: Generation

  var entry: Entry { generation.entry }
  var now: Moment { entry.now }

  /// How one attempt ended.
  enum Outcome: Sendable {
    /// The range is stored, or nobody wants it any more.
    case done
    /// The request is sent again at once.
    case askAnew
    case again(MediaCacheError, retryAfter: Duration? = nil)
    /// No further attempt helps; `isForBackground`: before a player waits for the bytes.
    case failed(MediaCacheError, isForBackground: Bool = false)
    /// The response has begun another generation, where the fetch continues.
    indirect case movedOn(Fetch, Outcome)
  }

  /// A task's memory holds the frames of all that it awaits: what an attempt comes to is computed
  /// apart, and not inlined.
  func run(_ range: ByteRange) async {
    var course = Course(of: self, range)
    if !course.isConfirming { entry.events.send(.fetchStarted(entry.key, range)) }
    while !Task.isCancelled {
      let outcome = await course.fetch.attempt(course.range)
      guard let delay = course.delay(after: outcome) else { break }
      do { try await Task.sleep(for: delay) } catch { break }
    }
    course.end()
  }

  var running: GenerationState.RunningFetch? { generation.withState { $0.fetches[id] } }
  var isBackground: Bool { running?.isBackground == true }

  /// Only a confirmation is for `range`.
  private func attempt(_ range: ByteRange) async -> Outcome {
    let next = generation.withState { state in
      state.fetches[id]?.endRest()
      return state.nextRequest(of: id, confirming: range, at: now)
    }
    guard var request = next else { return .done }
    if !request.isConfirmation, isBackground {
      // It can be cancelled while somebody plays.
      guard generation.withState({ $0.beginRest(id) }) else { return .done }
      await entry.starter.gate.waitTurn { !isBackground }
      generation.withState { $0.fetches[id]?.endRest() }
      if Task.isCancelled { return .done }
    }
    request.purpose = isBackground ? .prefetch : .playback
    let exchange = exchange(for: request)
    defer { generation.withState { $0.fetches[id]?.endRest() } }
    let began = ContinuousClock.now
    do {
      return try await exchange.run { response in
        let latency = (ContinuousClock.now - began).seconds
        generation.withState { $0.limits.latency = min($0.limits.latency ?? .infinity, latency) }
        return await use(judged(response, exchange), of: response, exchange)
      }
    } catch let error as MediaCacheError {
      if error.code == .networkNotAllowed, request.purpose == .prefetch {
        // For bytes, a player makes a request of its own, which does not bring all the prefetch.
        let isAskedAnew = request.isConfirmation && !isBackground
        return isAskedAnew ? .askAnew : .failed(error, isForBackground: true)
      }
      return error.retry == nil ? .failed(error) : .again(error)
    } catch {
      if exchange.deadline.end == .cancelled { return .askAnew }
      generation.withState { $0.fetches[id]?.isCalledOff = true }
      return .done
    }
  }

  @inline(never)
  private func exchange(for request: FetchRequest) -> OriginExchange {
    let isPrefetch = request.purpose == .prefetch
    return OriginExchange(request, of: entry.requests) {
      generation.withState { state in
        state.readers.values.contains { $0.terms.passesOnErrors && !$0.hasRead }
      }
    } onConnectivity: { connectivity in
      generation.withState { state in
        guard connectivity == .waiting else {
          state.fetches[id]?.endRest()
          return true
        }
        // A player may wait for it by now, which may use other networks.
        return state.beginRest(id) && !(isPrefetch && state.fetches[id]?.isBackground != true)
      }
    } onInterim: { status, headers, given in
      let receive = generation.withState { $0.reader(asking: given)?.terms.onInterim }
      receive?(status, headers)
    }
  }

  func receive(
    _ response: OriginExchange.Response, _ range: ByteRange, _ exchange: OriginExchange
  ) async -> Outcome {
    var offset = range.lowerBound
    var (received, waited): (Int64, Duration) = (0, .zero)
    var bytes = ChunkSink(id: id, generation: generation, hasMore: response.hasMore)
    let gate = entry.starter.gate
    var isShort = false
    defer {
      if isShort { gate.count(-1) }
      generation.withState { state in
        state.announce(id)
        state.fetches[id]?.phase = .asking
      }
    }
    var body = response.audio { note in tell { $0.note(note) } }
    while true {
      let next = offset < range.upperBound ? offset : nil
      let standing = generation.withState { $0.standing(id, at: next) }
      // A live stream arrives as slowly as it plays on any network.
      if isShort != (standing == .short && !response.isLive) {
        gate.count(isShort ? -1 : 1)
        isShort.toggle()
      }
      switch standing {
      case .over: return .done
      case .unwanted:
        await generation.waitUntilWanted(id)
        if Task.isCancelled { return .done }
        continue
      case .background: await gate.waitTurn { !isBackground }
      case .foreground, .short: break
      }
      let hasBegun = offset > range.lowerBound
      exchange.expectBody(isFirst: !hasBegun)
      let began = ContinuousClock.now
      let chunk: Data?
      do {
        chunk = try await body.next(isolation: nil)
      } catch {
        exchange.deadline.rest()
        // It was ended to be sent again; or somebody reads on after a pause, and nothing has failed.
        let isUnread = (error as? TransportError)?.cause == .unread
        let goesOn = isUnread && generation.withState { $0.canGoOn(id) }
        if goesOn || exchange.deadline.end == .cancelled { return .askAnew }
        return exchange.problem(error, hasBegun: hasBegun).map(brokenOff) ?? .done
      }
      received += Int64(chunk?.count ?? 0)
      waited += .now - began
      if received >= 1 << 20 {
        let rate = Double(received) / max(waited.seconds, 0.005)
        generation.withState { $0.limits.note(rate: rate) }
        (received, waited) = (0, .zero)
      }
      exchange.deadline.rest()
      // A connection that was read to the end of the message can be reused.
      guard let chunk, offset < range.upperBound else { break }
      if chunk.isEmpty { continue }
      entry.requests.countReceived(chunk.count)
      // Bytes beyond the announced range are discarded.
      let part = chunk.prefix(Int(min(Int64(chunk.count), range.upperBound - offset)))
      if let outcome = await bytes.keep(part, at: offset) { return outcome }
      offset += Int64(part.count)
      // Readers receive stored bytes meanwhile.
      await entry.origin.keepPace(after: chunk.count) {
        generation.withState { state in
          state.announce(id)
          return state.isWanted(id)
        }
      }
    }
    if offset < range.upperBound, range.upperBound != .max { return brokenOff(.endedEarly) }
    if range.upperBound == .max {
      generation.learnPace(length: offset)
      generation.withState { $0.end(at: offset) }
    }
    return .done
  }

  private func brokenOff(_ error: MediaCacheError) -> Outcome {
    let (canGoOn, isWhole) = generation.withState {
      ($0.canGoOn(id), $0.fetches[id]?.isWhole == true)
    }
    guard canGoOn else {
      entry.supersede(generation)
      return .done
    }
    var error = error
    // A further response begins at the first byte again.
    if isWhole { error.retry = .cutShort }
    return .again(error)
  }
}

/// What the attempts of a fetch have come to so far.
private struct Course {
  private(set) var fetch: Fetch
  private(set) var range: ByteRange
  private(set) var isConfirming: Bool
  private var brought: Int64 = 0
  /// In a row, without progress.
  private var failures = 0
  private var error: MediaCacheError?
  private var isForBackground = false

  private var entry: Entry { fetch.entry }

  @inline(never)
  init(of fetch: Fetch, _ range: ByteRange) {
    (self.fetch, self.range) = (fetch, range)
    isConfirming = fetch.running?.isConfirmation == true
  }

  /// Returns the delay before another attempt; nil if this was the last.
  @inline(never)
  mutating func delay(after outcome: Fetch.Outcome) -> Duration? {
    var outcome = outcome
    if case .movedOn(let next, let result) = outcome {
      if !isConfirming { entry.events.send(.fetchFinished(entry.key, range, nil)) }
      self = Course(of: next, next.running?.range ?? 0..<0)
      outcome = result
    }
    let id = fetch.id
    var gained: Int64 = 0
    if let fetch = fetch.running {
      (gained, brought) = (fetch.brought - brought, fetch.brought)
      // The response may have brought bytes.
      if !fetch.isConfirmation { isConfirming = false }
      // Of a response that begins at the first byte, a few more bytes are no progress.
      if gained > 0, !fetch.isWhole || gained * 20 >= fetch.position { failures = 0 }
    }
    if case .done = outcome, fetch.generation.withState({ $0.endsInVain(id) }) {
      outcome = .again(ResponseCheck.invalid("sent none of the requested bytes"))
    }
    switch outcome {
    case .done, .movedOn: break
    case .askAnew: return .zero
    case .again(let reason, _) where isConfirming, .failed(let reason, true) where isConfirming:
      // An unreachable origin does not mean a gone resource: stored bytes play, and the next reader
      // asks again.
      entry.events.send(
        .warning(
          "\(entry.key) could not be revalidated; the stored bytes are used, unless the origin "
            + "forbids that: \(reason)"))
      fetch.generation.withState { $0.confirmed(at: fetch.now, unless: reason) }
    case .failed(let reason, let background): (error, isForBackground) = (reason, background)
    case .again(let reason, let retryAfter):
      failures += 1
      // Nothing new came: the redirects may lead elsewhere by now.
      if gained <= 0 { entry.requests.chain = nil }
      // Once bytes have come, an outage is waited out.
      let isPlaying = brought > 0 || fetch.generation.withState(\.hasBeenRead)
      guard
        let delay = entry.origin.retry.delay(
          after: reason.failure, count: failures, isPlaying: isPlaying, retryAfter: retryAfter,
          gained: gained),
        fetch.generation.withState({ $0.beginRest(id) })
      else {
        error = reason
        return nil
      }
      entry.events.send(.retrying(entry.key, reason.withoutResponse, after: delay))
      return delay
    }
    return nil
  }

  @inline(never)
  func end() {
    let id = fetch.id
    // Whoever hears of the end does not find this fetch running, and is not woken before.
    let actions = fetch.generation.withState { state in
      state.fetchEnded(id, error: error, isForBackground: isForBackground)
      return state.takeActions()
    }
    let failure = error?.isPersonal == true ? nil : error?.withoutResponse
    if let failure { entry.events.send(.failed(entry.key, failure)) }
    if !isConfirming { entry.events.send(.fetchFinished(entry.key, range, failure)) }
    fetch.generation.carryOut(actions)
  }
}
