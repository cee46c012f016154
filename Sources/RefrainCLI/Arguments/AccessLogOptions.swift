// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainProxy

extension AccessLogLine.Format: ExpressibleByArgument {}

/// The access log of a proxy.
struct AccessLogOptions: ParsableArguments {
  @Option(
    name: .customLong("access-log"),
    help: ArgumentHelp(
      """
      Append a line for each request to this file. SIGUSR1 opens the file again, after it was \
      renamed. If the disk is full, lines are lost and counted.
      """, valueName: "file"),
    completion: .file())
  var path: String?

  @Option(
    name: .customLong("access-log-format"),
    help: ArgumentHelp(
      """
      The form of its lines: combined, as of Apache and nginx; or json, an object each. Default: \
      combined.
      """, valueName: "format"))
  var format: AccessLogLine.Format?

  func validate() throws {
    guard format == nil || path != nil else {
      throw ValidationError("--access-log-format needs a file. Add --access-log.")
    }
  }

  /// Opens the file and begins to write; nil if there is to be no log. SIGUSR1 has no other effect
  /// than opening it again from then on.
  func begin(hasOrigin: Bool, _ threshold: LogThreshold) async throws -> AccessLog? {
    guard let path else {
      Self.onReopening {}
      return nil
    }
    // Opening waits for the disk, and for the reader of a named pipe.
    let file = try await IOThreads.background.run {
      try AccessLogFile(path: path) { text in
        guard threshold.includes(.warning) else { return }
        Console.shared.noteLater("refrain: \(printable(text))")
      }
    }
    let log = AccessLog(file, format: format ?? .combined, hasOrigin: hasOrigin)
    Self.onReopening { log.reopen() }
    return log
  }

  /// Calls `body` at each SIGUSR1, with which programs that rotate logs ask to open them again.
  /// Without a descriptor for it the signal is ignored: it must not end the program.
  private static func onReopening(_ body: @escaping @Sendable () -> Void) {
    if !SignalPipe.receive([SIGUSR1], { _ in body() }) { signal(SIGUSR1, SIG_IGN) }
  }
}
