// SPDX-License-Identifier: MIT
import Foundation

/// The goal for a figure.
enum Goal: Sendable, Hashable, CustomStringConvertible {
  case atMost(Double)
  case atLeast(Double)

  func isMet(by figure: Double) -> Bool {
    switch self {
    case .atMost(let most): figure <= most
    case .atLeast(let least): figure >= least
    }
  }

  var description: String {
    switch self {
    case .atMost(let most): "≤ " + Self.short(most)
    case .atLeast(let least): "≥ " + Self.short(least)
    }
  }

  /// Formats without trailing zeros.
  private static func short(_ value: Double) -> String { String(format: "%g", value) }
}

/// One line of the report: the measured quantity and its goal.
struct Row: Sendable, Hashable {
  let name: String
  /// The goal, or nil for a figure that is only shown.
  let goal: Goal?
  let unit: String
  let digits: Int

  init(_ name: String, _ goal: Goal? = nil, unit: String = "", digits: Int = 2) {
    self.name = name
    self.goal = goal
    self.unit = unit
    self.digits = digits
  }

  func text(_ figure: Double) -> String { String(format: "%.\(digits)f", figure) }
}
