// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Synchronization

/// The way to an origin that all connections of a run share. Loopback has neither a rate nor a
/// length, and what a design loses by calling requests off is what is on the way.
final class Link: Sendable {
  /// From a request to the first byte of its answer; what the origin has sent in that time is under
  /// way when a request is called off.
  let roundTrip: Duration
  private let bytesPerSecond: Double
  private let free = Mutex(ContinuousClock.now)

  init(bytesPerSecond: Int, roundTrip: Duration) {
    self.bytesPerSecond = Double(bytesPerSecond)
    self.roundTrip = roundTrip
  }

  /// What comes while nobody takes it, as sockets hold it: a receiver that is late by so much has
  /// lost nothing.
  private static let slack = Duration.milliseconds(50)

  /// Returns when the bytes have left: in the order in which they come, at the link's rate.
  ///
  /// - Returns: when they arrive.
  func send(_ bytes: Int) async throws -> ContinuousClock.Instant {
    let left = free.withLock { free in
      free = max(free, .now - Self.slack) + .seconds(Double(bytes) / bytesPerSecond)
      return free
    }
    try await Task.sleep(until: left)
    return left + roundTrip
  }
}

/// A transport over a link, whose bytes are counted from their arrival for as long as anybody has
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

    /// Sending goes on while what was sent is on its way, as far as the receiver has room.
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

      /// A copy that says when the last one that has it lets go.
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
