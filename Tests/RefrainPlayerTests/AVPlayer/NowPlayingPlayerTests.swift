// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// The lock screen of a player.
  @MainActor
  @Suite(.timeLimit(.minutes(2)))
  struct NowPlayingPlayerTests {
    @Test
    func `The lock screen shows the current item, and commands reach the player`() async throws {
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "refrain-lock-\(UUID().uuidString)", directoryHint: .isDirectory)
      defer { try? FileManager.default.removeItem(at: directory) }
      let cache = try MediaCache(directory: directory.appending(path: "cache"))
      let picture = directory.appending(path: "cover.png")
      try Data([0x89, 0x50, 0x4E, 0x47]).write(to: picture)
      let engine = ScriptedEngine()
      let player = Player(cache: cache, engine: engine)
      let (info, commands) = (MPNowPlayingInfoCenter(), MPRemoteCommandCenter())
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
      func shown<Value>(_ key: String, as type: Value.Type = Value.self) -> Value? {
        info.nowPlayingInfo?[key] as? Value
      }
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
      try await eventually("the next one is shown") { shown(MPMediaItemPropertyTitle) == "ok-40" }
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
      await player.close()
      await cache.close()
    }
  }
#endif
