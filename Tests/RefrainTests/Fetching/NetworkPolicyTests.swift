// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// The networks that each kind of request may use.
@Suite(.timeLimit(.minutes(1))) struct NetworkPolicyTests {
  private let memory = MemoryTransport(seed: 7, length: 3_000_017)
  private let bytes = SyntheticBytes(seed: 7)

  private func resource(_ path: String) throws -> Resource {
    Resource(url: try #require(URL(string: "http://h\(path)")))
  }

  /// Low Data Mode: a request that may not use constrained networks finds none.
  private func lowDataMode() -> ScriptedTransport {
    ScriptedTransport { [memory] request in
      guard request.access.allowsConstrained else {
        throw TransportError(.networkNotAllowed, "No request was sent to h: Low Data Mode is on.")
      }
      return try await memory.send(request)
    }
  }

  @Test func `A request carries its purpose and its network permissions`() async throws {
    let transport = ScriptedTransport { [memory] in try await memory.send($0) }
    try await withTransport(transport, { $0.network.playback.allowsExpensive = false }) { cache in
      try await cache.prefetch(resource("/ahead"))
      let reader = try await cache.open(resource("/played"))
      defer { reader.cancel() }
      _ = try await reader.bytes(in: 0..<1000)
      let ahead = transport.requests("/ahead")
      #expect(!ahead.isEmpty && ahead.allSatisfy { $0.purpose == .prefetch })
      #expect(ahead.allSatisfy { $0.access == .init(allowsConstrained: false) })
      let played = transport.requests("/played")
      #expect(!played.isEmpty && played.allSatisfy { $0.purpose == .playback })
      #expect(played.allSatisfy { $0.access == .init(allowsExpensive: false) })
      #expect(transport.requests.allSatisfy { $0.waitsForConnectivity })
    }
  }

  @Test func `A redirected request keeps its purpose and network permissions`() throws {
    var request = OriginRequest(url: try resource("/a").url)
    request.purpose = .prefetch
    request.access.allowsExpensive = false
    request.waitsForConnectivity = true
    var redirects = RequestChain(request: request)
    let next = try redirects.follow(status: 302, headers: ["Location": "http://other/b"])
    #expect(next?.purpose == .prefetch && next?.access.allowsExpensive == false)
    #expect(next?.waitsForConnectivity == true)
  }

  @Test
  func `A prefetch that the network policy forbids reports why and what to do`() async throws {
    let transport = lowDataMode()
    try await withTransport(transport) { cache in
      let error = await expectError(.networkNotAllowed) { try await cache.prefetch(resource("/a")) }
      #expect(error?.reason.contains("Low Data Mode") == true)
      #expect(error?.remedy.contains("MediaCache.Configuration.network.prefetch") == true)
      // A retry cannot help.
      #expect(transport.requests.count == 1)
      let reader = try await cache.open(resource("/a"))
      defer { reader.cancel() }
      try await #expect(Array(reader.bytes(in: 0..<1000)) == bytes.bytes(in: 0..<1000))
    }
  }

  @Test
  func `Playback that the network policy forbids reports the setting to change`() async throws {
    try await withTransport(lowDataMode(), { $0.network.playback.allowsConstrained = false }) {
      cache in
      let reader = try await cache.open(resource("/a"))
      defer { reader.cancel() }
      let error = await expectError(.networkNotAllowed) { try await reader.bytes(in: 0..<9) }
      #expect(error?.remedy.contains("MediaCache.Configuration.network.playback") == true)
    }
  }

  @Test func `A player waiting for a refused prefetch is served by its own request`() async throws {
    let gate = Gate()
    let transport = ScriptedTransport { [memory] request in
      guard request.purpose == .playback else {
        try await gate.wait()
        throw TransportError(.networkNotAllowed, "No request was sent to h: Low Data Mode is on.")
      }
      return try await memory.send(request)
    }
    try await withTransport(transport) { cache in
      let prefetch = Task { try await cache.prefetch(resource("/a")) }
      try await eventually("the prefetch asks") { transport.requests.count == 1 }
      let reader = try await cache.open(resource("/a"))
      defer { reader.cancel() }
      let read = Task { try await reader.bytes(in: 0..<1000) }
      try await eventually("the player waits for it") {
        cache.table.openEntries.first?.current?
          .withState { $0.fetches.values.contains { !$0.isBackground } } == true
      }
      gate.open()
      try await #expect(Array(read.value) == bytes.bytes(in: 0..<1000))
      await expectError(.networkNotAllowed) { try await prefetch.value }
    }
  }

  @Test func `A forbidden background fill does not disturb the player`() async throws {
    let transport = lowDataMode()
    try await withTransport(transport) { cache in
      let reader = try await cache.open(resource("/a"), fill: .wholeResource)
      defer { reader.cancel() }
      var read: [UInt8] = []
      for try await chunk in reader.chunks() { read += chunk }
      #expect(read == bytes.bytes(in: 0..<3_000_017))
      // The prefetch is retried after a while, not with every byte received.
      let refused = transport.requests.filter { $0.purpose == .prefetch }
      #expect(refused.count <= 3)
    }
  }

  /// Playback may use the received bytes; the prefetch would keep waiting.
  @Test func `A player is served while a prefetch waits for a network`() async throws {
    let transport = ScriptedTransport { [memory] request in
      if request.purpose == .prefetch {
        request.onConnectivity?(.waiting)
        try await Gate().wait()
        throw CancellationError()
      }
      return try await memory.send(request)
    }
    try await withTransport(transport) { cache in
      let prefetch = Task { try await cache.prefetch(resource("/a")) }
      try await eventually("the prefetch waits") {
        cache.table.openEntries.first?.current?
          .withState { $0.fetches.values.contains(where: \.isResting) } == true
      }
      let reader = try await cache.open(resource("/a"))
      defer { reader.cancel() }
      try await #expect(Array(reader.bytes(in: 0..<1000)) == bytes.bytes(in: 0..<1000))
      prefetch.cancel()
      _ = await prefetch.result
    }
  }

  @Test func `A prefetch of stored bytes succeeds if its confirmation is forbidden`() async throws {
    let transport = ScriptedTransport { [memory] request in
      guard request.headers["If-None-Match"] == nil else {
        #expect(request.purpose == .prefetch)
        throw TransportError(.networkNotAllowed, "No request was sent to h: Low Data Mode is on.")
      }
      var response = try await memory.send(request)
      response.headers["Cache-Control"] = "no-cache"
      return response
    }
    try await withTransport(transport) { cache in
      try await cache.prefetch(resource("/a"))
      try await cache.prefetch(resource("/a"))
      #expect(transport.requests.last?.headers["If-None-Match"] != nil)
    }
  }
}
