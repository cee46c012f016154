// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// A transport that waits for a network.
@Suite(.timeLimit(.minutes(1))) struct ConnectivityTests {
  private let memory = MemoryTransport(seed: 7, length: 300_007)
  private let bytes = SyntheticBytes(seed: 7)

  private func url(_ path: String) throws -> URL { try #require(URL(string: "http://h\(path)")) }

  @Test func `A wait for a network neither times out nor counts as an attempt`() async throws {
    let network = Gate()
    let transport = ScriptedTransport { [memory] request in
      if request.url.path == "/silent" { try await Gate().wait() }
      #expect(request.waitsForConnectivity)
      request.onConnectivity?(.waiting)
      try await network.wait()
      request.onConnectivity?(.available)
      return try await memory.send(request)
    }
    try await withTransport(
      transport,
      {
        $0.responseTimeout = .seconds(4)
        $0.retry.attempts = 1
      }
    ) { cache in
      let reader = try await cache.open(Resource(url: url("/waiting")))
      defer { reader.cancel() }
      let read = Task { try await reader.bytes(in: 0..<1000) }
      try await eventually("the network is waited for") { !transport.requests.isEmpty }
      // This request starts later and fails for silence: the waiting request has outlasted that
      // timeout.
      let silent = try await cache.open(Resource(url: url("/silent")))
      defer { silent.cancel() }
      let error = await expectError(.unreachable) { try await silent.bytes(in: 0..<1000) }
      #expect(error?.isTimeout == true)
      network.open()
      try await #expect(Array(read.value) == bytes.bytes(in: 0..<1000))
      #expect(
        transport.requests("/waiting").filter { $0.headers["Range"]?.hasPrefix("bytes=0-") == true }
          .count == 1)
    }
  }

  @Test func `A silent origin times out once a network is available`() async throws {
    let transport = ScriptedTransport { request in
      request.onConnectivity?(.waiting)
      request.onConnectivity?(.available)
      try await Gate().wait()
      throw CancellationError()
    }
    try await withTransport(
      transport,
      {
        $0.responseTimeout = .milliseconds(200)
        $0.retry.attempts = 1
      }
    ) { cache in
      let reader = try await cache.open(Resource(url: url("/a")))
      defer { reader.cancel() }
      let error = await expectError(.unreachable) { try await reader.bytes(in: 0..<9) }
      #expect(error?.isTimeout == true)
    }
  }

  @Test func `A wait for a network ends with its last reader`() async throws {
    let transport = ScriptedTransport { request in
      request.onConnectivity?(.waiting)
      try await Gate().wait()
      throw CancellationError()
    }
    try await withTransport(transport) { cache in
      let reader = try await cache.open(Resource(url: url("/a")))
      let read = Task { try await reader.bytes(in: 0..<9) }
      try await eventually("the network is waited for") {
        cache.table.openEntries.first?.current?
          .withState { $0.fetches.values.contains(where: \.isResting) } == true
      }
      reader.cancel()
      await #expect(throws: CancellationError.self) { try await read.value }
      try await eventually("every entry is closed") { cache.table.isEmpty }
      #expect(transport.requests.count == 1)
    }
  }

  @Test
  func `A reader cancelled before the wait for a network leaves no open entry`() async throws {
    let reader = Gate()
    let transport = ScriptedTransport { request in
      try await reader.wait()
      request.onConnectivity?(.waiting)
      try await Gate().wait()
      throw CancellationError()
    }
    // Rules out the timeout that ends abandoned requests.
    try await withTransport(transport, { $0.abandonedSilence = .seconds(100) }) { cache in
      let waiting = try await cache.open(Resource(url: url("/a")))
      let read = Task { try await waiting.bytes(in: 0..<9) }
      try await eventually("the request is there") { !transport.requests.isEmpty }
      waiting.cancel()
      _ = await read.result
      reader.open()
      try await eventually("every entry is closed") { cache.table.isEmpty }
    }
  }

  @Test func `Closing the cache ends a wait for a network`() async throws {
    let transport = ScriptedTransport { request in
      request.onConnectivity?(.waiting)
      try await Gate().wait()
      throw CancellationError()
    }
    try await withTransport(transport) { cache in
      let reader = try await cache.open(Resource(url: url("/a")))
      let read = Task { try await reader.bytes(in: 0..<9) }
      try await eventually("the request is there") { !transport.requests.isEmpty }
      await cache.close()
      await expectError(.closed) { try await read.value }
    }
  }

  @Test func `A stored entry is read rather than waiting for a network`() async throws {
    let transport = ScriptedTransport { [memory] request in
      guard request.headers["If-None-Match"] == nil else {
        #expect(!request.waitsForConnectivity)
        throw TransportError(.unreachable, "There is no network.")
      }
      var response = try await memory.send(request)
      response.headers["Cache-Control"] = "no-cache"
      return response
    }
    try await withTransport(transport) { cache in
      try await cache.prefetch(Resource(url: url("/a")))
      let reader = try await cache.open(Resource(url: url("/a")))
      defer { reader.cancel() }
      try await #expect(Array(reader.bytes(in: 0..<1000)) == bytes.bytes(in: 0..<1000))
      #expect(transport.requests.last?.headers["If-None-Match"] != nil)
    }
  }
}
