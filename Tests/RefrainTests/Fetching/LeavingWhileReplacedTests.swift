// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// A reader that leaves at the moment at which another version takes the place of the one it has
/// not read yet.
@Suite(.timeLimit(.minutes(2)))
struct LeavingWhileReplacedTests {
  /// Ends a reader when the cache reads its clock for the nth time after a response.
  private final class Saboteur: Sendable {
    private let state = Mutex<(reader: MediaReader?, calls: Int)>((nil, 0))

    func arm(_ reader: MediaReader, calls: Int) { state.withLock { $0 = (reader, calls) } }

    /// Counts down only once a response has come.
    let hasAnswered = Atomic(false)

    var now: Moment {
      let reader = state.withLock { state -> MediaReader? in
        guard hasAnswered.load(ordering: .relaxed), state.reader != nil else { return nil }
        state.calls -= 1
        return state.calls == 0 ? state.reader.take() : nil
      }
      if let reader {
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          reader.cancel()
          ended.signal()
        }
        // The caller may hold a lock that the reader needs: then the reader ends later.
        _ = ended.wait(timeout: .now() + .milliseconds(50))
      }
      return .now
    }
  }

  /// How often the clock is read until the other version is in place varies.
  @Test(arguments: (1...12).flatMap { [$0, $0, $0, $0] })
  func `A reader that leaves while its version is replaced keeps no request open`(
    call: Int
  ) async throws {
    let saboteur = Saboteur()
    let base = MediaCache.platformTransport()
    let transport = ScriptedTransport { request in
      let response = try await base.send(request)
      saboteur.hasAnswered.store(true, ordering: .relaxed)
      return response
    }
    func change(_ configuration: inout MediaCache.Configuration) {
      configuration.transport = transport
      configuration.clock = { saboteur.now }
      configuration.abandonedSilence = .milliseconds(200)
    }
    try await withCache(change) { test in
      let length: Int64 = 16 << 20
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      // A reader in the middle of the old version, which keeps its requests.
      let middle = try await test.reader("/a")
      #expect(try await middle.bytes(in: 0..<1000).count == 1000)
      var other = OriginResource.synthetic(seed: 2, length: length)
      other.supportsRanges = false
      test.origin.serve(other, at: "/a")
      let reader = try await test.reader("/a")
      saboteur.hasAnswered.store(false, ordering: .relaxed)
      saboteur.arm(reader, calls: call)
      let reading = Task { try await reader.bytes(in: 12 << 20..<13 << 20) }
      // It ends by itself, or has been ended.
      _ = await reading.result
      reader.cancel()
      middle.cancel()
      try await eventually("no request is left, and the entry is closed") {
        test.cache.table.isEmpty
      }
    }
  }
}
