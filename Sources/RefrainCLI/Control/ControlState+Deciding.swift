// SPDX-License-Identifier: MIT
#if os(Linux)
  import Refrain
  import RefrainPlayer

  /// The effect of an action.
  enum ControlDecision: Sendable, Hashable {
    /// The player performs these; there may be none.
    case player([PlayerCommand])
    case toggleFullscreen
    /// The media that a text names become part of the queue.
    case load(String, ControlCommand.LoadPlace)
    /// The sound goes to the device that a text names.
    case selectAudioDevice(String)
    case listAudioDevices
    /// The screen shows a line.
    case show(String)
    case quit
  }

  extension ControlState {
    /// Returns the effect of an action now. A pure function.
    func decide(_ action: ControlCommand) throws(ControlRefusal) -> ControlDecision {
      switch action {
      case .get(.audioDevices), .getText(.audioDevices): .listAudioDevices
      case .get, .getText, .getPart, .getPartText: .player([])
      case .observe, .observeText, .unobserve, .clientName, .version: .player([])
      case .set(let property, let value): try set(property, to: value)
      case .cycle(let property): try cycle(property)
      case .add(let property, let number): try add(number, to: property)
      case .multiply(let property, let factor): try multiply(property, by: factor)
      case .next(let isForced): try next(isForced: isForced)
      case .previous(let isForced): try previous(isForced: isForced)
      case .playIndex(.none): .player([.stop])
      case .playIndex(let index): .player([.jump(try item(index).id)])
      case .remove(let index): .player([.remove(try item(index).id)])
      case .move(let source, let target): try move(source, to: target)
      case .clear: .player([.removeOthers])
      case .shuffle: .player(player.queue.isShuffled ? Self.newOrder : [.setShuffled(true)])
      case .unshuffle: .player([.setShuffled(false)])
      case .load(let text, let place): .load(text, place)
      case .seek(let target, let kind): try seek(target, kind)
      case .stop(let keepsQueue): .player([keepsQueue ? .stop : .removeAll])
      case .show(let text): .show(text)
      case .quit: .quit
      }
    }

    /// A shuffled queue stays as it is if it is shuffled.
    private static let newOrder: [PlayerCommand] = [.setShuffled(false), .setShuffled(true)]

    private static func failed(_ message: String) -> ControlRefusal {
      ControlRefusal(.commandFailed, message)
    }

    // MARK: The queue

    private func item(_ index: ControlCommand.Index) throws(ControlRefusal) -> PlayQueue.Item {
      let items = player.queue.items
      switch index {
      case .at(let number) where items.indices.contains(number): return items[number]
      case .current:
        guard let item = player.item else { throw Self.failed("No item is the current one.") }
        return item
      default: throw Self.failed("The playlist has \(items.count) items, which count from 0.")
      }
    }

    private func next(isForced: Bool) throws(ControlRefusal) -> ControlDecision {
      guard isForced || player.queue.next(.asked) != nil else {
        throw Self.failed("This is the last item. 'force' ends the playlist.")
      }
      return .player([.next])
    }

    /// The item before, wherever the current one is: the player itself would begin it again beyond
    /// its first seconds.
    private func previous(isForced: Bool) throws(ControlRefusal) -> ControlDecision {
      guard let previous = player.queue.previous() else {
        guard isForced else { throw Self.failed("This is the first item.") }
        return .player([])
      }
      // A live stream does not seek to its first seconds; a recorded one may begin later.
      return .player(player.isLive ? [.jump(previous.id)] : [.seek(.zero), .previous])
    }

    /// Follows mpv's playlist-move: the item takes the place of the one at `target`.
    private func move(_ source: Int, to target: Int) throws(ControlRefusal) -> ControlDecision {
      let item = try item(.at(source))
      guard target >= 0 else { throw Self.failed("The playlist has no index below 0.") }
      return .player([.move(item.id, to: target > source ? target - 1 : target)])
    }

    // MARK: Seeking

    private func seek(
      _ target: Double, _ kind: ControlCommand.SeekKind
    ) throws(ControlRefusal) -> ControlDecision {
      guard isOccupied else { throw Self.failed("Nothing plays.") }
      guard !player.isLive || player.liveWindow != nil else {
        throw Self.failed("A live stream seeks only in what is recorded of it (--rewind).")
      }
      switch kind {
      case .relative: return .player([.skip(.seconds(target))])
      case .absolute:
        // Counted from the end.
        let start = target < 0 ? try end() : .zero
        return .player([.seek(max(.zero, start + .seconds(target)))])
      case .absolutePercent, .relativePercent:
        guard abs(target) <= 100 else {
          throw ControlRefusal(.invalidParameter, "A percentage is at most 100.")
        }
        let distance = try length() * (target / 100)
        return .player(
          kind == .relativePercent ? [.skip(distance)] : [.seek(max(.zero, distance))])
      }
    }

    private func end() throws(ControlRefusal) -> Duration {
      if let window = player.liveWindow { return window.end }
      return try length()
    }

    private func length() throws(ControlRefusal) -> Duration {
      guard !player.isLive else {
        throw Self.failed("A live stream has no duration. Seek in seconds.")
      }
      guard let duration = player.duration else {
        throw Self.failed("The duration is not known yet. Seek in seconds from the start.")
      }
      return duration
    }
  }
#endif
