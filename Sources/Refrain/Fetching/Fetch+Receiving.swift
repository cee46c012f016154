// SPDX-License-Identifier: MIT
import Foundation

/// Stores the bytes of a response as they arrive.
extension Fetch {
  func receive(
    _ response: OriginExchange.Response, range: ByteRange, exchange: OriginExchange
  ) async -> Outcome {
    var offset = range.lowerBound
    var meter = RateMeter()
    var bytes = ChunkSink(id: id, generation: generation, hasMore: response.hasMore)
    var demultiplexer = response.interval.map { ICYDemultiplexer(interval: $0) }
    generation.withState { $0.beginBody(id) }
    defer {
      bytes.settle()
      generation.withState { state in
        state.announce(id)
        state.endBody(id)
      }
    }
    var body: any AsyncIteratorProtocol<Data, any Error> = response.body.makeAsyncIterator()
    var hasBegun = false
    while true {
      switch standing(at: offset < range.upperBound ? offset : nil) {
      case .over: return .done
      case .unwanted:
        note(&meter)
        // The fetch may rest for long.
        bytes.settle()
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
      meter.begin()
      var chunk: Data?
      do {
        chunk = try await body.next(isolation: nil)
        hasBegun = true
      } catch let error as TransportError
        where error.cause == .unread && generation.withState({ $0.canGoOn(id) })
      {
        // Somebody reads on after a pause: the rest is requested, and nothing has failed.
        exchange.rest()
        return .askAnew
      } catch {
        exchange.rest()
        guard let problem = exchange.problem(error) else { return .done }
        return brokenOff(hasBegun ? problem : problem.withoutFirstByte)
      }
      let arrived = chunk?.count ?? 0
      // Before any byte is counted: offsets are those of the audio.
      if let body = chunk, let output = demultiplexer?.take(body) {
        for note in output.notes { tell { $0.note(note) } }
        chunk = output.audio
      }
      meter.end(received: chunk?.count ?? 0)
      if meter.isFull { note(&meter) }
      exchange.rest()
      // After the last byte, waits for the end of the message too: a connection that was read to
      // its end can be reused.
      guard let chunk, offset < range.upperBound else { break }
      if chunk.isEmpty { continue }
      if !response.isRepeated { entry.traffic.countReceived(chunk.count) }
      // Bytes beyond the announced range are discarded.
      let part = chunk.prefix(Int(min(Int64(chunk.count), range.upperBound - offset)))
      switch await bytes.keep(part, at: offset) {
      case .kept: offset += Int64(part.count)
      case .changed: return .done
      case .nowhere(let error): return .onlyForPlayback(error)
      }
      await keepPace(after: arrived, at: offset)
    }
    note(&meter)
    let isShort = offset < range.upperBound && range.upperBound != .max
    // A station's stream has no end; only a response with a length ends properly.
    let isOver = !response.isLive || range.upperBound != .max || response.hasInterleavedLength
    if isShort || !isOver || demultiplexer?.isBetweenBlocks == false {
      return brokenOff(
        MediaCacheError(
          .unreachable, "The origin ended its response before sending all of it.",
          remedy: "Try again."))
    }
    if range.upperBound == .max {
      generation.learnPace(length: offset)
      generation.withState { $0.end(at: offset) }
    }
    return .done
  }

  /// Pauses for as long as the configured rate requires. Readers receive stored bytes meanwhile.
  private func keepPace(after count: Int, at offset: Int64) async {
    await origin.pace.received(count) {
      generation.withState { $0.announce(id) }
    } unless: {
      // Nobody may be left whom it would serve.
      generation.withState { state in
        guard let fetch = state.fetches[id], offset < fetch.range.upperBound else { return true }
        return !state.isWanted(id)
      }
    }
  }

  private func note(_ meter: inout RateMeter) {
    if let rate = meter.bytesPerSecond { generation.withState { $0.limits.noteRate(rate) } }
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
      return .again(error, retryAfter: nil)
    }
    entry.supersede(generation)
    return .done
  }

  private func standing(at offset: Int64?) -> GenerationState.Standing {
    generation.withState { $0.standing(id, at: offset) }
  }
}

/// Measures how fast an origin sends: bytes over the time spent waiting for them.
struct RateMeter: Sendable {
  private var waited: Duration = .zero
  private var bytes = 0
  private var began: ContinuousClock.Instant?

  mutating func begin() { began = .now }

  mutating func end(received count: Int) {
    if let began { waited += ContinuousClock.now - began }
    began = nil
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
