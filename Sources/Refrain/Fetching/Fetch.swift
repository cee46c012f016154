// SPDX-License-Identifier: MIT
import Foundation

/// One running request to the origin that fills a hole: sends, checks, stores, and retries from the
/// byte where the response broke off. Runs on `IOThreads`, since it writes.
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
    case again(MediaCacheError, retryAfter: Duration?)
    /// No further attempt helps.
    case failed(MediaCacheError)
    /// The bytes cannot be stored, and nobody reads them; or they may not be fetched before a
    /// player waits for them.
    case onlyForPlayback(MediaCacheError)
    /// The response has begun another generation, and this fetch continued there.
    indirect case movedOn(Fetch, Outcome)
  }

  /// Brings a range, and confirms the generation first if that is the purpose of the fetch.
  func begin(_ range: ByteRange) async {
    if generation.withState({ $0.fetches[id]?.isConfirmation == true }) {
      await confirm(range)
    } else {
      await run(range)
    }
  }

  /// Fetches the range that the state records for this fetch.
  ///
  /// - Parameter first: the outcome of the first attempt, if it has already been made.
  func run(_ range: ByteRange, after first: Outcome? = nil) async {
    var first = first
    if first == nil { events.send(.fetchStarted(entry.key, range)) }
    var failures = 0
    // Another fetch may have failed at the same byte before the reader's next request.
    var cuts = generation.withState { $0.fetches.lastCut?.count(at: range.lowerBound) } ?? 0
    var error: MediaCacheError?
    var isForBackground = false
    attempts: while !Task.isCancelled {
      let before = first == nil ? brought : 0
      var outcome = if let first { first } else { await attempt() }
      first = nil
      let gained = brought - before
      if gained > 0 { failures = 0 }
      // If a response has to be read again from its start, a few more bytes are no progress.
      if gained > 0, LastCut.isProgress(gained, at: position) { cuts = 0 }
      if case .done = outcome, generation.withState({ $0.endsInVain(id) }) {
        outcome = .again(GenerationState.nothingCame, retryAfter: nil)
      }
      switch outcome {
      case .done: break attempts
      case .askAnew: continue attempts
      case .movedOn(let fetch, let outcome):
        events.send(.fetchFinished(entry.key, range, nil))
        return await fetch.goOn(after: outcome)
      case .failed(let reason):
        error = reason
        break attempts
      case .onlyForPlayback(let reason):
        error = reason
        isForBackground = true
        break attempts
      case .again(let reason, let retryAfter):
        failures += 1
        // Nothing new came: the redirects may lead elsewhere by now.
        if gained <= 0 { entry.asked.note(nil, for: entry.asked.resource) }
        if reason.failure == .cutShort { cuts += 1 }
        if reason.status != nil, let most = generation.withState(\.mostErrors) {
          guard repeatsAtOnce(after: reason, count: failures, of: most, retryAfter: retryAfter)
          else {
            error = reason
            break attempts
          }
          events.send(.retrying(entry.key, reason.withoutResponse, after: .zero))
          continue attempts
        }
        let isPlaying = generation.withState { $0.isPlaying(id) }
        guard
          let delay = origin.retry.delay(
            after: reason.failure, count: reason.failure == .cutShort ? cuts : failures,
            isPlaying: isPlaying, retryAfter: retryAfter, gained: gained),
          generation.withState({ $0.beginRest(id) })
        else {
          error = reason.failure == .cutShort ? cutShort(cuts) : reason
          if reason.failure == .cutShort {
            let cut = LastCut(position: position, count: cuts)
            generation.withState { $0.fetches.lastCut = cut }
          }
          break attempts
        }
        events.send(.retrying(entry.key, reason.withoutResponse, after: delay))
        if delay > .zero {
          do { try await Task.sleep(for: delay) } catch { break attempts }
        }
        generation.withState { $0.endRest(id) }
      }
    }
    // Whoever hears of the end does not find this fetch running.
    generation.withState { $0.fetches[id]?.end() }
    if let error { events.send(.failed(entry.key, error.withoutResponse)) }
    events.send(.fetchFinished(entry.key, range, error?.withoutResponse))
    generation.withState { $0.fetchEnded(id, error: error, isForBackground: isForBackground) }
  }

  /// The number of new bytes that this fetch has brought.
  private var brought: Int64 {
    generation.withState { $0.fetches[id]?.brought ?? 0 }
  }

  private var position: Int64 {
    generation.withState { $0.fetches[id]?.position ?? 0 }
  }

  private func cutShort(_ count: Int) -> MediaCacheError {
    let (position, length) = generation.withState { ($0.fetches[id]?.position ?? 0, $0.length) }
    let place = length.map { "\(position) of \($0)" } ?? "\(position)"
    let times = count == 1 ? "once" : "\(count) times in a row"
    var error = MediaCacheError(
      .unreachable,
      "The origin ended its response too early \(times), the last time at byte \(place).",
      remedy: "The received bytes are kept. Try again later, or use another source.")
    error.retry = .cutShort
    return error
  }

  func failure(
    _ error: MediaCacheError, _ isLasting: Bool, _ purpose: OriginRequest.Purpose
  ) -> Outcome {
    if error.code == .networkNotAllowed, purpose == .prefetch { return .onlyForPlayback(error) }
    return isLasting ? .failed(error) : .again(error, retryAfter: nil)
  }

  // MARK: One attempt

  private func attempt() async -> Outcome {
    let asking = generation.withState { state -> (FetchRequest, Validator, isKnown: Bool)? in
      guard let fetch = state.fetches[id], !state.isOver else { return nil }
      // Bytes stored in the meantime need not be requested again. An origin without ranges begins
      // at its first byte whatever the request.
      guard let start = state.hole(from: fetch.position), start < fetch.range.upperBound else {
        return nil
      }
      state.fetches[id]?.position = start
      let request = FetchRequest(
        range: start..<fetch.range.upperBound, fills: true, isWhole: state.isRequestedWhole)
      return (request, state.validator, state.info != nil)
    }
    guard let (request, validator, isKnown) = asking else { return .done }
    guard await waitForTurn() else { return .done }
    let purpose: OriginRequest.Purpose = isBackground ? .prefetch : .playback
    let exchange = OriginExchange(
      entry.asked, of: origin, counting: entry.traffic,
      headers: request.headers(of: .init(validator: validator)), purpose: purpose,
      usesShortcut: isKnown, keepsErrors: generation.withState(\.passesOnErrors),
      optionalRange: generation.withState { $0.optionalRange(request.range) }
    ) { connectivity in
      switch connectivity {
      case .waiting:
        return generation.withState { state in
          guard state.beginRest(id) else { return .ends }
          // A player may have begun to wait for it in the meantime.
          return purpose == .prefetch && state.fetches[id]?.isBackground != true
            ? .beginsAnew : .goesOn
        }
      case .available:
        generation.withState { $0.endRest(id) }
        return .goesOn
      }
    }
    if purpose == .prefetch {
      generation.withState {
        $0.fetches[id]?.beginAnew = { [weak exchange] in exchange?.beginAnew() }
      }
    }
    defer {
      generation.withState { state in
        state.endRest(id)
        state.fetches[id]?.beginAnew = nil
      }
    }
    let began = ContinuousClock.now
    return await exchange.run { response in
      generation.withState { $0.limits.noteLatency(.now - began) }
      let verdict = await judge(
        response, asked: request.range, sentIfRange: request.sentIfRange(validator) != nil)
      guard let verdict else { return .done }
      return await use(verdict, of: response, asked: request.range, exchange: exchange)
    } failure: { error, isLasting in
      failure(error, isLasting, purpose)
    } cancelled: {
      if exchange.beginsAnew { return .askAnew }
      generation.withState { $0.fetches[id]?.isCalledOff = true }
      return .done
    }
  }

  /// Waits while somebody plays, if this fetch is in the background; it can be cancelled meanwhile.
  ///
  /// - Returns: false if nobody wants it any more.
  private func waitForTurn() async -> Bool {
    guard isBackground else { return true }
    guard generation.withState({ $0.beginRest(id) }) else { return false }
    await entry.starter.gate.waitTurn { !isBackground }
    generation.withState { $0.endRest(id) }
    return !Task.isCancelled
  }

  var isBackground: Bool {
    generation.withState { $0.fetches[id]?.isBackground == true }
  }

  func beyondEnd(_ length: Int64?, asked: Int64) -> Outcome {
    if let length {
      generation.withState { $0.end(at: length) }
      return .done
    }
    // The origin responded 416 even without Range: it has nothing to read.
    if asked == 0 {
      return .failed(
        MediaCacheError(
          .status, "The origin answered 416 to a request for the whole resource.",
          remedy: "Check the URL.", status: 416))
    }
    let reached = generation.withState { state in
      state.storage.reached == asked || state.stored.contains(asked - 1)
        || state.transient.spans.contains(asked - 1)
    }
    guard reached else {
      return .failed(
        MediaCacheError(
          .badRange, "The origin has no bytes at \(asked) and does not report the length."))
    }
    // The origin sent no length, and nothing follows the last byte received.
    generation.withState { $0.end(at: asked) }
    return .done
  }
}

/// Error responses, for readers that pass them on.
extension Fetch {
  /// As `OriginExchange.keeping`, if a reader passes on error responses.
  func keeping(
    _ response: OriginExchange.Response, in failure: MediaCacheError, _ exchange: OriginExchange
  ) async -> MediaCacheError {
    guard generation.withState(\.passesOnErrors) else { return failure }
    return await exchange.keeping(response, in: failure)
  }

  /// Whether the request is sent again at once after an error response, before it is reported.
  ///
  /// - Parameters:
  ///   - count: the failures in a row.
  ///   - most: the failures after which it is reported (`GenerationState.mostErrors`).
  func repeatsAtOnce(
    after failure: MediaCacheError, count: Int, of most: Int, retryAfter: Duration?
  ) -> Bool {
    guard count < most, (retryAfter ?? .zero) <= .zero else { return false }
    return origin.retry.delay(after: failure.failure, count: count, isPlaying: false) != nil
  }
}
