// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainProxy
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// Changes of the sound, the subtitle and the device while an item plays that is not stored
  /// completely: a film, or a stream through the proxy.
  @MainActor
  @Suite(
    .enabled(if: RequiredLibrary.libmpv.isUsable && RequiredProgram.ffmpeg.isUsable),
    .timeLimit(.minutes(2)))
  struct TrackChangeTests {
    private static let languages = ["en", "de"]
    private static let subtitle = "/film.srt"
    private static let seconds = 300

    /// Selects the other of two tracks in turn, or the only one and none.
    private func selectOther(
      _ kind: MediaTrack.Kind, among count: Int, of item: EngineItem.ID, _ referee: EngineReferee
    ) async throws {
      let tracks = try #require(referee.tracks.last)
      let all = tracks.tracks(of: kind).map(\.id)
      #expect(all.count == count, "\(tracks)")
      let other = all.first { !tracks.selected.contains($0) }
      referee.engine.select(other, of: kind)
      try await eventually("\(kind) \(String(describing: other)) is selected") {
        referee.tracks.last?.selected(kind)?.id == other
      }
      try await referee.waitUntilPlayingOn(item)
    }

    /// Changes the sound, the subtitle and the device ten times each.
    private func change(
      _ item: EngineItem.ID, _ engine: MPVEngine, _ referee: EngineReferee, subtitles: Int
    ) async throws {
      try await referee.waitUntilReady(item)
      for change in 0..<10 {
        try await selectOther(.audio, among: 2, of: item, referee)
        try await selectOther(.subtitle, among: subtitles, of: item, referee)
        engine.setAudioDevice(change.isMultiple(of: 2) ? "null" : nil)
        try await referee.waitUntilPlayingOn(item)
      }
    }

    @Test func `Ten changes of each fetch no byte of a film twice, and it plays on`() async throws {
      try await Listening.with { listening in
        let origin = listening.origin
        let bytes = try await Self.makeFilm(in: listening)
        let length = Int64(bytes.count)
        origin.serve(
          OriginResource(.bytes(bytes), contentType: "video/x-matroska", etag: "\"f\""),
          at: "/film.mkv")
        // The rest is sent once all changes were made.
        origin.script("/film.mkv", .on(.all, .stall(at: .resource(length / 2))))
        var media = Media(origin.url("/film.mkv"))
        media.subtitles = [.init(listening.serveSubtitle(Self.subtitle))]
        let engine = try await MPVEngine(cache: listening.cache, output: .silent, video: .window)
        let referee = EngineReferee(engine)
        let item = referee.load(media)
        try await change(item, engine, referee, subtitles: 2)
        #expect(origin.log("/film.mkv").distinctBytesSent < length)

        origin.script("/film.mkv", FaultScript())
        origin.release("/film.mkv")
        referee.seek(to: .seconds(Double(Self.seconds) - 0.2))
        try await referee.waitUntilOver(item)
        await engine.close()
        #expect(referee.failure(of: item) == nil)
        #expect(referee.violations == [] && referee.requests == [])
        #expect(origin.log("/film.mkv").bytesSentTwice == 0)
        let log = origin.log(Self.subtitle)
        #expect(log.requests.count == 1 && log.bytesSentTwice == 0)
      }
    }

    /// Returns a film without pictures, which opens no window: two sounds, and a subtitle.
    private static func makeFilm(in listening: Listening) async throws -> [UInt8] {
      try listening.writeSubtitle("inside.srt")
      let sounds = [330, 440].flatMap { ["-f", "lavfi", "-i", "sine=\($0):d=\(seconds):r=8000"] }
      try await listening.ffmpeg(
        sounds + [
          "-i", "inside.srt", "-map", "0", "-map", "1", "-map", "2", "-c:a", "pcm_u8", "-c:s",
          "srt", "film.mkv",
        ])
      return [UInt8](try Data(contentsOf: listening.directory.appending(path: "film.mkv")))
    }

    // MARK: Streams

    enum Kind: CaseIterable, Sendable { case hls, dash }

    /// A stream of two minutes in two languages: the paths of its manifest and of its segments.
    private struct Stream {
      var entry: String
      var segments: [String]
    }

    /// libmpv itself requests segments again at such a change.
    @Test(arguments: Kind.allCases)
    func `Ten changes of each request no segment of a stream twice, and it plays on`(
      _ kind: Kind
    ) async throws {
      try await Listening.with { listening in
        let origin = listening.origin
        let stream: Stream
        switch kind {
        case .hls: stream = Self.serveHLS(on: origin)
        case .dash: stream = try await Self.serveDASH(listening)
        }
        for path in stream.segments { origin.script(path, .on(.all, .delay(.milliseconds(100)))) }
        Self.serve(Array(Listening.subtitle.utf8), at: Self.subtitle, on: origin)
        var media = Media(origin.url(stream.entry))
        media.subtitles = [.init(origin.url(Self.subtitle))]
        try await Self.withProxy(listening.cache) { proxy in
          let engine = try await MPVEngine(cache: listening.cache, output: .silent, video: .window)
          let referee = EngineReferee(engine)
          let item = referee.load(media, streamURL: try proxy.url(for: media.url))
          try await change(item, engine, referee, subtitles: 1)
          #expect(referee.failure(of: item) == nil && !referee.isOver(item))
          await engine.close()
          #expect(referee.violations == [] && referee.requests == [])
        }
        for path in stream.segments + [Self.subtitle] {
          let log = origin.log(path)
          #expect(log.requests.count <= 1 && log.bytesSentTwice == 0, "\(path)")
        }
        // Some of both languages, and not all of them.
        let requested = stream.segments.filter { !origin.log($0).requests.isEmpty }
        for language in Self.languages {
          #expect(requested.contains { $0.hasPrefix("/\(language)/") }, "\(language)")
        }
        #expect(requested.count < stream.segments.count)
      }
    }

    private static func withProxy(
      _ cache: MediaCache, _ body: (CacheProxy) async throws -> Void
    ) async throws {
      var configuration = CacheProxy.Configuration()
      configuration.servesOnePlay = true
      let proxy = try CacheProxy(cache: cache, configuration: configuration)
      let running = Task { try await proxy.run() }
      let result: Result<Void, any Error>
      do {
        try await proxy.waitUntilListening()
        result = .success(try await body(proxy))
      } catch {
        result = .failure(error)
      }
      await proxy.stop()
      try await running.value
      try result.get()
    }

    private static func serve(_ bytes: [UInt8], at path: String, on origin: OriginServer) {
      origin.serve(
        OriginResource(
          .bytes(bytes), contentType: "application/octet-stream", etag: "\"\(path)\"",
          headers: [Field("Cache-Control", "max-age=86400")]),
        at: path)
    }

    /// Serves two renditions of silence, of which the first one is that of the variant itself.
    private static func serveHLS(on origin: OriginServer) -> Stream {
      let silence = SilentStream(segments: 60)
      var segments: [String] = []
      for language in languages {
        serve(Array(silence.playlist.utf8), at: "/\(language)/list.m3u8", on: origin)
        for index in 0..<silence.segments {
          let path = "/\(language)/\(index).mp3"
          serve(Array(SilentStream.segment(index)), at: path, on: origin)
          segments.append(path)
        }
      }
      let main = """
        #EXTM3U
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="English",LANGUAGE="en",DEFAULT=YES
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="Deutsch",LANGUAGE="de",URI="de/list.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=140000,CODECS="mp4a.40.34",AUDIO="sound"
        en/list.m3u8

        """
      serve(Array(main.utf8), at: "/main.m3u8", on: origin)
      return Stream(entry: "/main.m3u8", segments: segments)
    }

    /// Makes two adaptation sets of silence, and serves them.
    private static func serveDASH(_ listening: Listening) async throws -> Stream {
      let folder = listening.directory.appending(path: "dash", directoryHint: .isDirectory)
      // The representations' numbers are the places of the languages.
      for name in ["0", "1"] {
        try FileManager.default.createDirectory(
          at: folder.appending(path: name), withIntermediateDirectories: true)
      }
      let silence = ["-f", "lavfi", "-t", "120", "-i", "anullsrc=r=16000:cl=mono"]
      try await listening.ffmpeg(
        silence + silence + [
          "-map", "0", "-map", "1", "-c:a", "aac", "-b:a", "24k", "-metadata:s:a:0", "language=en",
          "-metadata:s:a:1", "language=de", "-f", "dash", "-seg_duration", "4",
          "-adaptation_sets", "id=0,streams=0 id=1,streams=1",
          "-init_seg_name", "$RepresentationID$/init.mp4",
          "-media_seg_name", "$RepresentationID$/$Number$.m4s", "main.mpd",
        ], in: folder)
      // The paths name the languages, as those of the other stream do.
      let manifest = try String(contentsOf: folder.appending(path: "main.mpd"), encoding: .utf8)
      var text = manifest
      var segments: [String] = []
      for (number, language) in languages.enumerated() {
        text = text.replacingOccurrences(
          of: "<Representation id=\"\(number)\"", with: "<Representation id=\"\(language)\"")
        for name in try FileManager.default.contentsOfDirectory(
          atPath: folder.appending(path: "\(number)").path(percentEncoded: false))
        {
          let file = folder.appending(path: "\(number)/\(name)")
          let path = "/\(language)/\(name)"
          serve([UInt8](try Data(contentsOf: file)), at: path, on: listening.origin)
          if name.hasSuffix(".m4s") { segments.append(path) }
        }
      }
      try #require(text != manifest)
      serve(Array(text.utf8), at: "/main.mpd", on: listening.origin)
      return Stream(entry: "/main.mpd", segments: segments)
    }
  }
#endif
