// SPDX-License-Identifier: MIT
package import Foundation

/// A script of a web page that tests run in a browser: a player. `make clients` installs it in a
/// folder of the user (see `.ci/install-scripts`).
///
/// Tests that need it are skipped, or fail, as those that need a `RequiredProgram`. Use:
///
///     @Suite(.enabled(if: RequiredScript.hlsJS.isUsable))
package struct RequiredScript: Sendable {
  private let requirement: Requirement<URL>

  package struct Missing: Error, CustomStringConvertible {
    package let name: String
    package var description: String { "\(name) is not installed (make clients)" }
  }

  /// Looks for the script, and prints a line if tests are skipped without it. Keep it in a
  /// `static let`, so that this happens once.
  package init(
    _ name: String, environment: [String: String] = ProcessInfo.processInfo.environment
  ) {
    requirement = Requirement(name, environment: environment) { Self.find(name, in: environment) }
  }

  package var name: String { requirement.name }

  /// Whether tests that need it run. Also true if it is missing but required.
  package var isUsable: Bool { requirement.isUsable }

  /// Reads the script.
  ///
  /// - Throws: `Missing`, or the error of reading.
  package var contents: Data {
    get throws {
      guard let found = requirement.found else { throw Missing(name: name) }
      return try Data(contentsOf: found)
    }
  }

  package static let hlsJS = RequiredScript("hls.js")
  package static let videoJS = RequiredScript("video.js")

  private static func find(_ name: String, in environment: [String: String]) -> URL? {
    let home = URL(filePath: environment["HOME"] ?? NSHomeDirectory(), directoryHint: .isDirectory)
    let data = environment["XDG_DATA_HOME"].flatMap { path in
      path.isEmpty ? nil : URL(filePath: path, directoryHint: .isDirectory)
    }
    let folder = data ?? home.appending(path: ".local/share", directoryHint: .isDirectory)
    let file = folder.appending(path: "refrain-tests/\(name)")
    let isThere = FileManager.default.fileExists(atPath: file.path(percentEncoded: false))
    return isThere ? file : nil
  }
}
