// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Measures the time from the start of a program to the first sample: `refrain play` of a stored
/// resource, over mpv of the same bytes as a file; and of one that is not stored, over mpv of the
/// URL.
enum FirstSound: Benchmark {
  static let name = "sound"
  private static let rounds = 21

  private static let warm = Row(
    "first sample, refrain play warm ÷ mpv of the file, time", .atMost(0.9))
  private static let cold = Row(
    "first sample, refrain play cold ÷ mpv of the URL, time", .atMost(0.95))
  static let rows = [warm, cold]

  static func run(_ report: Report) async throws {
    let directory = Measure.temporaryDirectory("first-sound")
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try FileOrigin(in: directory)
    defer { origin.stop() }
    let file = origin.files.appending(path: "tune.wav")
    try Command.run(
      "ffmpeg",
      [
        "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", "sine=duration=14", "-ac", "2",
        file.path,
      ]
    )
    let url = origin.url("/tune.wav")
    let stored = directory.appending(path: "warm").path
    try Command.run(Program.refrain, ["get", "--cache", stored, url])

    let pipe = directory.appending(path: "sound.wav").path
    guard mkfifo(pipe, 0o600) == 0 else { throw Failure("\(pipe) cannot be made") }
    let silent = [
      "--no-config", "--no-video", "--no-terminal", "--ao=pcm", "--ao-pcm-file=\(pipe)",
    ]
    func play(_ cache: String) -> [String] {
      ["play", "--plain", "--audio-output", pipe, "--cache", cache, url]
    }
    var times = [[Double]](repeating: [], count: 4)
    for round in 0...rounds {
      let empty = directory.appending(path: "cold-\(round)").path
      let runs = [
        (Program.refrain, play(stored)), ("mpv", silent + [file.path]),
        (Program.refrain, play(empty)), ("mpv", silent + [url]),
      ]
      for (index, (program, arguments)) in Measure.inTurns(runs, round) {
        let time = try firstSample(program, arguments, pipe)
        // The first round fills the system's caches.
        if round > 0 { times[index].append(time * 1000) }
      }
    }
    for (row, ours, theirs) in [(warm, times[0], times[1]), (cold, times[2], times[3])] {
      report.note(
        "  refrain \(Measure.spread(ours, "%.0f")) ms, mpv \(Measure.spread(theirs, "%.0f")) ms")
      report.record(row, Measure.ratios(ours, to: theirs))
    }
  }

  /// Returns the seconds from the start of the program to the first bytes after the file's header.
  private static func firstSample(
    _ program: String, _ arguments: [String], _ pipe: String
  ) throws -> Double {
    // Non-blocking: a program that fails never opens the other end (fifo(7)).
    let descriptor = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw Failure("\(pipe) cannot be opened") }
    var player: Child?
    defer {
      // In this order: a program that waits for its sound to be read ignores signals.
      close(descriptor)
      player?.stop()
    }
    let start = Monotonic.now
    player = try Child(program, arguments, quiet: true)
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    var count = 0
    while Monotonic.now - start < 10 {
      var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      poll(&waiting, 1, 100)
      let got = read(descriptor, &buffer, buffer.count)
      if got > 0 { count += got }
      // mpv's header has at most 80 bytes.
      if count > 128 { return Monotonic.now - start }
      // After the first byte there is a writer for as long as the program lives.
      if got == 0, count > 0 { break }
      // Before the first byte, poll(2) does not wait for a writer.
      if got == 0 { usleep(100) }
    }
    throw Failure("\(program) \(arguments.first ?? "") has played nothing")
  }
}
