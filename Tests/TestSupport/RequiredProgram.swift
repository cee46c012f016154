// SPDX-License-Identifier: MIT
package import Foundation

/// A system program that tests start: a server, a player, a checker.
///
/// Where it is not installed, the tests that need it are skipped and a line reports this; with
/// `REFRAIN_REQUIRE_CLIENTS=1` in the environment they run, and fail. `REFRAIN_HIDE_CLIENTS=1`
/// hides every program, which shows on any machine how the tests behave without them. Every test
/// that starts a client finds it only here. Use:
///
///     @Suite(.enabled(if: RequiredProgram.nginx.isUsable))
///     let nginx = try RequiredProgram.nginx.path
package struct RequiredProgram: Sendable {
  private let requirement: Requirement<URL>

  package struct Missing: Error, CustomStringConvertible {
    package let name: String
    package var description: String { "\(name) is not installed (make clients)" }
  }

  /// Looks for the program, and prints a line if tests are skipped without it. Keep it in a
  /// `static let`, so that this happens once.
  package init(
    _ name: String, environment: [String: String] = ProcessInfo.processInfo.environment
  ) {
    requirement = Requirement(name, environment: environment) { Self.find(name, in: environment) }
  }

  package var name: String { requirement.name }

  /// Whether tests that need it run. Also true if it is missing but required.
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
  package static let xvfb = RequiredProgram("Xvfb")
  package static let xdotool = RequiredProgram("xdotool")
  /// ImageMagick, which takes pictures of windows, and reads them.
  package static let imageMagick = RequiredProgram("import")
  package static let convert = RequiredProgram("convert")
  package static let git = RequiredProgram("git")
  package static let swift = RequiredProgram("swift")
  package static let tinyproxy = RequiredProgram("tinyproxy")
  package static let microsocks = RequiredProgram("microsocks")
  package static let dbusDaemon = RequiredProgram("dbus-daemon")
  package static let playerctl = RequiredProgram("playerctl")
  package static let busctl = RequiredProgram("busctl")

  /// Returns the system's own program before a version manager's shim, which is slow to start. Also
  /// looks in the folders of servers, which a user's PATH need not contain.
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
