// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import RefrainLocks
  import TestSupport
  import Testing

  @testable import Refrain
  @testable import RefrainPlayer

  /// Engines of libmpv, their streams, and media for them.
  extension Listening {
    /// Returns an engine and what it reports, by default without output and in real time.
    func referee(
      _ video: VideoConfiguration = .none, output: AudioOutput = .silent
    ) async throws -> EngineReferee {
      EngineReferee(try await MPVEngine(cache: cache, output: output, video: video))
    }

    /// Returns what the streams of an item share, by default of the tune.
    func playback(_ media: Media? = nil, fill: FillPolicy = .onDemand) -> MPVPlayback {
      MPVPlayback(item: EngineItem(media ?? self.media, fill: fill), cache: cache)
    }

    /// Waits until no entry of the cache is open.
    func waitUntilClosed() async throws {
      try await eventually("the entry is closed") { cache.table.isEmpty }
    }

    /// Runs `body` with another cache, which has no room for an entry while it runs.
    func withFullCache(_ body: (MediaCache) async throws -> Void) async throws {
      let cache = try MediaCache(
        directory: directory.appending(path: "full"),
        configuration: MediaCache.Configuration(), disk: SystemDisk(),
        table: EntryTable(most: { 1 }, patience: .seconds(1000)))
      let other = try await cache.open(Resource(url: tracks[0].url))
      try await body(cache)
      other.cancel()
      await cache.close()
    }

    /// Writes the beginning of the tune to a file.
    func file(_ name: String, tenths: Int) throws -> Media {
      let file = directory.appending(path: name)
      let count = Tune.sampleRate * Tune.channels / 10 * tenths
      try Tracks.wav(Tune.samples.prefix(count)).write(to: file)
      return Media(file)
    }

    /// Runs ffmpeg in a directory, by default its own.
    func ffmpeg(_ arguments: [String], in folder: URL? = nil) async throws {
      let process = try LeashedProcess(
        try RequiredProgram.ffmpeg.path, ["-nostdin", "-v", "error"] + arguments,
        in: folder ?? directory, output: directory.appending(path: "ffmpeg.txt"))
      try #require(try await process.exitStatus(within: .seconds(90)) == 0)
    }

    // MARK: Subtitles

    static let subtitle = "1\n00:00:00,000 --> 00:00:09,000\nHello\n"

    @discardableResult
    func writeSubtitle(_ name: String, _ text: String = subtitle) throws -> URL {
      let file = directory.appending(path: name)
      try text.write(to: file, atomically: true, encoding: .utf8)
      return file
    }

    @discardableResult
    func serveSubtitle(
      _ path: String, _ text: String = subtitle, requiring field: Field? = nil
    ) -> URL {
      origin.serve(
        OriginResource(
          .bytes(text.utf8), contentType: "text/plain", etag: "\"\(path)\"", requiredHeader: field),
        at: path)
      return origin.url(path)
    }
  }

  extension EngineItem {
    init(_ media: Media, fill: FillPolicy = .onDemand) {
      self.init(id: ID(rawValue: 1), media: media, fill: fill)
    }
  }

  extension MPVPlayback {
    /// Ends it as libmpv's thread does when its item is over.
    func end() {
      leave()
      cancelWaits()
    }
  }

  extension MPVStream {
    /// Reads once. Blocks.
    func readOnce() -> Int64 {
      withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 16) { read(into: $0) }
    }

    /// Reads until there are no bytes, and returns the last result too. Blocks.
    func readAll() -> (bytes: Data, last: Int64) {
      var bytes = Data()
      return withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 16) { buffer in
        while true {
          let count = read(into: buffer)
          guard count > 0 else { return (bytes, count) }
          bytes.append(contentsOf: buffer[..<Int(count)])
        }
      }
    }
  }

  extension EngineReferee {
    var tracks: [MediaTracks] {
      events.compactMap { if case .tracks(_, let tracks) = $0 { tracks } else { nil } }
    }

    /// The selection that was reported last.
    var selected: Set<MediaTrack.ID>? { tracks.last?.selected }

    var requests: [ListenerRequest] {
      events.compactMap { if case .requested(let request) = $0 { request } else { nil } }
    }

    func waitUntilReady(_ item: EngineItem.ID) async throws {
      try await eventually("it is ready") { isReady(item) }
    }

    func waitUntilOver(_ item: EngineItem.ID) async throws {
      try await eventually("it is over") { isOver(item) }
    }

    /// Waits until the item has played further.
    func waitUntilPlayingOn(_ item: EngineItem.ID) async throws {
      let position = position(of: item) ?? .zero
      try await eventually("it plays on from \(position)") {
        self.position(of: item).map { $0 > position } == true
      }
    }
  }

  extension MediaCache {
    /// Waits until somebody waits for one more entry to be open: asks for idle entries all the time.
    func waitForWaiter() async throws {
      let isAsked = Mutex(false)
      let id = releaseIdleLeases {
        isAsked.withLock { $0 = true }
        return false
      }
      try await eventually("somebody waits") { isAsked.withLock(\.self) }
      forgetIdleLeases(id)
    }
  }
#endif
