// SPDX-License-Identifier: MIT

/// The result of a client's command: its data, or the reason why it was refused.
typealias ControlAnswer = Result<ControlValue, ControlRefusal>

/// The refusal of a command. A pure value.
struct ControlRefusal: Error, Sendable, Hashable {
  /// mpv's texts, which programs compare (libmpv's `mpv_error_string`).
  enum Fault: String, Sendable {
    case invalidParameter = "invalid parameter"
    case propertyNotFound = "property not found"
    case propertyUnavailable = "property unavailable"
    case propertyFormat = "unsupported format for accessing property"
    case propertyError = "error accessing property"
    case commandFailed = "error running command"
    case loadingFailed = "loading failed"
  }

  var fault: Fault
  /// For people: the reason and the remedy.
  var message: String

  init(_ fault: Fault, _ message: String) {
    self.fault = fault
    self.message = message
  }

  static let playerHasEnded = ControlRefusal(.commandFailed, "The player has ended.")

  static func unknown(property name: String) -> ControlRefusal {
    ControlRefusal(
      .propertyNotFound,
      "There is no property '\(name)'. These exist: \(ControlProperty.names).")
  }
}

/// The line that answers a command.
struct ControlReply: Sendable, Hashable {
  /// As the client sent it; 0 without one, as mpv replies.
  var id: ControlValue
  var answer: ControlAnswer

  var value: ControlValue {
    switch answer {
    case .success(let data):
      .object(["error": .string("success"), "data": data, "request_id": id])
    case .failure(let refusal):
      .object([
        "error": .string(refusal.fault.rawValue), "message": .string(refusal.message),
        "request_id": id,
      ])
    }
  }
}
