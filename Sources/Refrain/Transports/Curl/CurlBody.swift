// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  /// A response's body as it arrives. Releasing it before its end closes the connection.
  struct CurlBody: AsyncSequence, Sendable {
    private let hold: Hold

    init(_ exchange: CurlExchange) { hold = Hold(exchange) }

    /// An iterator holds the body, too: `for try await … in send().body` keeps no other reference.
    func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(body: hold, iteration: Hold(hold.exchange))
    }

    struct AsyncIterator: AsyncIteratorProtocol {
      fileprivate let body: Hold
      /// Iterated once: without the iterator, nobody can request more.
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
