// SPDX-License-Identifier: MIT
#if os(Linux)
  /// A signal to all clients.
  enum MPRISSignal: Sendable, Hashable {
    /// PropertiesChanged of an interface, with the values of that moment.
    case changed(MPRISInterface, [MPRISProperty])
    /// Playback goes on at a position that clients do not expect.
    case seeked(Int64)
    case tracksReplaced([String], current: String)
    case trackAdded([String: DBusValue], after: String)
    case trackRemoved(String)
    case trackMetadataChanged(String, [String: DBusValue])
  }

  extension MPRISState {
    /// Returns the signals that report the differences from an earlier state. A pure function.
    func signals(since before: MPRISState) -> [MPRISSignal] {
      let changed = MPRISProperty.allCases.filter { property in
        switch property {
        // Never announced.
        case .position, .canControl: false
        case .tracks: trackList(since: before) != .same
        default: value(of: property) != before.value(of: property)
        }
      }
      let properties = MPRISInterface.allCases.compactMap { interface in
        let own = changed.filter { $0.interface == interface }
        return own.isEmpty ? nil : MPRISSignal.changed(interface, own)
      }
      return properties + trackSignals(since: before)
    }

    private func trackSignals(since before: MPRISState) -> [MPRISSignal] {
      switch trackList(since: before) {
      case .same: changedTracks(since: before)
      case .edited(let removed, let added, let start):
        removed.map { .trackRemoved(MPRISTrackID.path($0.id)) }
          + added.indices.map { index in
            let earlier = start + index == 0 ? nil : player.queue.items[start + index - 1]
            return .trackAdded(metadata(of: added[index]), after: MPRISTrackID.path(earlier))
          }
      case .replaced:
        [
          .tracksReplaced(
            player.queue.items.map { MPRISTrackID.path($0.id) },
            current: MPRISTrackID.path(player.item))
        ]
      }
    }

    /// Reports new metadata of tracks that stayed in place.
    private func changedTracks(since before: MPRISState) -> [MPRISSignal] {
      let (items, earlier) = (player.queue.items, before.player.queue.items)
      let changed = items == earlier ? [] : zip(items, earlier).filter { $0 != $1 }.map(\.0)
      guard changed.count <= TrackListChange.limit else {
        return [
          .tracksReplaced(
            items.map { MPRISTrackID.path($0.id) }, current: MPRISTrackID.path(player.item))
        ]
      }
      var signals = changed.map {
        MPRISSignal.trackMetadataChanged(MPRISTrackID.path($0.id), metadata(of: $0))
      }
      if let item = player.item, item.id == before.player.item?.id,
        !changed.contains(where: { $0.id == item.id }), metadata != before.metadata
      {
        signals.append(.trackMetadataChanged(MPRISTrackID.path(item.id), metadata))
      }
      return signals
    }

    private func trackList(since before: MPRISState) -> TrackListChange {
      TrackListChange(from: before.player.queue.items, to: player.queue.items)
    }
  }

  /// The difference of two lists of tracks, by their ids. A pure value.
  enum TrackListChange: Equatable {
    case same
    /// Some were removed, and then others were added from an index on.
    case edited(removed: [PlayQueue.Item], added: [PlayQueue.Item], at: Int)
    /// Too much for a signal per track, or tracks were moved.
    case replaced

    /// The largest number of tracks that are reported one by one.
    static let limit = 20

    init(from old: [PlayQueue.Item], to new: [PlayQueue.Item]) {
      // Lists that share their storage are compared at once.
      guard old != new else {
        self = .same
        return
      }
      let start = zip(old, new).prefix { $0.id == $1.id }.count
      let most = min(old.count, new.count) - start
      let end = zip(old.reversed(), new.reversed()).prefix(most).prefix { $0.id == $1.id }.count
      let removed = old[start..<(old.count - end)]
      let added = new[start..<(new.count - end)]
      guard !removed.isEmpty || !added.isEmpty else {
        self = .same
        return
      }
      let ids = Set(removed.map(\.id))
      let isSmall = removed.count + added.count <= Self.limit
      if isSmall, !old.isEmpty, !added.contains(where: { ids.contains($0.id) }) {
        self = .edited(removed: Array(removed), added: Array(added), at: start)
      } else {
        self = .replaced
      }
    }
  }
#endif
