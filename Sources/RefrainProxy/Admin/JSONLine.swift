// SPDX-License-Identifier: MIT
import Foundation

enum JSONLine {
  /// Returns a value as one line of JSON, with its members in the order of their names.
  static func bytes(of value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return [UInt8](try encoder.encode(value)) + [UInt8(ascii: "\n")]
  }
}
