// SPDX-License-Identifier: MIT
#if os(Linux)
  import RefrainPlayer

  /// The events with which mpv reports that files begin and end (mpv(1), "List of events"). A pure
  /// value.
  struct ControlFileEvents: Sendable {
    private var current: PlayQueue.Item.ID?
    /// The item whose beginning was reported, and its end not yet.
    private var open: PlayQueue.Item.ID?
    /// The item that was played to its end.
    private var finished: PlayQueue.Item.ID?
    private var isIdle = true

    /// Returns the events that an event of the player means.
    ///
    /// - Parameter isQuitting: whether somebody has ended the program.
    mutating func note(_ event: PlayerEvent, isQuitting: Bool) -> [ControlValue] {
      switch event {
      case .item(let item):
        current = item?.id
        // An item that is added to an empty queue does not play yet.
        return isIdle ? [] : begin(current)
      case .status(.idle):
        defer { isIdle = true }
        return isIdle || isQuitting ? [] : [Self.event("idle")]
      case .status(.ended), .status(.failed):
        isIdle = true
        return []
      case .status:
        isIdle = false
        return begin(current)
      case .started(let item, _):
        return begin(item.id) + [Self.event("file-loaded"), Self.event("playback-restart")]
      case .seekCompleted: return [Self.event("playback-restart")]
      case .finished(let item):
        finished = item.id
        return []
      case .failed(let item, _): return begin(item.id) + end(item.id, "error")
      case .report(let item, _):
        let isFinished = finished == item.id
        finished = nil
        guard open == item.id else { return [] }
        return end(item.id, isFinished ? "eof" : isQuitting ? "quit" : "stop")
      default: return []
      }
    }

    private mutating func begin(_ item: PlayQueue.Item.ID?) -> [ControlValue] {
      guard let item, item != open else { return [] }
      open = item
      return [Self.event("start-file", ["playlist_entry_id": .integer(Int64(item.rawValue))])]
    }

    private mutating func end(_ item: PlayQueue.Item.ID, _ reason: String) -> [ControlValue] {
      open = nil
      var members: [String: ControlValue] = [
        "playlist_entry_id": .integer(Int64(item.rawValue)), "reason": .string(reason),
      ]
      if reason == "error" {
        members["file_error"] = .string(ControlRefusal.Fault.loadingFailed.rawValue)
      }
      return [Self.event("end-file", members)]
    }

    private static func event(
      _ name: String, _ members: [String: ControlValue] = [:]
    ) -> ControlValue {
      .object(members.merging(["event": .string(name)]) { $1 })
    }
  }
#endif
