// SPDX-License-Identifier: MIT
#if os(Linux)
  import AsyncHTTPClient
  import Foundation
  import NIOCore
  import NIOFoundationCompat

  /// A response's body as `Data`. Each chunk is the memory that the socket was read into, not a
  /// copy of it.
  struct AsyncHTTPClientBody: AsyncSequence, Sendable {
    var body: HTTPClientResponse.Body
    var errors: AsyncHTTPClientErrors

    func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(base: body.makeAsyncIterator(), errors: errors)
    }

    struct AsyncIterator: AsyncIteratorProtocol {
      var base: HTTPClientResponse.Body.AsyncIterator
      var errors: AsyncHTTPClientErrors

      mutating func next() async throws -> Data? {
        do {
          while let chunk = try await base.next() {
            guard chunk.readableBytes > 0 else { continue }
            if let reason = BrokenBody.reason(in: chunk) { throw errors.lost(reason) }
            return Data(buffer: chunk, byteTransferStrategy: .noCopy)
          }
        } catch {
          throw errors.translate(error, beforeHead: false)
        }
        // A cancelled task sees its sequence end early. That must not look like a whole body.
        try Task.checkCancellation()
        return nil
      }
    }
  }
#endif
