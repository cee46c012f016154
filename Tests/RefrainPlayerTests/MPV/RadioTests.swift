// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import TestSupport
  import Testing

  /// A live stream, as it is heard.
  @MainActor
  @Suite(.timeLimit(.minutes(2)))
  struct RadioTests {
    @Test func titleAndStationOfALiveStreamAreShownWhileItPlays() async throws {
      try await Listening.with { listening in
        // The tune's samples behind a header that promises hours of them.
        var wav = Data(Tune.wav)
        wav.replaceSubrange(40..<44, with: [0, 0, 0, 0x7F])
        listening.origin.serve(
          OriginResource(
            .bytes(wav), contentType: "audio/wav", supportsRanges: false, declaresLength: false,
            headers: [Field("icy-name", "Radio Refrain"), Field("Cache-Control", "no-store")],
            bytesPerSecond: 400_000,
            interleaving: Interleaving(
              interval: 16_000, titles: [1: "Somebody - First", 40: "Somebody - Second"])),
          at: "/radio")
        let player = try await listening.player()
        let events = player.events()
        player.play(Media(listening.origin.url("/radio")))
        var titles: [String] = []
        for await event in events {
          if case .metadata(let metadata) = event, let title = metadata.streamTitle,
            titles.last != title
          {
            titles.append(title)
            #expect(metadata.station == "Radio Refrain")
          }
          if titles.count == 2 { break }
        }
        #expect(titles == ["Somebody - First", "Somebody - Second"])
        try await eventually("it plays") { player.status == .playing }
        await player.close()
      }
    }
  }
#endif
