// SPDX-License-Identifier: MIT
#if os(Linux)
  import Refrain
  import RefrainPlayer

  /// New values of properties.
  extension ControlState {
    func set(
      _ property: ControlProperty, to value: ControlValue
    ) throws(ControlRefusal) -> ControlDecision {
      switch property {
      case .pause: return .player([try flag(value, of: property) ? .pause : .resume])
      case .mute: return .player([.setMuted(try flag(value, of: property))])
      case .shuffle: return .player([.setShuffled(try flag(value, of: property))])
      case .volume:
        return .player([.setVolume(try number(value, of: property, in: 0...100) / 100)])
      case .speed: return .player([.setRate(try number(value, of: property, in: Player.rates))])
      case .timePosition, .playbackTime, .percentPosition:
        let limit = property == .percentPosition ? 100 : 1e9
        let target = try number(value, of: property, in: 0...limit)
        return try decide(
          .seek(target, property == .percentPosition ? .absolutePercent : .absolute))
      case .chapter: return try setChapter(value)
      case .playlistPosition:
        guard let index = value.whole else { throw wrongFormat(property, "a whole number") }
        return try decide(.playIndex(.at(index)))
      case .playlistNumber:
        guard let number = value.whole else { throw wrongFormat(property, "a whole number") }
        return try decide(.playIndex(.at(number > 0 ? number - 1 : -1)))
      case .loopsPlaylist: return .player(try loop(.all, value, property))
      case .loopsFile: return .player(try loop(.one, value, property))
      case .aid: return try select(.audio, value, property)
      case .sid: return try select(.subtitle, value, property)
      case .vid: return try select(.video, value, property)
      case .fullscreen:
        let isWanted = try flag(value, of: property)
        guard player.isFullscreen != nil else {
          throw error("No window is open that can fill the screen.")
        }
        return .player([.setFullscreen(isWanted)])
      case .audioDevice:
        guard let name = value.text else {
          throw wrongFormat(property, "the name of a device in audio-device-list")
        }
        return .selectAudioDevice(name)
      case .duration, .playlist, .playlistCount, .title, .path, .tracks, .isIdle, .audioDevices:
        throw error("\(property.rawValue) cannot be set.")
      case .metadata, .filename, .filenameWithoutExtension, .chapters, .chapterCount,
        .timeRemaining, .playtimeRemaining, .isSeekable, .isSeeking, .hasReachedEnd, .isCoreIdle,
        .waitsForCache, .volumeMaximum, .processID, .version, .propertyNames, .commandNames:
        throw error("\(property.rawValue) cannot be set.")
      }
    }

    func cycle(_ property: ControlProperty) throws(ControlRefusal) -> ControlDecision {
      switch property {
      case .pause, .mute, .shuffle:
        return try set(property, to: .bool(value(of: property) == .bool(false)))
      case .loopsPlaylist, .loopsFile:
        return try set(property, to: .bool(value(of: property) == .bool(false)))
      case .fullscreen:
        if player.isFullscreen == nil { try check(.toggleFullscreen) }
        return .toggleFullscreen
      case .vid:
        try check(.toggleVideo)
        return .player([.setShowsVideo(!player.showsVideo)])
      case .sid:
        try check(.cycleSubtitle)
        return .player([.select(player.tracks.next(.subtitle)?.id, .subtitle)])
      case .aid:
        try check(.cycleSound)
        return .player([.select(player.tracks.next(.audio)?.id, .audio)])
      default:
        throw ControlRefusal(.commandFailed, "\(property.rawValue) is no switch: set it.")
      }
    }

    /// Values beyond the limits are limited, as mpv does it.
    func add(
      _ number: Double, to property: ControlProperty
    ) throws(ControlRefusal) -> ControlDecision {
      switch property {
      case .volume: return .player([.setVolume(player.volume + number / 100)])
      case .speed: return .player([.setRate(player.rate + number)])
      case .timePosition, .playbackTime: return try decide(.seek(number, .relative))
      case .chapter: return try addChapters(number)
      case .playlistPosition, .playlistNumber:
        guard let step = Int(exactly: number), let index = player.queue.currentIndex else {
          throw ControlRefusal(.commandFailed, "No item is the current one.")
        }
        return try decide(.playIndex(.at(index + step)))
      default:
        throw ControlRefusal(.commandFailed, "Nothing can be added to \(property.rawValue).")
      }
    }

    /// Values beyond the limits are limited, as mpv does it.
    func multiply(
      _ property: ControlProperty, by factor: Double
    ) throws(ControlRefusal) -> ControlDecision {
      switch property {
      case .volume: return .player([.setVolume(player.volume * factor)])
      case .speed: return .player([.setRate(player.rate * factor)])
      default:
        throw ControlRefusal(.commandFailed, "\(property.rawValue) cannot be multiplied.")
      }
    }

    // MARK: Values

    private func error(_ message: String) -> ControlRefusal {
      ControlRefusal(.propertyError, message)
    }

    private func wrongFormat(_ property: ControlProperty, _ what: String) -> ControlRefusal {
      ControlRefusal(.propertyFormat, "\(property.rawValue) is \(what).")
    }

    private func flag(
      _ value: ControlValue, of property: ControlProperty
    ) throws(ControlRefusal) -> Bool {
      guard let flag = value.flag else { throw wrongFormat(property, "true or false") }
      return flag
    }

    private func number(
      _ value: ControlValue, of property: ControlProperty, in range: ClosedRange<Double>
    ) throws(ControlRefusal) -> Double {
      guard let number = value.finite else { throw wrongFormat(property, "a number") }
      guard range.contains(number) else {
        throw error("\(property.rawValue) is from \(range.lowerBound) to \(range.upperBound).")
      }
      return number
    }

    /// Turns a repeat mode on, or off if it is the current one.
    private func loop(
      _ mode: PlayQueue.RepeatMode, _ value: ControlValue, _ property: ControlProperty
    ) throws(ControlRefusal) -> [PlayerCommand] {
      let isWanted: Bool
      switch value {
      case .string("inf"): isWanted = true
      default:
        guard let flag = value.flag else {
          throw wrongFormat(property, "\"inf\" or false: nothing repeats a number of times")
        }
        isWanted = flag
      }
      if isWanted { return [.setRepeatMode(mode)] }
      return player.queue.repeatMode == mode ? [.setRepeatMode(.off)] : []
    }

    // MARK: Tracks

    private func check(_ action: ScreenAction) throws(ControlRefusal) {
      guard let why = PlayControl.refusal(of: action, player, canShowVideo: canShowVideo) else {
        return
      }
      throw ControlRefusal(.commandFailed, why)
    }

    private func select(
      _ kind: MediaTrack.Kind, _ value: ControlValue, _ property: ControlProperty
    ) throws(ControlRefusal) -> ControlDecision {
      let tracks = player.tracks.tracks(of: kind)
      // Of no video, the sound plays on.
      let shows: [PlayerCommand] = kind == .video ? [.setShowsVideo(true)] : []
      if value.flag == false {
        return .player(kind == .video ? [.setShowsVideo(false)] : [.select(nil, kind)])
      }
      if value == .string("auto") {
        let track = tracks.first(where: \.isDefault) ?? tracks.first
        return .player(shows + (track.map { [.select($0.id, kind)] } ?? []))
      }
      guard let number = value.whole else {
        throw wrongFormat(property, "the number of a track, false or \"auto\"")
      }
      guard let track = tracks.first(where: { $0.id.number == number }) else {
        throw error("There is no \(kind.rawValue) track \(number): track-list has them.")
      }
      return .player(shows + [.select(track.id, kind)])
    }
  }
#endif
