// SPDX-License-Identifier: MIT
import Foundation

/// A film of 100 seconds and about 100 MB, in several containers; created once and kept.
enum Film: String, CaseIterable, Sendable {
  case mp4 = "film.mp4"
  case moovLast = "film-moov-last.mp4"
  case mkv = "film.mkv"

  var title: String {
    switch self {
    case .mp4: "mp4"
    case .moovLast: "mp4 with moov last"
    case .mkv: "mkv"
    }
  }

  func file() throws -> URL { try Self.kept(rawValue) { try arguments() } }

  /// Returns a file that ffmpeg makes with these arguments unless an earlier run has made it.
  static func kept(_ name: String, _ arguments: () throws -> [String]) throws -> URL {
    let directory = Measure.directory.appending(path: "refrain-bench-media")
    let file = directory.appending(path: name)
    if FileManager.default.fileExists(atPath: file.path) { return file }
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    // Renamed when it is complete.
    let part = directory.appending(path: "part-" + name)
    try Command.run("ffmpeg", ["-nostdin", "-v", "error", "-y"] + (try arguments()) + [part.path])
    try FileManager.default.moveItem(at: part, to: file)
    return file
  }

  private func arguments() throws -> [String] {
    switch self {
    case .mp4:
      // A constant rate makes a time in the film a position in the file.
      ["-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25"]
        + ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000", "-t", "100"]
        + ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "50"]
        + ["-b:v", "8M", "-minrate", "8M", "-maxrate", "8M", "-bufsize", "8M"]
        + ["-x264-params", "nal-hrd=cbr", "-c:a", "aac", "-b:a", "128k"]
        + ["-movflags", "+faststart"]
    case .moovLast, .mkv: ["-i", try Film.mp4.file().path, "-c", "copy"]
    }
  }
}
