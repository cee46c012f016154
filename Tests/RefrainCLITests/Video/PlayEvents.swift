// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  /// The events of `play --json` that tests wait for, as parts of their lines.
  enum PlayEvents {
    static let started = #""event":"started""#
    static let isPaused = #""status":"paused""#
  }

  extension RunningProgram {
    /// Reads events until each of these texts was part of one, in any order.
    func events(_ texts: String...) async throws {
      var missing = texts
      while !missing.isEmpty {
        let line = try await nextLine()
        missing.removeAll { line.contains($0) }
      }
    }
  }
#endif
