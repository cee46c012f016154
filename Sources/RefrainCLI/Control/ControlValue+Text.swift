// SPDX-License-Identifier: MIT
import Foundation

extension ControlValue {
  /// The value as a text, as mpv writes those of its properties.
  var propertyText: String {
    switch self {
    case .null: ""
    case .bool(let flag): flag ? "yes" : "no"
    case .integer(let number): "\(number)"
    case .number(let number): String(format: "%f", number)
    case .string(let text): text
    case .array, .object: json
    }
  }
}
