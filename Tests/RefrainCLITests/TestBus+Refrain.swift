// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport

  /// What a desktop asks of `refrain play` (MPRIS).
  extension TestBus {
    /// The arguments of env(1) for `refrain play` with this bus.
    func playing(_ arguments: [String]) throws -> [String] {
      [
        "DBUS_SESSION_BUS_ADDRESS=\(address)",
        try Program.executable().path(percentEncoded: false), "play",
      ] + arguments
    }

    /// Runs playerctl for the player, and returns what it prints.
    func playerctl(_ arguments: String...) async throws -> String {
      try await run(RequiredProgram.playerctl, arguments: ["--player=refrain"] + arguments).text
    }

    /// Runs busctl for a member of the player, and returns what it prints.
    ///
    /// - Parameters:
    ///   - verb: `call`, `get-property` or `set-property`.
    ///   - part: the last part of the interface's name; nil: it has none.
    func busctl(
      _ verb: String, _ member: String, _ arguments: String..., of part: String? = nil
    ) async throws -> String {
      let interface = "org.mpris.MediaPlayer2"
      return try await run(
        RequiredProgram.busctl,
        arguments: [
          "--user", verb, "\(interface).refrain", "/org/mpris/MediaPlayer2",
          part.map { "\(interface).\($0)" } ?? interface, member,
        ] + arguments
      ).text
    }
  }
#endif
