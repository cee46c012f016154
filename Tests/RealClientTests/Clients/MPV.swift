// SPDX-License-Identifier: MIT
import Foundation
import TestSupport

/// mpv without the user's configuration.
enum MPV {
  static func decode(_ url: URL, from start: Double?, in directory: URL) async throws -> Decoded {
    let seek = start.map { ["--start=\($0)"] } ?? []
    let frames = directory.appending(path: "frames.txt")
    try await run(
      .mpv,
      ["--no-config", "--no-terminal", "--untimed"] + seek
        + ["--o=\(frames.path(percentEncoded: false))", "--of=framemd5"]
        + ["--ovc=rawvideo", "--oac=pcm_s16le", url.absoluteString],
      in: directory)
    return Decoded(framemd5: try String(contentsOf: frames, encoding: .utf8))
  }
}
