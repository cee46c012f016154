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
        cache: cache, output: output.map { .wavFile(numberedFile($0, number)) } ?? .device)
      let player = await Player(cache: cache, engine: engine)
      let events = await player.events()
      await player.play(Media(resource.url, headers: resource.headers, key: resource.key))
      if start > .zero { await player.seek(to: start) }
      let result = await withTaskCancellationHandler {
        await follow(events, of: resource.url, player)
      } onCancel: {
        Task { await player.stop() }
      }
      // Only now is an output file whole; and the terminal is free again.
      await player.close()
      Console.shared.clear()
      let played = try result.get()
      try Task.checkCancellation()
      let report = PlayReport(
        url: resource.url.withoutUserInfo.absoluteString,
        timeToFirstSound: played?.timeToFirstSound,
        played?.statistics ?? MediaReader.Statistics())
      if isJSON { try tell(PlayEvent(resource.url, "report", report: report)) }
      return report
    }

    private func follow(
      _ events: AsyncStream<PlayerEvent>, of url: URL, _ player: Player
    ) async -> Result<PlaybackReport?, any Error> {
      var status = PlayStatus(name: URLArgument.name(of: url))
      var error: MediaCacheError?
      do {
        for await event in events {
          if isJSON, let line = PlayEvent(url, event) { try tell(line) }
          switch event {
          case .started: if let seek { await player.seek(to: seek) }
          case .duration(let duration): status.duration = duration
          case .position(let position): status.position = position
          case .silent: tellSilence()
          case .failed(_, let failure): error = failure
          case .left(_, let report): return error.map { .failure($0) } ?? .success(report)
          default: break
          }
          if !isJSON { Console.shared.show(status.line(width: Console.shared.width - 1)) }
        }
        return .success(nil)
      } catch {
        return .failure(error)
      }
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

    init?(_ url: URL, _ event: PlayerEvent) {
      switch event {
      case .started(_, let time): (self.event, seconds) = ("started", time / .seconds(1))
      case .duration(let time?): (self.event, seconds) = ("duration", time / .seconds(1))
      case .position(let time): (self.event, seconds) = ("position", time / .seconds(1))
      case .silent: self.event = "silent"
      case .finished: self.event = "ended"
      case .failed(_, let error): (self.event, self.error) = ("failed", ErrorReport(error))
      default: return nil
      }
      self.url = url.withoutUserInfo.absoluteString
    }
  }
#endif
