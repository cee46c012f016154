// SPDX-License-Identifier: MIT
import Foundation

/// One running request to the origin that fills a hole: asks, checks, keeps, and asks again from the
/// byte where it broke. Runs on `IOThreads`, for it writes.
struct Fetch: Sendable {
  let id: FetchID
  let generation: Generation

  var entry: Entry { generation.entry }
  var context: CacheContext { generation.entry.context }

  /// How one attempt ended.
  enum Outcome: Sendable {
    /// The range is there, or nobody wants it any more.
    case done
    /// A player waits for it by now: it is asked for on its behalf.
    case askAnew
    /// It broke off: another attempt may go on from there.
    case again(MediaCacheError, retryAfter: Duration?)
    /// No further attempt helps.
    case failed(MediaCacheError)
    /// The bytes cannot be stored, and nobody reads them; or they may not be fetched before somebody
    /// does.
    case onlyForPlayback(MediaCacheError)
  }

  /// As `run`, for the conditional request that confirms what is stored (RFC 9111 §4.3).
  func confirm() async {
    let (validator, known) = generation.withState { state in
      (
        state.validator,
        ResponseCheck.Known(length: state.length, validator: state.validator)
      )
    }
    var headers = validator.conditional
    // Should it be another one, it need not come as a whole.
    headers.append("Range", RangeHeader.value(0, to: 1))
    let check = ResponseCheck(asked: 0..<1, known: known)
    let purpose = confirmationPurpose
    let attempt = Attempt(
      entry: entry, headers: headers, purpose: purpose, isConfirmation: true)
    let outcome: Outcome = await attempt.run { response in
      switch check.verdict(status: response.status, headers: response.headers, now: Date()) {
      case .notModified:
        confirmed(response)
        return .done
      case .part(_, let facts), .whole(let facts):
        switch validator.matches(facts.validator) {
        case .same, .weaklySame: confirmed(response)
        case .different: entry.supersede(generation)
        case .unknown:
          // Nothing says that it is the same; nor that it is not, which would end who reads it.
          if generation.withState({ $0.readers.values.contains(where: \.hasRead) }) {
            confirmed(response)
          } else {
            entry.supersede(generation)
          }
        }
        return .done
      case .changed:
        entry.supersede(generation)
        return .done
      case .beyondEnd(let length):
        if length == 0, known.length == 0 {
          confirmed(response)
        } else {
          entry.supersede(generation)
        }
        return .done
      case .refused(let status): return .failed(ResponseCheck.refusal(status))
      case .transient(let error, _), .invalid(let error): return .again(error, retryAfter: nil)
      case .failed(let error): return .failed(error)
      }
    } failure: { error, isLasting in
      failure(error, isLasting, purpose)
    } cancelled: {
      .done
    }
    switch outcome {
    case .done, .askAnew:
      generation.perform { $0.fetchEnded(id, error: nil) }
    case .onlyForPlayback where purpose != confirmationPurpose:
      // A player has come to wait for it.
      await confirm()
    case .again(let error, _), .onlyForPlayback(let error):
      // Unreachable is not gone: what is stored plays, and the next reader asks again.
      context.events.send(
        .warning("\(entry.key) plays as it was stored; the origin could not confirm it: \(error)"))
      generation.perform { state in state.unconfirmed(error) + state.fetchEnded(id, error: nil) }
    case .failed(let error):
      context.events.send(.failed(entry.key, error))
      generation.perform { $0.fetchEnded(id, error: error) }
    }
  }

  /// Whoever waits for it to play is what it is for.
  private var confirmationPurpose: OriginRequest.Purpose {
    generation.withState { state in
      state.readers.values.contains { $0.awaitsConfirmation && !$0.isBackground }
    } ? .playback : .prefetch
  }

  private func failure(
    _ error: MediaCacheError, _ isLasting: Bool, _ purpose: OriginRequest.Purpose
  ) -> Outcome {
    if error.code == .networkNotAllowed, purpose == .prefetch { return .onlyForPlayback(error) }
    return isLasting ? .failed(error) : .again(error, retryAfter: nil)
  }

  private func confirmed(_ response: Attempt.Response) {
    generation.perform { state in
      let merged = StoredFields.merged(
        state.headers, with: response.headers, isConfirmation: true)
      let freshness = state.freshness?.confirmed(
        by: response.headers, merged: state.headers.isEmpty ? nil : merged,
        requestTime: response.requestTime, responseTime: response.responseTime,
        keeper: keeper(response))
      state.freshness = freshness.map { state.outdatedIfAsked(at: response.requestTime, $0) }
      state.headers = merged
      state.variant = Variant.of(response.asked, names: Variant.names(in: merged))
      state.isRecordStale = true
      return state.confirmed()
    }
  }

  func keeper(_ response: Attempt.Response) -> Freshness.Keeper {
    Freshness.Keeper(
      isShared: context.configuration.isShared,
      isAuthorized: response.asked["Authorization"] != nil)
  }

  /// Fetches the range that the state has for this fetch.
  func run(_ range: ByteRange) async {
    context.events.send(.fetchStarted(entry.key, range))
    var failures = 0
    var error: MediaCacheError?
    var isForBackground = false
    attempts: while !Task.isCancelled {
      let start = position
      let outcome = await attempt()
      if position > start { failures = 0 }
      switch outcome {
      case .done: break attempts
      case .askAnew: continue attempts
      case .failed(let reason):
        error = reason
        break attempts
      case .onlyForPlayback(let reason):
        error = reason
        isForBackground = true
        break attempts
      case .again(let reason, let retryAfter):
        failures += 1
        guard
          let delay = context.configuration.retry.delay(
            afterFailures: failures, retryAfter: retryAfter),
          generation.withState({ $0.beginRest(id) })
        else {
          error = reason
          break attempts
        }
        context.events.send(.retrying(entry.key, reason, after: delay))
        do { try await Task.sleep(for: delay) } catch { break attempts }
        generation.withState { $0.endRest(id) }
      }
    }
    if let error { context.events.send(.failed(entry.key, error)) }
    context.events.send(.fetchFinished(entry.key, range, error))
    generation.perform { $0.fetchEnded(id, error: error, isForBackground: isForBackground) }
  }

  private var position: Int64 {
    generation.withState { $0.fetches[id]?.position ?? .max }
  }

  // MARK: One attempt

  private struct Asking: Sendable {
    var range: ByteRange
    var validator: Validator
    var known: ResponseCheck.Known?
  }

  private func attempt() async -> Outcome {
    let asking = generation.withState { state -> Asking? in
      guard let fetch = state.fetches[id], !state.isSuperseded, !state.isClosed else { return nil }
      // What of the hole was filled in the meantime needs not be asked for again. An origin without
      // ranges begins at its first byte whatever it is asked for.
      guard let start = state.hole(from: fetch.position), start < fetch.range.upperBound else {
        return nil
      }
      state.fetches[id]?.position = start
      return Asking(
        range: start..<fetch.range.upperBound, validator: state.validator,
        known: state.info.map { .init(length: $0.length, validator: state.validator) })
    }
    guard let asking else { return .done }

    var headers: HTTPFields = [
      "Range": RangeHeader.value(
        asking.range.lowerBound,
        to: asking.range.upperBound == .max ? nil : asking.range.upperBound)
    ]
    let ifRange = asking.known == nil ? nil : asking.validator.ifRange
    if let ifRange { headers.append("If-Range", ifRange) }
    guard await waitForTurn() else { return .done }
    let purpose: OriginRequest.Purpose = isBackground ? .prefetch : .playback
    let attempt = Attempt(entry: entry, headers: headers, purpose: purpose) { connectivity in
      switch connectivity {
      case .waiting:
        return generation.withState { state in
          guard state.beginRest(id) else { return .ends }
          // A player may have come to wait for it in the meantime.
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
        $0.fetches[id]?.beginAnew = { [weak attempt] in attempt?.beginAnew() }
      }
    }
    defer {
      generation.withState { state in
        state.endRest(id)
        state.fetches[id]?.beginAnew = nil
      }
    }
    return await attempt.run { response in
      let verdict = await judge(response, asked: asking.range, sentIfRange: ifRange != nil)
      switch verdict {
      case .part(let range, _):
        return await receive(response, range: range, attempt: attempt)
      case .whole(let facts):
        let length = facts.length ?? asking.known?.length
        return await receive(response, range: 0..<(length ?? .max), attempt: attempt)
      case nil:
        return .done
      case .notModified:
        return .again(
          ResponseCheck.invalid("answered 304 to what was no question"), retryAfter: nil)
      case .changed:
        entry.supersede(generation)
        return .done
      case .beyondEnd(let length):
        return beyondEnd(length, asked: asking.range.lowerBound)
      case .refused(let status): return .failed(ResponseCheck.refusal(status))
      case .transient(let error, let wait): return .again(error, retryAfter: wait)
      case .invalid(let error): return .again(error, retryAfter: nil)
      case .failed(let error): return .failed(error)
      }
    } failure: { error, isLasting in
      failure(error, isLasting, purpose)
    } cancelled: {
      attempt.beginsAnew ? .askAnew : .done
    }
  }

  /// A fetch in the background asks for nothing while somebody plays; it can be called off
  /// meanwhile.
  ///
  /// - Returns: false where nobody is left to want it.
  private func waitForTurn() async -> Bool {
    guard isBackground else { return true }
    guard generation.withState({ $0.beginRest(id) }) else { return false }
    await context.gate.waitTurn(generation.gateID(id)) { !isBackground }
    generation.withState { $0.endRest(id) }
    return !Task.isCancelled
  }

  var isBackground: Bool {
    generation.withState { $0.fetches[id]?.isBackground == true }
  }

  private func beyondEnd(_ length: Int64?, asked: Int64) -> Outcome {
    if let length {
      generation.perform { $0.end(at: length) }
      return .done
    }
    let reached = generation.withState { state in
      asked == 0 || state.stored.contains(asked - 1) || state.transient.spans.contains(asked - 1)
    }
    guard reached else {
      return .failed(
        MediaCacheError(.badRange, "The origin has nothing at byte \(asked), nor says its length."))
    }
    // It said no length all along, and nothing comes after what is there.
    generation.perform { $0.end(at: asked) }
    return .done
  }
}
