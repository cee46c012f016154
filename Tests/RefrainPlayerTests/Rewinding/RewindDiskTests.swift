// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import TestSupport
  import Testing

  /// What a station takes of the disk while the listener goes back in it.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct RewindDiskTests {
    private static let path = "/station"
    /// The seconds of the station, of what is kept, and of the jump back.
    private static let (seconds, kept, back) = (90, 54, 48)

    /// Serves silence much faster than it lasts. The station waits at some places.
    private func serve(_ listening: Listening, holdingAt places: Int...) -> Media {
      listening.origin.serve(
        OriginResource(
          .bytes(SilentMP3.lasting(seconds: Self.seconds)), contentType: "audio/mpeg",
          supportsRanges: false, declaresLength: false,
          headers: [Field("icy-name", "Radio Refrain"), Field("Cache-Control", "no-store")],
          bytesPerSecond: SilentMP3.bytesPerSecond * 100),
        at: Self.path)
      let faults = places.map { Fault.stall(at: .body(Int64($0 * SilentMP3.bytesPerSecond))) }
      listening.origin.script(Self.path, .on(.all, faults))
      return Media(listening.origin.url(Self.path))
    }

    /// Lets the station go on once it waits.
    private func release(_ origin: OriginServer) {
      _ = Task {
        try await origin.wait(for: Self.path) { $0.stalled == 1 }
        origin.release(Self.path)
      }
    }

    @Test func `A station takes no more of the disk than is kept, also after a jump back`()
      async throws
    {
      try await Listening.with { listening in
        let station = serve(listening, holdingAt: 62, 88)
        var configuration = Player.Configuration()
        configuration.rewind = .seconds(Self.kept)
        let player = Player(
          cache: listening.cache,
          engine: try await MPVEngine(
            cache: listening.cache,
            output: .wavFile(listening.directory.appending(path: "heard.wav"))),
          configuration: configuration)
        let events = player.events()
        player.play(station)
        var most: Int64 = 0
        var target: Duration?
        var arrival: Duration?
        var (end, looked) = (Duration.zero, Duration.zero)
        for await event in events {
          switch event {
          case .failed, .seekRefused: Issue.record("\(event)")
          case .liveWindow(let window?):
            end = window.end
            if end - looked >= .seconds(2) {
              looked = end
              most = max(most, listening.bytesOnDisk)
            }
            if target == nil, end >= .seconds(60) {
              let place = end - .seconds(Self.back)
              target = place
              player.seek(to: place)
            }
          case .seekCompleted(let position) where arrival == nil:
            arrival = position
            release(listening.origin)
          default: break
          }
          if arrival != nil, end >= .seconds(85) { break }
        }
        most = max(most, listening.bytesOnDisk)
        await player.close()
        let (place, reached) = (try #require(target), try #require(arrival))
        // Sound without an index is sought by its rate.
        #expect(abs(reached / .seconds(1) - place / .seconds(1)) < 3)
        let ring = Int64(Self.kept * SilentMP3.bytesPerSecond)
        #expect(most > ring / 2 && most <= ring + Listening.mostBeyondRing, "\(most)")
        #expect(listening.origin.log(Self.path).requests.count == 1)
      }
    }
  }
#endif
