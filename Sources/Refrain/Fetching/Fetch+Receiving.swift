// SPDX-License-Identifier: MIT
import Foundation

/// Stores the bytes of a response as they arrive.
extension Fetch {
  func receive(
    _ response: OriginExchange.Response, range: ByteRange, exchange: OriginExchange
  ) async -> Outcome {
    var offset = range.lowerBound
    var meter = RateMeter()
    let bytes = ChunkSink(id: id, generation: generation, hasMore: response.hasMore)
    generation.withState { $0.beginBody(id) }
    defer {
      generation.withState { state in
        state.announce(id)
        state.endBody(id)
      }
    }
    let audio = response.audio { note in tell { $0.note(note) } }
    var body: any AsyncIteratorProtocol<Data, any Error> = audio.makeAsyncIterator()
    var hasBegun = false
    while true {
      let next = offset < range.upperBound ? offset : nil
      switch generation.withState({ $0.standing(id, at: next) }) {
      case .over: return .done
      case .unwanted:
        note(&meter)
        await generation.waitUntilWanted(id)
        guard !Task.isCancelled, generation.withState({ $0.isWantedStill(id) }) else {
          return .done
        }
        generation.withState { $0.beginBody(id) }
        continue
      case .background:
        await entry.starter.gate.waitTurn { !isBackground }
      case .foreground: break
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
        guard let problem = exchange.problem(error) else {
          // It was ended so that the request is sent again, and its response came after all.
          return exchange.deadline.isCancelled ? .askAnew : .done
        }
        return brokenOff(hasBegun ? problem : problem.withoutFirstByte)
      }
      meter.add(chunk?.count ?? 0, after: .now - began)
      if meter.isFull { note(&meter) }
      exchange.deadline.rest()
      // After the last byte, waits for the end of the message too: a connection that was read to
      // its end can be reused.
      guard let chunk, offset < range.upperBound else { break }
      if chunk.isEmpty { continue }
      if !response.isRepeated { entry.requests.countReceived(chunk.count) }
      // Bytes beyond the announced range are discarded.
      let part = chunk.prefix(Int(min(Int64(chunk.count), range.upperBound - offset)))
      if let outcome = await bytes.keep(part, at: offset) { return outcome }
      offset += Int64(part.count)
      // Pauses for as long as the configured rate requires. Readers receive stored bytes meanwhile.
      await origin.keepPace(after: chunk.count) {
        generation.withState { $0.announce(id) }
      } unless: { [offset] in
        // Nobody may be left whom it would serve.
        generation.withState { state in
          guard let fetch = state.fetches[id], offset < fetch.range.upperBound else { return true }
          return !state.isWanted(id)
        }
      }
    }
    note(&meter)
    if offset < range.upperBound, range.upperBound != .max { return brokenOff(.endedEarly) }
    if range.upperBound == .max {
      generation.learnPace(length: offset)
      generation.withState { $0.end(at: offset) }
    }
    return .done
  }

  private func note(_ meter: inout RateMeter) {
    if let rate = meter.bytesPerSecond {
      generation.withState { $0.limits.rate = $0.limits.rate.map { $0 * 0.7 + rate * 0.3 } ?? rate }
    }
    meter = RateMeter()
  }

  /// Handles a body that ended too early.
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

  mutating func add(_ count: Int, after wait: Duration) {
    waited += wait
    bytes += count
  }

  /// Whether enough was received for a measurement.
  var isFull: Bool { bytes >= 1 << 20 }

  /// Nil if too little was received, or all of it had arrived before the wait.
  var bytesPerSecond: Double? {
    guard bytes >= 16 << 10, waited >= .milliseconds(5) else { return nil }
    return Double(bytes) / waited.seconds
  }
}
