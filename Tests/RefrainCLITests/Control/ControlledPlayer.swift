// SPDX-License-Identifier: MIT
#if os(Linux)
  import ArgumentParser
  import Foundation
  import Refrain

  @testable import RefrainCLI
  @testable import RefrainPlayer

  /// A player with a control socket. Its engine plays nothing, and is at once where it is sent to.
  @MainActor
  struct ControlledPlayer {
    let directory: URL
    let player: Player
    let server: ControlServer
    let quits: Quits
    private let engine: StillEngine

    /// The sound device that the engine was told last; nil: the system's.
    var device: String? { engine.device }

    /// Opens the engine's window, changes it, or closes it with nil.
    func showWindow(_ isFullscreen: Bool?) { engine.showWindow(isFullscreen) }

    /// Counts the requests to end the program, and records the lines for its screen.
    @MainActor final class Quits {
      var count = 0
      var shown: [String] = []
    }

    var path: String { Self.path(in: directory) }

    private static func path(in directory: URL) -> String {
      directory.appending(path: "control").path(percentEncoded: false)
    }

    /// Runs `body` with a player that plays files of these names.
    static func with(
      _ names: [String] = ["a", "b", "c"], _ body: (ControlledPlayer) async throws -> Void
    ) async throws {
      // A path that fits into the address of a socket.
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "rc-\(UUID().uuidString.prefix(8))", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: directory) }
      let cache = try MediaCache(directory: directory.appending(path: "cache"))
      let engine = StillEngine()
      let player = Player(cache: cache, engine: engine)
      let server = try await ControlServer.open(path(in: directory), try GlobalOptions.parse([]))
      let quits = Quits()
      let controlled = ControlledPlayer(
        directory: directory, player: player, server: server, quits: quits, engine: engine)
      player.play(try names.map { Media(try controlled.file($0)) })
      server.follow(
        player, cache, quit: { quits.count += 1 }, show: { quits.shown.append($0) })
      let result: Result<Void, any Error>
      do {
        result = .success(try await body(controlled))
      } catch {
        result = .failure(error)
      }
      await server.close()
      await player.close()
      await cache.close()
      try result.get()
    }

    /// Creates a file that counts as media.
    func file(_ name: String) throws -> URL {
      let url = directory.appending(path: "\(name).ogg", directoryHint: .notDirectory)
      if !FileManager.default.fileExists(atPath: url.path(percentEncoded: false)) {
        try Data("OggS".utf8).write(to: url)
      }
      return url
    }

    func connect() throws -> ControlConnection { try ControlConnection(path) }

    /// The names of the queue's files.
    var names: [String] {
      player.queue.items.map { $0.media.url.deletingPathExtension().lastPathComponent }
    }
  }

  /// An engine whose items last ten seconds, and do not go on by themselves.
  @MainActor
  private final class StillEngine: PlayerEngine {
    var report: (@MainActor (EngineEvent) -> Void)?
    private var current: EngineItem.ID?

    func load(_ item: EngineItem, at start: Duration, isPaused: Bool) {
      current = item.id
      report?(.began(item.id))
      report?(.duration(item.id, .seconds(10)))
      report?(.ready(item.id, at: start))
    }

    func seek(to position: Duration, serial: Int) {
      guard let current else { return }
      report?(.seekCompleted(current, serial: serial, at: position))
    }

    private(set) var device: String?

    func setAudioDevice(_ device: String?) { self.device = device }

    /// Nil: no window is open.
    private var isFullscreen: Bool?

    func showWindow(_ isFullscreen: Bool?) {
      self.isFullscreen = isFullscreen
      report?(.fullscreen(isFullscreen))
    }

    func setFullscreen(_ isFullscreen: Bool) { showWindow(isFullscreen) }

    func toggleFullscreen() { showWindow(isFullscreen.map { !$0 }) }

    func follow(with item: EngineItem?) {}
    func play() {}
    func pause() {}
    func setRate(_ rate: Double) {}
    func setVolume(_ volume: Double, isMuted: Bool) {}
    func stop() { current = nil }
    func statistics(of item: EngineItem.ID) -> MediaReader.Statistics? { nil }
    func close() async {}
  }
#endif
