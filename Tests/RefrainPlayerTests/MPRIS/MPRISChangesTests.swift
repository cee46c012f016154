// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// The signals that report differences.
  struct MPRISChangesTests {
    private func signals(
      _ before: MPRISState, _ change: (inout MPRISState) -> Void
    ) -> [MPRISSignal] {
      var after = before
      change(&after)
      return after.signals(since: before)
    }

    @Test func `Equal states need no signal`() {
      #expect(signals(.sample()) { _ in } == [])
    }

    @Test func `All that changed at once is in one signal of each interface`() {
      let all = signals(.sample()) { state in
        state.player.volume = 0.5
        state.player.rate = 2
        state.player.queue.repeatMode = .all
        state.app.canRaise = true
      }
      #expect(
        all == [
          .changed(.root, [.canRaise]),
          .changed(.player, [.loopStatus, .rate, .volume, .canGoPrevious]),
        ])
    }

    @Test func `A current track's new metadata is reported by both interfaces`() {
      let before = MPRISState.sample()
      let all = signals(before) { $0.player.metadata.album = "An album" }
      #expect(all.first == .changed(.player, [.metadata]))
      guard case .trackMetadataChanged(before.track(0), let fields) = all.last else {
        Issue.record("\(all)")
        return
      }
      #expect(fields["xesam:album"] == .string("An album"))
    }

    @Test func `Another queue is reported as a whole`() {
      let many = (0...TrackListChange.limit).map { Media(URL(filePath: "/\($0).ogg")) }
      let before = MPRISState.sample()
      var after = before
      after.player.queue.append(many)
      #expect(
        after.signals(since: before).last
          == .tracksReplaced(
            after.player.queue.items.map { MPRISTrackID.path($0.id) }, current: before.track(0)))
    }

    @Test func `New metadata of tracks in the queue is reported for each`() {
      let before = MPRISState.sample()
      let all = signals(before) { state in
        let media = Media(URL(filePath: "/two.ogg"), title: "A better title")
        state.player.queue.items[1].media = media
      }
      guard case .trackMetadataChanged(before.track(1), _) = all.first, all.count == 1 else {
        Issue.record("\(all)")
        return
      }
    }

    @Test func `A client that follows the signals has the list of tracks`() {
      let seed = TestSeed.next()
      var random = SeededGenerator(seed: seed)
      var state = MPRISState.sample()
      var shown = state.player.queue.items.map { MPRISTrackID.path($0.id) }
      for step in 0..<300 {
        let before = state
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          change(&state.player.queue, using: &random)
        }
        for signal in state.signals(since: before) { follow(signal, &shown) }
        let tracks = state.player.queue.items.map { MPRISTrackID.path($0.id) }
        #expect(shown == tracks, "step \(step), REFRAIN_SEED=\(seed)")
      }
    }

    private func change(_ queue: inout PlayQueue, using random: inout SeededGenerator) {
      let media = (0..<Int.random(in: 1...4, using: &random)).map {
        Media(URL(filePath: "/\($0).ogg"))
      }
      let place = Int.random(in: 0...queue.items.count, using: &random)
      let item = queue.items.randomElement(using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0...3: queue.insert(media, at: place)
      case 4...6: if let item { queue.remove(item.id) }
      case 7: if let item { queue.move(item.id, to: place) }
      case 8: queue.append(media)
      default: queue.replace(with: media)
      }
    }

    /// Changes the list as the specification requires of clients.
    private func follow(_ signal: MPRISSignal, _ shown: inout [String]) {
      switch signal {
      case .tracksReplaced(let tracks, _): shown = tracks
      case .trackRemoved(let track): shown.removeAll { $0 == track }
      case .trackAdded(let fields, let track):
        guard case .path(let new) = fields["mpris:trackid"] else { return }
        let place = track == MPRISTrackID.none ? -1 : shown.firstIndex(of: track) ?? -2
        #expect(place > -2, "\(track) is not in the list.")
        shown.insert(new, at: max(0, place + 1))
      case .changed, .seeked, .trackMetadataChanged: break
      }
    }
  }
#endif
