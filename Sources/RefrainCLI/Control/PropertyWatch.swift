// SPDX-License-Identifier: MIT
#if os(Linux)
  /// The observation of a property by a client. A pure value.
  ///
  /// What changes while the client does not read, or faster than the property's pace, is sent once:
  /// the latest value.
  struct PropertyWatch: Sendable {
    let id: Int64
    let name: String
    /// Whether values are sent as texts.
    private let isText: Bool
    private let property: ControlProperty?
    /// Nil: the whole property is observed.
    private let part: ControlPropertyPart?
    /// The state whose value was sent last.
    private var shown: ControlState?
    private var due: ContinuousClock.Instant?

    enum Look: Sendable, Hashable {
      case same
      /// It has changed, and may be sent then.
      case later(ContinuousClock.Instant)
      /// Nil: the property has no value now.
      case changed(ControlValue?)
    }

    init(id: Int64, name: String, isText: Bool = false) {
      (self.id, self.name, self.isText) = (id, name, isText)
      part = ControlPropertyPart(name)
      property = part?.property ?? ControlProperty(name)
    }

    /// Compares the state with what was sent last. The first look is always a change.
    mutating func look(at state: ControlState, at now: ContinuousClock.Instant) -> Look {
      if let shown {
        guard let property, !state.hasSame(property, as: shown) else { return .same }
        if part != nil, value(in: state) == value(in: shown) {
          self.shown = state
          return .same
        }
        if let due, now < due { return .later(due) }
      }
      shown = state
      due = property.map { now + $0.pace }
      return .changed(value(in: state))
    }

    private func value(in state: ControlState) -> ControlValue? {
      if let part { return state.value(of: part) }
      return property.flatMap { state.value(of: $0) }
    }

    /// Returns the line of a change.
    func line(_ value: ControlValue?) -> ControlValue {
      var members: [String: ControlValue] = [
        "event": .string("property-change"), "id": .integer(id), "name": .string(name),
      ]
      members["data"] = isText ? value.map { .string($0.propertyText) } : value
      return .object(members)
    }
  }
#endif
