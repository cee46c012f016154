// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainLocks

  /// One request over libcurl, and its response.
  ///
  /// The body's bytes are buffered in chunks. Once these are full, libcurl stops reading from the
  /// connection until one of them is taken.
  final class CurlExchange: TransportExchange {
    let request: OriginRequest
    let response = ResponseBuffer()
    private let loop: CurlLoop

    init(_ request: OriginRequest, on loop: CurlLoop) {
      self.request = request
      self.loop = loop
      loop.exchanges.add(1, ordering: .relaxed)
    }

    deinit { loop.exchanges.subtract(1, ordering: .relaxed) }

    /// Sends the request and waits for the head of the response.
    ///
    /// - Throws: `TransportError`; `CancellationError` if the task is cancelled.
    func send() async throws -> OriginResponse {
      try Task.checkCancellation()
      loop.post { [self] in $0.begin(self) }
      var received = try await head()
      received.hasMore = { [response] in !response.isEmpty }
      return received
    }

    func goOn() { loop.post { [self] in $0.goOn(self) } }

    func abandon() { loop.post { [self] in $0.remove(self) } }

    /// Passes the next part of the request's body to libcurl.
    func bringPart() async {
      guard let body = request.body else { return }
      do {
        var part = try await body.next()
        while part?.isEmpty == true { part = try await body.next() }
        loop.post { [self, part] in $0.upload(part, of: self) }
      } catch {
        // The transfer is over if this is cancelled, and may just be ending the response properly.
        if !Task.isCancelled { end(with: error) }
      }
    }

    /// The bytes that libcurl passes on at most at once (`CURL_MAX_WRITE_SIZE`).
    static let mostAtOnce = 16 << 10

    /// Returns how many chunks an exchange buffers, and how many bytes in each. While the task stores
    /// one, another is filled: where exchanges are few, libcurl need not stop then, and be woken, for
    /// each chunk.
    ///
    /// A killed process loses what was passed on but is not stored yet: 64 KiB that precede an entry's
    /// first record, and a chunk of each exchange. Five exchanges that start at the worst moments stay
    /// below 256 KiB.
    static func limits(exchanges: Int) -> (chunks: Int, bytes: Int) {
      (exchanges > 2 ? 1 : 2, max(mostAtOnce, min(64 << 10, (96 << 10) / max(1, exchanges))))
    }

    var limits: (chunks: Int, bytes: Int) {
      Self.limits(exchanges: loop.exchanges.load(ordering: .relaxed))
    }
  }
#endif
