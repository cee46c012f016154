// SPDX-License-Identifier: MIT

/// The names of arguments, where mpv has any (`mpv --input-cmdlist`).
enum ControlParameters {
  /// The names of a command's arguments, in their order. mpv names none of the commands of its IPC
  /// itself (`get_property`); for `set`, `add`, `cycle` and `multiply`, 'name' has two meanings.
  private static let parameters: [String: [String]] = [
    "seek": ["target", "flags", "legacy"], "stop": ["flags"], "quit": ["code"],
    "loadfile": ["url", "flags"], "loadlist": ["url", "flags"], "playlist-next": ["flags"],
    "playlist-prev": ["flags"], "playlist-play-index": ["index"], "playlist-remove": ["index"],
    "playlist-move": ["index1", "index2"], "playlist-clear": [], "playlist-shuffle": [],
    "playlist-unshuffle": [], "show-text": ["text", "duration", "level"],
  ]

  /// Returns the words of a command with named arguments: its name, and the arguments in their
  /// order. One that is left out between others is null.
  static func words(of members: [String: ControlValue]) throws(ControlRefusal) -> [ControlValue] {
    guard let name = members["name"]?.text else {
      throw ControlRefusal(
        .invalidParameter,
        #"An object has the name of a command, as in {"name": "seek", "target": 30}."#)
    }
    guard let names = parameters[name] else {
      throw ControlRefusal(
        .invalidParameter,
        #"'\#(name)' has no named arguments. Send a list, as in ["get_property", "pause"]."#)
    }
    if let unknown = members.keys.filter({ $0 != "name" && !names.contains($0) }).min() {
      let known = names.isEmpty ? "it has none" : "there are \(names.joined(separator: ", "))"
      throw ControlRefusal(.invalidParameter, "\(name): no argument is '\(unknown)'; \(known).")
    }
    let count = names.lastIndex { members[$0] != nil }.map { $0 + 1 } ?? 0
    return [.string(name)] + names.prefix(count).map { members[$0] ?? .null }
  }
}
