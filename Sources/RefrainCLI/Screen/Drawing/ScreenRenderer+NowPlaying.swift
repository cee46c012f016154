// SPDX-License-Identifier: MIT
import RefrainPlayer

/// The upper part of the screen: the current item, its position, and its loading.
extension ScreenRenderer {
  // MARK: Title

  func titleLine(_ model: ScreenModel, _ width: Int) -> StyledLine {
    let (glyph, words, style) = status(model)
    var line = StyledLine()
    guard width >= 4 else { return StyledLine(fit.shortened(glyph, to: width), style) }
    line.add(glyph, style)
    line.pad(to: 3)
    let isTold = width >= 36
    let room = width - line.width - (isTold ? words.displayWidth + 2 : 0)
    line.add(fit.shortened(name(model), to: room), .bold)
    if isTold {
      line.pad(to: width - words.displayWidth)
      line.add(words, style)
    }
    return line
  }

  private func name(_ model: ScreenModel) -> String {
    let title = fit.clean(model.title)
    return title.isEmpty ? "Nothing to play" : title
  }

  private func status(_ model: ScreenModel) -> (glyph: String, words: String, Style) {
    switch model.status {
    case .idle: (glyphs.stopped, "Stopped", .dim)
    case .loading: (glyphs.loading, "Loading", .colour(.yellow))
    case .playing:
      model.length == .live && model.rewound?.behind == nil
        ? (glyphs.playing, "Live", .colour(.green)) : (glyphs.playing, "Playing", .colour(.green))
    case .paused: (glyphs.paused, "Paused", .colour(.yellow))
    case .ended: (glyphs.stopped, "Ended", .dim)
    case .buffering(.seek): (glyphs.buffering, "Seeking", .colour(.yellow))
    case .buffering(.bytes): (glyphs.buffering, "Waiting for bytes", .colour(.yellow))
    case .buffering(.network): (glyphs.buffering, "Waiting for the network", .colour(.yellow))
    case .failed: (glyphs.failed, "Failed", .colour(.red))
    }
  }

  func detailsLine(_ model: ScreenModel, _ width: Int) -> StyledLine {
    guard !model.details.isEmpty, width >= 8 else { return StyledLine() }
    let text = model.details.map(fit.clean).joined(separator: " \(glyphs.separator) ")
    return StyledLine("   " + fit.shortened(text, to: width - 3))
  }

  func addressLine(_ model: ScreenModel, _ width: Int) -> StyledLine {
    guard let address = model.address, width >= 8 else { return StyledLine() }
    let text = fit.shortened(fit.clean(address), to: width - 3, keeping: .bothEnds)
    return StyledLine("   " + text, .dim)
  }

  // MARK: Scrubber

  /// Returns position, bar and duration; only the bar, if it would have fewer than 4 columns.
  func scrubberLine(_ model: ScreenModel, _ width: Int) -> StyledLine {
    let right =
      switch model.length {
      case .unknown: "-:--"
      case .live:
        model.rewound?.behind.map { "-\(TimeText.position($0)) live" } ?? "live"
      case .known(let duration): TimeText.position(duration)
      }
    let left = TimeText.position(model.position)
    // Both as wide as the wider one: the bar does not move when the minutes gain a digit.
    let side = max(left.count, right.count)
    let bar = width - 2 * side - 4
    guard bar >= 4 else { return scrubber(model, width) }
    var line = StyledLine(String(repeating: " ", count: side - left.count) + left)
    line.add("  ")
    line.add(scrubber(model, bar))
    line.add("  ")
    line.add(right, .dim)
    return line
  }

  private func scrubber(_ model: ScreenModel, _ width: Int) -> StyledLine {
    guard width > 0 else { return StyledLine() }
    let marker: Int? =
      switch model.length {
      case .unknown: nil
      case .live: liveMarker(model, width)
      case .known: model.fraction.map { min(width - 1, Int($0 * Double(width))) }
      }
    var line = StyledLine()
    for (index, part) in model.map.cells(width).enumerated() {
      if index == marker {
        line.add(glyphs.position, .bold)
      } else if let marker, model.length == .live {
        index < marker
          ? line.add(glyphs.played, Style(colour: .cyan, isBold: true))
          : line.add(glyphs.cached, .colour(.cyan))
      } else if let marker, index < marker, part == .cached {
        line.add(glyphs.played, Style(colour: .cyan, isBold: true))
      } else {
        switch part {
        case .cached: line.add(glyphs.cached, .colour(.cyan))
        case .coming: line.add(glyphs.coming, .colour(.yellow))
        case .missing: line.add(glyphs.missing, .dim)
        }
      }
    }
    return line
  }

  /// Returns the column of the position in a live stream: the last one is the present.
  private func liveMarker(_ model: ScreenModel, _ width: Int) -> Int {
    guard let rewound = model.rewound, rewound.behind != nil else { return width - 1 }
    return max(0, min(width - 2, Int(rewound.fraction * Double(width))))
  }

  // MARK: Figures and settings

  /// Returns the figures of loading; in their place, a failure and its remedy.
  func figures(_ model: ScreenModel, _ width: Int, lines most: Int) -> [StyledLine] {
    switch model.status {
    case .loading, .buffering(.bytes), .buffering(.seek):
      guard let trouble = model.trouble else { return [figuresLine(model, width)] }
      return waiting(trouble, model, width, most)
    case .failed(let reason, let remedy):
      return sentences(reason, remedy, width, most, Style(colour: .red))
    case .buffering(.network(let reason)):
      return waiting(reason, model, width, most)
    default:
      return [figuresLine(model, width)]
    }
  }

  /// Returns why no bytes come, and that the request is sent again.
  private func waiting(
    _ reason: String, _ model: ScreenModel, _ width: Int, _ most: Int
  ) -> [StyledLine] {
    sentences(
      reason, "The request is retried automatically.", width, max(1, most - 1),
      Style(colour: .yellow))
      + (most > 2 ? [figuresLine(model, width)] : [])
  }

  private func sentences(
    _ first: String, _ second: String, _ width: Int, _ most: Int, _ style: Style
  ) -> [StyledLine] {
    let (first, second) = (fit.clean(first), fit.clean(second))
    guard most > 1 else {
      return [StyledLine(fit.shortened("\(first) \(second)", to: width), style)]
    }
    return fit.wrapped(first, to: width, lines: (most + 1) / 2).map { StyledLine($0, style) }
      + fit.wrapped(second, to: width, lines: most / 2).map { StyledLine($0) }
  }

  private func figuresLine(_ model: ScreenModel, _ width: Int) -> StyledLine {
    guard !model.isLocal else { return StyledLine(fit.shortened("a file", to: width), .dim) }
    var facts: [[(String, Style)]] = []
    if let stored = model.storedBytes {
      if let total = model.totalBytes, total > 0 {
        let percent = stored >= total ? 100 : Int(Double(max(0, stored)) / Double(total) * 100)
        facts.append([
          (percent == 100 ? "all" : "\(percent)%", .plain),
          (width < 24 ? " stored" : " of \(ByteSize.text(total)) stored", .dim),
        ])
      } else {
        facts.append([(ByteSize.text(stored), .plain), (" stored", .dim)])
      }
    }
    if let stored = model.storedTime, let total = model.totalTime, total > .zero {
      let percent = stored >= total ? 100 : Int(max(.zero, stored) / total * 100)
      facts.append([
        (percent == 100 ? "all" : "\(percent)%", .plain),
        (width < 24 ? " stored" : " of \(TimeText.position(total)) stored", .dim),
      ])
    }
    guard let requests = model.requests else {
      if model.isOffline { facts.append([("offline", .colour(.yellow))]) }
      return joined(facts, width)
    }
    if model.isOffline {
      facts.append([("offline", .colour(.yellow))])
    } else if let speed = model.speed {
      facts.append([("origin ", .dim), ("\(ByteSize.text(Int64(speed)))/s", .plain)])
    } else {
      facts.append([("origin idle", .dim)])
    }
    if let ratio = model.hitRatio {
      facts.append([("hit ratio ", .dim), ("\(Int((ratio * 100).rounded(.down)))%", .plain)])
    }
    facts.append([
      ("\(requests)", .plain), (requests == 1 ? " request" : " requests", .dim),
    ])
    return joined(facts, width)
  }

  func settingsLine(_ model: ScreenModel, _ width: Int) -> StyledLine {
    func fact(_ name: String, _ value: String, isUsual: Bool) -> [(String, Style)] {
      [("\(name) ", .dim), (value, isUsual ? .dim : .plain)]
    }
    let percent = "\(Int((model.volume * 100).rounded()))%"
    var facts = [
      model.isMuted
        ? [("muted", .colour(.yellow)), (" \(percent)", .dim)]
        : fact("volume", percent, isUsual: false)
    ]
    facts.append(
      fact("repeat", model.repeatMode.rawValue, isUsual: model.repeatMode == .off))
    facts.append(fact("shuffle", model.isShuffled ? "on" : "off", isUsual: !model.isShuffled))
    facts.append(fact("rate", rateText(model.rate), isUsual: model.rate == 1))
    switch model.sleepTimer {
    case nil: break
    case .left(let time): facts.append(fact("sleep in", TimeText.position(time), isUsual: false))
    case .endOfItem: facts.append(fact("sleep at", "end of item", isUsual: false))
    }
    return joined(facts, width)
  }

  /// Returns the video, the sound track and the subtitle.
  func tracksLine(_ tracks: ShownTracks, _ width: Int) -> StyledLine {
    var facts: [[(String, Style)]] = []
    if let size = tracks.size {
      let size = size.replacing("\u{D7}", with: glyphs.times)
      let codec = tracks.codec.map { $0.isEmpty ? "" : " \(fit.clean($0))" } ?? ""
      facts.append([("video ", .dim), ("\(size)\(codec)", .plain)])
      if tracks.droppedFrames > 0 {
        facts.append([
          ("\(tracks.droppedFrames)", .plain),
          (tracks.droppedFrames == 1 ? " frame dropped" : " frames dropped", .dim),
        ])
      }
    } else if tracks.isHidden {
      facts.append([("video ", .dim), ("hidden", .plain)])
    }
    func add(_ name: String, _ choice: ShownTracks.Choice?) {
      guard let choice else { return }
      let shown = choice.name.map { fit.shortened(fit.clean($0), to: 20) } ?? "off"
      let place =
        choice.name == nil ? " (\(choice.count))" : " (\(choice.number) of \(choice.count))"
      facts.append([("\(name) ", .dim), (shown, .plain), (place, .dim)])
    }
    add("sound", tracks.sound)
    add("subtitles", tracks.subtitle)
    return joined(facts, width)
  }

  private func rateText(_ rate: Double) -> String {
    let hundredths = Int((rate * 100).rounded())
    let decimals = hundredths % 100
    let ending =
      decimals == 0
      ? ""
      : decimals % 10 == 0 ? ".\(decimals / 10)" : decimals < 10 ? ".0\(decimals)" : ".\(decimals)"
    return "\(hundredths / 100)\(ending)\(glyphs.times)"
  }

  /// Returns facts side by side; the last ones are dropped if they do not fit.
  private func joined(_ facts: [[(String, Style)]], _ width: Int) -> StyledLine {
    var line = StyledLine()
    for fact in facts {
      let factWidth = fact.reduce(0) { $0 + $1.0.displayWidth }
      let gap = line.width == 0 ? 0 : 3
      guard line.width + gap + factWidth <= width else { break }
      line.pad(to: line.width + gap)
      for (text, style) in fact { line.add(text, style) }
    }
    return line
  }
}
