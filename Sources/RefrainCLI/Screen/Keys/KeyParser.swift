// SPDX-License-Identifier: MIT

/// Turns the bytes of a terminal into keys, regardless of read boundaries. Unknown sequences are
/// discarded whole. A pure value.
///
/// Follows ECMA-48 (5.4, control sequences) and xterm's ctlseqs.
struct KeyParser: Sendable {
  private enum State: Sendable {
    case ground
    /// After ESC.
    case escape
    /// After ESC O.
    case ss3
    /// Within a control sequence, ESC [.
    case csi
    /// Within a string for the terminal, such as ESC ] … ST: an unsolicited response.
    case string(opener: UInt8)
    /// Within a pasted text.
    case paste
    /// Within a character of several bytes, of which this many are missing.
    case utf8(missing: Int)
  }

  private var state = State.ground
  private var bytes: [UInt8] = []
  /// Whether an ESC preceded, as terminals send Alt.
  private var isAlt = false
  /// Whether the next byte belongs to a sequence of Linux's console, ESC [ [ A.
  private var swallowsOne = false

  private static let pasteEnd = Array("\u{1B}[201~".utf8)
  /// Sequences are shorter; a longer one is discarded without being stored.
  private static let longestSequence = 64
  private static let longestPaste = 64 << 10

  /// Whether a key may be incomplete: then `flush()` is due after a moment without bytes.
  var isWaiting: Bool {
    switch state {
    case .ground, .paste: false
    default: true
    }
  }

  mutating func feed(_ input: some Sequence<UInt8>) -> [Key] {
    var keys: [Key] = []
    for byte in input { take(byte, &keys) }
    return keys
  }

  /// Ends an incomplete sequence after a moment without bytes: a lone ESC is the Escape key.
  mutating func flush() -> [Key] {
    defer { reset() }
    switch state {
    case .escape: return [Key(.escape)]
    case .ss3: return [Key("O", .alt)]
    case .csi where bytes.isEmpty && !swallowsOne: return [Key("[", .alt)]
    case .string(let opener) where bytes.isEmpty:
      return [Key(Character(Unicode.Scalar(opener)), .alt)]
    case .paste:
      defer { state = .paste }
      return []
    default: return []
    }
  }

  private mutating func reset() {
    if case .paste = state { return }
    state = .ground
    bytes = []
    isAlt = false
    swallowsOne = false
  }

  // MARK: One byte

  private mutating func take(_ byte: UInt8, _ keys: inout [Key]) {
    switch state {
    case .ground: takeFirst(byte, &keys)
    case .escape: takeAfterEscape(byte, &keys)
    case .ss3: takeSS3(byte, &keys)
    case .csi: takeCSI(byte, &keys)
    case .string: takeString(byte)
    case .paste: takePaste(byte, &keys)
    case .utf8(let missing): takeUTF8(byte, missing, &keys)
    }
  }

  private mutating func end(_ key: Key?, _ keys: inout [Key]) {
    if var key {
      if isAlt { key.modifiers.insert(.alt) }
      keys.append(key)
    }
    reset()
  }

  private mutating func takeFirst(_ byte: UInt8, _ keys: inout [Key]) {
    switch byte {
    case 0x1B: state = .escape
    case 0x0D, 0x0A: end(Key(.enter), &keys)
    case 0x09: end(Key(.tab), &keys)
    case 0x7F, 0x08: end(Key(.backspace), &keys)
    case 0x00: end(Key(" ", .control), &keys)
    case 0x01...0x1A:
      end(Key(Character(Unicode.Scalar(byte + 0x60)), .control), &keys)
    case 0x1C...0x1F:
      end(Key(Character(Unicode.Scalar(byte + 0x40)), .control), &keys)
    case 0x20...0x7E: end(Key(Character(Unicode.Scalar(byte))), &keys)
    case 0xC2...0xDF: begin(byte, missing: 1)
    case 0xE0...0xEF: begin(byte, missing: 2)
    case 0xF0...0xF4: begin(byte, missing: 3)
    default: reset()
    }
  }

  private mutating func takeAfterEscape(_ byte: UInt8, _ keys: inout [Key]) {
    switch byte {
    case UInt8(ascii: "["): state = .csi
    case UInt8(ascii: "O"): state = .ss3
    case UInt8(ascii: "]"), UInt8(ascii: "P"), UInt8(ascii: "X"), UInt8(ascii: "^"),
      UInt8(ascii: "_"):
      state = .string(opener: byte)
    case 0x1B where isAlt:
      // Escape was pressed repeatedly.
      keys.append(Key(.escape))
    case 0x1B: isAlt = true
    default:
      isAlt = true
      state = .ground
      takeFirst(byte, &keys)
    }
  }

  // MARK: Characters

  private mutating func begin(_ byte: UInt8, missing: Int) {
    bytes = [byte]
    state = .utf8(missing: missing)
  }

  private mutating func takeUTF8(_ byte: UInt8, _ missing: Int, _ keys: inout [Key]) {
    guard byte & 0xC0 == 0x80 else {
      // Cut off: the next byte is parsed on its own.
      reset()
      takeFirst(byte, &keys)
      return
    }
    bytes.append(byte)
    guard missing == 1 else {
      state = .utf8(missing: missing - 1)
      return
    }
    let text = String(validating: bytes, as: UTF8.self)
    // C1 controls are not text.
    let isControl = text?.unicodeScalars.first?.properties.generalCategory == .control
    end(isControl ? nil : text?.first.map { Key($0) }, &keys)
  }

  // MARK: Sequences

  private mutating func takeSS3(_ byte: UInt8, _ keys: inout [Key]) {
    switch byte {
    case 0x30...0x3B where bytes.count < Self.longestSequence: bytes.append(byte)
    case 0x40...0x7E:
      let modifiers = KeySequence.modifiers(bytes.last.map { Int($0) - 0x30 } ?? 1)
      end(KeySequence.key(final: byte, modifiers), &keys)
    default: abort(byte, &keys)
    }
  }

  private mutating func takeCSI(_ byte: UInt8, _ keys: inout [Key]) {
    guard !swallowsOne else {
      reset()
      return
    }
    switch byte {
    case 0x20...0x3F:
      if bytes.count < Self.longestSequence { bytes.append(byte) }
    case UInt8(ascii: "[") where bytes.isEmpty: swallowsOne = true
    case 0x40...0x7E where bytes.count >= Self.longestSequence: reset()
    case UInt8(ascii: "~") where bytes == Array("200".utf8):
      reset()
      state = .paste
    case 0x40...0x7E: end(KeySequence.key(parameters: bytes, final: byte), &keys)
    default: abort(byte, &keys)
    }
  }

  /// Ends the sequence at a control character, which is parsed on its own.
  private mutating func abort(_ byte: UInt8, _ keys: inout [Key]) {
    reset()
    takeFirst(byte, &keys)
  }

  private mutating func takeString(_ byte: UInt8) {
    // BEL or ST (ESC \) ends the string.
    if byte == 0x07 || (byte == UInt8(ascii: "\\") && bytes.last == 0x1B) {
      reset()
    } else {
      // Only the last byte matters.
      bytes = [byte]
    }
  }

  private mutating func takePaste(_ byte: UInt8, _ keys: inout [Key]) {
    if bytes.count >= Self.longestPaste {
      bytes.removeSubrange(0..<(bytes.count - Self.pasteEnd.count))
    }
    bytes.append(byte)
    guard bytes.suffix(Self.pasteEnd.count).elementsEqual(Self.pasteEnd) else { return }
    let text = String(decoding: bytes.dropLast(Self.pasteEnd.count), as: UTF8.self)
    state = .ground
    reset()
    keys.append(Key(.paste(text)))
  }
}
