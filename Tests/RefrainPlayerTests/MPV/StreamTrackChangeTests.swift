// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainProxy
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// Changes of the sound, the subtitle and the device while a stream plays through the proxy that
  /// is not stored completely. libmpv itself requests segments again at such a change.
  @MainActor
  @Suite(
    .enabled(if: RequiredLibrary.libmpv.isUsable && RequiredProgram.ffmpeg.isUsable),
    .timeLimit(.minutes(2)))
  struct StreamTrackChangeTests {
    private static let subtitle = "/film.srt"
    private static let languages = ["en", "de"]

    enum Kind: CaseIterable, Sendable { case hls, dash }

    /// A stream of two minutes in two languages: the paths of its manifest and of its segments.
    private struct Stream {
      var entry: String
      var segments: [String]
    }

    @Test(arguments: Kind.allCases)
    func `Ten changes of each request no segment twice, and the stream plays on`(
      _ kind: Kind
    ) async throws {
      try await Listening.with { listening in
        let origin = listening.origin
        let stream: Stream
        switch kind {
        case .hls: stream = Self.serveHLS(on: origin)
        case .dash: stream = try await Self.serveDASH(on: origin, in: listening.directory)
        }
        for path in stream.segments { origin.script(path, .on(.all, .delay(.milliseconds(300)))) }
        Self.serve(Array(SubtitleTests.text.utf8), at: Self.subtitle, on: origin)
        var media = Media(origin.url(stream.entry))
        media.subtitles = [.init(origin.url(Self.subtitle))]
        try await Self.withProxy(listening.cache) { proxy in
          let engine = try await MPVEngine(
            cache: listening.cache, output: .silent, video: .window)
          let referee = EngineReferee(engine)
          let item = referee.load(media, streamURL: try proxy.url(for: media.url))
          try await eventually("it is ready") { referee.isReady(item) }
          for change in 0..<10 {
            for kind in [MediaTrack.Kind.audio, .subtitle] {
              try await selectOther(kind, of: item, referee)
            }
            engine.setAudioDevice(change.isMultiple(of: 2) ? "null" : nil)
            try await playsOn(item, referee)
          }
          #expect(referee.failure(of: item) == nil && !referee.isOver(item))
          await engine.close()
          #expect(referee.violations == [] && referee.requests == [])
        }
        for path in stream.segments + [Self.subtitle] {
          let log = origin.log(path)
          #expect(log.requests.count <= 1 && log.bytesSentTwice == 0, "\(path)")
        }
        // Of both languages.
        for language in Self.languages {
          let segments = stream.segments.filter { $0.hasPrefix("/\(language)/") }
          #expect(segments.contains { !origin.log($0).requests.isEmpty }, "\(language)")
        }
      }
    }

    /// Selects the other one of two sounds; the only subtitle, or none.
    private func selectOther(
      _ kind: MediaTrack.Kind, of item: EngineItem.ID, _ referee: EngineReferee
    ) async throws {
      let tracks = try #require(referee.tracks.last)
      let all = tracks.tracks(of: kind).map(\.id)
      #expect(all.count == (kind == .audio ? 2 : 1), "\(tracks)")
      let other = all.first { !tracks.selected.contains($0) }
      referee.engine.select(other, of: kind)
      try await eventually("\(kind) \(String(describing: other)) is selected") {
        referee.tracks.last?.selected(kind)?.id == other
      }
      try await playsOn(item, referee)
    }

    private func playsOn(_ item: EngineItem.ID, _ referee: EngineReferee) async throws {
      let position = try #require(referee.position(of: item))
      try await eventually("it plays on from \(position)") {
        referee.position(of: item).map { $0 > position } == true
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

    // MARK: Streams

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
    private static func serveDASH(
      on origin: OriginServer, in directory: URL
    ) async throws -> Stream {
      let folder = directory.appending(path: "dash", directoryHint: .isDirectory)
      // The representations' numbers are the places of the languages.
      for name in ["0", "1"] {
        try FileManager.default.createDirectory(
          at: folder.appending(path: name), withIntermediateDirectories: true)
      }
      let silence = ["-f", "lavfi", "-t", "120", "-i", "anullsrc=r=16000:cl=mono"]
      let ffmpeg = try LeashedProcess(
        try RequiredProgram.ffmpeg.path,
        ["-nostdin", "-v", "error"] + silence + silence + [
          "-map", "0", "-map", "1", "-c:a", "aac", "-b:a", "24k", "-metadata:s:a:0", "language=en",
          "-metadata:s:a:1", "language=de", "-f", "dash", "-seg_duration", "4",
          "-adaptation_sets", "id=0,streams=0 id=1,streams=1",
          "-init_seg_name", "$RepresentationID$/init.mp4",
          "-media_seg_name", "$RepresentationID$/$Number$.m4s", "main.mpd",
        ], in: folder, output: directory.appending(path: "ffmpeg.txt"))
      try #require(try await ffmpeg.exitStatus(within: .seconds(90)) == 0)
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
          serve([UInt8](try Data(contentsOf: file)), at: path, on: origin)
          if name.hasSuffix(".m4s") { segments.append(path) }
        }
      }
      try #require(text != manifest)
      serve(Array(text.utf8), at: "/main.mpd", on: origin)
      return Stream(entry: "/main.mpd", segments: segments)
    }
  }
#endif
