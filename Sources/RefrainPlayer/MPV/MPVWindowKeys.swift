// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV

  /// The keys of libmpv's window. libmpv reacts to none of them itself but for fullscreen: its own
  /// commands would act on its list, which is not the queue.
  enum MPVWindowKeys {
    static let message = "refrain-key"
    static let close = "CLOSE_WIN"

    /// The names of the keys (mpv(1), `--input-keylist`).
    static let names: [String] = {
      let typed = (0x21...0x7E).map { String(UnicodeScalar(UInt8($0))) }
        .map { $0 == "#" ? "SHARP" : $0 }
      let arrows = ["LEFT", "RIGHT", "UP", "DOWN"]
      let modified = ["Shift+", "Ctrl+"].flatMap { modifier in arrows.map { modifier + $0 } }
      return typed + arrows + modified + [
        "SPACE", "HOME", "END", "PGUP", "PGDWN", "ENTER", "KP_ENTER", "BS", "DEL", "TAB",
        "WHEEL_UP", "WHEEL_DOWN", "PLAY", "PAUSE", "PLAYPAUSE", "STOP", "NEXT", "PREV",
        "FORWARD", "REWIND", "VOLUME_UP", "VOLUME_DOWN", "MUTE", close,
      ]
    }()

    /// The text of an input section that sends each key as a message. A key is sent by its number:
    /// names may contain quotes.
    static let section =
      (names.enumerated().map { "\($1) repeatable script-message \(message) \($0)" }
      + ["ESC set fullscreen no", "MBTN_LEFT_DBL cycle fullscreen"]).joined(separator: "\n")

    /// Returns the event of a message; nil if it is another program's.
    static func event(_ words: [String]) -> WindowEvent? {
      guard words.count == 2, words[0] == message, let number = Int(words[1]),
        names.indices.contains(number)
      else { return nil }
      return names[number] == close ? .closeRequested : .key(names[number])
    }
  }

  extension mpv_event_client_message {
    var words: [String] {
      guard let args else { return [] }
      return (0..<Int(num_args)).compactMap { args[$0].map { String(cString: $0) } }
    }
  }
#endif
