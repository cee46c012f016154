// SPDX-License-Identifier: MIT
import Foundation
import Refrain

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Measures the program `refrain` on a cache of 20,000 entries of 2 kB, over the raw system calls
/// of the same work in this process, on one thread: `ls` and `verify` over listing the directories
/// and reading the records, `rm --all` over removing a copy of the directory. `get` of all has no
/// peer: its figure is the time per resource.
enum ManyEntries: Benchmark {
  static let name = "entries"
  private static let count = 20_000
  private static let rounds = 5

  private static let getting = Row("refrain get of \(count) × 2 kB, time for each", unit: "ms")
  private static let looking = ["ls", "verify"].map { command in
    (command, Row("refrain \(command) of \(count) entries ÷ list, read and stat, time"))
  }
  private static let removing = Row("refrain rm --all of \(count) entries ÷ unlink and rmdir, time")
  static let rows = [getting] + looking.map(\.1) + [removing]

  static func run(_ report: Report) async throws {
    let folder = Measure.temporaryDirectory("entries")
    defer { try? FileManager.default.removeItem(at: folder) }
    let (directory, copy) = (folder.appending(path: "cache"), folder.appending(path: "copy"))
    let origin = try FileOrigin(in: folder)
    defer { origin.stop() }
    try Data(count: 2000).write(to: origin.files.appending(path: "file.bin"))
    let urls = (0..<count).map { origin.url("/file.bin?\($0)") }
    let seconds = try refrain(["get"] + urls, directory)
    report.record(getting, seconds / Double(count) * 1000)
    for (command, row) in looking {
      var (raw, ours): ([Double], [Double]) = ([], [])
      for round in 0...rounds {
        for (index, _) in Measure.inTurns(["raw", "ours"], round) {
          let seconds =
            index == 0
            ? try await Measure.seconds { try lookUp(directory) }
            : try refrain([command], directory)
          // The first round finds nothing in the kernel's caches.
          if round > 0 { if index == 0 { raw.append(seconds) } else { ours.append(seconds) } }
        }
      }
      report.note(
        "  \(command) \(Measure.spread(ours)) s, the system calls \(Measure.spread(raw)) s")
      report.record(row, Measure.ratios(ours, to: raw))
    }
    try FileManager.default.copyItem(at: directory, to: copy)
    sync()
    let raw = try await Measure.seconds { try remove(copy.path(percentEncoded: false)) }
    report.record(removing, try refrain(["rm", "--all"], directory) / raw)
  }

  /// Returns the seconds that the program takes.
  private static func refrain(_ arguments: [String], _ cache: URL) throws -> Double {
    try Command.run(
      Program.refrain, arguments + ["--cache", cache.path(percentEncoded: false)]
    ).seconds
  }

  /// Calls readdir(3) for every directory; open(2), fstat(2), read(2) and close(2) for each record;
  /// lstat(2) for each other file.
  private static func lookUp(_ directory: URL) throws {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    try visit(directory.path(percentEncoded: false) + "/entries") { path, _ in
      var status = stat()
      guard path.hasSuffix(".json") else {
        _ = lstat(path, &status)
        return
      }
      let descriptor = open(path, O_RDONLY)
      guard descriptor >= 0 else { throw POSIXError(.EIO) }
      _ = fstat(descriptor, &status)
      _ = read(descriptor, &buffer, buffer.count)
      close(descriptor)
    }
  }

  private static func remove(_ path: String) throws {
    try visit(path) { path, isDirectory in
      guard (isDirectory ? rmdir(path) : unlink(path)) == 0 else { throw POSIXError(.EIO) }
    }
  }

  /// Calls `body` for everything in a directory, contents before their directory.
  private static func visit(
    _ path: String, _ body: (_ path: String, _ isDirectory: Bool) throws -> Void
  ) throws {
    guard let directory = opendir(path) else { throw POSIXError(.EIO) }
    var found: [(path: String, isDirectory: Bool)] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(
          to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)
        ) { String(cString: $0) }
      }
      guard name != ".", name != ".." else { continue }
      found.append(("\(path)/\(name)", entry.pointee.d_type == UInt8(DT_DIR)))
    }
    closedir(directory)
    for (path, isDirectory) in found {
      if isDirectory { try visit(path, body) }
      try body(path, isDirectory)
    }
  }
}
