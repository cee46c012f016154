// SPDX-License-Identifier: MIT
import Foundation

/// Measures `refrain play` of a film of 1920×1080 in a window, over mpv: the time from the start of
/// the program to the first picture on the screen, and the processor time while it plays.
///
/// mpv has the options that `refrain play` sets where they cost time: the outputs that are tried,
/// hardware decoding, and playing on without a sound device.
enum VideoPlay: Benchmark {
  static let name = "video"
  private static let rounds = 11
  private static let playRounds = 3
  private static let playSeconds = 10.0
  private static let milliseconds = 50.0
  private static let mebibytesPerSecond = 10.0

  private static let warm = Row(
    "first picture, refrain play warm ÷ mpv of the file, time", .atMost(1.1))
  private static let cold = Row(
    "first picture, refrain play cold ÷ mpv of the URL, time", .atMost(1.1))
  private static let line = Row(
    "first picture over 50 ms, 10 MiB/s, refrain play cold ÷ mpv of the URL, time", .atMost(1.1))
  private static let cost = Row(
    "playing 1080p for 10 s, refrain play warm ÷ mpv of the file, CPU", .atMost(1.05))
  static let rows = [warm, cold, line, cost]

  #if os(Linux)
    static func run(_ report: Report) async throws {
      let directory = Measure.temporaryDirectory("video")
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: directory) }
      let film = try Self.film
      let screen = try ShownScreen(in: directory)
      defer { screen.stop() }
      setenv("DISPLAY", screen.name, 1)
      unsetenv("WAYLAND_DISPLAY")
      let origin = try FileOrigin(in: directory)
      defer { origin.stop() }
      try FileManager.default.createSymbolicLink(
        at: origin.files.appending(path: "film.mp4"), withDestinationURL: film)
      let relay = try RelayProcess(
        origin: origin.port, milliseconds: milliseconds, mebibytesPerSecond: mebibytesPerSecond)
      defer { relay.stop() }
      let near = origin.url("/film.mp4")
      let far = "http://127.0.0.1:\(relay.port)/film.mp4"
      let stored = directory.appending(path: "stored")
      try Command.run(Program.refrain, ["get", "--cache", stored.path, near])
      let empty = directory.appending(path: "empty")

      let starts = [
        (warm, refrain(near, stored), mpv(film.path)), (cold, refrain(near, empty), mpv(near)),
        (line, refrain(far, empty), mpv(far)),
      ]
      for (row, ours, theirs) in starts {
        await report.attempt([row]) {
          try compare(row, ours, theirs, rounds, "%.0f", "ms", report) { player in
            try? FileManager.default.removeItem(at: empty)
            return try firstPicture(player, screen) * 1000
          }
        }
      }
      await report.attempt([cost]) {
        let (ours, theirs) = (refrain(near, stored), mpv(film.path))
        try compare(cost, ours, theirs, playRounds, "%.2f", "CPU s per s", report) { player in
          try cost(of: player, screen)
        }
      }
    }

    private typealias Player = (program: String, arguments: [String])

    private static func refrain(_ url: String, _ cache: URL) -> Player {
      (Program.refrain, ["play", "--plain", "--cache", cache.path, url])
    }

    private static func mpv(_ address: String) -> Player {
      let hasDecoder = ["/dev/dri", "/dev/nvidiactl"].contains {
        FileManager.default.fileExists(atPath: $0)
      }
      return (
        "mpv",
        ["--no-config", "--no-terminal", "--audio-fallback-to-null=yes", "--vo=gpu,wlshm,x11"]
          + ["--hwdec=\(hasDecoder ? "auto-safe" : "no")", address]
      )
    }

    /// Measures both players in turns.
    private static func compare(
      _ row: Row, _ ours: Player, _ theirs: Player, _ rounds: Int, _ format: String,
      _ unit: String, _ report: Report, _ measure: (Player) throws -> Double
    ) throws {
      var figures: [[Double]] = [[], []]
      for round in 0...rounds {
        for (index, player) in Measure.inTurns([ours, theirs], round) {
          let figure = try measure(player)
          // The first round fills the system's caches.
          if round > 0 { figures[index].append(figure) }
        }
      }
      report.note(
        "  refrain \(Measure.spread(figures[0], format)), "
          + "mpv \(Measure.spread(figures[1], format)) \(unit)  (load \(Measure.load))")
      report.record(row, Measure.ratios(figures[0], to: figures[1]))
    }

    /// Returns the seconds from the start of the player to its first picture.
    private static func firstPicture(_ player: Player, _ screen: ShownScreen) throws -> Double {
      try playing(player, screen) { _, seconds in seconds }
    }

    /// Returns the processor time of a second of playing.
    private static func cost(of player: Player, _ screen: ShownScreen) throws -> Double {
      try playing(player, screen) { process, _ in
        // The start is over.
        Monotonic.sleep(until: Monotonic.now + 2)
        let (start, used) = (Monotonic.now, CPUTime.seconds(ofTree: process))
        Monotonic.sleep(until: start + playSeconds)
        return (CPUTime.seconds(ofTree: process) - used) / (Monotonic.now - start)
      }
    }

    /// Calls `body` once the player shows its first picture, and ends it.
    private static func playing(
      _ player: Player, _ screen: ShownScreen, _ body: (pid_t, Double) -> Double
    ) throws -> Double {
      let start = Monotonic.now
      let child = try Child(player.program, player.arguments, quiet: true)
      let figure: Double
      do {
        figure = body(child.identifier, try screen.wait(isLit: true) - start)
      } catch {
        child.stop()
        throw Failure("\(player.program): \(error)")
      }
      child.stop()
      _ = try screen.wait(isLit: false)
      return figure
    }

    /// A film of 30 s, 30 pictures a second; created once and kept.
    private static var film: URL {
      get throws {
        try Film.kept("full-hd.mp4") {
          ["-f", "lavfi", "-i", "testsrc2=size=1920x1080:rate=30"]
            + ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000", "-t", "30"]
            + ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-g", "60"]
            + ["-c:a", "aac", "-b:a", "128k", "-movflags", "+faststart"]
        }
      }
    }
  #else
    static func run(_ report: Report) async throws { throw Failure("only on Linux, over X") }
  #endif
}
