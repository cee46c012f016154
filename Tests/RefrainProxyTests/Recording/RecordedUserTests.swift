// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// Recorded streams whose URL has a user and a password.
@Suite(.timeLimit(.minutes(1))) struct RecordedUserTests {
  @Test func `A recorded stream is requested with the user and the password of its URL`()
    async throws
  {
    var stream = LiveStream(liveSegments(60, of: 1, bytes: 3000))
    (stream.window, stream.segmentsAtStart) = (5, 5)
    try await withLiveStream(stream) { test, _ in
      let plain = test.origin.url("/live/live.m3u8").absoluteString
      let url = try #require(URL(string: plain.replacing("://", with: "://u:p%20w@")))
      let recording = try test.proxy.record(Resource(url: url), keeping: .seconds(100)) { _ in
        // The test reloads by itself.
        try await Task.sleep(for: .seconds(600))
      }
      let reply = try await test.follow(recording.url.path()).0
      recording.stop()
      #expect(reply.status == 200)
      let sent = test.origin.log("/live/live.m3u8").requests.map {
        $0.request.headers.first("Authorization")
      }
      #expect(!sent.isEmpty && sent.allSatisfy { $0 == "Basic dTpwIHc=" })
    }
  }
}
