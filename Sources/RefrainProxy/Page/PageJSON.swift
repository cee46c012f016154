// SPDX-License-Identifier: MIT
import Refrain

/// Writes JSON (RFC 8259) for the page. `JSONEncoder` takes seconds for ten thousand rows.
struct PageJSON: Sendable {
  private(set) var bytes: [UInt8] = []
  /// Whether a comma is due before the next value.
  private var isFirst = true

  /// Writes an object with the members that `body` writes.
  mutating func object(_ body: (inout PageJSON) -> Void) { enclosed("{", "}", body) }

  mutating func array(_ body: (inout PageJSON) -> Void) { enclosed("[", "]", body) }

  /// Begins a member of an object; its value follows.
  mutating func name(_ name: StaticString) {
    comma()
    raw("\"")
    raw(name)
    raw("\":")
    isFirst = true
  }

  mutating func member(_ name: StaticString, _ value: String?) {
    guard let value else { return }
    self.name(name)
    string(value)
  }

  mutating func member(_ name: StaticString, _ value: (some BinaryInteger)?) {
    guard let value else { return }
    self.name(name)
    number(value)
  }

  /// A member that is true; left out otherwise.
  mutating func flag(_ name: StaticString, _ value: Bool) {
    guard value else { return }
    self.name(name)
    comma()
    raw("true")
  }

  /// The bounds of ranges, one after the other; left out if there are none.
  mutating func member(_ name: StaticString, _ ranges: [ByteRange]) {
    guard !ranges.isEmpty else { return }
    self.name(name)
    array { json in
      for range in ranges {
        json.number(range.lowerBound)
        json.number(range.upperBound)
      }
    }
  }

  mutating func member(_ name: StaticString, _ numbers: [Int64]) {
    guard !numbers.isEmpty else { return }
    self.name(name)
    array { json in
      for number in numbers { json.number(number) }
    }
  }

  mutating func number(_ value: some BinaryInteger) {
    comma()
    bytes.append(contentsOf: String(value).utf8)
  }

  /// Also escapes `<`, `>`, `&` and the line separators of JavaScript.
  mutating func string(_ text: String) {
    comma()
    raw("\"")
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": raw("\\\"")
      case "\\": raw("\\\\")
      case "<", ">", "&", "\u{2028}", "\u{2029}", "\u{0}"..."\u{1F}", "\u{7F}":
        let digits = String(scalar.value, radix: 16)
        raw("\\u")
        bytes.append(contentsOf: String(repeating: "0", count: 4 - digits.count).utf8)
        bytes.append(contentsOf: digits.utf8)
      default: bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      }
    }
    raw("\"")
  }

  private mutating func enclosed(
    _ start: StaticString, _ end: StaticString, _ body: (inout PageJSON) -> Void
  ) {
    comma()
    raw(start)
    isFirst = true
    body(&self)
    raw(end)
    isFirst = false
  }

  private mutating func comma() {
    if !isFirst { bytes.append(UInt8(ascii: ",")) }
    isFirst = false
  }

  private mutating func raw(_ text: StaticString) {
    text.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }
}

extension PageRow {
  func write(to json: inout PageJSON) {
    json.object { json in
      json.member("key", key.rawValue)
      json.member("url", url)
      json.member("type", type)
      json.member("parts", parts)
      json.member("length", length)
      json.member("stored", stored)
      json.member("disk", disk)
      json.member("used", used)
      if pinned != .no { json.member("pinned", pinned.rawValue) }
      if rate > 0 { json.member("rate", rate) }
      json.member("spans", spans)
      json.flag("rounded", isRounded)
      json.member("fetching", fetching)
      json.member("readers", readers)
    }
  }
}
