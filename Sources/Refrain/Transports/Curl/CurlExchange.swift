// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
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
    private static let mostAtOnce = 16 << 10

    /// Returns how many chunks an exchange buffers, and about how many bytes in each. While the task
    /// stores one, another is filled: where exchanges are few, libcurl need not stop then, and be
    /// woken, for each chunk.
    ///
    /// A killed process loses what was passed on but is not stored yet: a chunk of each exchange. Five
    /// exchanges that start at the worst moments stay below 256 KiB.
    static func limits(exchanges: Int) -> (chunks: Int, bytes: Int) {
      (exchanges > 2 ? 1 : 2, max(mostAtOnce, min(64 << 10, (96 << 10) / max(1, exchanges))))
    }

    /// The bytes above which a chunk takes no more. A chunk below takes whatever comes at once, so that
    /// it becomes longer than its limit only if that is short, and 24 KiB at most.
    static func fullChunk(of limit: Int) -> Int { max(limit - mostAtOnce, mostAtOnce / 2) }

    /// The size of libcurl's own buffer, which each transfer has: one read of the socket takes no more
    /// than is passed on.
    var readSize: Int {
      if loop.exchanges.load(ordering: .relaxed) > 128 { return Self.mostAtOnce / 2 }
      // Whole pieces: of a read that ends in a part of one, libcurl would keep a copy.
      return limits.bytes / Self.mostAtOnce * Self.mostAtOnce
    }

    var limits: (chunks: Int, bytes: Int) {
      Self.limits(exchanges: loop.exchanges.load(ordering: .relaxed))
    }
  }

  /// Passes work to the thread that runs libcurl.
  final class CurlLoop: Sendable {
    typealias Work = @Sendable (CurlThread) -> Void

    private let work = Mutex<[Work]>([])
    private let events: EventQueue
    /// The number of exchanges, which share the memory for buffers.
    let exchanges = Atomic(0)

    /// One loop for each of the settings, for the lifetime of the process: connections stay open
    /// between requests, and host names with fixed addresses apply to one loop alone.
    private static let all = Mutex<[CurlTransport.Settings: CurlLoop]>([:])

    /// - Throws: `TransportError` if the process has no descriptors left.
    static func with(_ settings: CurlTransport.Settings) throws -> CurlLoop {
      try all.withLock { all in
        if let loop = all[settings] { return loop }
        let loop = try CurlLoop(settings)
        all[settings] = loop
        return loop
      }
    }

    private init(_ settings: CurlTransport.Settings) throws {
      events = try EventQueue()
      curl_global_init(Int(CURL_GLOBAL_DEFAULT))
      // Newer versions of libcurl open a descriptor here.
      guard let multi = curl_multi_init() else { throw Self.nothingLeft }
      guard let share = curl_share_init() else {
        curl_multi_cleanup(multi)
        throw Self.nothingLeft
      }
      // Handed over to the thread, which alone uses them from here on.
      nonisolated(unsafe) let (lentMulti, lentShare) = (multi, share)
      let thread = Thread {
        CurlThread(settings, self.events, multi: lentMulti, share: lentShare).run {
          self.work.withLock { work in
            defer { work = [] }
            return work
          }
        }
      }
      thread.name = "refrain.curl"
      thread.start()
    }

    private static let nothingLeft = TransportError(
      .unreachable, "No request can be sent: no descriptor or no memory is left.")

    func post(_ next: @escaping Work) {
      let isFirst = work.withLock { work in
        work.append(next)
        return work.count == 1
      }
      if isFirst { events.ring() }
    }
  }
#endif
