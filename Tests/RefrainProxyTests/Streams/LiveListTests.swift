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

  /// Polls with clients that begin one after the other, for 24 seconds.
  ///
  /// - Returns: the number of the origin's requests, and of those of each client.
  private func poll(clients count: Int) async throws -> (origin: Int, clients: [Int]) {
    var stream = LiveStream(liveSegments(20, of: 4))
    (stream.window, stream.segmentsAtStart) = (5, 5)
    var results = (origin: 0, clients: [0])
    try await withLiveStream(stream) { test, time in
      var clients = (0..<count).map { Client(next: Double($0) * 0.5) }
      for tick in 0..<96 {
        let now = Double(tick) / 4
        time.advance(to: now)
        for index in clients.indices where clients[index].next <= now {
          let reply = try await test.get(Self.path)
          #expect(reply.status == 200)
          clients[index].receive(reply.text, at: now, target: 4)
          // Of the stream now, or at most two seconds ago.
          let versions = stride(from: max(now - 2, 0), through: now, by: 0.25).map {
            stream.playlist(at: .seconds($0))
          }
          #expect(versions.contains(reply.text), "at \(now): \(reply.text)")
        }
      }
      results = (test.origin.log(Self.path).requests.count, clients.map(\.requests))
    }
    return results
  }

  @Test func `One client costs the origin as many requests as it makes`() async throws {
    let (origin, clients) = try await poll(clients: 1)
    #expect(origin <= clients[0] && clients[0] <= 7)
  }

  @Test func `Eight clients that begin one after the other cost what one may`() async throws {
    let (origin, clients) = try await poll(clients: 8)
    // One client may request the list every half of a target duration.
    #expect(origin <= 24 / 2 + 1, "\(clients)")
    #expect(clients.reduce(0, +) > 8 * 4)
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
