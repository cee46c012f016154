// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// An origin with the tune as a stream.
  struct TuneStream {
    let origin: OriginServer
    let url: String
    let segments: [String]
    /// The path of a file for the sound.
    let output: String
    private let playlist: Data

    static let tuneSeconds =
      Double(Tune.samples.count / Tune.channels) / Double(Tune.sampleRate)

    /// Runs `body` with a program, and the stream.
    ///
    /// - Parameter manifest: `/tune.m3u8` or `/tune.mpd`.
    static func with(
      _ manifest: String, requiring header: Field? = nil,
      _ body: (Program, TuneStream) async throws -> Void
    ) async throws {
      let origin = try await OriginServer.start()
      let result: Result<Void, any Error>
      do {
        try await Program.with { program in
          let folder = program.directory.appending(path: "stream")
          try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
          try await make(manifest, in: folder)
          let names = try FileManager.default.contentsOfDirectory(
            atPath: folder.path(percentEncoded: false))
          for name in names {
            let data = try Data(contentsOf: folder.appending(path: name))
            serve(data, at: "/\(name)", on: origin, requiring: header)
          }
          let output = program.directory.appending(path: "heard.wav")
          try await body(
            program,
            TuneStream(
              origin: origin, url: origin.url(manifest).absoluteString,
              segments: names.filter { "/\($0)" != manifest }.map { "/\($0)" },
              output: output.path(percentEncoded: false),
              playlist: try Data(contentsOf: folder.appending(path: String(manifest.dropFirst())))))
        }
        result = .success(())
      } catch {
        result = .failure(error)
      }
      await origin.stop()
      try result.get()
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

    private static func make(_ manifest: String, in folder: URL) async throws {
      let tune = folder.deletingLastPathComponent().appending(path: "tune.wav")
      try Tune.wav.write(to: tune)
      let process = Process()
      process.executableURL = try RequiredProgram.ffmpeg.path
      process.currentDirectoryURL = folder
      let format =
        manifest.hasSuffix(".mpd")
        ? ["-f", "dash", "-seg_duration", "2"]
        : ["-f", "hls", "-hls_time", "2", "-hls_list_size", "0", "-hls_playlist_type", "vod"]
      process.arguments =
        ["-v", "error", "-i", tune.path(percentEncoded: false), "-c:a", "aac"] + format
        + [String(manifest.dropFirst())]
      let (ends, ended) = AsyncStream<Void>.makeStream()
      process.terminationHandler = { _ in ended.finish() }
      try process.run()
      for await _ in ends {}
      try #require(process.terminationStatus == 0)
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
      Self.serve(playlist, at: Self.betterVariant, on: origin)
      return origin.url("/main.m3u8").absoluteString
    }
  }
#endif
