// SPDX-License-Identifier: MIT
package import Foundation

/// A body whose beginning is read by its request, and the rest by whoever passes the response on.
/// Releasing it ends the response.
package actor BodyRest {
  private var iterator: any AsyncIteratorProtocol<Data, any Error>
  private let origin: Origin
  private let traffic: EntryTraffic

  init(
    _ body: any AsyncSequence<Data, any Error> & Sendable, from origin: Origin,
    counting traffic: EntryTraffic
  ) {
    iterator = body.makeAsyncIterator()
    (self.origin, self.traffic) = (origin, traffic)
  }

  /// Returns the next bytes; nil at the end. One caller at a time.
  ///
  /// - Throws: the transport's error; `CancellationError`, also if the origin is silent for too long.
  package func next() async throws -> Data? {
    let reading = Task { try await read() }
    let watch = origin.silence.watch { reading.cancel() }
    watch.expect(within: origin.silenceTimeout)
    defer { origin.silence.forget(watch) }
    return try await withTaskCancellationHandler {
      try await reading.value
    } onCancel: {
      reading.cancel()
    }
  }

  /// As `next`, for the request, which limits the origin's silence itself.
  func read() async throws -> Data? {
    var iterator = iterator
    defer { self.iterator = iterator }
    guard let bytes = try await iterator.next(isolation: self) else {
      // Some sequences end early without an error when their task is cancelled.
      try Task.checkCancellation()
      return nil
    }
    traffic.countReceived(bytes.count)
    if let delay = origin.pace.delay(after: bytes.count) { await origin.pace.pause(delay) }
    return bytes
  }
}
