// SPDX-License-Identifier: MIT
package import Foundation

/// The rest of a body whose beginning was read by its request, for whoever passes the response on.
/// Releasing it ends the response.
package actor BodyRest {
  private var iterator: any AsyncIteratorProtocol<Data, any Error>
  private let origin: Origin
  private let traffic: EntryTraffic

  /// - Parameter iterator: that of the body, which nobody else uses from now on.
  init(
    _ iterator: sending any AsyncIteratorProtocol<Data, any Error>, from origin: Origin,
    counting traffic: EntryTraffic
  ) {
    (self.iterator, self.origin, self.traffic) = (iterator, origin, traffic)
  }

  /// Returns the next bytes; nil at the end. One caller at a time.
  ///
  /// - Throws: the transport's error; `CancellationError`, also if the origin is silent for too long.
  package func next() async throws -> Data? {
    let reading = Task { try await read() }
    let watch = origin.silence.watch { reading.cancel() }
    watch.expect(within: origin.silenceTimeout)
    defer { origin.silence.forget(watch) }
    let bytes = try await withTaskCancellationHandler {
      try await reading.value
    } onCancel: {
      reading.cancel()
    }
    if let bytes {
      traffic.countReceived(bytes.count)
      if let delay = origin.pace.delay(after: bytes.count) { await origin.pace.pause(delay) }
    }
    return bytes
  }

  private func read() async throws -> Data? {
    var iterator = iterator
    defer { self.iterator = iterator }
    return try await iterator.next(isolation: self)
  }
}
