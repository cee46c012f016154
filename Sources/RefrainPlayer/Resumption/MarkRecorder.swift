// SPDX-License-Identifier: MIT
import Foundation

/// Decides when the position of the current item is stored: at a pause, at each jump, when the item
/// is left, and while it plays, after each second of it. A pure value.
struct MarkRecorder {
  /// What is to be done with the mark of a media.
  enum Action: Hashable {
    /// - Parameter syncs: whether the mark has to survive a power cut.
    case keep(PlaybackMark, of: Media, syncs: Bool)
    case forget(Media)
  }

  private struct Current {
    var item: PlayQueue.Item
    var mark: PlaybackMark
    /// The mark that was stored last; nil: none is stored, or that is unknown.
    var stored: PlaybackMark?
    var isForgotten = false
    var isFinal = false
    /// The number of stores since the last one that survives a power cut.
    var unsynced = 0
  }

  /// Every store with this number survives a power cut; so does that of a position at which the
  /// item stays.
  static let syncInterval = 30

  /// The part of an item after which its position is stored again.
  static let step = Duration.seconds(1)

  let policy: ResumptionPolicy
  private var current: Current?

  init(policy: ResumptionPolicy) { self.policy = policy }

  /// Notes the state of a player, and what the listener has chosen for the current item.
  mutating func note(
    _ state: PlayerState, _ choices: ItemChoices, now: Date
  ) -> [Action] {
    var actions: [Action] = []
    let item = state.item
    if let current, current.item.id != item?.id { actions += leave() }
    guard let item, let duration = state.duration, !state.isLive, duration > policy.shortest else {
      return actions
    }
    let isPaused: Bool
    switch state.status {
    case .playing, .buffering: isPaused = false
    case .paused: isPaused = true
    // The position is that of the start, or of no item.
    case .idle, .loading, .ended, .failed: return actions + settle()
    }
    var now = Current(
      item: item,
      mark: PlaybackMark(
        position: state.position, duration: duration, volume: choices.volume,
        audio: choices.audio, subtitle: choices.subtitle, date: now))
    if let current {
      (now.stored, now.isForgotten) = (current.stored, current.isForgotten)
      (now.isFinal, now.unsynced) = (current.isFinal, current.unsynced)
    }
    current = now
    if let action = action(isFinal: isPaused) { actions.append(action) }
    return actions
  }

  /// Notes that an item played to its end.
  mutating func finish(_ item: PlayQueue.Item) -> Action {
    if current?.item.id == item.id { current = nil }
    return .forget(item.media)
  }

  /// Returns what is left to do when the player is closed, or the item is no longer the current
  /// one.
  mutating func leave() -> [Action] {
    defer { current = nil }
    return settle()
  }

  private mutating func settle() -> [Action] { action(isFinal: true).map { [$0] } ?? [] }

  private mutating func action(isFinal: Bool) -> Action? {
    guard let current else { return nil }
    guard policy.keeps(current.mark.position, of: current.mark.duration) else {
      guard !current.isForgotten else { return nil }
      self.current?.stored = nil
      self.current?.isForgotten = true
      return .forget(current.item.media)
    }
    if let stored = current.stored {
      var now = current.mark
      now.date = stored.date
      let distance = abs((now.position - stored.position).inSeconds)
      let isDue =
        isFinal
        ? now != stored || !current.isFinal
        : distance >= Self.step.inSeconds || !now.hasSameChoices(as: stored)
      guard isDue else { return nil }
    }
    self.current?.stored = current.mark
    self.current?.isForgotten = false
    self.current?.isFinal = isFinal
    let syncs = isFinal || current.unsynced + 1 >= Self.syncInterval
    self.current?.unsynced = syncs ? 0 : current.unsynced + 1
    return .keep(current.mark, of: current.item.media, syncs: syncs)
  }
}

/// What the listener has chosen for one item.
struct ItemChoices: Hashable {
  var volume: Double?
  var audio: TrackChoice?
  var subtitle: TrackChoice?

  init(volume: Double? = nil, audio: TrackChoice? = nil, subtitle: TrackChoice? = nil) {
    self.volume = volume
    self.audio = audio
    self.subtitle = subtitle
  }

  init(_ mark: PlaybackMark) {
    self.init(volume: mark.volume, audio: mark.audio, subtitle: mark.subtitle)
  }
}

extension PlaybackMark {
  fileprivate func hasSameChoices(as other: PlaybackMark) -> Bool {
    ItemChoices(self) == ItemChoices(other)
  }
}
