// SPDX-License-Identifier: MIT
import Foundation

/// Several servers behind one name may have the same bytes under different validators. A whole
/// response under another validator is compared with all stored bytes before any of it is used.
///
/// Why no reader receives two versions: from the first byte of the response to the last stored
/// byte, each byte is either compared with the stored one, or written from the response. When the
/// last stored byte is equal, every byte of the generation is a byte of the response's version, and
/// from then on the generation has its validator. No byte of the response is readable before. Bytes
/// under the earlier validator are not stored after that, however often it appears: nobody knows
/// whether those that were not compared are equal. They are requested again from the server that
/// was compared, or compared in turn. A response without bytes (304) may have either validator.
extension Fetch {
  /// Continues the generation if a response brings the same bytes under another validator.
  ///
  /// - Returns: nil if the two cannot be compared, or a new generation would end no reader.
  func compare(
    _ response: OriginExchange.Response, asked: ByteRange, exchange: OriginExchange
  ) async -> Outcome? {
    let check = ResponseCheck(asked: asked, known: nil)
    guard
      case .whole(let facts) = check.verdict(
        status: response.status, headers: response.headers, now: context.now.wall),
      let length = facts.length, !response.isLive
    else { return nil }
    switch generation.withState({ $0.comparison(with: facts) }) {
    case .possible: break
    case .impossible: return nil
    case .underWay: return .done
    }
    guard await entry.storage.prepare(generation) != nil else { return nil }
    guard let others = generation.withState({ $0.beginComparing(id, with: facts) }) else {
      return generation.withState(\.isComparing) ? .done : nil
    }
    // From now on they would store bytes of the other validator, which the comparison would skip.
    for task in others { task.cancel() }
    for task in others { await task.value }
    let outcome = await receive(
      response, range: 0..<length, exchange: exchange, comparing: facts)
    generation.perform { $0.endComparing(id) }
    return outcome
  }

  /// Adopts the validator of a response once all stored bytes were compared with it.
  func settleComparison(
    _ response: OriginExchange.Response, _ facts: ResponseCheck.Facts, comparedTo offset: Int64,
    _ bytes: ChunkSink
  ) async {
    let settled = generation.withState {
      state -> (RangeSet<Int64>, EntryFile?, [GenerationState.Action])? in
      guard let fetch = state.fetches[id], fetch.isComparing,
        state.stored.ranges.last?.upperBound ?? 0 <= offset
      else { return nil }
      state.fetches[id]?.isComparing = false
      state.fetches[id]?.pending = RangeSet()
      state.fetches[id]?.isConfirmation = false
      state.storage.commitPending(fetch.pending)
      var validator = facts.validator
      validator.remember(state.validator)
      state.representation.identify(by: validator)
      let actions = note(facts, response, isWhole: false, in: &state)
      return (fetch.pending, state.file, actions)
    }
    guard let (pending, file, actions) = settled else { return }
    generation.carryOut(actions)
    if let file {
      for range in pending.ranges { bytes.commit(range, to: file) }
    }
    // A response has arrived, which confirms the stored bytes.
    generation.perform { $0.confirmed(at: context.now) }
  }

  /// Begins another generation with a response that differs from the stored bytes, from its first
  /// byte.
  func supersede(
    by response: OriginExchange.Response, exchange: OriginExchange, body: IncomingBody,
    contradictedBy chunk: Data, at offset: Int64
  ) async -> Outcome {
    let (file, length) = generation.withState { state -> (EntryFile?, Int64?) in
      guard let fetch = state.fetches[id] else { return (nil, nil) }
      let there = state.stored.union(fetch.pending)
      let isThere = there.byteCount(in: 0..<offset) == offset
      return (isThere ? state.file : nil, state.length)
    }
    guard let file, let length else {
      entry.supersede(generation)
      return .done
    }
    body.replay(0..<offset, of: file, then: chunk)
    return await supersede(by: response, asked: 0..<length, exchange: exchange, body: body)
  }
}

extension GenerationState {
  /// The number of other servers' responses to one request after which the resource counts as
  /// changed.
  static let mostOtherAnswers = 6
  /// The number after which the request is sent so that a response brings the whole resource to
  /// compare.
  private static let mostPlainAnswers = 3

  enum Comparison: Sendable {
    case possible, impossible
    /// Another fetch compares: this one is not needed.
    case underWay
  }

  var isComparing: Bool { fetches.values.contains(where: \.isComparing) }

  func comparison(with facts: ResponseCheck.Facts) -> Comparison {
    if isComparing { return .underWay }
    guard !isSuperseded, !isClosed, !isLive, let info, let length = info.length,
      facts.length == length, facts.mimeType == info.mimeType, !stored.isEmpty,
      !storage.hasGivenUnstored, !isTransient, readers.values.contains(where: \.hasRead)
    else { return .impossible }
    return .possible
  }

  /// Begins to compare a whole response with all stored bytes.
  ///
  /// - Returns: the fetches that have to end first; nil if the two cannot be compared.
  mutating func beginComparing(
    _ id: FetchID, with facts: ResponseCheck.Facts
  ) -> [Task<Void, Never>]? {
    guard case .possible = comparison(with: facts), fetches[id] != nil, storage.isPrepared,
      let length
    else { return nil }
    var tasks: [Task<Void, Never>] = []
    for (other, fetch) in fetches where other != id && !fetch.isConfirmation {
      if let task = fetch.task { tasks.append(task) }
      fetches[other]?.range = fetch.range.lowerBound..<max(fetch.range.lowerBound, fetch.position)
    }
    fetches[id]?.isComparing = true
    fetches[id]?.isWhole = true
    fetches[id]?.isReceiving = true
    fetches[id]?.range = 0..<length
    fetches[id]?.position = 0
    return tasks
  }

  /// Gives up an unfinished comparison.
  mutating func endComparing(_ id: FetchID) -> [Action] {
    guard fetches[id]?.isComparing == true else { return [] }
    fetches[id]?.isComparing = false
    fetches[id]?.isReceiving = false
    fetches[id]?.pending = RangeSet()
    fetches[id]?.position = 0
    let isAwaited = fetches[id]?.isConfirmation != true
    guard isAwaited,
      let waiter = waiters.values.first(where: { readers[$0.reader]?.awaitsConfirmation == true }),
      let reader = readers[waiter.reader]
    else { return [] }
    return confirm(for: reader, at: waiter.offset)
  }

  /// - Returns: whether written bytes have to wait until all are compared.
  mutating func keepPending(_ range: ByteRange, by id: FetchID, in file: EntryFile) -> Bool {
    guard fetches[id]?.isComparing == true else { return false }
    if file === self.file { fetches[id]?.pending.insert(contentsOf: range) }
    return true
  }

  mutating func countOtherAnswer(_ id: FetchID) -> Int {
    fetches[id]?.otherAnswers += 1
    return fetches[id]?.otherAnswers ?? .max
  }

  /// Returns the value of If-Range for a fetch. If several servers are known, a plain range
  /// brings few bytes to discard from the wrong one; its validator identifies the server.
  func ifRange(for fetch: Fetch) -> String? {
    if validator.otherETags != nil, fetch.otherAnswers < Self.mostPlainAnswers { return nil }
    return validator.ifRange
  }
}
