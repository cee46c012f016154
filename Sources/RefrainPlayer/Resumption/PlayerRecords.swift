// SPDX-License-Identifier: MIT
import Foundation

/// Stores where a player is, as its state changes.
@MainActor
struct PlayerRecords {
  private let positions: PlaybackPositions?
  private let savedSession: SavedSession?
  private var marks: MarkRecorder
  private var session = SessionRecorder()

  init(_ configuration: Player.Configuration) {
    positions = configuration.resumption?.positions
    savedSession = configuration.savedSession
    marks = MarkRecorder(policy: positions?.policy ?? ResumptionPolicy())
  }

  /// Notes the state after a change.
  mutating func note(_ machine: PlayerMachine) {
    let state = machine.state
    if positions != nil { perform(marks.note(state, machine.choices, now: Date())) }
    if savedSession != nil {
      save(
        session.note(
          state, volume: machine.usualVolume ?? state.volume, choices: machine.sessionChoices))
    }
  }

  /// Notes that an item played to its end.
  mutating func finish(_ item: PlayQueue.Item) {
    if positions != nil { perform([marks.finish(item)]) }
  }

  /// Stores the position at which the player is closed.
  mutating func close() {
    perform(marks.leave())
    save(session.leave())
  }

  /// Returns when everything is stored.
  nonisolated static func flush(_ configuration: Player.Configuration) async {
    await configuration.resumption?.positions.flush()
    await configuration.savedSession?.flush()
  }

  private func save(_ due: (session: PlayerSession, isFinal: Bool)?) {
    if let due { savedSession?.save(due.session, syncs: due.isFinal) }
  }

  private func perform(_ actions: [MarkRecorder.Action]) {
    for action in actions {
      switch action {
      case .keep(let mark, let media, let syncs):
        positions?.keep(mark, for: media, syncs: syncs)
      case .forget(let media): positions?.forget(media)
      }
    }
  }

  /// Remembers the language of a track that the listener selected.
  ///
  /// - Returns: the languages, if they have changed.
  func remember(_ choice: TrackChoice, of kind: MediaTrack.Kind) -> TrackLanguages? {
    guard let positions else { return nil }
    var languages = positions.languages
    switch (kind, choice) {
    case (.audio, .track(_, let language?)): languages.audio = language
    case (.subtitle, .track(_, let language?)): languages.subtitle = language
    case (.subtitle, .off): languages.subtitle = nil
    case (.audio, _), (.subtitle, _), (.video, _): return nil
    }
    guard languages != positions.languages else { return nil }
    positions.remember(languages)
    return languages
  }
}
