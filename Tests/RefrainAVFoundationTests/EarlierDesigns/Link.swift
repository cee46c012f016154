// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// The link to an origin, shared by all connections of a run. Loopback has neither a rate limit nor
/// a latency, and a design that cancels requests loses the bytes in flight.
final class Link: Sendable {
  /// The time from a request to the first byte of its response; bytes that the origin has sent in
  /// that time are in flight when a request is cancelled.
  let roundTrip: Duration
  private let bytesPerSecond: Double
  private let free = Mutex(ContinuousClock.now)

  init(bytesPerSecond: Int, roundTrip: Duration) {
    self.bytesPerSecond = Double(bytesPerSecond)
    self.roundTrip = roundTrip
  }

  /// Arriving bytes that sockets hold while nobody takes them: a receiver that is late by this much
  /// loses nothing.
  private static let slack = Duration.milliseconds(50)

  /// Sends bytes in order, at the link's rate, and returns when they have left.
  ///
  /// - Returns: the time at which they arrive.
  func send(_ bytes: Int) async throws -> ContinuousClock.Instant {
    let left = free.withLock { free in
      free = max(free, .now - Self.slack) + .seconds(Double(bytes) / bytesPerSecond)
      return free
    }
    try await Task.sleep(until: left)
    return left + roundTrip
  }
}

/// A transport over a link. Its bytes count from their arrival until their last holder releases
/// them.
struct MeteredTransport: Transport {
  let base: any Transport
  let link: Link
  let meter: Meter

  func send(_ request: OriginRequest) async throws -> OriginResponse {
    let begin = ContinuousClock.now
    var response = try await base.send(request)
    response.body = Body(base: response.body, link: link, meter: meter)
    try await Task.sleep(until: begin + link.roundTrip)
    return response
  }

  private struct Body: AsyncSequence, Sendable {
    let base: any AsyncSequence<Data, any Error> & Sendable
    let link: Link
    let meter: Meter

    /// Sending continues while bytes are in flight, as far as the receiver has room.
    func makeAsyncIterator() -> Iterator {
      let (stream, continuation) = AsyncThrowingStream<Sent, any Error>.makeStream()
      let window = ReceiveWindow()
      let task = Task { [base, link] in
        do {
          for try await chunk in base {
            await window.take(chunk.count)
            continuation.yield(Sent(bytes: chunk, arrival: try await link.send(chunk.count)))
          }
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in
        task.cancel()
        window.open()
      }
      return Iterator(base: stream.makeAsyncIterator(), meter: meter, window: window)
    }

    struct Sent: Sendable {
      let bytes: Data
      let arrival: ContinuousClock.Instant
    }

    struct Iterator: AsyncIteratorProtocol {
      var base: AsyncThrowingStream<Sent, any Error>.Iterator
      let meter: Meter
      let window: ReceiveWindow

      mutating func next() async throws -> Data? {
        guard let sent = try await base.next() else {
          try Task.checkCancellation()
          return nil
        }
        try await Task.sleep(until: sent.arrival)
        window.give(back: sent.bytes.count)
        return counted(sent.bytes)
      }

      /// Returns a copy that reports when its last holder releases it.
      private func counted(_ chunk: Data) -> Data {
        let count = chunk.count
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        guard count > 0, let address = copy.baseAddress else {
          copy.deallocate()
          return Data()
        }
        chunk.withUnsafeBytes { copy.copyMemory(from: $0) }
        meter.received(count)
        meter.hold(count)
        return Data(
          bytesNoCopy: address, count: count,
          deallocator: .custom { [meter] address, _ in
            address.deallocate()
            meter.letGo(count)
          })
      }
    }
  }
}
