// SPDX-License-Identifier: MIT
import Foundation

/// One response, from which its body is pulled.
protocol BodySource: AnyObject, Sendable {
  /// Returns the next bytes of the body; nil at its end. One caller at a time.
  func next() async throws -> Data?
  /// Gives up the rest. May be called again, and after the end.
  func stop()
}

/// A response's body as it arrives. Releasing it, or its iterator, gives up the rest.
struct TransportBody: AsyncSequence, Sendable {
  private let hold: Hold

  init(_ source: any BodySource) { hold = Hold(source) }

  /// An iterator holds the body, too: `for try await … in send().body` keeps no other reference.
  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(body: hold, iteration: Hold(hold.source))
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let body: Hold
    /// Iterated once: without the iterator, nobody can request more.
    fileprivate let iteration: Hold

    mutating func next() async throws -> Data? { try await iteration.source.next() }
  }

  fileprivate final class Hold: Sendable {
    let source: any BodySource

    init(_ source: any BodySource) { self.source = source }

    deinit { source.stop() }
  }
}
