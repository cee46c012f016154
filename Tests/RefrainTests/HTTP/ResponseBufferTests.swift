// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import Testing

@testable import Refrain

@Suite struct ResponseBufferTests {
  private final class Exchange: TransportExchange {
    let response = ResponseBuffer()
    private let calls = Mutex<[String]>([])
    var called: [String] { calls.withLock { $0 } }

    func start() {}
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
    #expect(exchange.called == [])
    for _ in 0..<2 { _ = try await exchange.next() }
    #expect(!exchange.response.isEmpty)
    #expect(exchange.called == ["go on"])
    exchange.stop()
  }

  @Test func `What has arrived is read before the end`() async throws {
    let exchange = Exchange()
    exchange.response.receive((200, [:], false))
    exchange.receive(3)
    exchange.response.end(TransportError(.connectionLost, "It broke."))
    let head = try await exchange.send()
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
}
