// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer

  /// The counting film as an HTTP Live Stream. Its pictures begin a moment after its sound.
  struct CountingStream {
    private static let name = "film.m3u8"

    /// The path of the manifest.
    static let manifest = "/\(name)"

    /// The paths of the segments, and their lengths.
    let segments: [String: Int64]

    /// Makes the stream, and serves it.
    init(on origin: OriginServer, in program: Program) async throws {
      let folder = program.directory.appending(path: "stream", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      // B-frames would move the times at which decoding begins before those of the sound.
      try await CountingFilm.encode(
        CountingFilm.pictures + [
          "-f", "lavfi", "-i", "sine=330:d=20:r=44100", "-map", "0", "-map", "1", "-c:v", "libx264",
          "-preset", "ultrafast", "-bf", "0", "-threads", "1", "-g", "50", "-keyint_min", "50",
          "-sc_threshold", "0", "-c:a", "aac", "-b:a", "48k", "-f", "hls", "-hls_time", "2",
          "-hls_playlist_type", "vod",
        ], folder.appending(path: Self.name), program)
      var segments: [String: Int64] = [:]
      for name in try FileManager.default.contentsOfDirectory(
        atPath: folder.path(percentEncoded: false))
      {
        let bytes = [UInt8](try Data(contentsOf: folder.appending(path: name)))
        let path = "/\(name)"
        origin.serve(
          OriginResource(
            .bytes(bytes), contentType: "application/octet-stream", etag: "\"\(name)\"",
            headers: [Field("Cache-Control", "max-age=86400")]),
          at: path)
        if path != Self.manifest { segments[path] = Int64(bytes.count) }
      }
      self.segments = segments
    }
  }
#endif
