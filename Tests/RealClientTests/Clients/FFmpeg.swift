// SPDX-License-Identifier: MIT
import Foundation
import TestSupport

/// ffmpeg, which reads over one connection and opens another one to seek.
enum FFmpeg {
  static func decode(_ url: URL, from start: Double?, in directory: URL) async throws -> Decoded {
    let seek = start.map { ["-ss", "\($0)"] } ?? []
    try await run(
      .ffmpeg,
      ["-nostdin", "-v", "error", "-xerror"] + seek
        + ["-i", url.absoluteString, "-f", "framemd5", "frames.txt"],
      in: directory)
    return Decoded(
      framemd5: try String(
        contentsOf: directory.appending(path: "frames.txt"), encoding: .utf8))
  }
}
