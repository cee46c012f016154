// SPDX-License-Identifier: MIT
import Foundation

/// Runs `body` with a new directory, and removes it. Any user may write into it, because not every
/// client runs as the user who tests (see `VLC`).
func withDirectory<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
  let directory = FileManager.default.temporaryDirectory
    .appending(path: "refrain-clients-\(UUID().uuidString)", directoryHint: .isDirectory)
  try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: directory) }
  try FileManager.default.setAttributes(
    [.posixPermissions: 0o777], ofItemAtPath: directory.path(percentEncoded: false))
  return try await body(directory)
}
