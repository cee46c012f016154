// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  /// `refrain play` that is killed at a random time after a change that the listener made: it goes
  /// on with the change, or, killed before that was stored, as if it had not been made.
  @Suite(
    .enabled(
      if: Desktop.isUsable && TestBus.isUsable && RequiredProgram.playerctl.isUsable),
    .timeLimit(.minutes(TestSeed.minutes(2))))
  struct RandomKillTests {
    private enum Change {
      case seek(to: Double)
      /// To the other one of two sound tracks.
      case track
    }

    /// Where a program may go on.
    private struct Left {
      var positions: [Double]
      var tracks: [Int]
    }

    /// What a program reported, in order.
    private struct Reports {
      struct Event: Decodable {
        struct Track: Decodable {
          var kind: String
          var number: Int
          var isSelected: Bool
        }
        var event: String
        var seconds: Double?
        var tracks: [Track]?
      }

      private var hasStarted = false
      /// After the first sound.
      var positions: [Double] = []
      /// The selected sound track.
      var track: Int?
      /// The positions since it was selected.
      var positionsOfTrack = 0

      mutating func take(_ line: String) throws {
        let event = try JSONDecoder().decode(Event.self, from: Data(line.utf8))
        if event.event == "started" { hasStarted = true }
        if event.event == "position", hasStarted, let seconds = event.seconds {
          positions.append(seconds)
          positionsOfTrack += 1
        }
        let selected = event.tracks?.first { $0.kind == "audio" && $0.isSelected }?.number
        if let selected, selected != track { (track, positionsOfTrack) = (selected, 0) }
      }
    }

    /// So many positions after its first sound, a program has reported its tracks; so many after a
    /// change, that is stored.
    private static let (begun, enough) = (3, 6)

    /// Makes a small film of more than ten minutes with two silent sound tracks, which only their
    /// numbers tell apart.
    private func film(in program: Program) async throws -> String {
      let file = program.directory.appending(path: "film.mkv")
      let black = ["-f", "lavfi", "-i", "color=c=black:s=64x64:r=1:d=700"]
      let silence = ["-f", "lavfi", "-t", "700", "-i", "anullsrc=r=8000:cl=mono"]
      try await CountingFilm.encode(
        black + silence + silence + [
          "-map", "0", "-map", "1", "-map", "2", "-c:v", "mpeg4", "-c:a", "pcm_u8",
        ], file, program)
      return file.path(percentEncoded: false)
    }

    /// Starts the program, checks where it goes on, makes a change, and kills it a while later.
    /// Returns where the next one may go on.
    private func play(
      _ arguments: [String], at left: Left, _ change: Change, killAfter delay: Duration,
      on desktop: Desktop, _ bus: TestBus
    ) async throws -> Left {
      let running = try desktop.run("/usr/bin/env", bus.playing(["--json"] + arguments))
      var reports = Reports()
      while reports.positions.count < Self.begun {
        let line = try await running.nextLine()
        try reports.take(line)
      }
      let (first, before) = (try #require(reports.positions.first), reports.positions.count)
      let track = try #require(reports.track)
      #expect(left.positions.contains { abs(first - $0) <= 2 }, "\(first), left at \(left)")
      #expect(left.tracks.contains(track), "\(track), left with \(left)")

      switch change {
      case .seek(let target):
        try await eventually("it is asked to seek") {
          try await bus.playerctl("position", "\(target)") == ""
        }
      case .track: try await desktop.press("a", in: try await desktop.window())
      }
      try await Task.sleep(for: delay)
      running.send(SIGKILL)
      for await line in running.lines {
        // Killed, it may leave a part of a line.
        if line.hasSuffix("}") { try reports.take(line) }
      }
      #expect(await running.end() == -SIGKILL)

      let last = try #require(reports.positions.last)
      switch change {
      case .seek(let target):
        let after = reports.positions.dropFirst(before).filter { abs($0 - target) < 10 }
        let old = reports.positions.last { abs($0 - target) >= 10 } ?? first
        let isStored = after.count >= Self.enough
        return Left(
          positions: isStored ? [last] : [old, after.last ?? target], tracks: [track])
      case .track:
        let isStored = reports.track != track && reports.positionsOfTrack >= Self.enough
        return Left(positions: [last], tracks: isStored ? [3 - track] : [track, 3 - track])
      }
    }

    @Test func `Killed at any time after a jump or a choice of the sound, it goes on`() async throws
    {
      let seed = TestSeed.next()
      print("REFRAIN_SEED=\(seed)")
      var random = SeededGenerator(seed: seed)
      try await TestBus.with { bus in
        try await Program.with { program in
          let desktop = try await Desktop(program)
          var arguments = ["--start", "60", try await film(in: program)]
          var left = Left(positions: [60], tracks: [1])
          // Each but the first finds what the one before left.
          for round in 0..<(TestSeed.isSoak ? 60 : 3) {
            // Far from where it was left.
            let near = left.positions[0]
            let target = Double.random(in: 30..<270, using: &random) + (near < 300 ? 330 : 0)
            let delay = Duration.milliseconds(Int.random(in: 0..<1500, using: &random))
            left = try await play(
              arguments, at: left, round.isMultiple(of: 2) ? .seek(to: target) : .track,
              killAfter: delay, on: desktop, bus)
            arguments = ["--resume"]
          }
        }
      }
    }
  }
#endif
