// SPDX-License-Identifier: MIT
#if os(Linux)
  import CSDBus
  import Glibc

  /// A message that is written or read. Used on one thread.
  struct BusMessage {
    let sd: BusFunctions
    let pointer: OpaquePointer

    private static func type(_ character: Unicode.Scalar) -> CChar {
      CChar(truncatingIfNeeded: character.value)
    }

    private func container(
      _ type: Unicode.Scalar, _ contents: String, _ write: () throws -> Void
    ) throws {
      try check(sd.message_open_container(pointer, Self.type(type), contents))
      try write()
      try check(sd.message_close_container(pointer))
    }

    private func append(_ type: Unicode.Scalar, _ text: String) throws {
      // Of a string, the pointer itself is the value.
      try text.onBus.withCString { text in
        _ = try check(sd.message_append_basic(pointer, Self.type(type), text))
      }
    }

    func append(_ value: DBusValue) throws {
      switch value {
      case .string(let text): try append("s", text)
      case .path(let path): try append("o", path)
      case .bool(let isTrue):
        var number: CInt = isTrue ? 1 : 0
        try check(sd.message_append_basic(pointer, Self.type("b"), &number))
      case .int64(var number):
        try check(sd.message_append_basic(pointer, Self.type("x"), &number))
      case .double(var number):
        try check(sd.message_append_basic(pointer, Self.type("d"), &number))
      case .strings(let texts):
        try container("a", "s") { for text in texts { try append("s", text) } }
      case .paths(let paths):
        try container("a", "o") { for path in paths { try append("o", path) } }
      case .map(let fields): try append(fields)
      }
    }

    private func append(_ fields: [String: DBusValue]) throws {
      try container("a", "{sv}") {
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
          try container("e", "sv") {
            try append("s", name)
            try container("v", value.signature) { try append(value) }
          }
        }
      }
    }

    /// Appends an array of maps.
    func append(_ maps: [[String: DBusValue]]) throws {
      try container("a", "a{sv}") { for map in maps { try append(map) } }
    }

    /// Reads the next value, of a type that calls have.
    func read(_ signature: String) throws -> DBusValue {
      switch signature {
      case "s": return .string(try readText("s"))
      case "o": return .path(try readText("o"))
      case "b":
        var number: CInt = 0
        try check(sd.message_read_basic(pointer, Self.type("b"), &number))
        return .bool(number != 0)
      case "x":
        var number: Int64 = 0
        try check(sd.message_read_basic(pointer, Self.type("x"), &number))
        return .int64(number)
      case "d":
        var number = 0.0
        try check(sd.message_read_basic(pointer, Self.type("d"), &number))
        return .double(number)
      case "ao": return .paths(try readPaths())
      default: throw BusError(number: -EINVAL)
      }
    }

    /// Reads a number without a sign, of 32 bits.
    func readNumber() throws -> UInt32 {
      var number: UInt32 = 0
      try check(sd.message_read_basic(pointer, Self.type("u"), &number))
      return number
    }

    private func readText(_ type: Unicode.Scalar) throws -> String {
      try readOptionalText(type) ?? ""
    }

    /// Returns nil at the end of an array.
    private func readOptionalText(_ type: Unicode.Scalar) throws -> String? {
      // Belongs to the message.
      var text: UnsafePointer<CChar>?
      guard try check(sd.message_read_basic(pointer, Self.type(type), &text)) > 0 else {
        return nil
      }
      return text.map { String(cString: $0) }
    }

    private func readPaths() throws -> [String] {
      try check(sd.message_enter_container(pointer, Self.type("a"), "o"))
      var paths: [String] = []
      while let path = try readOptionalText("o") { paths.append(path) }
      try check(sd.message_exit_container(pointer))
      return paths
    }
  }

  extension String {
    /// The text as the bus accepts it: without NUL, which would end it, and with U+FFFD in place of
    /// noncharacters, which sd-bus refuses.
    var onBus: String {
      guard unicodeScalars.contains(where: { $0.value == 0 || $0.isNoncharacter }) else {
        return self
      }
      var text = UnicodeScalarView()
      for scalar in unicodeScalars where scalar.value != 0 {
        text.append(scalar.isNoncharacter ? "\u{FFFD}" : scalar)
      }
      return String(text)
    }
  }

  extension Unicode.Scalar {
    fileprivate var isNoncharacter: Bool {
      (0xFDD0...0xFDEF).contains(value) || value & 0xFFFE == 0xFFFE
    }
  }

  /// A negative error number that sd-bus returned.
  struct BusError: Error {
    var number: CInt

    /// Whether the connection to the bus is gone.
    var isOfConnection: Bool { [-ENOTCONN, -ECONNRESET, -EPIPE].contains(number) }
  }

  /// - Throws: `BusError` if the result is negative.
  @discardableResult
  func check(_ result: CInt) throws -> CInt {
    guard result >= 0 else { throw BusError(number: result) }
    return result
  }
#endif
