// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainLocks

  /// One request over libcurl, and its response.
  ///
  /// The body's bytes are buffered in chunks. Once these are full, libcurl stops reading from the
  /// connection until one of them is taken.
  final class CurlExchange: TransportExchange {
    let request: RelayedRequest
    let response = ResponseBuffer()
    private let loop: CurlLoop

    init(_ request: RelayedRequest, on loop: CurlLoop) {
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
      loop.post(.begin(self))
      var received = try await head()
      received.hasMore = { [response] in !response.isEmpty }
      return received
    }

    func goOn() { loop.post(.goOn(self)) }

    func abandon() { loop.post(.remove(self)) }

    /// Passes the next part of the request's body to libcurl.
    func bringPart() async {
      guard let body = request.body else { return }
      do {
        var part = try await body.next()
        while part?.isEmpty == true { part = try await body.next() }
        loop.post(.upload(part, self))
      } catch {
        // The transfer is over if this is cancelled, and may just be ending the response properly.
        if !Task.isCancelled { end(with: error) }
      }
    }

    // MARK: For the thread of libcurl

    /// Only such requests share a handle that knows a challenge: they set the same options.
    var isPlainGet: Bool { request.method == "GET" && request.body == nil }

    func received(_ head: ResponseBuffer.Head) {
      response.receive(head)
      // After a response that precedes the end of the request's body, libcurl stops sending it, but
      // would wait forever for its next part.
      if request.body != nil { goOn() }
    }

    /// Ends the exchange with libcurl's result.
    func ended(_ error: TransportError?) {
      response.end(error.map { .failure($0) } ?? .success(()))
    }

    /// The bytes that libcurl passes on at most at once (`CURL_MAX_WRITE_SIZE`).
    private static let mostAtOnce = 16 << 10
    /// Before this many bytes, the reader may well seek, and buffered bytes would be wasted.
    private static let beginning = 512 << 10

    /// How much an exchange buffers. A killed process loses what was passed on but is not stored yet:
    /// 64 KiB that precede an entry's first record, and a chunk of each exchange. Five exchanges that
    /// start at the worst moments stay below 256 KiB.
    struct Limits: Hashable {
      /// The number of chunks. While the task stores one, another is filled: where exchanges are few,
      /// libcurl need not stop then, and be woken, for each chunk.
      var chunks: Int
      /// The bytes of a chunk.
      var bytes: Int

      init(exchanges: Int) {
        chunks = exchanges > 2 ? 1 : 2
        bytes = max(mostAtOnce, min(64 << 10, (96 << 10) / max(1, exchanges)))
      }
    }

    var limits: Limits { Limits(exchanges: loop.exchanges.load(ordering: .relaxed)) }

    /// The chunk that is being filled.
    struct Filling {
      /// The bytes of the body received so far.
      fileprivate var received = 0
      /// The bytes that the chunk may hold.
      fileprivate var limit = 0
    }

    /// Adds bytes to the last chunk, or to a new one. Wakes the task for a chunk that is full: waking
    /// it costs as much as receiving one.
    ///
    /// - Parameter length: of the whole body, if it is known.
    /// - Returns: whether the bytes were taken; if not, they must be passed again after `goOn`.
    func take(
      _ bytes: UnsafeRawBufferPointer, _ filling: inout Filling, of length: Int64?
    ) -> Bool {
      response.change { state in
        // Bytes after the stop are discarded until the thread learns of it.
        guard state.end == nil, !bytes.isEmpty else { return (true, wakes: false) }
        if let last = state.chunks.indices.last,
          state.chunks[last].count + bytes.count <= filling.limit
        {
          state.appendToLast(bytes)
        } else {
          let limits = limits
          let most = filling.received < Self.beginning ? 1 : limits.chunks
          guard state.chunks.count < most else {
            state.isPaused = true
            return (false, wakes: true)
          }
          filling.limit = limits.bytes
          let rest = length.map { Int(clamping: $0) - filling.received } ?? .max
          var chunk = Data()
          chunk.reserveCapacity(max(bytes.count, min(limits.bytes, rest)))
          chunk.append(contentsOf: bytes)
          state.append(chunk)
        }
        filling.received += bytes.count
        let isFull =
          state.chunks.count > 1 || state.chunks[0].count + Self.mostAtOnce > filling.limit
        return (true, wakes: isFull)
      }
    }
  }
#endif
