// SPDX-License-Identifier: MIT
import Refrain

/// Writes metrics in the text format 0.0.4 of Prometheus, which all its versions read.
struct MetricsText: Sendable {
  static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  typealias Labels = [(name: String, value: String)]

  private(set) var exposition = ""

  /// - Parameter name: ends with `_total`.
  mutating func counter(_ name: String, _ help: String, _ samples: [(Labels, Int64)]) {
    begin(name, "counter", help)
    for (labels, value) in samples { sample(name, labels, "\(value)") }
  }

  mutating func counter(_ name: String, _ help: String, _ value: Int64) {
    counter(name, help, [([], value)])
  }

  mutating func gauge(_ name: String, _ help: String, _ value: Int64?, _ labels: Labels = []) {
    guard let value else { return }
    begin(name, "gauge", help)
    sample(name, labels, "\(value)")
  }

  mutating func summary(_ name: String, _ help: String, count: Int64, sum: Double) {
    begin(name, "summary", help)
    sample(name + "_sum", [], "\(sum)")
    sample(name + "_count", [], "\(count)")
  }

  private mutating func begin(_ name: String, _ type: String, _ help: String) {
    exposition += "# TYPE \(name) \(type)\n# HELP \(name) \(Self.escaped(help))\n"
  }

  private mutating func sample(_ name: String, _ labels: Labels, _ value: String) {
    exposition += name
    if !labels.isEmpty {
      let list = labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }
      exposition += "{\(list.joined(separator: ","))}"
    }
    exposition += " \(value)\n"
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }
}
