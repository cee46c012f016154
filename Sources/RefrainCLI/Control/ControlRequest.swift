// SPDX-License-Identifier: MIT
import Foundation

/// An object of a client: `{"command": ["seek", 30, "relative"], "request_id": 1}`, or with named
/// arguments `{"command": {"name": "seek", "target": 30}, "request_id": 1}`. A pure value.
struct ControlRequest: Sendable, Hashable {
  /// The name of the command, and its arguments in their order.
  var words: [ControlValue]
  var id: ControlValue

  /// No command has more arguments.
  private static let wordLimit = 16

  /// Reads an object.
  ///
  /// - Throws: the reply to what is no request, with its identifier if it is an object.
  init(_ line: some Collection<UInt8>) throws(ControlFailure) {
    let message: Message
    do {
      message = try JSONDecoder().decode(Message.self, from: Data(line))
    } catch {
      throw ControlFailure(
        id: .integer(0),
        .init(
          .invalidParameter,
          #"A line is an object, as in {"command": ["get_property", "pause"], "request_id": 1}."#))
    }
    id = message.id
    do throws(ControlRefusal) {
      words = try message.command.words()
    } catch {
      throw ControlFailure(id: message.id, error)
    }
  }

  // MARK: JSON

  private struct Message: Decodable {
    var id: ControlValue
    var command: Command

    private enum CodingKeys: String, CodingKey {
      case command
      case id = "request_id"
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      id = try container.decodeIfPresent(ControlValue.self, forKey: .id) ?? .integer(0)
      // The reply to any other value has the identifier too.
      command = (try? container.decode(Command.self, forKey: .command)) ?? .unreadable
    }
  }

  private enum Command: Decodable {
    case list([ControlValue])
    case named([String: ControlValue])
    case unreadable

    /// The name of a member.
    private struct Name: CodingKey {
      var stringValue: String
      var intValue: Int? { nil }

      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
      if let container = try? decoder.container(keyedBy: Name.self) {
        var members: [String: ControlValue] = [:]
        // The prefixes of a command (`_flags`) change nothing.
        for key in container.allKeys where key.stringValue != "_flags" {
          members[key.stringValue] = try container.decode(ControlValue.self, forKey: key)
        }
        self = .named(members)
        return
      }
      var container = try decoder.unkeyedContainer()
      var words: [ControlValue] = []
      while !container.isAtEnd {
        guard words.count < ControlRequest.wordLimit else {
          throw DecodingError.dataCorruptedError(in: container, debugDescription: "Too many words.")
        }
        words.append(try container.decode(ControlValue.self))
      }
      self = .list(words)
    }

    func words() throws(ControlRefusal) -> [ControlValue] {
      switch self {
      case .list(let words): return words
      case .named(let members): return try ControlParameters.words(of: members)
      case .unreadable:
        throw ControlRefusal(
          .invalidParameter,
          #"'command' is a list of texts, numbers, true and false, as in "#
            + #"{"command": ["get_property", "pause"], "request_id": 1}."#)
      }
    }
  }
}

/// The refusal of a line.
struct ControlFailure: Error, Hashable {
  /// Nil: nobody replies to text.
  var id: ControlValue?
  var refusal: ControlRefusal

  init(id: ControlValue?, _ refusal: ControlRefusal) {
    (self.id, self.refusal) = (id, refusal)
  }
}
