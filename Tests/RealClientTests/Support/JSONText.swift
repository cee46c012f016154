// SPDX-License-Identifier: MIT
import Foundation

/// A text as JSON, which JavaScript reads as the same text.
enum JSONText {
  static func of(_ text: String) -> String {
    guard let data = try? JSONEncoder().encode(text) else { return "\"\"" }
    return String(decoding: data, as: UTF8.self)
  }
}
