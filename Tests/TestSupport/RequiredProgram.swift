// SPDX-License-Identifier: MIT
package import Foundation

/// A program of the system that tests start: a server, a player, a checker.
///
/// Where it is not installed, the tests that need it are skipped and a line says so; with
/// `REFRAIN_REQUIRE_CLIENTS=1` in the environment they run, and fail. `REFRAIN_HIDE_CLIENTS=1` hides
/// every program, which shows on any machine what the tests do on one that has none. Every test that
/// starts a client finds it here, and nowhere else. Use:
///
///     @Suite(.enabled(if: RequiredProgram.nginx.isUsable))
///     let nginx = try RequiredProgram.nginx.path
package struct RequiredProgram: Sendable {
  private let requirement: Requirement<URL>

  package struct Missing: Error, CustomStringConvertible {
    package let name: String
    package var description: String { "\(name) is not installed (make clients)" }
  }

  /// Looks for it, and prints a line where tests are skipped for the lack of it. Keep it in a
  /// `static let`, so that this happens once.
  package init(
    _ name: String, environment: [String: String] = ProcessInfo.processInfo.environment
  ) {
    requirement = Requirement(name, environment: environment) { Self.find(name, in: environment) }
  }

  package var name: String { requirement.name }

  /// Whether tests that need it are to run. True also where it is missing and must not be.
  package var isUsable: Bool { requirement.isUsable }

  /// - Throws: `Missing`.
  package var path: URL {
    get throws {
      guard let found = requirement.found else { throw Missing(name: name) }
      return found
    }
  }

  package static let nginx = RequiredProgram("nginx")
  package static let rclone = RequiredProgram("rclone")
  package static let python3 = RequiredProgram("python3")
  package static let curl = RequiredProgram("curl")
  package static let ffmpeg = RequiredProgram("ffmpeg")
  package static let mpv = RequiredProgram("mpv")
  package static let vlc = RequiredProgram("vlc")
  package static let chromium = RequiredProgram("chromium")
  package static let openssl = RequiredProgram("openssl")
  package static let tmux = RequiredProgram("tmux")
  package static let git = RequiredProgram("git")
  package static let swift = RequiredProgram("swift")
  package static let tinyproxy = RequiredProgram("tinyproxy")
  package static let microsocks = RequiredProgram("microsocks")

  /// The system's own before what a version manager put in its place: such a shim is slow to start.
  /// Servers live where a user's PATH need not lead.
  private static func find(_ name: String, in environment: [String: String]) -> URL? {
    let path = environment["PATH"] ?? ""
    let directories =
      ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin"]
      + path.split(separator: ":").map(String.init)
    return directories.lazy.map { $0 + "/" + name }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
      .map { URL(filePath: $0, directoryHint: .notDirectory) }
  }
}
