// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import RefrainPlayer
  import Synchronization

  /// Plays resources one after the other, and tells how it goes.
  final class Plays: Sendable {
    private let start: Duration
    private let seek: Duration?
    private let output: URL?
    private let isJSON: Bool
    private let state = Mutex((count: 0, hasToldSilence: false))

    init(start: Duration, seek: Duration?, output: URL?, options: GlobalOptions) {
      self.start = start
      self.seek = seek
      self.output = output
      isJSON = options.json
    }

    /// Plays to the end.
    func play(_ resource: Resource, from cache: MediaCache) async throws -> PlayReport {
      let number = state.withLock { state in
        state.count += 1
        return state.count
      }
      let engine = try await MPVEngine(
        output: output.map { .wavFile(numberedFile($0, number)) } ?? .device)
      let playback = engine.load(resource, from: cache, start: start)
      let result: Result<Duration?, any Error>
      do {
        result = .success(try await follow(playback, engine))
      } catch {
        result = .failure(error)
      }
      // Only now is an output file whole; and the terminal is free again.
      await engine.close()
      Console.shared.clear()
      let timeToSound = try result.get()
      let report = PlayReport(
        url: resource.url.withoutUserInfo.absoluteString, timeToFirstSound: timeToSound,
        playback.statistics)
      if isJSON { try tell(PlayEvent(resource.url, "report", report: report)) }
      return report
    }

    /// Returns the time to the first sound.
    private func follow(_ playback: MPVPlayback, _ engine: MPVEngine) async throws -> Duration? {
      let url = playback.resource.url
      var timeToSound: Duration?
      var status = PlayStatus(name: URLArgument.name(of: url))
      for await event in playback.events {
        if isJSON { try tell(PlayEvent(url, event)) }
        switch event {
        case .started(let time):
          timeToSound = time
          if let seek { engine.seek(to: seek) }
        case .duration(let duration): status.duration = duration
        case .position(let position): status.position = position
        case .silent: tellSilence()
        case .failed(let error): throw error
        case .ended, .stopped: break
        }
        if !isJSON, !event.isLast {
          Console.shared.show(status.line(width: Console.shared.width - 1))
        }
      }
      try Task.checkCancellation()
      return timeToSound
    }

    /// Once is enough for a command.
    private func tellSilence() {
      let isFirst = state.withLock { state in
        defer { state.hasToldSilence = true }
        return !state.hasToldSilence
      }
      guard isFirst else { return }
      Console.shared.note("No sound device was found: playing on in real time, without sound.")
    }

    private func tell(_ event: PlayEvent) throws {
      try Console.shared.print(JSONText.line(event))
    }
  }

  extension PlayReport {
    init(url: String, timeToFirstSound: Duration?, _ statistics: MediaReader.Statistics) {
      self.url = url
      self.timeToFirstSound = timeToFirstSound.map { $0 / .seconds(1) }
      bytesFromOrigin = statistics.bytesFromOrigin
      bytesFromDisk = statistics.bytesFromDisk
      requests = statistics.requests
    }
  }

  /// A line of `play --json`.
  private struct PlayEvent: Encodable {
    var event: String
    var url: String
    /// Of the first sound after the start, of a position or a duration.
    var seconds: Double?
    var error: ErrorReport?
    var report: PlayReport?

    init(_ url: URL, _ event: String, report: PlayReport? = nil) {
      self.event = event
      self.url = url.withoutUserInfo.absoluteString
      self.report = report
    }

    init(_ url: URL, _ event: PlaybackEvent) {
      switch event {
      case .started(let time): (self.event, seconds) = ("started", time / .seconds(1))
      case .duration(let time): (self.event, seconds) = ("duration", time / .seconds(1))
      case .position(let time): (self.event, seconds) = ("position", time / .seconds(1))
      case .silent: self.event = "silent"
      case .ended: self.event = "ended"
      case .stopped: self.event = "stopped"
      case .failed(let error): (self.event, self.error) = ("failed", ErrorReport(error))
      }
      self.url = url.withoutUserInfo.absoluteString
    }
  }
#endif
