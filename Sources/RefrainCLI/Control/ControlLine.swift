// SPDX-License-Identifier: MIT

/// A line of a client. A pure value.
enum ControlLine: Sendable, Hashable {
  /// An empty line or a comment, which mpv ignores too.
  case nothing
  /// An object, which has a reply.
  case request(ControlRequest)
  /// Text, to whose commands nobody replies: all of them are valid.
  case text([ControlCommand])

  /// Reads a line.
  ///
  /// - Throws: the reply to an object that is no request. As in mpv, no command of a line of text is
  ///   performed if one of them is refused.
  init(_ line: some Collection<UInt8>) throws(ControlFailure) {
    let line = line.drop { [0x20, 0x09, 0x0D].contains($0) }
    switch line.first {
    case nil, UInt8(ascii: "#"): self = .nothing
    case UInt8(ascii: "{"): self = .request(try ControlRequest(line))
    default:
      do throws(ControlRefusal) {
        var commands: [ControlCommand] = []
        for words in try ControlText(line).commands { commands.append(try ControlCommand(words)) }
        self = .text(commands)
      } catch {
        throw ControlFailure(id: nil, error)
      }
    }
  }
}
