// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  /// A response's body as it arrives. Whoever lets go of it before its end closes the connection.
  struct CurlBody: AsyncSequence, Sendable {
    private let hold: Hold

    init(_ exchange: CurlExchange) { hold = Hold(exchange) }

    /// An iterator holds the body, too: `for try await … in send().body` keeps nothing else of it.
    func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(body: hold, iteration: Hold(hold.exchange))
    }

    struct AsyncIterator: AsyncIteratorProtocol {
      fileprivate let body: Hold
      /// Iterated once: when the iterator goes, nobody can ask for more.
      fileprivate let iteration: Hold

      mutating func next() async throws -> Data? { try await iteration.exchange.next() }
    }

    fileprivate final class Hold: Sendable {
      let exchange: CurlExchange

      init(_ exchange: CurlExchange) { self.exchange = exchange }

      deinit { exchange.stop() }
    }
  }
#endif
