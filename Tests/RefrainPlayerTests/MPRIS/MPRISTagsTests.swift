// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import Testing

  @testable import RefrainPlayer

  /// Tags that are known before an item plays, as a desktop sees them.
  struct MPRISTagsTests {
    private let tags = MediaMetadata(title: "Title", artist: "Artist", album: "Album")

    @Test func `Tags that were looked up are reported for their track alone`() {
      let before = MPRISState.sample { $0.queue.items[1].media.title = nil }
      var after = before
      after.player.itemTags[after.id(1)] = tags
      let fields = after.metadata(of: after.player.queue.items[1])
      #expect(fields["xesam:title"] == .string("Title"))
      #expect(fields["xesam:artist"] == .strings(["Artist"]))
      #expect(fields["xesam:album"] == .string("Album"))
      #expect(after.signals(since: before) == [.trackMetadataChanged(after.track(1), fields)])
      #expect(after.metadata(ofTracks: [after.track(1)]) == [fields])
    }

    @Test func `What a playlist states takes precedence over tags`() {
      let state = MPRISState.sample { $0.itemTags[$0.queue.items[1].id] = tags }
      let fields = state.metadata(of: state.player.queue.items[1])
      #expect(fields["xesam:title"] == .string("two"))
      #expect(fields["xesam:artist"] == .strings(["Artist"]))
    }

    @Test func `The current track shows tags until its own are known`() {
      var state = MPRISState.sample { state in
        state.queue.items[0].media.title = nil
        state.itemTags[state.queue.items[0].id] = tags
      }
      #expect(state.metadata["xesam:title"] == .string("Title"))
      let before = state
      state.player.metadata = MediaMetadata(title: "Own", artist: "Artist", album: "Album")
      #expect(state.metadata["xesam:title"] == .string("Own"))
      #expect(state.signals(since: before).count == 2)
    }

    @Test func `Tags of many tracks at once are reported by one signal`() {
      let before = MPRISState.sample((0..<40).map { "\($0)" })
      var after = before
      for item in after.player.queue.items { after.player.itemTags[item.id] = tags }
      guard case .tracksReplaced(let tracks, _) = after.signals(since: before).last else {
        Issue.record("\(after.signals(since: before))")
        return
      }
      #expect(tracks.count == 40)
    }
  }
#endif
