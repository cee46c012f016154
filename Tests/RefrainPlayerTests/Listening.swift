// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import Testing

  /// An origin with the tune, an empty cache, and a file for what is heard.
  struct Listening {
    let origin: OriginServer
    let cache: MediaCache
    private let directory: URL

    static let path = "/tune.wav"
    static let length = Int64(Tune.wav.count)

    var resource: Resource { Resource(url: origin.url(Self.path)) }
    var log: OriginLog { origin.log(Self.path) }

    /// Runs `body` and leaves nothing behind.
    static func with(
      _ configuration: Configuration = Configuration(),
      _ body: (Listening) async throws -> Void
    ) async throws {
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "refrain-player-\(UUID().uuidString)", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: directory) }
      let origin = try await OriginServer.start()
      origin.serve(Tune.resource, at: path)
      let cache = try MediaCache(
        directory: directory.appending(path: "cache"), configuration: configuration)
      do {
        try await body(Listening(origin: origin, cache: cache, directory: directory))
      } catch {
        await cache.close()
        await origin.stop()
        throw error
      }
      await cache.close()
      await origin.stop()
    }

    /// Plays to the last event; `act` is told of each one.
    func play(
      start: Duration = .zero, act: (PlaybackEvent, MPVEngine) -> Void = { _, _ in }
    ) async throws -> Heard {
      let file = directory.appending(path: "\(UUID().uuidString).wav")
      let engine = try await MPVEngine(output: .wavFile(file))
      let playback = engine.load(resource, from: cache, start: start)
      var events: [PlaybackEvent] = []
      for await event in playback.events {
        events.append(event)
        act(event, engine)
      }
      await engine.close()
      let exists = FileManager.default.fileExists(atPath: file.path(percentEncoded: false))
      return Heard(
        events: events, samples: exists ? try WAVFile(file).samples : [],
        statistics: playback.statistics)
    }
  }

  /// What came of a play.
  struct Heard {
    var events: [PlaybackEvent]
    var samples: [Int16]
    var statistics: MediaReader.Statistics

    /// Whether playing reached the end.
    var hasEnded: Bool { events.last == .ended }

    /// Whether all of the tune was heard, sample for sample.
    var isTheTune: Bool { samples == Tune.samples }

    /// How many frames of the tune's end these samples end with.
    var framesOfTheEnd: Int {
      zip(samples.reversed(), Tune.samples.reversed()).prefix { $0 == $1 }.count / Tune.channels
    }
  }
#endif
