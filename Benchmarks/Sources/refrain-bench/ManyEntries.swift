// SPDX-License-Identifier: MIT
import Foundation
import Refrain

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Work on a cache of 20,000 entries of 2 kB by the program `refrain`, over the raw system calls of
/// the same work in this process, on one thread: `ls` and `verify` over listing the directories and
/// reading the records, `rm --all` over removing a copy of the directory. `get` of all has no peer:
/// its figure is the time for each resource.
enum ManyEntries {
  static let count = 20_000
  private static let rounds = 5

  static func run() async throws {
    let directory = Measure.temporaryDirectory("entries")
    let copy = Measure.temporaryDirectory("entries-copy")
    defer {
      for folder in [directory, copy] { try? FileManager.default.removeItem(at: folder) }
    }
    let origin = try OriginProcess(length: 2000)
    defer { origin.stop() }
    let urls = (0..<count).map { "\(origin.url.absoluteString)?\($0)" }
    let getting = try await Measure.seconds { try refrain(["get"] + urls, directory) }
    print(
      "entries: get of \(count) resources of 2 kB "
        + String(format: "%.1f s, %.2f ms each", getting, getting / Double(count) * 1000))
    for command in ["ls", "verify"] {
      var (raw, ours): ([Double], [Double]) = ([], [])
      for round in 0...rounds {
        for (index, _) in Measure.inTurns(["raw", "ours"], round) {
          let seconds = try await Measure.seconds {
            if index == 0 { try look(directory) } else { try refrain([command], directory) }
          }
          // The first round finds nothing in the kernel's caches.
          if round > 0 { if index == 0 { raw.append(seconds) } else { ours.append(seconds) } }
        }
      }
      report(command, ours, "list, read and stat", raw)
    }
    try FileManager.default.copyItem(at: directory, to: copy)
    sync()
    let raw = try await Measure.seconds { try remove(copy.path(percentEncoded: false)) }
    let ours = try await Measure.seconds { try refrain(["rm", "--all"], directory) }
    report("rm --all", [ours], "unlink and rmdir", [raw])
  }

  private static func report(
    _ command: String, _ ours: [Double], _ peer: String, _ raw: [Double]
  ) {
    print(
      "entries: refrain \(command) of \(count) \(Measure.spread(ours)) s; "
        + "\(peer) \(Measure.spread(raw)) s: "
        + String(format: "%.2f of its time", Measure.median(ours) / Measure.median(raw)))
  }

  /// Runs the program that `make bench` has built.
  private static func refrain(_ arguments: [String], _ cache: URL) throws {
    let process = Process()
    process.executableURL = URL(filePath: ".build/release/refrain")
    process.arguments = arguments + ["--cache", cache.path(percentEncoded: false)]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw POSIXError(.EIO) }
  }

  /// readdir(3) of every directory; open(2), fstat(2), read(2) and close(2) of each record; lstat(2)
  /// of each other file.
  private static func look(_ directory: URL) throws {
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

  /// Calls `body` for all that is in a directory, what is inside first.
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
