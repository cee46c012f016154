// SPDX-License-Identifier: MIT
import Refrain
import RefrainProxy

/// Writes metrics as text: in the format of OpenMetrics 1.0, or of Prometheus 0.0.4, which names
/// counters differently and has no units. A pure value.
struct MetricsText: Sendable {
  enum Format: Sendable {
    case openMetrics
    case prometheus

    /// Returns the format for a request: OpenMetrics if its Accept names it, as Prometheus does, and
    /// prefers it to `text/plain`. Other programs, such as `curl` and `promtool check metrics`, know
    /// the older format.
    init(_ request: HeaderFields) {
      let accepted = AcceptedTypes(request)
      let weight = accepted.weight(of: "application/openmetrics-text")
      let isNamed = weight > 0 && weight >= accepted.weight(of: "text/plain")
      self = isNamed ? .openMetrics : .prometheus
    }

    var contentType: String {
      switch self {
      case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
      case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
      }
    }
  }

  let format: Format
  private var text = ""

  init(format: Format) { self.format = format }

  /// The whole exposition.
  var exposition: String { format == .openMetrics ? text + "# EOF\n" : text }

  /// Writes a counter with one sample for each set of labels.
  ///
  /// - Parameter name: without `_total`; ends with the unit, if there is one.
  mutating func counter(
    _ name: String, unit: String? = nil, _ help: String, _ samples: [(Labels, Int64)]
  ) {
    begin(format == .openMetrics ? name : name + "_total", "counter", unit, help)
    for (labels, value) in samples { sample(name + "_total", labels, "\(value)") }
  }

  mutating func counter(_ name: String, unit: String? = nil, _ help: String, _ value: Int64) {
    counter(name, unit: unit, help, [([], value)])
  }

  /// - Parameter value: nothing is written for nil.
  mutating func gauge(_ name: String, unit: String? = nil, _ help: String, _ value: Int64?) {
    guard let value else { return }
    begin(name, "gauge", unit, help)
    sample(name, [], "\(value)")
  }

  mutating func summary(
    _ name: String, unit: String, _ help: String, count: Int64, sum: Double
  ) {
    begin(name, "summary", unit, help)
    sample(name + "_sum", [], "\(sum)")
    sample(name + "_count", [], "\(count)")
  }

  /// Writes labels that describe the program.
  ///
  /// - Parameter name: without `_info`.
  mutating func info(_ name: String, _ help: String, _ labels: Labels) {
    switch format {
    case .openMetrics: begin(name, "info", nil, help)
    case .prometheus: begin(name + "_info", "gauge", nil, help)
    }
    sample(name + "_info", labels, "1")
  }

  typealias Labels = [(name: String, value: String)]

  private mutating func begin(_ name: String, _ type: String, _ unit: String?, _ help: String) {
    text += "# TYPE \(name) \(type)\n"
    if let unit, format == .openMetrics { text += "# UNIT \(name) \(unit)\n" }
    text += "# HELP \(name) \(Self.escaped(help))\n"
  }

  private mutating func sample(_ name: String, _ labels: Labels, _ value: String) {
    text += name
    if !labels.isEmpty {
      let list = labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }
      text += "{\(list.joined(separator: ","))}"
    }
    text += " \(value)\n"
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }
}

/// The media types that a client names in Accept (RFC 9110 §12.5.1). A pure value. A range such as
/// `*/*`, which nearly every program sends, names no type.
struct AcceptedTypes: Sendable, Hashable {
  private var weights: [String: Double] = [:]

  init(_ fields: HeaderFields) {
    for range in (fields["Accept"] ?? "").split(separator: ",") {
      let parts = range.split(separator: ";").map { $0.trimmingOWS.lowercased() }
      guard let type = parts.first else { continue }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
      // One type may be named several times, in several versions.
      weights[type] = max(weights[type] ?? 0, weight.flatMap { Double($0) } ?? 1)
    }
  }

  /// Returns how much the client wants a type, from 0 to 1; 0 if it does not name the type.
  ///
  /// - Parameter type: in lower case, without parameters.
  func weight(of type: String) -> Double { weights[type] ?? 0 }
}
