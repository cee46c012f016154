// SPDX-License-Identifier: MIT

extension PlayerMachine {
  /// Gives the current item the choices with which it was left.
  ///
  /// - Parameter beginsAtMark: whether the item also begins where it was left.
  mutating func apply(
    _ mark: PlaybackMark, beginsAtMark: Bool, _ actions: inout [PlayerAction]
  ) {
    choices = ItemChoices(mark)
    hasTracksToSelect = mark.audio != nil || mark.subtitle != nil
    if beginsAtMark { (beginning, self.beginsAtMark) = (mark.position, true) }
    if restoresVolume, let volume = mark.volume {
      usualVolume = state.volume
      state.volume = volume
      actions.append(.setVolume(volume, isMuted: state.isMuted))
    }
  }

  /// Gives an item that is being loaded the tracks with which a restored session was left in it.
  mutating func applyRestoredChoices(to item: PlayQueue.Item) {
    defer { restored = nil }
    guard let restored, restored.item == item.id else { return }
    choices.audio = restored.choices.audio ?? choices.audio
    choices.subtitle = restored.choices.subtitle ?? choices.subtitle
    hasTracksToSelect = choices.audio != nil || choices.subtitle != nil
  }

  /// What a stored session keeps of the choices for the current item.
  var sessionChoices: ItemChoices {
    guard let restored, restored.item == state.item?.id else { return choices }
    return restored.choices
  }

  /// Sets the volume of before an item with a volume of its own.
  mutating func restoreVolume(_ actions: inout [PlayerAction]) {
    guard let usualVolume else { return }
    self.usualVolume = nil
    state.volume = usualVolume
    actions.append(.setVolume(usualVolume, isMuted: state.isMuted))
  }

  /// Records that the listener set the volume, for the current item and those after it.
  mutating func noteVolumeChoice() {
    usualVolume = nil
    if isOccupied { choices.volume = state.volume }
  }

  /// Records that the listener selected a track of a kind in the current item.
  mutating func noteTrackChoice(_ kind: MediaTrack.Kind, _ actions: inout [PlayerAction]) {
    guard isOccupied else { return }
    let choice = TrackChoice(state.tracks.selected(kind))
    switch kind {
    case .audio: choices.audio = choice
    case .subtitle: choices.subtitle = choice
    case .video: return
    }
    hasTracksToSelect = false
    actions.append(.remember(choice, kind))
  }

  /// Selects the tracks that were chosen when the item was left, once they are known.
  mutating func selectChosenTracks(_ actions: inout [PlayerAction]) {
    guard hasTracksToSelect, !state.tracks.all.isEmpty else { return }
    hasTracksToSelect = false
    for (choice, kind) in [
      (choices.audio, MediaTrack.Kind.audio), (choices.subtitle, .subtitle),
    ] {
      guard let choice else { continue }
      let track = choice.track(among: state.tracks.tracks(of: kind))
      // The engine may still be about to select a subtitle by itself: "off" is always sent.
      guard choice == .off || (track != nil && state.tracks.selected(kind) != track) else {
        continue
      }
      select(track?.id, of: kind, &actions)
    }
  }

  /// Begins an item at its start that is shorter than the position at which it was left.
  mutating func beginAtStart(_ actions: inout [PlayerAction]) {
    guard let item = state.item else { return }
    (beginning, beginsAtMark, following) = (nil, false, nil)
    state.position = .zero
    load(item, at: .zero, &actions)
  }
}
