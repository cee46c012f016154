// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// Changes of the sound track, the subtitle and the device while an item plays that is not stored
  /// completely.
  @MainActor
  @Suite(
    .enabled(if: RequiredLibrary.libmpv.isUsable && RequiredProgram.ffmpeg.isUsable),
    .timeLimit(.minutes(2)))
  struct TrackChangeTests {
    private static let (film, subtitle) = ("/film.mkv", "/film.srt")
    private static let seconds = 300

    @Test func `Ten changes of each fetch no byte twice, and the item plays on`() async throws {
      try await Listening.with { listening in
        let origin = listening.origin
        let bytes = try await Self.makeFilm(in: listening.directory)
        let length = Int64(bytes.count)
        origin.serve(
          OriginResource(.bytes(bytes), contentType: "video/x-matroska", etag: "\"f\""),
          at: Self.film)
        origin.serve(
          OriginResource(.bytes(SubtitleTests.text.utf8), contentType: "text/plain", etag: "\"s\""),
          at: Self.subtitle)
        // The rest is sent once all changes were made.
        origin.script(Self.film, .on(.all, .stall(at: .resource(length / 2))))
        var media = Media(origin.url(Self.film))
        media.subtitles = [.init(origin.url(Self.subtitle))]

        let engine = try await MPVEngine(
          cache: listening.cache, output: .silent, video: .window)
        let referee = EngineReferee(engine)
        let item = referee.load(media)
        try await eventually("it is ready") { referee.isReady(item) }
        for change in 0..<10 {
          for kind in [MediaTrack.Kind.audio, .subtitle] {
            try await selectOther(kind, of: item, referee)
          }
          engine.setAudioDevice(change.isMultiple(of: 2) ? "null" : nil)
          try await playsOn(item, referee)
        }
        #expect(origin.log(Self.film).distinctBytesSent < length)

        origin.script(Self.film, FaultScript())
        origin.release(Self.film)
        referee.seek(to: .seconds(Double(Self.seconds) - 0.2))
        try await eventually("it ends") { referee.isOver(item) }
        await engine.close()
        #expect(referee.failure(of: item) == nil)
        #expect(referee.violations == [] && referee.requests == [])
        #expect(origin.log(Self.film).bytesSentTwice == 0)
        let log = origin.log(Self.subtitle)
        #expect(log.requests.count == 1 && log.bytesSentTwice == 0)
      }
    }

    /// Selects the other one of two tracks.
    private func selectOther(
      _ kind: MediaTrack.Kind, of item: EngineItem.ID, _ referee: EngineReferee
    ) async throws {
      let tracks = try #require(referee.tracks.last)
      let all = tracks.tracks(of: kind).map(\.id)
      #expect(all.count == 2, "\(tracks)")
      let track = try #require(all.first { !tracks.selected.contains($0) })
      referee.engine.select(track, of: kind)
      try await eventually("\(track) is selected") { referee.selected?.contains(track) == true }
      try await playsOn(item, referee)
    }

    private func playsOn(_ item: EngineItem.ID, _ referee: EngineReferee) async throws {
      let position = try #require(referee.position(of: item))
      try await eventually("it plays on from \(position)") {
        referee.position(of: item).map { $0 > position } == true
      }
    }

    /// Returns a film without pictures, which opens no window: two sounds, and a subtitle.
    private static func makeFilm(in directory: URL) async throws -> [UInt8] {
      let subtitle = directory.appending(path: "inside.srt")
      try SubtitleTests.text.write(to: subtitle, atomically: true, encoding: .utf8)
      let file = directory.appending(path: "film.mkv")
      let sounds = [330, 440].flatMap { ["-f", "lavfi", "-i", "sine=\($0):d=\(seconds):r=8000"] }
      let ffmpeg = try LeashedProcess(
        try RequiredProgram.ffmpeg.path,
        ["-v", "error"] + sounds + [
          "-i", "inside.srt", "-map", "0", "-map", "1", "-map", "2", "-c:a", "pcm_u8", "-c:s",
          "srt", "film.mkv",
        ], in: directory, output: directory.appending(path: "ffmpeg.txt"))
      try #require(try await ffmpeg.exitStatus(within: .seconds(90)) == 0)
      return [UInt8](try Data(contentsOf: file))
    }
  }
#endif
