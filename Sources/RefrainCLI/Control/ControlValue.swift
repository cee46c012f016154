// SPDX-License-Identifier: MIT

/// A value in the lines of a control socket. A pure value.
enum ControlValue: Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([ControlValue])
  case object([String: ControlValue])

  init(_ value: Int) { self = .integer(Int64(value)) }

  /// Seconds; finite.
  init(_ time: Duration) {
    self = .number((time / .microseconds(1)).rounded() / 1e6)
  }

  init(_ text: String?) { self = text.map(ControlValue.string) ?? .null }

  /// A switch: true, false, or `yes`, `no` as text.
  var flag: Bool? {
    switch self {
    case .bool(let flag): flag
    case .string("yes"), .string("true"): true
    case .string("no"), .string("false"): false
    default: nil
    }
  }

  /// A finite number, also as text.
  var finite: Double? {
    let number: Double? =
      switch self {
      case .integer(let number): Double(number)
      case .number(let number): number
      case .string(let text): Double(text)
      default: nil
      }
    return number.flatMap { $0.isFinite ? $0 : nil }
  }

  /// A whole number, also as text, no larger than any index or identifier.
  var whole: Int? { finite.flatMap { Int(exactly: $0) } }

  var text: String? {
    if case .string(let text) = self { text } else { nil }
  }
}

// MARK: JSON

extension ControlValue {
  /// JSON in one line, with sorted keys. What JSON cannot express, such as an infinite number, is
  /// null.
  var json: String {
    var bytes: [UInt8] = []
    write(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends JSON. Written here, because encoding a long playlist takes `JSONEncoder` seconds.
  func write(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += "null".utf8
    case .bool(let flag): bytes += (flag ? "true" : "false").utf8
    case .integer(let number): bytes += "\(number)".utf8
    case .number(let number): bytes += (number.isFinite ? "\(number)" : "null").utf8
    case .string(let text): Self.write(text, to: &bytes)
    case .array(let values):
      bytes.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        Self.write(member.key, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  /// Escapes what RFC 8259 §7 demands.
  private static func write(_ text: String, to bytes: inout [UInt8]) {
    let digits = Array("0123456789abcdef".utf8)
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case 0x0A: bytes += #"\n"#.utf8
      case 0..<0x20: bytes += #"\u00"#.utf8 + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}

/// Reads what a client may send as an argument or an identifier: no array and no object.
extension ControlValue: Decodable {
  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    // Each failure means another type.
    if container.decodeNil() {
      self = .null
    } else if let flag = try? container.decode(Bool.self) {
      self = .bool(flag)
    } else if let number = try? container.decode(Int64.self) {
      self = .integer(number)
    } else if let number = try? container.decode(Double.self), number.isFinite {
      self = .number(number)
    } else {
      self = .string(try container.decode(String.self))
    }
  }
}
