// SPDX-License-Identifier: MIT
import Foundation

/// One running request to the origin that fills a hole: sends, checks, stores, and retries from the
/// byte where the response broke off. If it is a confirmation, the request is conditional (RFC 9111
/// §4.3), and fetches the bytes that a reader wants next. Runs on `IOThreads`, since it writes.
struct Fetch: Sendable {
  let id: FetchID
  let generation: Generation

  var entry: Entry { generation.entry }
  var events: EventStreams { entry.events }
  var origin: Origin { entry.origin }
  var now: Moment { entry.now }

  /// How one attempt ended.
  enum Outcome: Sendable {
    /// The range is stored, or nobody wants it any more.
    case done
    /// The request is sent again at once: a player now waits for it.
    case askAnew
    /// The response broke off: another attempt may continue from there.
    case again(MediaCacheError, retryAfter: Duration? = nil)
    /// No further attempt helps.
    case failed(MediaCacheError)
    /// The bytes cannot be stored, and nobody reads them; or they may not be fetched before a
    /// player waits for them.
    case onlyForPlayback(MediaCacheError)
    /// The response has begun another generation, and this fetch continued there.
    indirect case movedOn(Fetch, Outcome)
  }

  /// What the attempts so far have come to.
  private struct Course {
    var isConfirming: Bool
    /// In a row, without progress.
    var failures = 0
    var error: MediaCacheError?
    var isForBackground = false
    /// Why the generation could not be confirmed.
    var unconfirmed: MediaCacheError?
  }

  /// Brings a range, and confirms the generation first if that is the purpose of the fetch; `first`
  /// is the outcome of the first attempt if another fetch has made it. A task's memory holds the
  /// frames of all that it awaits: what each attempt comes to is computed apart, and not inlined.
  func run(_ range: ByteRange, after first: Outcome? = nil) async {
    var first = first
    var course = begin(range, isNew: first == nil)
    while !Task.isCancelled {
      let before = first == nil ? broughtSoFar : 0
      let outcome = if let first { first } else { await attempt(range) }
      first = nil
      if case .movedOn(let fetch, let outcome) = outcome {
        if !course.isConfirming { events.send(.fetchFinished(entry.key, range, nil)) }
        return await fetch.run(fetch.running?.range ?? 0..<0, after: outcome)
      }
      let gained = broughtSoFar - before
      guard let delay = delay(after: outcome, gaining: gained, in: &course),
        await rest(for: delay)
      else { break }
    }
    end(range, course)
  }

  @inline(never)
  private func rest(for delay: Duration) async -> Bool {
    if delay > .zero {
      do { try await Task.sleep(for: delay) } catch { return false }
    }
    generation.withState { $0.fetches[id]?.endRest() }
    return true
  }

  private var broughtSoFar: Int64 { generation.withState { $0.fetches[id]?.brought ?? 0 } }

  @inline(never)
  private func begin(_ range: ByteRange, isNew: Bool) -> Course {
    let isConfirming = running?.isConfirmation == true
    if isNew, !isConfirming { events.send(.fetchStarted(entry.key, range)) }
    return Course(isConfirming: isConfirming)
  }

  /// Returns the delay before another attempt; nil if this was the last.
  @inline(never)
  private func delay(
    after outcome: Outcome, gaining gained: Int64, in course: inout Course
  ) -> Duration? {
    var outcome = outcome
    if let fetch = running {
      // The response may have brought bytes.
      if !fetch.isConfirmation { course.isConfirming = false }
      // If it has to be read again from its start, a few more bytes are no progress.
      if gained > 0, !fetch.isWhole || gained * 20 >= fetch.position { course.failures = 0 }
    }
    if case .done = outcome, generation.withState({ $0.endsInVain(id) }) {
      outcome = .again(ResponseCheck.invalid("sent none of the requested bytes"))
    }
    switch outcome {
    case .done, .movedOn: break
    case .askAnew: return .zero
    case .failed(let reason): course.error = reason
    case .onlyForPlayback where course.isConfirming && !isBackground:
      // A player now waits for the confirmation.
      return .zero
    case .again(let reason, _) where course.isConfirming,
      .onlyForPlayback(let reason) where course.isConfirming:
      // An unreachable origin does not mean a gone resource: stored bytes play, and the next reader
      // asks again.
      events.send(
        .warning(
          "\(entry.key) could not be revalidated; the stored bytes are used, unless the origin "
            + "forbids that: \(reason)"))
      course.unconfirmed = reason
    case .onlyForPlayback(let reason):
      course.error = reason
      course.isForBackground = true
    case .again(let reason, let retryAfter):
      course.failures += 1
      // Nothing new came: the redirects may lead elsewhere by now.
      if gained <= 0 { entry.requests.forgetChain() }
      // Once bytes have come, an outage is waited out.
      let isPlaying = generation.withState { $0.hasBeenRead || $0.fetches[id]?.brought ?? 0 > 0 }
      guard
        let delay = origin.retry.delay(
          after: reason.failure, count: course.failures, isPlaying: isPlaying,
          retryAfter: retryAfter, gained: gained),
        generation.withState({ $0.beginRest(id) })
      else {
        course.error = reason
        return nil
      }
      events.send(.retrying(entry.key, reason.withoutResponse, after: delay))
      return delay
    }
    return nil
  }

  @inline(never)
  private func end(_ range: ByteRange, _ course: Course) {
    let error = course.error
    // Whoever hears of the end does not find this fetch running, and is not woken before.
    let actions = generation.withState { state in
      if let unconfirmed = course.unconfirmed { state.confirmed(at: now, unless: unconfirmed) }
      state.fetchEnded(id, error: error, isForBackground: course.isForBackground)
      return state.takeActions()
    }
    if let error { events.send(.failed(entry.key, error.withoutResponse)) }
    if !course.isConfirming {
      events.send(.fetchFinished(entry.key, range, error?.withoutResponse))
    }
    generation.carryOut(actions)
  }

  var running: GenerationState.RunningFetch? { generation.withState { $0.fetches[id] } }

  /// Only a confirmation is for `range`: other fetches know what they have yet to bring.
  private func attempt(_ range: ByteRange) async -> Outcome {
    let next = generation.withState { $0.nextRequest(of: id, confirming: range, at: now) }
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
      return try await exchange.run { [request] response in
        if request.isConfirmation { return await confirm(by: response, to: request, exchange) }
        let latency = (ContinuousClock.now - began).seconds
        generation.withState { $0.limits.latency = min($0.limits.latency ?? .infinity, latency) }
        let (verdict, actions) = judged(
          response, asked: request.range, sentIfRange: request.ifRange != nil)
        if generation.withState({ $0.handed != nil }) { entry.startAnew(after: generation) }
        await prepareIfEmpty()
        generation.carryOut(actions)
        guard let verdict else { return .done }
        return await use(verdict, of: response, asked: request.range, exchange: exchange)
      }
    } catch let error as MediaCacheError {
      if error.code == .networkNotAllowed, request.purpose == .prefetch {
        return .onlyForPlayback(error)
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
      let receive = generation.withState { state in
        state.reader(asking: given).flatMap { state.readers[$0]?.terms.onInterim }
      }
      receive?(status, headers)
    }
  }

  var isBackground: Bool { running?.isBackground == true }
}

extension Fetch {
  func receive(
    _ response: OriginExchange.Response, range: ByteRange, exchange: OriginExchange
  ) async -> Outcome {
    var offset = range.lowerBound
    var meter = RateMeter()
    var bytes = ChunkSink(id: id, generation: generation, hasMore: response.hasMore)
    let gate = entry.starter.gate
    var isShort = false
    defer {
      if isShort { gate.count(-1) }
      generation.withState { state in
        state.announce(id)
        state.fetches[id]?.endBody()
      }
    }
    var body = response.audio { note in tell { $0.note(note) } }
    var hasBegun = false
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
      exchange.expectBody(isFirst: !hasBegun)
      let began = ContinuousClock.now
      let chunk: Data?
      do {
        chunk = try await body.next(isolation: nil)
        hasBegun = true
      } catch let error as TransportError
        where error.cause == .unread && generation.withState({ $0.canGoOn(id) })
      {
        // Somebody reads on after a pause: the rest is requested, and nothing has failed.
        exchange.deadline.rest()
        return .askAnew
      } catch {
        exchange.deadline.rest()
        guard let problem = exchange.problem(error, hasBegun: hasBegun) else {
          // It was ended so that the request is sent again, and its response came after all.
          return exchange.deadline.end == .cancelled ? .askAnew : .done
        }
        return brokenOff(problem)
      }
      if let rate = meter.add(chunk?.count ?? 0, after: .now - began) {
        generation.withState { $0.limits.note(rate: rate) }
      }
      exchange.deadline.rest()
      // The end of the message was awaited too: a connection that was read to it can be reused.
      guard let chunk, offset < range.upperBound else { break }
      if chunk.isEmpty { continue }
      entry.requests.countReceived(chunk.count)
      // Bytes beyond the announced range are discarded.
      let part = chunk.prefix(Int(min(Int64(chunk.count), range.upperBound - offset)))
      if let outcome = await bytes.keep(part, at: offset) { return outcome }
      offset += Int64(part.count)
      // Pauses for as long as the configured rate requires. Readers receive stored bytes meanwhile.
      await origin.keepPace(after: chunk.count) {
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
    let (canGoOn, isWhole, isHanded) = generation.withState {
      ($0.canGoOn(id), $0.fetches[id]?.isWhole == true, $0.handed != nil)
    }
    if isHanded { return .failed(error) }
    if canGoOn {
      var error = error
      // A further response begins at the first byte again.
      if isWhole { error.retry = .cutShort }
      return .again(error)
    }
    entry.supersede(generation)
    return .done
  }
}

/// Measures how fast an origin sends: bytes over the time spent waiting for them.
struct RateMeter: Sendable {
  private var waited: Duration = .zero
  private var bytes = 0

  /// Returns the bytes per second for each MiB received; nil before, or if all of it had arrived
  /// before the wait.
  mutating func add(_ count: Int, after wait: Duration) -> Double? {
    waited += wait
    bytes += count
    guard bytes >= 1 << 20 else { return nil }
    defer { self = RateMeter() }
    return waited >= .milliseconds(5) ? Double(bytes) / waited.seconds : nil
  }
}
