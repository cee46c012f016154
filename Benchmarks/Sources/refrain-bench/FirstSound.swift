// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain

/// From the start of a program to the first sample: `refrain play` of what is stored, over mpv of the
/// same bytes as a file; and of what is not, over mpv of the URL.
enum FirstSound {
  static let rounds = 21

  static func run() async throws {
    let directory = Measure.temporaryDirectory("first-sound")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let file = directory.appending(path: "tune.wav")
    try Tune.wav.write(to: file)
    let origin = try OriginProcess(length: Int64(Tune.wav.count), file: file)
    defer { origin.stop() }
    let warm = directory.appending(path: "warm")
    let cache = try MediaCache(directory: warm)
    try await cache.prefetch(origin.url)
    await cache.close()

    let pipe = directory.appending(path: "sound.wav")
    guard mkfifo(pipe.path, 0o600) == 0 else { throw CocoaError(.fileWriteUnknown) }
    let refrain = URL(filePath: ".build/release/refrain")
    let mpv = URL(filePath: "/usr/bin/mpv")
    let url = origin.url.absoluteString
    let silent = [
      "--no-config", "--no-video", "--no-terminal", "--ao=pcm", "--ao-pcm-file=\(pipe.path)",
    ]
    func play(_ cache: URL) -> [String] {
      ["play", "--plain", "--audio-output", pipe.path, "--cache", cache.path, url]
    }
    var times = [[Double]](repeating: [], count: 4)
    for round in 0...rounds {
      let cold = directory.appending(path: "cold-\(round)")
      let runs = [
        (refrain, play(warm)), (mpv, silent + [file.path]),
        (refrain, play(cold)), (mpv, silent + [url]),
      ]
      for (index, (program, arguments)) in Measure.inTurns(runs, round) {
        let time = try await firstSample(program, arguments, pipe)
        // The first round is for the system's caches.
        if round > 0 { times[index].append(time * 1000) }
      }
    }
    report("warm, over mpv of the file", times[0], times[1])
    report("cold, over mpv of the URL", times[2], times[3])
  }

  private static func report(_ what: String, _ ours: [Double], _ theirs: [Double]) {
    let ratio = Measure.median(ours) / Measure.median(theirs)
    print(
      "first sound, \(what): \(Measure.spread(ours, "%.0f")) ms to "
        + "\(Measure.spread(theirs, "%.0f")) ms: " + String(format: "%.2f", ratio)
        + "  (goal at most 1.10)")
  }

  /// Seconds from the start of the program to the first bytes behind the file's header.
  private static func firstSample(
    _ program: URL, _ arguments: [String], _ pipe: URL
  ) async throws -> Double {
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    let start = ContinuousClock.now
    try process.run()
    let time = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        // Waits for the program to open the other end (fifo(7)).
        let descriptor = open(pipe.path, O_RDONLY)
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var count = 0
        var time = Double.nan
        while true {
          let got = read(descriptor, &buffer, buffer.count)
          guard got > 0 else { break }
          count += got
          // mpv's header has at most 80 bytes.
          if count > 128, time.isNaN {
            time = (ContinuousClock.now - start) / .seconds(1)
            process.terminate()
          }
        }
        close(descriptor)
        continuation.resume(returning: time)
      }
    }
    process.waitUntilExit()
    return time
  }
}
