// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Opens the proxy's page in the user's browser.
enum BrowserOpening {
  #if os(macOS)
    static let program = "open"
  #else
    static let program = "xdg-open"
  #endif

  /// A file in the cache directory that leads to the page.
  static let fileName = "page.html"

  /// Returns as soon as the browser is asked. A failure is only reported: the proxy works without.
  ///
  /// The browser opens a file that leads to the page and that only its owner can read: the
  /// arguments of a program, in which the token would stand, are visible to every user.
  static func open(_ page: URL, _ cache: MediaCache, _ options: GlobalOptions) async {
    let files = cache.privateFiles
    let text = """
      <!doctype html>
      <meta charset="utf-8">
      <meta name="referrer" content="no-referrer">
      <meta http-equiv="refresh" content="0; url=\(page.absoluteString)">
      <title>Refrain</title>

      """
    do {
      try await IOThreads.background.run {
        try files.replace(fileName, with: Array(text.utf8), syncs: false)
      }
      try start(files.path(of: fileName)) { warn(options) }
    } catch {
      warn(options)
    }
  }

  private static func start(_ file: String, failed: @Sendable @escaping () -> Void) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [program, file]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    process.terminationHandler = { ended in
      if ended.terminationStatus != 0 { failed() }
    }
    try process.run()
  }

  private static func warn(_ options: GlobalOptions) {
    guard options.logLevel >= .warning else { return }
    Console.shared.noteLater(
      "refrain: '\(program)' could not open a browser. Open the proxy's URL in one yourself.")
  }
}
