// SPDX-License-Identifier: MIT

/// The tracks that the listener selected in the current item. A pure value.
struct TrackSelection: Hashable {
  private var tracks: [MediaTrack.Kind: MediaTrack.ID?] = [:]

  mutating func select(_ track: MediaTrack.ID?, of kind: MediaTrack.Kind) {
    tracks.updateValue(track, forKey: kind)
  }

  /// The actions that select the same tracks again.
  var actions: [PlayerAction] {
    MediaTrack.Kind.allCases.compactMap { kind in
      tracks[kind].map { PlayerAction.select($0, kind) }
    }
  }
}

extension PlayerMachine {
  /// Selects a track in the current item.
  ///
  /// - Returns: whether the item has it.
  @discardableResult
  mutating func select(
    _ track: MediaTrack.ID?, of kind: MediaTrack.Kind, _ actions: inout [PlayerAction]
  ) -> Bool {
    guard isOccupied else { return false }
    // A track that is not there would select none.
    if let track, !state.tracks.all.contains(where: { $0.id == track && $0.kind == kind }) {
      return false
    }
    // Shown at once: the next key goes on from here.
    state.tracks.selected = state.tracks.selected.filter { $0.kind != kind }
    if let track { state.tracks.selected.insert(track) }
    selection.select(track, of: kind)
    if engineItem != nil { actions.append(.select(track, kind)) }
    return true
  }

  /// Fulfils a request that the listener made by the engine's own controller.
  mutating func fulfil(_ request: ListenerRequest) -> [PlayerAction] {
    switch request {
    case .pause: handle(PlayerCommand.pause)
    case .resume: handle(PlayerCommand.resume)
    case .next: goOnByController()
    case .volume(let volume): handle(PlayerCommand.setVolume(volume))
    case .mute(let isMuted): handle(PlayerCommand.setMuted(isMuted))
    case .select(let track, let kind):
      // The engine has selected it already.
      handle(PlayerCommand.select(track, kind)).filter { $0 != .select(track, kind) }
    }
  }

  /// Goes to the next item. If there is none, the current one plays on: the engine has left it for
  /// the item that repeats it.
  private mutating func goOnByController() -> [PlayerAction] {
    guard state.queue.next(.asked) == nil else { return handle(PlayerCommand.next) }
    var actions: [PlayerAction] = []
    if engineItem != nil { continueDisplaced(&actions) }
    settle(&actions)
    return actions
  }

  /// Loads the current item again, which the engine has left, where it was.
  mutating func continueDisplaced(_ actions: inout [PlayerAction]) {
    (seeking, waiting, following) = (nil, nil, nil)
    loadAgain(&actions)
  }
}
