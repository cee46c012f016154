// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import RefrainPlayerStreams
  import TestSupport
  import Testing

  /// HTTP Live Streams as the listener hears them, played by libmpv. The origin itself stands for
  /// the proxy.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(3)))
  struct StreamPlaybackTests {
    private static let configuration: Player.Configuration = {
      var configuration = Player.Configuration()
      configuration.streams = PlayerStreams { $0.url }
      return configuration
    }()

    @Test func `A stream plays to its end, and then the next item plays`() async throws {
      try await Listening.with { listening in
        let stream = SilentStream(segments: 3)
        let media = Media(stream.serve(on: listening.origin))
        let file = listening.directory.appending(path: "heard.wav")
        let player = Player(
          cache: listening.cache,
          engine: try await MPVEngine(cache: listening.cache, output: .wavFile(file)),
          configuration: Self.configuration)
        let events = player.events()
        player.play([media, listening.media, media])
        var finished: [URL] = []
        for await event in events {
          if case .finished(let item) = event { finished.append(item.media.url) }
          if case .failed(_, let error) = event { Issue.record("\(error)") }
          if case .status(.ended) = event { break }
          if case .status(.failed) = event { break }
        }
        await player.close()
        #expect(finished == [media.url, listening.media.url, media.url])
        for index in 0..<3 { #expect(!listening.origin.log("/\(index).mp3").requests.isEmpty) }
      }
    }

    @Test func `A stream begins at its start position, has a duration, and seeks`() async throws {
      try await Listening.with { listening in
        let stream = SilentStream()
        let player = try await listening.player(Self.configuration)
        let events = player.events()
        player.play([Media(stream.serve(on: listening.origin))], from: .seconds(9))
        var target: Duration?
        for await event in events {
          if target == nil, case .position(let position) = event, position > .zero {
            #expect(position >= .seconds(8.5))
          }
          if case .started = event {
            #expect(player.position >= .seconds(8.5))
            player.seek(to: .seconds(11))
          }
          if case .failed(_, let error) = event { Issue.record("\(error)") }
          if case .seekCompleted(let position) = event {
            target = position
            break
          }
        }
        let position = try #require(target)
        #expect(abs(position / .seconds(1) - 11) < 0.5)
        let duration = try #require(player.duration)
        #expect(abs(duration / .seconds(1) - stream.seconds) < 0.5)
        #expect(!player.isLive && player.statistics == nil && player.cacheProgress == nil)
        await player.close()
      }
    }

    @Test func `A playlist without an end is live, and does not seek`() async throws {
      try await Listening.with { listening in
        let player = try await listening.player(Self.configuration)
        let events = player.events()
        player.play([Media(SilentStream(isLive: true).serve(on: listening.origin))])
        var hasRefused = false
        for await event in events {
          if case .started = event { player.seek(to: .seconds(1)) }
          if case .duration(.some) = event { Issue.record("\(event)") }
          if case .failed(_, let error) = event { Issue.record("\(error)") }
          if case .seekRefused = event { hasRefused = true }
          if hasRefused, case .position(let position) = event, position > .seconds(1) { break }
        }
        #expect(player.isLive && player.duration == nil && player.status == .playing)
        await player.close()
      }
    }

    @Test func `A stream that breaks off resumes when its segments are back`() async throws {
      try await Listening.with { listening in
        let stream = SilentStream()
        let media = Media(stream.serve(on: listening.origin, segments: 0..<2))
        let player = try await listening.player(Self.configuration)
        player.play(media)
        try await eventually("it waits") {
          if case .buffering(.network(let error)) = player.status {
            return error.code == .unreachable
          }
          return false
        }
        #expect(player.position > .seconds(2))
        _ = stream.serve(on: listening.origin)
        try await eventually("it plays") {
          player.status == .playing && player.position > .seconds(5)
        }
        await player.close()
      }
    }

    @Test func `A stream whose segments are missing fails with an error about them`() async throws {
      try await Listening.with { listening in
        let player = try await listening.player(Self.configuration)
        player.play(Media(SilentStream().serve(on: listening.origin, segments: 0..<0)))
        try await eventually("it fails") {
          if case .failed(let error) = player.status { return error.reason.contains("segments") }
          return false
        }
        await player.close()
      }
    }

    @Test func `A stream without a proxy fails with an error that names the remedy`() async throws {
      try await Listening.with { listening in
        let player = try await listening.player()
        player.play(Media(SilentStream().serve(on: listening.origin)))
        try await eventually("it fails") {
          if case .failed(let error) = player.status {
            return error.reason.contains("HTTP Live Stream")
              && error.remedy.contains("Player.Configuration.streams")
          }
          return false
        }
        #expect(listening.origin.log("/0.mp3").requests.isEmpty)
        await player.close()
      }
    }
  }
#endif
