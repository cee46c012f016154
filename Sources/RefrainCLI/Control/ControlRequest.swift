// SPDX-License-Identifier: MIT
import Foundation

/// A line of a client: `{"command": ["seek", 30, "relative"], "request_id": 1}`. A pure value.
struct ControlRequest: Sendable, Hashable {
  /// The name of the command, and its arguments.
  var words: [ControlValue]
  var id: ControlValue

  /// No command has more arguments.
  private static let wordLimit = 16

  /// Reads a line.
  ///
  /// - Returns: nil for an empty line and a comment, which mpv ignores too.
  /// - Throws: the reply to a line that is no request.
  init?(_ line: some Collection<UInt8>) throws(ControlFailure) {
    let text = line.drop { [0x20, 0x09, 0x0D].contains($0) }
    guard let first = text.first, first != UInt8(ascii: "#") else { return nil }
    let message: Message
    do {
      message = try JSONDecoder().decode(Message.self, from: Data(text))
    } catch {
      throw ControlFailure(
        id: .integer(0),
        .init(
          .invalidParameter,
          #"A line is an object, as in {"command": ["get_property", "pause"], "request_id": 1}."#))
    }
    words = message.words
    id = message.id
  }

  private struct Message: Decodable {
    var words: [ControlValue]
    var id: ControlValue

    private enum CodingKeys: String, CodingKey {
      case command
      case id = "request_id"
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      id = try container.decodeIfPresent(ControlValue.self, forKey: .id) ?? .integer(0)
      var list = try container.nestedUnkeyedContainer(forKey: .command)
      words = []
      while !list.isAtEnd {
        guard words.count < ControlRequest.wordLimit else {
          throw DecodingError.dataCorruptedError(in: list, debugDescription: "Too many words.")
        }
        words.append(try list.decode(ControlValue.self))
      }
    }
  }
}

/// The refusal of a line.
struct ControlFailure: Error, Hashable {
  var id: ControlValue
  var refusal: ControlRefusal

  init(id: ControlValue, _ refusal: ControlRefusal) {
    (self.id, self.refusal) = (id, refusal)
  }
}
