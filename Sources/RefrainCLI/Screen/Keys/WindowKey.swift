// SPDX-License-Identifier: MIT

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
