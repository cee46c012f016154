// SPDX-License-Identifier: MIT

/// Parses an exposition strictly, by the rules of Prometheus 0.0.4.
struct MetricsReader {
  struct Malformed: Error, CustomStringConvertible {
    var description: String
  }

  struct Family {
    var type: String
    var help: String?
    var samples: [Sample] = []
  }

  struct Sample {
    var name: String
    var labels: [String: String]
    var value: Double
  }

  private(set) var families: [String: Family] = [:]
  private var current: String?

  init(_ text: String) throws {
    guard text.hasSuffix("\n") else { throw Malformed(description: "No line feed at the end") }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
      try read(line)
    }
    try close()
  }

  /// The value of the only sample of a name with these labels.
  func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
    let found = families.values.flatMap(\.samples).filter { $0.name == name && $0.labels == labels }
    return found.count == 1 ? found[0].value : nil
  }

  private mutating func read(_ line: Substring) throws {
    guard line.hasPrefix("# ") else { return try readSample(line) }
    let parts = line.dropFirst(2).split(separator: " ", maxSplits: 2).map(String.init)
    guard parts.count == 3 else { throw Malformed(description: "Not a descriptor: \(line)") }
    let (kind, name, value) = (parts[0], parts[1], parts[2])
    if kind == "TYPE" {
      try close()
      guard families[name] == nil else { throw Malformed(description: "\(name) comes twice") }
      guard ["counter", "gauge", "summary"].contains(value) else {
        throw Malformed(description: "No such type: \(line)")
      }
      families[name] = Family(type: value)
      current = name
      return
    }
    guard name == current, families[name]?.samples.isEmpty == true else {
      throw Malformed(description: "In the wrong place: \(line)")
    }
    switch kind {
    case "HELP":
      guard families[name]?.help == nil else { throw Malformed(description: "Twice: \(line)") }
      families[name]?.help = value
    default: throw Malformed(description: "Not a descriptor: \(line)")
    }
  }

  private mutating func readSample(_ line: Substring) throws {
    guard let current, let family = families[current] else {
      throw Malformed(description: "A sample of no family: \(line)")
    }
    let name = String(line.prefix { $0 != "{" && $0 != " " })
    let suffixes =
      switch family.type {
      case "summary": ["_sum", "_count"]
      default: [""]
      }
    guard suffixes.contains(where: { name == current + $0 }) else {
      throw Malformed(description: "\(name) is no sample of a \(family.type)")
    }
    var rest = line.dropFirst(name.count)
    var labels: [String: String] = [:]
    if rest.hasPrefix("{") {
      guard let end = rest.firstIndex(of: "}") else { throw Malformed(description: "\(line)") }
      for label in rest[rest.index(after: rest.startIndex)..<end].split(separator: ",") {
        let parts = label.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, parts[1].count >= 2, parts[1].hasPrefix("\""),
          parts[1].hasSuffix("\""), labels[String(parts[0])] == nil
        else { throw Malformed(description: "Not a label: \(label)") }
        labels[String(parts[0])] = String(parts[1].dropFirst().dropLast())
      }
      rest = rest[rest.index(after: end)...]
    }
    guard rest.hasPrefix(" "), let value = Double(rest.dropFirst()), value.isFinite, value >= 0
    else { throw Malformed(description: "No value: \(line)") }
    let isNew = !family.samples.contains { $0.name == name && $0.labels == labels }
    guard isNew else { throw Malformed(description: "The sample comes twice: \(line)") }
    families[current]?.samples.append(Sample(name: name, labels: labels, value: value))
  }

  /// Checks the family that has ended.
  private func close() throws {
    guard let current, let family = families[current] else { return }
    guard family.type != "counter" || current.hasSuffix("_total") else {
      throw Malformed(description: "\(current) is a counter without the suffix of one")
    }
    guard family.help != nil, !family.samples.isEmpty else {
      throw Malformed(description: "\(current) has no help or no samples")
    }
  }
}
