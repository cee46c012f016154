// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Refrain

  /// A live stream of which libmpv keeps a part in memory, and what was reported of it.
  struct MPVLive: Sendable {
    /// The part that is kept, as of the last look; nil: none.
    private(set) var window: LiveWindow?
    var titles = LiveTitles()
    private var told: (window: LiveWindow?, title: StreamTitle?)
    private var lastLook: ContinuousClock.Instant?

    private static let step = Duration.milliseconds(500)

    /// Whether to look at the part again: four times a second.
    mutating func isDue(_ now: ContinuousClock.Instant) -> Bool {
      if let lastLook, now - lastLook < .milliseconds(250) { return false }
      lastLook = now
      return true
    }

    /// Records the part that is kept. Returns whether it is to be reported: it differs from the
    /// last one reported by half a second.
    mutating func note(_ window: LiveWindow) -> Bool {
      self.window = window
      titles.place(upTo: window.end, from: window.start)
      if let told = told.window, window.end - told.end < Self.step,
        window.start - told.start < Self.step
      {
        return false
      }
      told.window = window
      return true
    }

    /// Returns the title of the sound at a position if it has to be reported.
    mutating func news(at position: Duration) -> StreamTitle? {
      guard let title = titles.title(at: position), title != told.title else { return nil }
      told.title = title
      return title
    }
  }

  /// Live streams of which libmpv keeps a part in memory, where it seeks.
  extension MPVLoop {
    /// The distance from the ends of the kept part at which libmpv can seek for certain: the part
    /// moves on meanwhile.
    private static let margin = Duration.milliseconds(500)

    /// Has libmpv keep a part of the current item, which is live.
    func keep(_ playback: MPVPlayback) {
      guard let size = playback.item.rewind else { return }
      for (name, value) in MPVOptions.keeping(size, isStream: playback.item.streamURL != nil) {
        set("file-local-options/\(name)", value)
      }
    }

    /// Reports the part of a live stream that is kept. Before the stream is ready: the titles are
    /// then those of the sound that is heard.
    func tellWindow(of playback: MPVPlayback) {
      guard playback.isToldLive, playback.item.rewind != nil, let window = keptPart,
        playback.withLive({ $0.note(window) })
      else { return }
      tell(.liveWindow(playback.item.id, window))
    }

    /// Reports the part of a live stream that is kept, and the title of what is heard.
    func lookAtLive() {
      guard let playback = playing.current, playback.isHeard, playback.isToldLive,
        playback.item.rewind != nil
      else { return }
      if playback.withLive({ $0.isDue(.now) }) { tellWindow(of: playback) }
      let position = position
      guard !clock.isSeeking, let title = playback.withLive({ $0.news(at: position) }) else {
        return
      }
      tell(.streamTitle(playback.item.id, title))
    }

    /// Returns the place nearest to a position at which libmpv can seek in the current item.
    func keptPlace(nearest position: Duration) -> Duration? {
      keptPart.map { min(max(position, $0.start + Self.margin), $0.end - Self.margin) }
    }

    /// Completes a seek in a live stream that libmpv has not begun after a while: it ignores those
    /// to places that it no longer keeps.
    func giveUpSeek() {
      guard let playback = playing.current, let serial = clock.abandonUnbegun() else { return }
      tellCompleted(serial, of: playback.item.id, at: position)
    }

    private var keptPart: LiveWindow? {
      var node = mpv_node()
      guard mpv.get_property(handle, "demuxer-cache-state", MPV_FORMAT_NODE, &node) >= 0 else {
        return nil
      }
      defer { mpv.free_node_contents(&node) }
      let parts = (node.members["seekable-ranges"]?.elements ?? []).compactMap { part in
        let values = part.members
        return values["start"]?.number.flatMap { start in
          values["end"]?.number.map { LiveWindow(start: .seconds(start), end: .seconds($0)) }
        }
      }
      return parts.max { $0.end < $1.end }
    }
  }
#endif
