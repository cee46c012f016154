// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// Lists of live streams without Cache-Control: how old they may be, and how often they are
/// requested.
@Suite(.timeLimit(.minutes(1))) struct LiveListTests {
  private static let path = "/live/live.m3u8"

  /// A client that requests the list as RFC 8216 §6.3.4 says: after a target duration, or half of
  /// it if nothing has changed.
  private struct Client {
    var next: Double
    var last = ""
    var requests = 0

    mutating func receive(_ list: String, at time: Double, target: Double) {
      next = time + (list == last ? target / 2 : target)
      last = list
      requests += 1
    }
  }

  private struct Poll {
    /// The number of the origin's requests.
    var origin = 0
    /// The numbers of requests of each client.
    var clients: [Int] = []
    /// When at least one client made a request.
    var times: [Double] = []
  }

  /// Polls for 24 seconds, with clients that begin at these times.
  private func poll(startingAt starts: [Double]) async throws -> Poll {
    var clients = starts.map { Client(next: $0) }
    var result = try await poll { now, ask in
      for index in clients.indices where clients[index].next <= now {
        let list = try await ask()
        clients[index].receive(list, at: now, target: 4)
      }
    }
    result.clients = clients.map(\.requests)
    return result
  }

  /// - Parameter turn: makes the requests that are due at a time.
  private func poll(
    _ turn: (_ now: Double, _ ask: () async throws -> String) async throws -> Void
  ) async throws -> Poll {
    var stream = LiveStream(liveSegments(20, of: 4))
    (stream.window, stream.segmentsAtStart) = (5, 5)
    var result = Poll()
    try await withLiveStream(stream) { test, time in
      for tick in 0..<96 {
        let now = Double(tick) / 4
        time.advance(to: now)
        var requests = 0
        try await turn(now) {
          requests += 1
          let reply = try await test.get(Self.path)
          #expect(reply.status == 200)
          // Of the stream now, or at most two seconds ago.
          let versions = stride(from: max(now - 2, 0), through: now, by: 0.25).map {
            stream.playlist(at: .seconds($0))
          }
          #expect(versions.contains(reply.text), "at \(now): \(reply.text)")
          return reply.text
        }
        if requests > 0 { result.times.append(now) }
      }
      result.origin = test.origin.log(Self.path).requests.count
    }
    return result
  }

  @Test func `Segments that have left the list go ten minutes after they were played`() async throws
  {
    var stream = LiveStream(liveSegments(400, of: 4))
    (stream.window, stream.segmentsAtStart) = (5, 5)
    try await withLiveStream(stream) { test, time in
      func playNewest(at seconds: Double) async throws -> String {
        time.advance(to: seconds)
        let list = try await test.get(Self.path).text
        let name = try #require(list.split(separator: "\n").last { !$0.hasPrefix("#") })
        let path = "/live/\(name)"
        // The proxy keeps none open that was requested with credentials.
        let reply = try await test.get(path, ["Authorization: Basic YTpi"])
        #expect(reply.status == 200)
        try await eventually("the segment is closed") {
          try await test.cache.entry(for: test.key(path))?.isInUse == false
        }
        return path
      }
      func isStored(_ path: String) async throws -> Bool {
        try await test.cache.entry(for: test.key(path)) != nil
      }
      let first = try await playNewest(at: 0)
      let second = try await playNewest(at: 300)
      let third = try await playNewest(at: 590)
      var stored = try await [isStored(first), isStored(second), isStored(third)]
      #expect(stored == [true, true, true])
      _ = try await playNewest(at: 700)
      try await eventually("the first segment is removed") { try await !isStored(first) }
      stored = try await [isStored(second), isStored(third), isStored(Self.path)]
      #expect(stored == [true, true, true])
    }
  }

  @Test func `One client costs the origin as many requests as it makes`() async throws {
    let one = try await poll(startingAt: [0])
    #expect(one.origin <= one.clients[0] && one.clients[0] <= 7)
  }

  @Test func `Eight clients that begin together cost what one of them costs`() async throws {
    let one = try await poll(startingAt: [0])
    let eight = try await poll(startingAt: Array(repeating: 0, count: 8))
    #expect(eight.origin == one.origin && eight.times == one.times, "\(eight), \(one)")
    #expect(eight.clients == Array(repeating: one.clients[0], count: 8))
  }

  /// Together they ask more often than one of them: the list is never older than half of a target
  /// duration for anyone, so the origin is asked once in that time. A single client with that pace
  /// costs the same.
  @Test func `Eight clients that begin one after the other cost what one with their pace does`()
    async throws
  {
    let eight = try await poll(startingAt: (0..<8).map { Double($0) / 2 })
    #expect(eight.clients.reduce(0, +) > 8 * 4)
    let times = Set(eight.times)
    let one = try await poll { now, ask in
      if times.contains(now) { _ = try await ask() }
    }
    #expect(one.times == eight.times)
    #expect(eight.origin == one.origin, "\(eight), \(one)")
    #expect(eight.origin <= 24 / 2 + 1, "\(eight)")
  }

  @Test(arguments: [nil, 4])
  func `Growing and sliding lists, discontinuities and the end pass unchanged`(
    _ window: Int?
  ) async throws {
    var stream = LiveStream(liveSegments(9, of: 2, discontinuities: [2, 3, 7]))
    stream.window = window
    try await withLiveStream(stream) { test, time in
      for second in 0..<18 {
        time.advance(to: Double(second))
        let reply = try await test.get(Self.path)
        #expect(reply.text == stream.playlist(at: .seconds(second)), "at \(second)")
      }
      let last = try await test.get(Self.path).text
      #expect(last.contains("#EXT-X-ENDLIST"))
      #expect(last.contains("#EXT-X-DISCONTINUITY-SEQUENCE:2") == (window != nil))
      #expect(last.contains("#EXT-X-PLAYLIST-TYPE:EVENT") == (window == nil))
    }
  }

  /// - Parameter isHeld: whether the list stays open from one request to the next, as with clients
  ///   that request it in quick succession.
  @Test(arguments: [false, true])
  func `A list that cannot be confirmed is an error after 1.5 target durations`(
    isHeld: Bool
  ) async throws {
    var stream = LiveStream(liveSegments(20, of: 4))
    stream.window = 3
    try await withLiveStream(stream) { test, time in
      let first = try await test.get(Self.path)
      let held = isHeld ? try await test.cache.open(test.origin.url(Self.path)) : nil
      defer { held?.cancel() }
      await test.origin.stopListening()
      time.advance(to: 5.75)
      let stale = try await test.get(Self.path)
      #expect(stale.status == 200 && stale.text == first.text)
      time.advance(to: 6.25)
      let late = try await test.get(Self.path)
      #expect(late.status >= 500, "\(late.status)")
      try await test.origin.resumeListening()
      let again = try await test.get(Self.path)
      #expect(again.text == stream.playlist(at: .seconds(6.25)))
    }
  }
}
