// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// The lock screen.
  @MainActor @Suite(.timeLimit(.minutes(2))) struct NowPlayingTests {
    private final class Clock {
      var now = ContinuousClock.now
    }

    private let info = MPNowPlayingInfoCenter()
    private let commands = MPRemoteCommandCenter()
    private let clock = Clock()

    private func nowPlaying(skip: Duration? = nil) -> NowPlaying {
      NowPlaying(
        infoCenter: info, commandCenter: commands, skip: skip, rates: [1, 2],
        now: { [clock] in clock.now })
    }

    private let song = NowPlayingInfo(
      title: "Refrain", artist: "Somebody", album: "Songs", duration: .seconds(180),
      position: .seconds(10), isPlaying: true, queueIndex: 0, queueCount: 2)

    private func shown<Value>(_ key: String, as type: Value.Type = Value.self) -> Value? {
      info.nowPlayingInfo?[key] as? Value
    }

    @Test func `The current item is shown`() {
      nowPlaying().update(song)
      #expect(shown(MPMediaItemPropertyTitle) == "Refrain")
      #expect(shown(MPMediaItemPropertyArtist) == "Somebody")
      #expect(shown(MPMediaItemPropertyAlbumTitle) == "Songs")
      #expect(shown(MPMediaItemPropertyPlaybackDuration) == 180.0)
      #expect(shown(MPNowPlayingInfoPropertyElapsedPlaybackTime) == 10.0)
      #expect(shown(MPNowPlayingInfoPropertyPlaybackRate) == 1.0)
      #expect(shown(MPNowPlayingInfoPropertyPlaybackQueueIndex) == 0)
      #expect(shown(MPNowPlayingInfoPropertyPlaybackQueueCount) == 2)
      #expect(info.playbackState == .playing)
    }

    @Test func `The media type is reported as audio or video`() {
      let nowPlaying = nowPlaying()
      nowPlaying.update(song)
      #expect(shown(MPNowPlayingInfoPropertyMediaType) == MPNowPlayingInfoMediaType.audio.rawValue)
      var film = song
      film.isVideo = true
      nowPlaying.update(film)
      #expect(shown(MPNowPlayingInfoPropertyMediaType) == MPNowPlayingInfoMediaType.video.rawValue)
    }

    @Test func `Positions that the system extrapolates are not reported`() {
      let nowPlaying = nowPlaying()
      var song = song
      song.rate = 2
      nowPlaying.update(song)
      for tick in 1...600 {
        clock.now += .milliseconds(100)
        song.position = .seconds(10) + .milliseconds(200) * tick
        nowPlaying.update(song)
      }
      #expect(info.standInWrites == 1)
      // A jump is reported, and later positions are counted from it.
      song.position = .seconds(20)
      nowPlaying.update(song)
      #expect(info.standInWrites == 2)
      #expect(shown(MPNowPlayingInfoPropertyElapsedPlaybackTime) == 20.0)
      clock.now += .seconds(1)
      song.position = .seconds(22)
      nowPlaying.update(song)
      #expect(info.standInWrites == 2)
    }

    @Test func `Pausing and playing are reported`() {
      let nowPlaying = nowPlaying()
      var song = song
      nowPlaying.update(song)
      (song.isPlaying, song.position) = (false, .seconds(12))
      nowPlaying.update(song)
      #expect(shown(MPNowPlayingInfoPropertyPlaybackRate) == 0.0)
      #expect(shown(MPNowPlayingInfoPropertyElapsedPlaybackTime) == 12.0)
      #expect(info.playbackState == .paused)
      clock.now += .seconds(60)
      nowPlaying.update(song)
      #expect(info.standInWrites == 2)
      song.isPlaying = true
      nowPlaying.update(song)
      #expect(info.standInWrites == 3 && info.playbackState == .playing)
    }

    @Test func `A new item leaves nothing of the previous one`() {
      let nowPlaying = nowPlaying()
      nowPlaying.update(song)
      nowPlaying.update(NowPlayingInfo(title: "Radio", isPlaying: true, isLive: true))
      #expect(shown(MPMediaItemPropertyTitle) == "Radio")
      #expect(shown(MPMediaItemPropertyArtist, as: String.self) == nil)
      #expect(shown(MPMediaItemPropertyPlaybackDuration, as: Double.self) == nil)
      #expect(shown(MPNowPlayingInfoPropertyIsLiveStream) == true)
      #expect(!commands.changePlaybackPositionCommand.isEnabled)
      nowPlaying.clear()
      #expect(info.nowPlayingInfo == nil && info.playbackState == .stopped)
    }

    @Test
    func `Artwork is created once, and data that is not an image is not shown`() async throws {
      let nowPlaying = nowPlaying()
      var song = song
      song.artwork = Data([0x89, 0x50, 1, 2, 3])
      nowPlaying.update(song)
      let first = try #require(shown(MPMediaItemPropertyArtwork, as: MPMediaItemArtwork.self))
      // The system requests the picture on its own thread.
      nonisolated(unsafe) let artwork = first
      #expect(
        await Task.detached { artwork.image(at: CGSize(width: 100, height: 100)) }.value != nil)
      song.isPlaying = false
      nowPlaying.update(song)
      #expect(shown(MPMediaItemPropertyArtwork, as: MPMediaItemArtwork.self) === first)
      song.artwork = Data([1, 2, 3])
      nowPlaying.update(song)
      #expect(shown(MPMediaItemPropertyArtwork, as: MPMediaItemArtwork.self) == nil)
    }

    @Test func `Remote commands are reported`() {
      let nowPlaying = nowPlaying(skip: .seconds(15))
      var heard: [RemoteCommand] = []
      nowPlaying.onCommand = { heard.append($0) }
      for command in [
        commands.playCommand, commands.pauseCommand, commands.togglePlayPauseCommand,
        commands.nextTrackCommand, commands.previousTrackCommand,
      ] {
        #expect(command.standInFire() == .success)
      }
      commands.changePlaybackPositionCommand.standInFire(position: 61.5)
      commands.skipForwardCommand.standInFire(interval: 15)
      commands.skipBackwardCommand.standInFire(interval: 15)
      commands.changePlaybackRateCommand.standInFire(rate: 2)
      #expect(
        heard == [
          .play, .pause, .toggle, .next, .previous, .seek(.milliseconds(61_500)),
          .skip(by: .seconds(15)), .skip(by: .seconds(-15)), .rate(2),
        ])
      #expect(commands.skipForwardCommand.preferredIntervals == [15])
      #expect(commands.changePlaybackRateCommand.supportedPlaybackRates == [1, 2])
      #expect(commands.changePlaybackPositionCommand.standInFire() == .commandFailed)
    }

    @Test func `A remote command from another thread is reported on the main thread`() async {
      let nowPlaying = nowPlaying()
      nonisolated(unsafe) let command = commands.nextTrackCommand
      await withCheckedContinuation { continuation in
        nowPlaying.onCommand = { _ in
          MainActor.assertIsolated()
          continuation.resume()
        }
        DispatchQueue.global().async { command.standInFire() }
      }
      #expect(commands.standInHandlerCount > 0)
    }

    @Test func `The next-track command is disabled at the end of the queue`() {
      let nowPlaying = nowPlaying()
      var song = song
      nowPlaying.update(song)
      #expect(commands.nextTrackCommand.isEnabled)
      song.queueIndex = 1
      nowPlaying.update(song)
      #expect(!commands.nextTrackCommand.isEnabled)
    }

    @Test func `A released NowPlaying removes its command handlers`() {
      var nowPlaying: NowPlaying? = nowPlaying(skip: .seconds(30))
      nowPlaying?.update(song)
      #expect(commands.standInHandlerCount == 9)
      nowPlaying = nil
      #expect(commands.standInHandlerCount == 0)
      #expect(commands.playCommand.standInFire() == nil)
    }

    @Test
    func `The item of a player is shown, and commands reach the player`() async throws {
      try await withDirectory { directory in
        try await withPlayer { player, engine in
          let picture = directory.appending(path: "cover.png")
          try Data([0x89, 0x50, 0x4E, 0x47]).write(to: picture)
          var screen: NowPlaying? = NowPlaying(
            infoCenter: info, commandCenter: commands, skip: nil, rates: [1], now: { .now })
          screen?.follow(player)

          var media = ScriptedEngine.media("ok-30")
          media.artist = "Somebody"
          media.artwork = picture
          // In its folder.
          try Data([0xFF, 0xD8, 0xFF]).write(to: directory.appending(path: "folder.jpg"))
          var local = Media(directory.appending(path: "ok-40"))
          local.title = "ok-40"
          player.play([media, local])
          engine.take(.begin)
          engine.take(.ready)
          engine.take(.duration)
          try await eventually("it is shown") {
            shown(MPMediaItemPropertyTitle) == "ok-30"
              && shown(MPNowPlayingInfoPropertyPlaybackRate) == 1.0
              && shown(MPMediaItemPropertyPlaybackDuration) == 30.0
          }
          #expect(shown(MPMediaItemPropertyArtist) == "Somebody")
          #expect(shown(MPNowPlayingInfoPropertyPlaybackQueueCount) == 2)
          engine.take(.tick)
          try await eventually("the picture is shown") {
            info.nowPlayingInfo?[MPMediaItemPropertyArtwork] != nil
          }

          screen?.onCommand?(.pause)
          #expect(player.status == .paused)
          screen?.onCommand?(.next)
          #expect(player.queue.currentIndex == 1)
          screen?.onCommand?(.toggle)
          #expect(player.wantsToPlay)
          screen?.onCommand?(.rate(1.5))
          #expect(engine.rate == 1.5)
          try await eventually("the next one is shown") {
            shown(MPMediaItemPropertyTitle) == "ok-40"
          }
          engine.take(.begin)
          engine.take(.ready)
          try await eventually("the picture of its folder is shown") {
            info.nowPlayingInfo?[MPMediaItemPropertyArtwork] != nil
          }
          player.stop()
          try await eventually("nothing is shown") { info.nowPlayingInfo == nil }

          weak let held = screen
          screen = nil
          #expect(held == nil)
        }
      }
    }
  }
#endif
