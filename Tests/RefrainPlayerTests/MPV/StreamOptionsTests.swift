// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// libmpv opens what a stream refers to if it reaches the proxy, and nothing else: no files, and
  /// of other media nothing at all.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct StreamOptionsTests {
    /// What a playlist names by a file URL.
    enum Reference: CaseIterable, Sendable { case segment, variant }

    private func playlist(_ segments: [String]) -> String {
      let lines = segments.map { "#EXTINF:\(SilentStream.secondsPerSegment),\n\($0)\n" }
      return "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:3\n\(lines.joined())#EXT-X-ENDLIST\n"
    }

    /// Serves a segment, and returns its URL, which names the host.
    private func serveSegment(on origin: OriginServer) -> String {
      origin.serve(
        OriginResource(
          .bytes(Array(SilentStream.segment(0))), contentType: "audio/mpeg", etag: "\"0\""),
        at: Self.segment)
      return origin.url(Self.segment).absoluteString
    }

    private static let segment = "/0.mp3"

    private func referee(_ listening: Listening) async throws -> EngineReferee {
      // Faster than real time.
      try await listening.referee(
        output: .wavFile(listening.directory.appending(path: "heard.wav")))
    }

    @Test(arguments: Reference.allCases)
    func `A file to which a stream refers is not opened`(_ reference: Reference) async throws {
      try await Listening.with { listening in
        let file = listening.directory.appending(path: "1.mp3")
        try SilentStream.segment(1).write(to: file)
        let listFile = listening.directory.appending(path: "list.m3u8")
        try Data(playlist([file.absoluteString]).utf8).write(to: listFile)
        let segment = serveSegment(on: listening.origin)
        let list: String
        switch reference {
        case .segment: list = playlist([segment, file.absoluteString])
        case .variant:
          let media = listening.origin.serveManifest(
            playlist([segment]), at: "/media.m3u8")
          list = """
            #EXTM3U
            #EXT-X-STREAM-INF:BANDWIDTH=128000
            \(media.absoluteString)
            #EXT-X-STREAM-INF:BANDWIDTH=64000
            \(listFile.absoluteString)

            """
        }
        let url = listening.origin.serveManifest(list, at: "/stream.m3u8")
        let named = reference == .segment ? file : listFile
        let opening = try FileOpening(of: named)
        let referee = try await referee(listening)
        let item = referee.load(Media(url), streamURL: url)
        try await eventually("it is over") { referee.isOver(item) }
        await referee.close()
        #expect(!opening.hasHappened)
        // libmpv followed the other reference, and another opening would have been noticed.
        #expect(!listening.origin.log(Self.segment).requests.isEmpty)
        _ = try Data(contentsOf: named)
        #expect(opening.hasHappened)
      }
    }

    @Test func `What plays after a stream opens nothing to which it refers`() async throws {
      try await Listening.with { listening in
        let segment = serveSegment(on: listening.origin)
        let url = listening.origin.serveManifest(playlist([segment]), at: "/stream.m3u8")
        let referee = try await referee(listening)
        let stream = referee.load(Media(url), streamURL: url)
        try await eventually("the stream is over") { referee.isOver(stream) }
        #expect(referee.failure(of: stream) == nil)
        let count = listening.origin.log(Self.segment).requests.count
        #expect(count > 0)
        // The same bytes through the cache, as if they were a song.
        let song = referee.load(Media(url))
        try await eventually("the song is over") { referee.isOver(song) }
        #expect(referee.failure(of: song) != nil)
        #expect(listening.origin.log(Self.segment).requests.count == count)
        let tune = referee.load(listening.media)
        try await eventually("the tune is over") { referee.isOver(tune) }
        #expect(referee.failure(of: tune) == nil)
        await referee.close()
      }
    }

    /// - Parameter isKept: whether a part of the stream is kept, as of a live one.
    @Test(arguments: [false, true])
    func `The options of a stream end with it, also those for what is kept`(
      _ isKept: Bool
    ) async throws {
      try await Listening.with { listening in
        let stream = SilentStream(segments: 1).serve(on: listening.origin).absoluteString
        let song = listening.directory.appending(path: "song.wav")
        try Tune.wav.write(to: song)
        let path = song.path(percentEncoded: false)
        let kept = isKept ? MPVOptions.keeping(64 << 20, isStream: true) : []
        let values = try await onThread {
          try Self.values(stream: stream, keeping: kept, song: path)
        }
        try #require(values.count == 3)
        // That of hls-bitrate is libmpv's default.
        for (name, _) in MPVOptions.stream where name != "hls-bitrate" {
          #expect(values[0][name] != values[1][name], "\(name)")
        }
        #expect(values[1]["access-references"] == "yes" && values[2]["access-references"] == "no")
        #expect(values[2] == values[0])
        guard isKept else { return }
        #expect(values[1]["demuxer-seekable-cache"] == "yes")
        #expect(values[2]["demuxer-seekable-cache"] == "no")
        #expect(values[2]["demuxer-max-back-bytes"].flatMap { Double($0.prefix(1)) } == 0)
      }
    }

    /// Returns the values of the options of streams before a stream, with it, and with a song after
    /// it. Blocks.
    ///
    /// - Parameter options: those that are set when the stream is open.
    private nonisolated static func values(
      stream: String, keeping options: [(name: String, value: String)], song: String
    ) throws -> [[String: String]] {
      let mpv = try MPVLibrary.load()
      guard let handle = mpv.create() else {
        throw MPVError("libmpv could not be started.", remedy: "")
      }
      defer { mpv.terminate_destroy(handle) }
      for (name, value) in MPVOptions.all(output: .silent) {
        try mpv.check(mpv.set_option_string(handle, name, value), "set \(name)=\(value)")
      }
      try mpv.check(mpv.initialize(handle), "start")
      try mpv.check(mpv.hook_add(handle, 0, MPVLoop.openedHook, 0), "add a hook")
      func current() -> [String: String] {
        var found: [String: String] = [:]
        for (name, _) in MPVOptions.stream + options {
          let text = mpv.get_property_string(handle, "options/\(name)")
          defer { text.map { mpv.free($0) } }
          found[name] = text.map { String(cString: $0) }
        }
        return found
      }
      var all = [current()]
      let files: [(String, [(name: String, value: String)])] = [
        (stream, MPVOptions.stream), (song, []),
      ]
      for (address, own) in files {
        let load = MPVCommand.loadFile(address, "replace", start: .zero, options: own)
        try mpv.check(load.withNode { mpv.command_node(handle, $0, nil) }, "load \(address)")
        let hook = try opening(mpv, handle)
        for (name, value) in options where address == stream {
          try mpv.check(
            mpv.set_property_string(handle, "file-local-options/\(name)", value), "set \(name)")
        }
        all.append(current())
        try mpv.check(mpv.hook_continue(handle, hook), "go on")
      }
      return all
    }

    /// Waits until libmpv has opened a file, and returns the hook at which it waits. Blocks.
    private nonisolated static func opening(
      _ mpv: MPVFunctions, _ handle: OpaquePointer
    ) throws -> UInt64 {
      let end = ContinuousClock.now + .seconds(30)
      while ContinuousClock.now < end {
        guard let event = mpv.wait_event(handle, 1), event.pointee.event_id == MPV_EVENT_HOOK,
          let hook = event.pointee.data?.assumingMemoryBound(to: mpv_event_hook.self)
        else { continue }
        return hook.pointee.id
      }
      throw NeverHappened(description: "libmpv opened no file.")
    }
  }
#endif
