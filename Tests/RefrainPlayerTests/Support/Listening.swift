// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import TestSupport
  import Testing

  /// An origin with the tune, whole and in three tracks, an empty cache, and a file for the sound.
  @MainActor
  struct Listening {
    let origin: OriginServer
    let cache: MediaCache
    let directory: URL

    static let path = "/tune.wav"
    static let length = Int64(Tune.wav.count)

    var media: Media { Media(origin.url(Self.path)) }
    var log: OriginLog { origin.log(Self.path) }

    /// The tune in three parts, as separate tracks.
    var tracks: [Media] {
      (1...3).map { Media(origin.url("/track-\($0).wav"), title: "Part \($0)") }
    }

    /// - Parameter configuration: that of the cache.
    static func with(
      _ configuration: MediaCache.Configuration = MediaCache.Configuration(),
      _ body: (Listening) async throws -> Void
    ) async throws {
      try await withOrigin { changed, _ in
        changed = configuration
      } _: { origin, cache, directory in
        origin.serve(Tune.resource, at: path)
        for (index, track) in Tracks.all.enumerated() {
          origin.serve(
            OriginResource(.bytes(track), contentType: "audio/wav", etag: "\"track-\(index)\""),
            at: "/track-\(index + 1).wav")
        }
        try await body(Listening(origin: origin, cache: cache, directory: directory))
      }
    }

    /// Returns a player without sound output, in real time.
    func player(_ configuration: Player.Configuration = Player.Configuration()) async throws
      -> Player
    {
      Player(
        cache: cache, engine: try await MPVEngine(cache: cache, output: .silent),
        configuration: configuration)
    }

    /// Plays until the queue has ended or failed; calls `act` with each event.
    func play(
      _ media: [Media]? = nil, start: Duration = .zero, isPaused: Bool = false,
      act: (PlayerEvent, Player) -> Void = { _, _ in }
    ) async throws -> Heard {
      try await play(
        begin: { player in
          player.play(media ?? [self.media], from: start)
          if isPaused { player.pause() }
        }, act: act)
    }

    /// - Parameter begin: begins to play.
    func play(
      begin: (Player) -> Void, act: (PlayerEvent, Player) -> Void = { _, _ in }
    ) async throws -> Heard {
      let file = directory.appending(path: "\(UUID().uuidString).wav")
      let player = Player(
        cache: cache, engine: try await MPVEngine(cache: cache, output: .wavFile(file)))
      let events = player.events()
      begin(player)
      var heard = Heard()
      for await event in events {
        heard.events.append(event)
        act(event, player)
        if case .report(_, let report) = event { heard.reports.append(report) }
        if heard.isOver { break }
      }
      await player.close()
      if FileManager.default.fileExists(atPath: file.path(percentEncoded: false)) {
        heard.samples = try WAVFile(file).samples
      }
      return heard
    }
  }

  extension ReceivedRequest {
    /// The first byte of the range that is requested.
    var firstByte: Int64 {
      let start = range?.dropFirst("bytes=".count).prefix { $0 != "-" }
      return start.flatMap { Int64($0) } ?? 0
    }
  }

  extension FaultScript {
    /// Returns faults that withhold all bytes from `offset` on, until the origin releases them.
    static func nothingBeyond(_ offset: Int64) -> FaultScript {
      .on(.all, .stall(at: .resource(offset))).on(.where { $0.firstByte > offset }, .delay(nil))
    }
  }

  /// The result of playing.
  struct Heard {
    var events: [PlayerEvent] = []
    var samples: [Int16] = []
    var reports: [PlaybackReport] = []

    var isOver: Bool {
      switch events.last {
      case .status(.ended), .status(.failed), .status(.idle): true
      default: false
      }
    }

    /// Whether playing reached the end.
    var hasEnded: Bool { events.last == .status(.ended) }

    /// Whether all of the tune was heard, sample for sample.
    var isTheTune: Bool {
      samples.withUnsafeBytes { heard in Tune.samples.withUnsafeBytes { areEqual(heard, $0) } }
    }

    var failure: MediaCacheError? {
      if case .status(.failed(let error)) = events.last { error } else { nil }
    }

    var bytesFromOrigin: Int64 { reports.reduce(0) { $0 + ($1.statistics?.bytesFromOrigin ?? 0) } }

    /// The number of frames at the end of these samples that match the tune's end.
    var framesOfTheEnd: Int {
      let (heard, tune) = (samples, Tune.samples)
      var count = 0
      while count < heard.count, count < tune.count,
        heard[heard.count - 1 - count] == tune[tune.count - 1 - count]
      {
        count += 1
      }
      return count / Tune.channels
    }
  }

  /// The tune in three parts.
  enum Tracks {
    static let samples: [ArraySlice<Int16>] = {
      let frames = Tune.samples.count / Tune.channels
      let (first, second) = (frames / 3 * Tune.channels, frames * 3 / 4 * Tune.channels)
      return [
        Tune.samples[..<first], Tune.samples[first..<second], Tune.samples[second...],
      ]
    }()

    static let all: [Data] = samples.map { wav($0) }

    /// Returns a RIFF/WAVE file with the tune's header, for fewer samples.
    static func wav(_ samples: ArraySlice<Int16>) -> Data {
      var file = Data(Tune.wav.prefix(44))
      func put(_ number: Int, at offset: Int) {
        withUnsafeBytes(of: UInt32(number).littleEndian) {
          file.replaceSubrange(offset..<offset + 4, with: $0)
        }
      }
      put(36 + samples.count * 2, at: 4)
      put(samples.count * 2, at: 40)
      // Swapped only on a machine with the other order of bytes.
      let ordered = Int16(1).littleEndian == 1 ? samples : samples.map(\.littleEndian)[...]
      ordered.withUnsafeBytes { file.append(contentsOf: $0) }
      return file
    }
  }
#endif
