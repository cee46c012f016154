// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainLocks
  import TestSupport
  import Testing

  @testable import Refrain

  /// Random concurrent requests that are read, left unread, dropped or cancelled: every byte is the
  /// one that the server sent.
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2)))) struct TransportModelTests {
    /// How a server delimits, delays or breaks off a body. Each case is a word in the path.
    private enum Kind: String, CaseIterable, Sendable {
      case length, chunked, close, interim, trickle, trailers
      /// Broken off halfway.
      case drop, reset

      var isWhole: Bool { self != .drop && self != .reset }
    }

    /// The source of every body; made once, because this is slow under a sanitizer.
    private static let pattern: [UInt8] = {
      var random = SeededGenerator(seed: 1)
      return (0..<400_000).flatMap { _ in
        withUnsafeBytes(of: UInt64.random(in: 0...UInt64.max, using: &random)) { Array($0) }
      }
    }()

    /// The bytes of the body for a seed, which is below 1000.
    private static func bytes(_ seed: Int, _ range: Range<Int>) -> [UInt8] {
      Array(pattern[(seed * 1009 + range.lowerBound)..<(seed * 1009 + range.upperBound)])
    }

    private static func isPart(_ chunk: Data, of seed: Int, at offset: Int) -> Bool {
      let start = seed * 1009 + offset
      guard start + chunk.count <= pattern.count else { return false }
      return pattern.withUnsafeBytes { pattern in
        chunk.withUnsafeBytes { chunk in
          guard let bytes = chunk.baseAddress, let expected = pattern.baseAddress else {
            return true
          }
          return memcmp(bytes, expected + start, chunk.count) == 0
        }
      }
    }

    /// Responds to `/KIND/SEED/LENGTH`.
    private func server() throws -> RawServer {
      try RawServer { connection in
        while true {
          let words = connection.readRequest().prefix { $0 != "\r\n" }.split(separator: " ")
          let path = words.dropFirst().first?.split(separator: "/") ?? []
          guard path.count == 3, let kind = Kind(rawValue: String(path[0])),
            let seed = Int(path[1]), let length = Int(path[2]),
            Self.answer(kind, seed, length, on: connection)
          else { return }
        }
      }
    }

    /// - Returns: whether the connection can be used again.
    private static func answer(
      _ kind: Kind, _ seed: Int, _ length: Int, on connection: RawServer.Connection
    ) -> Bool {
      let head = "HTTP/1.1 200 OK\r\nX-Seed: \(seed)\r\n"
      switch kind {
      case .chunked, .trailers:
        connection.send(head + "Transfer-Encoding: chunked\r\n\r\n")
        var from = 0
        while from < length {
          let to = min(length, from + 1 + (from &* 7919 &+ seed) % 40_000)
          connection.send(String(to - from, radix: 16) + "\r\n")
          connection.send(bytes(seed, from..<to))
          connection.send("\r\n")
          from = to
        }
        return connection.send("0\r\n" + (kind == .trailers ? "X-Late: 1\r\n\r\n" : "\r\n"))
      case .close:
        connection.send(head + "Connection: close\r\n\r\n")
        connection.send(bytes(seed, 0..<length))
        return false
      case .drop, .reset:
        connection.send(head + "Content-Length: \(length)\r\n\r\n")
        connection.send(bytes(seed, 0..<length / 2))
        if kind == .reset { connection.resetOnClose() }
        return false
      case .interim:
        connection.send(
          "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nX-Seed: 0\r\n\r\n")
      case .length, .trickle: break
      }
      connection.send(head + "Content-Length: \(length)\r\n\r\n")
      let step = kind == .trickle ? max(1, length / 10) : length
      for from in stride(from: 0, to: length, by: max(1, step)) {
        guard connection.send(bytes(seed, from..<min(length, from + step))) else { return false }
        if kind == .trickle { usleep(500) }
      }
      return true
    }

    /// One request, and how its body is handled.
    private struct Step: Sendable {
      var kind: Kind
      var seed: Int
      var length: Int
      /// The number of bytes read before the body is dropped; nil: all.
      var limit: Int?
      var pause: Duration?
      var isCancelled: Bool

      init(_ random: inout SeededGenerator) {
        kind = Kind.allCases.randomElement(using: &random) ?? .length
        seed = Int.random(in: 1...999, using: &random)
        length = [0, 1, 100, 16_384, 65_536, 300_000, 2_000_000].randomElement(using: &random) ?? 0
        length += Int.random(in: 0...200, using: &random)
        // Half of the length is always less than the length.
        if !kind.isWhole { length += 2 }
        limit = Int.random(in: 0...3, using: &random) == 0 ? length / 3 : nil
        pause =
          Int.random(in: 0...3, using: &random) == 0
          ? .milliseconds(Int.random(in: 1...20, using: &random)) : nil
        isCancelled = Int.random(in: 0...4, using: &random) == 0
      }
    }

    /// - Returns: a description of the problem; nil if there is none.
    private static func run(_ step: Step, over transport: any Transport, _ url: URL) async
      -> String?
    {
      var count = 0
      do {
        let response = try await transport.send(OriginRequest(url: url))
        guard response.status == 200, response.headers["X-Seed"] == "\(step.seed)" else {
          return "the head of another answer"
        }
        for try await chunk in response.body {
          guard isPart(chunk, of: step.seed, at: count) else { return "other bytes at \(count)" }
          count += chunk.count
          if let pause = step.pause { try await Task.sleep(for: pause) }
          if let limit = step.limit, count >= limit { return nil }
        }
        guard step.kind.isWhole else { return "a broken body that ended as if it were whole" }
        return count == step.length ? nil : "\(count) bytes instead of \(step.length)"
      } catch is CancellationError {
        return nil
      } catch let error as TransportError {
        guard !step.kind.isWhole, [.connectionLost].contains(error.code) else { return "\(error)" }
        // A reset may overtake bytes sent before it.
        return step.kind == .reset || count == step.length / 2
          ? nil : "\(count) of the \(step.length / 2) bytes that came before it broke"
      } catch {
        return "\(error)"
      }
    }

    @Test func `Responses are never mixed up under random breaks and cancellations`() async throws {
      let server = try server()
      defer { server.stop() }
      try await Self.check(CurlTransport(), at: "http://127.0.0.1:\(server.port)", server.port)
    }

    @Test(
      .enabled(if: RequiredProgram.python3.isUsable && RequiredProgram.openssl.isUsable))
    func `Responses are never mixed up over TLS, either`() async throws {
      let directory = TestCache.temporaryDirectory()
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: directory) }
      let authority = try await PrivateAuthority(in: directory)
      let server = try server()
      defer { server.stop() }
      let relay = try await TLSRelay(before: server.port, authority)
      try await Self.check(
        CurlTransport(.init(environment: ["SSL_CERT_FILE": authority.certificate])),
        at: "https://127.0.0.1:\(relay.port)", relay.port)
      #expect(server.connections.reduce(0) { $0 + $1.requestCount } > 100)
      await relay.stop()
    }

    private static func check(
      _ transport: CurlTransport, at address: String, _ port: UInt16
    ) async throws {
      let seed = TestSeed.next()
      print("TransportModelTests: seed \(seed)")
      let end = ContinuousClock.now + (TestSeed.isSoak ? .seconds(1800) : .seconds(3600))
      let problems = Mutex<[String]>([])
      let done = try await runAll(
        transport, address, seed: seed,
        most: TestSeed.isSoak ? .max : TestSeed.isSanitized ? 160 : 400, until: end
      ) { problem in problems.withLock { $0.append(problem) } }
      #expect(problems.withLock { $0 } == [], "seed \(seed)")
      print("  \(done) requests")
      // Only the connections kept for later requests stay open.
      try await eventually("connections are closed") { openConnections(to: port).count <= 32 }
    }

    private static func runAll(
      _ transport: any Transport, _ address: String, seed: UInt64, most: Int,
      until end: ContinuousClock.Instant, report: @escaping @Sendable (String) -> Void
    ) async throws -> Int {
      try await withThrowingTaskGroup(of: Int.self) { group in
        for lane in 0..<8 {
          group.addTask {
            var random = SeededGenerator(seed: seed &+ UInt64(lane))
            var done = 0
            while done < most / 8, ContinuousClock.now < end {
              let step = Step(&random)
              let path = "/\(step.kind.rawValue)/\(step.seed)/\(step.length)"
              let url = try #require(URL(string: address + path))
              let delay = Int.random(in: 0...3000, using: &random)
              let task = Task { await Self.run(step, over: transport, url) }
              if step.isCancelled {
                try await Task.sleep(for: .microseconds(delay))
                task.cancel()
              }
              if let problem = await task.value { report("\(step): \(problem)") }
              done += 1
            }
            return done
          }
        }
        var all = 0
        for try await done in group { all += done }
        return all
      }
    }
  }
#endif
