// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import FoundationNetworking
  import OriginServer
  import RefrainLocks
  import Testing

  @testable import Refrain

  /// URLSession may deliver the bytes of a suspended task: what nobody reads is bounded all the same.
  /// On Linux a task is never suspended, so that the bound is reached at once.
  @Suite(.timeLimit(.minutes(1))) struct UnreadBodyTests {
    private static let total = 24 << 20
    private static let step = 64 << 10
    /// As on Apple's platforms.
    private static let bounded = URLSessionRequests.Settings(
      mostUnread: URLSessionExchange.mostUnread)

    /// The bytes of a body, of which each step has another value than the next.
    private static func bytes(_ step: Int) -> [UInt8] {
      [UInt8](repeating: UInt8(truncatingIfNeeded: step), count: Self.step)
    }

    private static func isRight(_ body: Data) -> Bool {
      stride(from: 0, to: body.count, by: step).allSatisfy { offset in
        let part = body[offset..<min(offset + step, body.count)]
        return part == Data(bytes(offset / step).prefix(part.count))
      }
    }

    /// A server that sends `total` bytes as soon as it can.
    private func server(_ status: String, _ fields: [String]) throws -> RawServer {
      try RawServer { connection in
        _ = connection.readRequest()
        connection.send(
          "HTTP/1.1 \(status)\r\nContent-Length: \(Self.total)\r\n"
            + fields.map { "\($0)\r\n" }.joined() + "\r\n")
        for step in 0..<(Self.total / Self.step) {
          guard connection.send(Self.bytes(step)) else { return }
        }
        connection.waitForEnd()
      }
    }

    private static let part = "Content-Range: bytes 0-\(total - 1)/\(total)"

    @Test func `A part with a strong validator ends above two mebibytes of unread bytes`()
      async throws
    {
      let server = try server("206 Partial Content", ["ETag: \"a\"", Self.part])
      defer { server.stop() }
      let response = try await URLSessionRequests(Self.bounded).send(
        OriginRequest(url: server.url()))
      try await eventually("the connection is closed") {
        server.connections.first?.isClosedByClient == true
      }
      var received = Data()
      let error = await #expect(throws: TransportError.self) {
        for try await chunk in response.body { received.append(chunk) }
      }
      #expect(error?.cause == .unread && error?.code == .connectionLost)
      #expect(received.count > URLSessionExchange.mostUnread && received.count < Self.total)
      #expect(Self.isRight(received))
    }

    @Test(arguments: [
      ("206 Partial Content", ["ETag: W/\"a\"", part]), ("206 Partial Content", [part]),
      ("200 OK", ["ETag: \"a\"", "Accept-Ranges: bytes"]),
    ])
    func `A response that could not be continued arrives whole, however late it is read`(
      _ status: String, _ fields: [String]
    ) async throws {
      let server = try server(status, fields)
      defer { server.stop() }
      let response = try await URLSessionRequests(Self.bounded).send(
        OriginRequest(url: server.url()))
      // Nothing holds the sender back here, so all of it comes while nobody reads.
      try await eventually("everything was sent") {
        (server.connections.first?.sent ?? 0) > Self.total
      }
      let received = try await response.whole()
      #expect(received.count == Self.total)
      #expect(Self.isRight(received))
    }

    @Test func `After a pause the cache requests the rest, and nothing has failed`() async throws {
      // More than the sockets of a loopback connection hold.
      let length: Int64 = 48_000_017
      try await withCache({ $0.transport = URLSessionRequests(Self.bounded) }) { test in
        test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
        let events = test.cache.events(includingTraffic: false)
        let reader = try await test.reader("/a")
        let bytes = SyntheticBytes(seed: 7)
        var read = try await Array(reader.bytes(in: 0..<100_000))
        // The window is full, and the fetch rests: the transport ends the request by itself.
        _ = try await test.origin.wait(for: "/a") { $0.running == 0 }
        // Beyond what the transport had received.
        let end: Int64 = 6_000_000
        read += try await Array(reader.bytes(in: 100_000..<end))
        #expect(read == bytes.bytes(in: 0..<end))
        let log = test.origin.log("/a")
        #expect(log.requests.count > 1)
        #expect(
          log.requests.dropFirst().allSatisfy { request in
            request.request.headers.contains { $0.name.lowercased() == "if-range" }
          })
        reader.cancel()
        await test.cache.close()
        for await event in events {
          switch event {
          case .retrying, .failed, .warning: Issue.record("\(event)")
          default: break
          }
        }
      }
    }
  }

  @Suite struct ResponseBufferTests {
    private final class Exchange: TransportExchange {
      let response = ResponseBuffer()
      private let calls = Mutex<[String]>([])
      var called: [String] { calls.withLock { $0 } }

      func goOn() { calls.withLock { $0.append("go on") } }
      func abandon() { calls.withLock { $0.append("abandon") } }

      func receive(_ count: Int, pauses: Bool = false) {
        response.change { state in
          state.chunks.append(Data(count: count))
          state.isPaused = pauses
          return ((), wakes: true)
        }
      }
    }

    @Test func `A paused library goes on once a chunk is taken`() async throws {
      let exchange = Exchange()
      exchange.receive(64 << 10)
      exchange.receive(64 << 10)
      exchange.receive(1, pauses: true)
      #expect(exchange.called == [] && exchange.response.isPaused)
      for _ in 0..<2 { _ = try await exchange.next() }
      #expect(!exchange.response.isEmpty)
      #expect(exchange.called == ["go on"] && !exchange.response.isPaused)
      exchange.stop()
    }

    @Test func `What has arrived is read before the end`() async throws {
      let exchange = Exchange()
      exchange.response.receive((200, [:], false))
      exchange.receive(3)
      exchange.response.end(TransportError(.connectionLost, "It broke."))
      let head = try await exchange.head()
      let chunk = try await exchange.next()
      #expect(head.status == 200 && chunk?.count == 3)
      await #expect(throws: TransportError.self) { _ = try await exchange.next() }
      exchange.stop()
      await #expect(throws: TransportError.self) { _ = try await exchange.next() }
      #expect(exchange.called == [])
    }

    @Test func `A response that nobody wants is abandoned once, with what has arrived`() async {
      let exchange = Exchange()
      exchange.receive(3)
      for _ in 0..<2 { exchange.stop() }
      exchange.receive(3)
      exchange.response.end(nil)
      #expect(exchange.called == ["abandon"] && exchange.response.isOver)
      exchange.stop()
      await #expect(throws: CancellationError.self) { _ = try await exchange.next() }
    }

    @Test func `A task that is cancelled while it waits for a chunk ends`() async throws {
      let exchange = Exchange()
      let reading = Task { try await exchange.next() }
      reading.cancel()
      await #expect(throws: CancellationError.self) { _ = try await reading.value }
      #expect(exchange.called == ["abandon"])
    }

    @Test func `A timeout of a suspended task is not the host's`() {
      func error(_ code: URLError.Code, isResting: Bool) -> TransportError {
        .urlSession(URLError(code), host: "h", beforeHead: false, isResting: isResting)
      }
      let resting = error(.timedOut, isResting: true)
      #expect(resting.cause == .unread && resting.code == .connectionLost)
      let silent = error(.timedOut, isResting: false)
      #expect(silent.cause == nil && silent.code == .timedOut)
      // Any other error is.
      let lost = error(.networkConnectionLost, isResting: true)
      #expect(lost.cause == nil)
    }
  }
#endif
