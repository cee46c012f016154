// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import RefrainLocks
  import TestSupport
  import Testing

  /// An origin with the tune as a stream.
  struct TuneStream {
    let origin: OriginServer
    let url: String
    let segments: [String]
    /// The path of a file for the sound.
    let output: String
    /// The manifest.
    let text: String

    static let tuneSeconds =
      Double(Tune.samples.count / Tune.channels) / Double(Tune.sampleRate)

    /// Runs `body` with a program, and the stream.
    ///
    /// - Parameter manifest: `/tune.m3u8` or `/tune.mpd`.
    static func with(
      _ manifest: String, requiring header: Field? = nil,
      _ body: (Program, TuneStream) async throws -> Void
    ) async throws {
      let files = try await files(manifest)
      try await Program.withOrigin { program, origin in
        for (path, data) in files { serve(data, at: path, on: origin, requiring: header) }
        try await body(
          program,
          TuneStream(
            origin: origin, url: origin.url(manifest).absoluteString,
            segments: files.keys.filter { $0 != manifest }, output: program.path("heard.wav"),
            text: String(decoding: files[manifest] ?? Data(), as: UTF8.self)))
      }
    }

    private static func serve(
      _ data: Data, at path: String, on origin: OriginServer, requiring header: Field? = nil
    ) {
      var file = OriginResource(
        .bytes(Array(data)), contentType: "application/octet-stream", etag: "\"\(path)\"",
        headers: [Field("Cache-Control", "max-age=86400")])
      file.requiredHeader = header
      origin.serve(file, at: path)
    }

    private static let encodings = Mutex<[String: Task<[String: Data], any Error>]>([:])

    /// Returns the files of a stream by their paths. They are encoded once.
    private static func files(_ manifest: String) async throws -> [String: Data] {
      let encoding = encodings.withLock { encodings in
        if let encoding = encodings[manifest] { return encoding }
        let encoding = Task { try await encode(manifest) }
        encodings[manifest] = encoding
        return encoding
      }
      return try await encoding.value
    }

    private static func encode(_ manifest: String) async throws -> [String: Data] {
      var files: [String: Data] = [:]
      try await Program.with { program in
        let tune = program.directory.appending(path: "tune.wav")
        try Tune.wav.write(to: tune)
        let format =
          manifest.hasSuffix(".mpd")
          ? ["-f", "dash", "-seg_duration", "2"]
          : ["-f", "hls", "-hls_time", "2", "-hls_list_size", "0", "-hls_playlist_type", "vod"]
        let ffmpeg = try RunningProgram(
          program, path: RequiredProgram.ffmpeg.path.path(percentEncoded: false),
          ["-v", "error", "-i", tune.path(percentEncoded: false), "-c:a", "aac"] + format
            + [program.path(String(manifest.dropFirst()))])
        #expect(await ffmpeg.end() == 0, "\(ffmpeg.errors)")
        for name in try FileManager.default.contentsOfDirectory(atPath: program.directory.path())
        where !name.hasPrefix("errors-") && name != "tune.wav" {
          files["/\(name)"] = try Data(contentsOf: program.directory.appending(path: name))
        }
      }
      return files
    }

    /// The numbers of requests for each segment.
    var requests: [Int] { segments.map { origin.log($0).requests.count } }

    /// Returns the seconds of sound in a file.
    func seconds(in file: String) throws -> Double {
      let head = [UInt8](try Data(contentsOf: URL(filePath: file)).prefix(44))
      let bytes = try Data(contentsOf: URL(filePath: file)).count - 44
      let perSecond = head[28..<32].reversed().reduce(0) { $0 << 8 | Int($1) }
      return Double(bytes) / Double(perSecond)
    }

    // MARK: Variants

    /// The path of the playlist of the better variant, whose segments the origin does not have.
    static let betterVariant = "/better/tune.m3u8"

    /// Serves a playlist with this HTTP Live Stream as the worse one of two variants. Returns its
    /// URL.
    func serveVariants() -> String {
      let main = """
        #EXTM3U
        #EXT-X-STREAM-INF:BANDWIDTH=900000,CODECS="mp4a.40.2"
        better/tune.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=90000,CODECS="mp4a.40.2"
        tune.m3u8

        """
      Self.serve(Data(main.utf8), at: "/main.m3u8", on: origin)
      Self.serve(Data(text.utf8), at: Self.betterVariant, on: origin)
      return origin.url("/main.m3u8").absoluteString
    }
  }
#endif
