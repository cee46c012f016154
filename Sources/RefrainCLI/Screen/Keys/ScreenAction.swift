// SPDX-License-Identifier: MIT

/// The action that a key requests.
enum ScreenAction: Sendable, Hashable {
  case toggle, next, previous
  /// By this many seconds.
  case seek(Int)
  /// To this many tenths of the item.
  case jump(Int)
  /// To the present of live sound.
  case goLive
  case changeVolume(Double)
  case toggleMute
  /// To the next slower or faster rate.
  case slower, faster, resetRate
  case cycleRepeat, toggleShuffle, cycleSleepTimer
  /// To the next track of the item; subtitles turn off after the last one.
  case cycleSubtitle, cycleSound
  case toggleVideo, toggleFullscreen

  /// By this many rows.
  case select(Int)
  case selectPage(Int)
  case selectFirst, selectLast
  case playSelected, removeSelected
  /// By this many positions.
  case moveSelected(Int)

  case beginFilter, endFilter, clearFilter, untype
  case type(String)

  /// Of a line that is typed: a position, or additions to the queue.
  case beginTime, beginAddition, endLine, clearLine, untypeLine, enterLine
  case typeLine(String)

  case showHelp, hideHelp
  /// By this many lines.
  case scrollHelp(Int)
  case scrollHelpPage(Int)
  case quit, suspend, redraw
}

extension ScreenAction {
  /// Returns the action of a key in the screen's current state; nil if it has none.
  ///
  /// - Parameters:
  ///   - isFiltering: whether typed text goes to the filter.
  ///   - isTyping: whether a line is being typed.
  ///   - isHelpVisible: then keys that move scroll the help, and any other closes it.
  init?(
    _ key: Key, isFiltering: Bool = false, isTyping: Bool = false, isHelpVisible: Bool = false
  ) {
    guard
      let action = Self.always(key)
        ?? (isHelpVisible
          ? Self.reading(key)
          : isTyping
            ? Self.typing(key) : isFiltering ? Self.filtering(key) : Self.usual(key))
    else { return nil }
    self = action
  }

  private static func typing(_ key: Key) -> ScreenAction? {
    switch (key.code, key.modifiers) {
    case (.text(let character), []): .typeLine(String(character))
    case (.paste(let text), _): .typeLine(text)
    case (.text("u"), .control): .clearLine
    case (.backspace, _): .untypeLine
    case (.escape, _): .endLine
    case (.enter, _): .enterLine
    default: nil
    }
  }

  private static func always(_ key: Key) -> ScreenAction? {
    guard key.modifiers == .control, case .text(let letter) = key.code else { return nil }
    switch letter {
    case "c", "\\": return .quit
    case "z": return .suspend
    case "l": return .redraw
    default: return nil
    }
  }

  private static func reading(_ key: Key) -> ScreenAction {
    switch key.code {
    case .up: .scrollHelp(-1)
    case .down: .scrollHelp(1)
    case .pageUp: .scrollHelpPage(-1)
    case .pageDown: .scrollHelpPage(1)
    case .home: .scrollHelp(.min / 2)
    case .end: .scrollHelp(.max / 2)
    default: .hideHelp
    }
  }

  private static func filtering(_ key: Key) -> ScreenAction? {
    switch (key.code, key.modifiers) {
    case (.text(let character), []): .type(String(character))
    case (.paste(let text), _): .type(text)
    case (.text("u"), .control): .clearFilter
    case (.backspace, _): .untype
    case (.escape, _): .endFilter
    case (.enter, _): .playSelected
    default: selecting(key)
    }
  }

  private static func selecting(_ key: Key) -> ScreenAction? {
    switch key.code {
    case .up: .select(-1)
    case .down: .select(1)
    case .pageUp: .selectPage(-1)
    case .pageDown: .selectPage(1)
    default: nil
    }
  }

  private static func usual(_ key: Key) -> ScreenAction? {
    let isFar = !key.modifiers.isDisjoint(with: [.shift, .control])
    switch key.code {
    case .left: return .seek(isFar ? -60 : -5)
    case .right: return .seek(isFar ? 60 : 5)
    case .home: return .jump(0)
    case .enter: return .playSelected
    case .delete: return .removeSelected
    case .backspace: return .resetRate
    case .text(let character):
      return key.modifiers.isEmpty ? typed(character) : nil
    default: return selecting(key)
    }
  }

  private static func typed(_ character: Character) -> ScreenAction? {
    switch character {
    case " ": .toggle
    case "n": .next
    case "p": .previous
    case "0"..."9": character.wholeNumberValue.map { .jump($0) }
    case "+", "=": .changeVolume(0.05)
    case "-": .changeVolume(-0.05)
    case "L": .goLive
    case "m": .toggleMute
    case "[": .slower
    case "]": .faster
    case "r": .cycleRepeat
    case "S": .toggleShuffle
    case "s": .cycleSubtitle
    case "a": .cycleSound
    case "v": .toggleVideo
    case "f": .toggleFullscreen
    case "t": .cycleSleepTimer
    case "g": .selectFirst
    case "G": .selectLast
    case "x": .removeSelected
    case "J": .moveSelected(1)
    case "K": .moveSelected(-1)
    case "/": .beginFilter
    case ":": .beginTime
    case "A": .beginAddition
    case "?": .showHelp
    case "q": .quit
    default: nil
    }
  }
}

extension ScreenAction {
  /// Returns the action of a key in the window of a video, which is that of the same key in the
  /// terminal, except for keys of the screen and its list; nil if it has none.
  ///
  /// - Parameter name: libmpv's name of the key (`WindowEvent.key`).
  init?(windowKey name: String) {
    if let action = Self.ofWindow[name] {
      self = action
      return
    }
    guard let key = Key(window: name), let action = ScreenAction(key) else { return nil }
    switch action {
    // What these show or select is only in the terminal, which need not be visible.
    case .showHelp, .beginFilter, .beginTime, .beginAddition, .suspend, .redraw, .select,
      .selectPage, .selectFirst, .selectLast, .playSelected, .removeSelected, .moveSelected:
      return nil
    default: self = action
    }
  }

  /// Keys and wheels that terminals do not report.
  private static let ofWindow: [String: ScreenAction] = [
    "PLAY": .toggle, "PAUSE": .toggle, "PLAYPAUSE": .toggle, "STOP": .quit, "NEXT": .next,
    "PREV": .previous, "FORWARD": .seek(60), "REWIND": .seek(-60), "MUTE": .toggleMute,
    "VOLUME_UP": .changeVolume(0.05), "VOLUME_DOWN": .changeVolume(-0.05),
    "WHEEL_UP": .changeVolume(0.05), "WHEEL_DOWN": .changeVolume(-0.05),
  ]
}

extension Key {
  /// Creates a key from libmpv's name for it (mpv(1), `--input-keylist`).
  init?(window name: String) {
    var modifiers: Modifiers = []
    var rest = Substring(name)
    for (prefix, modifier) in [("Ctrl+", Modifiers.control), ("Shift+", .shift), ("Alt+", .alt)] {
      guard rest.hasPrefix(prefix), rest.count > prefix.count else { continue }
      rest = rest.dropFirst(prefix.count)
      modifiers.insert(modifier)
    }
    if let code = Self.windowCodes[String(rest)] {
      self.init(code, modifiers)
    } else if let character = rest.first, rest.count == 1 {
      self.init(character, modifiers)
    } else {
      return nil
    }
  }

  private static let windowCodes: [String: Code] = [
    "SPACE": .text(" "), "SHARP": .text("#"), "LEFT": .left, "RIGHT": .right, "UP": .up,
    "DOWN": .down, "HOME": .home, "END": .end, "PGUP": .pageUp, "PGDWN": .pageDown,
    "ENTER": .enter, "KP_ENTER": .enter, "BS": .backspace, "DEL": .delete, "TAB": .tab,
  ]
}
