// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import Testing

@testable import RefrainProxy

/// Clients that end their side of the connection: they may wait for a response, or have gone.
@Suite(.timeLimit(.minutes(2))) struct EndedInputTests {
  private static let bytes = SyntheticBytes(seed: 1)
  /// The part of a response before its origin stalls.
  private static let begun = 1000

  /// The time of the connections, which stands still until a test moves it.
  private final class Time: Sendable {
    private struct State {
      var now = Uptime.now
      var looks = 0
    }

    private let state = Mutex(State())

    var clock: @Sendable () -> Uptime {
      { [self] in
        state.withLock {
          $0.looks += 1
          return $0.now
        }
      }
    }

    private var looks: Int { state.withLock(\.looks) }

    /// Waits until a connection has looked at the time again, and has acted on it.
    func settle() async throws {
      let before = looks
      // Each look follows what the one before it led to.
      try await eventually("the time was looked at") { looks >= before + 2 }
    }

    /// Moves the time, once a connection looks at it.
    func advance(by seconds: Double) async throws {
      try await settle()
      state.withLock { $0.now = $0.now + seconds }
    }
  }

  private func with(
    _ time: Time, change: (inout CacheProxy.Configuration) -> Void = { _ in },
    _ body: (TestProxy) async throws -> Void
  ) async throws {
    try await withProxy(proxy: { configuration, _ in
      configuration.relayedMethods = .all
      configuration.connection.endedInputTimeout = .seconds(30)
      configuration.connection.endedInputClock = time.clock
      change(&configuration)
    }) { test in
      test.origin.serve(.synthetic(seed: 1, length: 100_000), at: "/a")
      test.origin.serve(.synthetic(seed: 1, length: 100_000), at: "/b")
      try await body(test)
    }
  }

  /// Receives the beginning of a response whose origin stalls then, and once more later, and closes
  /// the connection.
  private func leave(_ path: String, _ test: TestProxy) async throws {
    let stalls = [Self.begun, 50 * Self.begun].map { Fault.stall(at: .body(Int64($0))) }
    test.origin.script(path, .on(.all, stalls))
    try await test.onSocket { client in
      try client.send(try test.request(for: path))
      // All that has come: closing with unread bytes would reset the connection.
      _ = try client.receiveHead()
      _ = try client.receive(exactly: Self.begun)
      client.close()
    }
    try await test.origin.wait(for: path) { $0.stalled == 1 }
  }

  @Test(arguments: [false, true])
  func `A half-closed client receives a response that begins after three seconds`(
    isRelayed: Bool
  ) async throws {
    let time = Time()
    try await with(time) { test in
      test.origin.script("/a", .on(.all, isRelayed ? [.delay(nil), .status(201)] : [.delay(nil)]))
      let request =
        isRelayed
        ? try test.request(for: "/a", ["Content-Length: 3"], method: "POST") + "abc"
        : try test.request(for: "/a")
      async let received = test.onSocket { client in
        try client.send(request)
        client.endSending()
        return try client.receiveToEnd()
      }
      try await test.origin.wait(for: "/a") { $0.stalled == 1 }
      try await time.advance(by: 3)
      try await time.settle()
      test.origin.release("/a")
      let replies = try AnswerReader.read(try await received.bytes)
      #expect(replies.map(\.status) == [isRelayed ? 201 : 200])
      if !isRelayed { #expect(replies.first?.body == Self.bytes.bytes(in: 0..<100_000)) }
    }
  }

  @Test func `A client that has gone keeps no reader for longer than its time`() async throws {
    let time = Time()
    try await with(time) { test in
      try await leave("/a", test)
      try await time.advance(by: 29)
      try await time.settle()
      #expect(await test.cache.figures().readers == 1)
      try await time.advance(by: 2)
      try await eventually("its reader is gone") { await test.cache.figures().readers == 0 }
      try await eventually("it is gone") { test.proxy.connectionCount == 0 }
      test.origin.release("/a")
    }
  }

  @Test func `A client that has gone keeps no reader once its response goes on`() async throws {
    let time = Time()
    try await with(time) { test in
      try await leave("/a", test)
      try await time.settle()
      test.origin.release("/a")
      // The origin stalls again.
      try await eventually("its reader is gone") { await test.cache.figures().readers == 0 }
      try await eventually("it is gone") { test.proxy.connectionCount == 0 }
      test.origin.release("/a")
    }
  }

  @Test func `Of many clients that have gone, most keep no reader for more than a moment`()
    async throws
  {
    let time = Time()
    try await with(
      time,
      change: {
        $0.connection.mostEndedInputs = 1
        $0.connection.endedInputTimeout = .seconds(1_000_000)
      }
    ) { test in
      try await leave("/a", test)
      try await leave("/b", test)
      #expect(await test.cache.figures().readers == 2)
      try await time.advance(by: 1)
      try await time.settle()
      #expect(test.proxy.connectionCount == 2)
      // They may have begun to wait later than that.
      try await eventually("one of them is gone") {
        try await time.advance(by: 2)
        return test.proxy.connectionCount == 1
      }
      try await eventually("so is its reader") { await test.cache.figures().readers == 1 }
      try await time.settle()
      #expect(test.proxy.connectionCount == 1)
      test.origin.release("/a")
      test.origin.release("/b")
    }
  }

  /// Most clients that end only their side have their responses a moment later.
  @Test func `A client that has just ended its side does not count as one that has gone`()
    async throws
  {
    let time = Time()
    try await with(
      time,
      change: {
        $0.connection.mostEndedInputs = 1
        $0.connection.endedInputTimeout = .seconds(1_000_000)
      }
    ) { test in
      try await leave("/a", test)
      try await eventually("it counts") {
        try await time.advance(by: 3)
        return test.proxy.setup.endedInputs.withLock(\.count) == 1
      }
      try await leave("/b", test)
      for _ in 0..<2 { try await time.settle() }
      #expect(test.proxy.connectionCount == 2)
      #expect(test.proxy.setup.endedInputs.withLock(\.count) == 1)
      for path in ["/a", "/b"] { test.origin.release(path) }
    }
  }

  @Test func `Such a client waits as long as the cache waits for an origin`() async throws {
    let time = Time()
    // The cache waits for 100 seconds (`TestProxy.configuration`).
    try await with(time, change: { $0.connection.endedInputTimeout = nil }) { test in
      try await leave("/a", test)
      try await time.advance(by: 90)
      try await time.settle()
      #expect(test.proxy.connectionCount == 1)
      try await time.advance(by: 11)
      try await eventually("it is gone") { test.proxy.connectionCount == 0 }
      test.origin.release("/a")
    }
  }
}
