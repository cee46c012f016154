// SPDX-License-Identifier: MIT
import Foundation

/// A response's body as URLSession delivers it. Releasing it, or its iterator, ends the exchange.
struct URLSessionBody: AsyncSequence, Sendable {
  typealias Element = Data

  private let hold: Hold

  init(_ exchange: URLSessionExchange) { hold = Hold(exchange) }

  func makeAsyncIterator() -> Iterator {
    hold.exchange.beginIterating()
    return Iterator(reading: Reading(hold.exchange))
  }

  /// Ends the exchange on release; the exchange's task holds the exchange itself, too.
  private final class Hold: Sendable {
    let exchange: URLSessionExchange
    init(_ exchange: URLSessionExchange) { self.exchange = exchange }
    // The iterator outlives its sequence.
    deinit { exchange.cancelUnlessIterated() }
  }

  fileprivate final class Reading: Sendable {
    let exchange: URLSessionExchange
    init(_ exchange: URLSessionExchange) { self.exchange = exchange }
    deinit { exchange.cancel() }
  }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let reading: Reading

    mutating func next() async throws -> Data? { try await reading.exchange.next() }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
      try await reading.exchange.next()
    }
  }
}
