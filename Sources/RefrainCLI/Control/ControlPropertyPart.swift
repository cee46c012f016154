// SPDX-License-Identifier: MIT

/// A part of a property, by mpv's name for it: `playlist/count`, `track-list/0/lang`,
/// `metadata/by-key/artist` (mpv(1), "Properties"). A pure value.
struct ControlPropertyPart: Sendable, Hashable {
  let name: String
  let property: ControlProperty
  private let steps: [String]

  private static let wholes: Set<ControlProperty> = [.playlist, .tracks, .chapters, .metadata]

  /// Returns nil for another name, also that of a whole property.
  init?(_ name: String) {
    var steps = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard steps.count > 1, let property = ControlProperty(steps.removeFirst()),
      Self.wholes.contains(property)
    else { return nil }
    if property == .metadata, steps.count > 1, steps[0] == "by-key" { steps.removeFirst() }
    (self.name, self.property, self.steps) = (name, property, steps)
  }

  /// Returns the part of the property's value; nil: it has none. The case of names does not matter.
  func value(in whole: ControlValue) -> ControlValue? {
    var value = whole
    for step in steps {
      let next: ControlValue?
      switch value {
      case .array(let values) where step == "count": next = ControlValue(values.count)
      case .array(let values):
        next = Int(step).flatMap { values.indices.contains($0) ? values[$0] : nil }
      case .object(let members):
        next = members.first { $0.key.lowercased() == step.lowercased() }?.value
      default: next = nil
      }
      guard let next else { return nil }
      value = next
    }
    return value
  }
}

#if os(Linux)
  extension ControlState {
    /// Returns the value of a part of a property; nil: it has none now.
    func value(of part: ControlPropertyPart) -> ControlValue? {
      value(of: part.property).flatMap(part.value(in:))
    }
  }
#endif
