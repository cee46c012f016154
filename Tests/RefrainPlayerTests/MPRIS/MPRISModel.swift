// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  @testable import RefrainPlayer

  /// A client's expectations of a player, without engines and waits: every track can be
  /// played, and every seek is over at once.
  @MainActor
  struct MPRISModel {
    enum Playback: String {
      case playing = "Playing"
      case paused = "Paused"
      case stopped = "Stopped"
    }

    var queue: PlayQueue
    var playback = Playback.playing
    /// Whether a stopped player has played its queue to the end.
    var hasEnded = false
    /// In microseconds.
    var position: Int64 = 0
    var volume = 1.0
    var rate = 1.0

    /// The length of the current track in microseconds.
    var length: Int64? {
      queue.current.flatMap { ScriptedEngine.duration(of: $0.media) }?.microseconds
    }

    var canSeek: Bool { queue.current != nil && playback != .stopped }

    // MARK: Calls

    mutating func next() {
      guard queue.next(.asked) != nil else { return }
      queue.advance(.asked)
      begin(playback)
    }

    mutating func previous() {
      guard queue.previous() != nil else { return }
      if playback == .stopped || position <= 3_000_000 { queue.goBack() }
      begin(playback)
    }

    mutating func pause() {
      if playback == .playing { playback = .paused }
    }

    mutating func play() {
      guard !queue.isEmpty else { return }
      if playback == .paused { playback = .playing }
      guard playback == .stopped else { return }
      if hasEnded {
        if queue.advance(.ended) == nil { queue.rewind() }
      } else if queue.current == nil {
        queue.rewind()
      }
      begin(.playing)
    }

    mutating func playPause() { playback == .playing ? pause() : play() }

    mutating func stop() {
      if playback != .stopped { begin(.stopped) }
    }

    mutating func seek(by offset: Int64) {
      guard canSeek, let length else { return }
      let (sum, overflows) = position.addingReportingOverflow(offset)
      let target = overflows ? (offset < 0 ? 0 : .max) : max(0, sum)
      if target <= length {
        position = target
      } else if queue.next(.asked) != nil {
        next()
      } else {
        end()
      }
    }

    mutating func setPosition(_ track: String, _ position: Int64) {
      guard canSeek, let length, let item = queue.current, track == MPRISTrackID.path(item.id),
        (0...length).contains(position)
      else { return }
      self.position = position
    }

    mutating func open(_ media: Media) {
      let index = queue.currentIndex.map { $0 + 1 } ?? queue.items.count
      queue.insertNext([media])
      goTo(queue.items[index])
    }

    mutating func add(_ media: Media, after track: String, isCurrent: Bool) {
      let place =
        track == MPRISTrackID.none
        ? -1
        : queue.items.firstIndex { MPRISTrackID.path($0.id) == track } ?? queue.items.count - 1
      queue.insert([media], at: place + 1)
      if isCurrent { goTo(queue.items[place + 1]) }
    }

    mutating func remove(_ track: String) {
      guard let item = item(track) else { return }
      let isCurrent = item.id == queue.current?.id
      queue.remove(item.id)
      if isCurrent { begin(queue.current == nil ? .stopped : playback) }
    }

    mutating func goTo(_ track: String) {
      if let item = item(track) { goTo(item) }
    }

    mutating func set(rate: Double) {
      if rate == 0 { pause() }
      if rate > 0 { self.rate = min(max(rate, Player.rates.lowerBound), Player.rates.upperBound) }
    }

    // MARK: Time

    /// A second of playing passes.
    mutating func tick() {
      if playback == .playing, let length { position = min(length, position + 1_000_000) }
    }

    /// The current track plays to its end.
    mutating func finish() {
      if queue.advance(.ended) != nil { begin(playback) } else { end() }
    }

    private mutating func goTo(_ item: PlayQueue.Item) {
      queue.jump(to: item.id)
      begin(.playing)
    }

    private func item(_ track: String) -> PlayQueue.Item? {
      queue.items.first { MPRISTrackID.path($0.id) == track }
    }

    private mutating func begin(_ playback: Playback) {
      (self.playback, position, hasEnded) = (playback, 0, false)
    }

    private mutating func end() { (playback, hasEnded) = (.stopped, true) }
  }
#endif
