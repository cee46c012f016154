// SPDX-License-Identifier: MIT
#if os(Linux)
  import Refrain

  /// A call of a client: a method, or a new value for a property.
  enum MPRISCall: Sendable, Hashable {
    case method(MPRISMethod, [DBusValue])
    case set(MPRISProperty, DBusValue)
  }

  /// The effect of a call.
  enum MPRISDecision: Sendable, Hashable {
    /// The player performs these; there may be none.
    case player([PlayerCommand])
    case raise
    case quit
    case setFullscreen(Bool)
    /// The media of this URI play now, and become part of the queue.
    case open(String)
    /// The media of this URI are inserted behind an item; nil: at the start.
    case add(String, after: PlayQueue.Item.ID?, isCurrent: Bool)
    case refused(MPRISRefusal)
  }

  /// An error that a client receives.
  struct MPRISRefusal: Sendable, Hashable {
    enum Kind: String {
      case notSupported = "org.freedesktop.DBus.Error.NotSupported"
      case invalidArguments = "org.freedesktop.DBus.Error.InvalidArgs"
      case failed = "org.freedesktop.DBus.Error.Failed"
    }

    var kind: Kind
    var text: String
  }

  extension MPRISState {
    /// Returns the effect of a call now, by the rules of MPRIS 2.2. A pure function.
    /// GetTracksMetadata has none: the bus's thread answers it.
    func decide(_ call: MPRISCall) -> MPRISDecision {
      switch call {
      case .method(let method, let arguments): decide(method, arguments)
      case .set(let property, let value): decide(property, value)
      }
    }

    private static let nothing = MPRISDecision.player([])

    private func decide(_ method: MPRISMethod, _ arguments: [DBusValue]) -> MPRISDecision {
      switch (method, arguments.first) {
      case (.raise, _): app.canRaise ? .raise : refuse("The window cannot be raised.")
      case (.quit, _): app.canQuit ? .quit : refuse("The player cannot be ended.")
      case (.next, _): next()
      case (.previous, _): previous()
      case (.pause, _): .player([.pause])
      case (.playPause, _): playOrPause()
      case (.stop, _): .player(playback == .stopped ? [] : [.stop])
      case (.play, _): .player(player.queue.isEmpty ? [] : [.resume])
      case (.seek, .int64(let offset)): seek(by: .microseconds(offset))
      case (.setPosition, .path(let track)): setPosition(of: track, arguments.last)
      case (.openURI, .string(let uri)): checked(uri) ?? .open(uri)
      case (.addTrack, .string(let uri)): checked(uri) ?? add(uri, arguments)
      case (.removeTrack, .path(let track)): act(on: track) { .remove($0) }
      case (.goTo, .path(let track)): act(on: track) { .jump($0) }
      default: invalid("The arguments of \(method.rawValue) have other types.")
      }
    }

    private func decide(_ property: MPRISProperty, _ value: DBusValue) -> MPRISDecision {
      switch (property, value) {
      case (.isFullscreen, .bool(let isWanted)): set(fullscreen: isWanted)
      case (.loopStatus, .string(let text)):
        PlayQueue.RepeatMode(loopStatus: text).map { .player([.setRepeatMode($0)]) }
          ?? invalid("LoopStatus is None, Track or Playlist.")
      case (.isShuffled, .bool(let isShuffled)): .player([.setShuffled(isShuffled)])
      case (.volume, .double(let volume)): set(volume)
      case (.rate, .double(let rate)): set(rate: rate)
      default: invalid("\(property.rawValue) cannot have this value.")
      }
    }

    private func set(fullscreen isWanted: Bool) -> MPRISDecision {
      guard canSetFullscreen else { return refuse("No window is open that can fill the screen.") }
      return app.canSetFullscreen
        ? .setFullscreen(isWanted) : .player([.setFullscreen(isWanted)])
    }

    private func refuse(_ text: String) -> MPRISDecision {
      .refused(MPRISRefusal(kind: .notSupported, text: text))
    }

    private func invalid(_ text: String) -> MPRISDecision {
      .refused(MPRISRefusal(kind: .invalidArguments, text: text))
    }
  }

  // MARK: Playing

  extension MPRISState {
    /// A stopped player stays stopped. Without a next item, nothing happens.
    private func next() -> MPRISDecision {
      guard hasNext else { return Self.nothing }
      guard playback == .stopped else { return .player([.next]) }
      var queue = player.queue
      queue.advance(.asked)
      return .player([.restore(session(queue))])
    }

    /// As `next()`; otherwise as the player goes back: beyond its first seconds, an item begins
    /// again.
    private func previous() -> MPRISDecision {
      guard hasPrevious else { return Self.nothing }
      guard playback == .stopped else { return .player([.previous]) }
      var queue = player.queue
      queue.goBack()
      return .player([.restore(session(queue))])
    }

    private func session(_ queue: PlayQueue) -> PlayerSession {
      PlayerSession(
        queue: queue, rate: player.rate, volume: player.volume, isMuted: player.isMuted)
    }

    private func playOrPause() -> MPRISDecision {
      guard !player.queue.isEmpty else {
        return .refused(MPRISRefusal(kind: .failed, text: "There is no track to play."))
      }
      return .player([player.wantsToPlay ? .pause : .resume])
    }

    private func seek(by offset: Duration) -> MPRISDecision {
      guard canSeek else { return Self.nothing }
      let target = max(.zero, player.position + offset)
      // Past the end, as Next does; after the last item, playback ends.
      if let length, target > length { return .player([.next]) }
      return .player([.seek(target)])
    }

    /// A call for another track came late, and does nothing; so does one beyond the track.
    private func setPosition(of track: String, _ position: DBusValue?) -> MPRISDecision {
      guard case .int64(let microseconds) = position else {
        return invalid("The position is a number of microseconds.")
      }
      guard canSeek, microseconds >= 0, track == MPRISTrackID.path(player.item),
        length.map({ microseconds <= $0.microseconds }) ?? true
      else { return Self.nothing }
      return .player([.seek(.microseconds(microseconds))])
    }

    private func set(_ volume: Double) -> MPRISDecision {
      guard volume.isFinite else { return invalid("The volume is a number.") }
      // The volume of a muted player is shown as 0.
      let isHeard = volume > 0 && player.isMuted
      return .player((isHeard ? [.setMuted(false)] : []) + [.setVolume(volume)])
    }

    private func set(rate: Double) -> MPRISDecision {
      guard rate.isFinite else { return invalid("The rate is a number.") }
      if rate == 0 { return .player([.pause]) }
      // No player plays backwards; other rates are limited to the nearest possible one.
      return rate < 0 ? Self.nothing : .player([.setRate(rate)])
    }
  }

  // MARK: Tracks

  extension MPRISState {
    /// Returns the refusal of a URI that the player does not play.
    private func checked(_ uri: String) -> MPRISDecision? {
      let scheme = uri.prefix { $0 != ":" }.lowercased()
      guard scheme.count < uri.count, app.uriSchemes.contains(scheme) else {
        let schemes = app.uriSchemes.joined(separator: ", ")
        return refuse("The player opens URIs of these schemes: \(schemes).")
      }
      return nil
    }

    private func add(_ uri: String, _ arguments: [DBusValue]) -> MPRISDecision {
      guard arguments.count == 3, case .path(let track) = arguments[1],
        case .bool(let isCurrent) = arguments[2]
      else { return invalid("The arguments of AddTrack have other types.") }
      let items = player.queue.items
      // Behind a track that is gone by now: at the end.
      let before = MPRISTrackID.item(track, in: items) ?? items.last
      return .add(uri, after: track == MPRISTrackID.none ? nil : before?.id, isCurrent: isCurrent)
    }

    /// A track that is gone by now is left alone.
    private func act(
      on track: String, _ command: (PlayQueue.Item.ID) -> PlayerCommand
    ) -> MPRISDecision {
      guard let item = MPRISTrackID.item(track, in: player.queue.items) else {
        return Self.nothing
      }
      return .player([command(item.id)])
    }
  }
#endif
