// SPDX-License-Identifier: MIT
import Foundation

/// A cache directory with many entries, as after years of use.
enum Entries {
  /// Adds copies of a stored entry under other names; the cache takes them for entries of other
  /// resources.
  static func multiply(_ entry: URL, count: Int, in cache: URL) throws {
    let files = try FileManager.default.contentsOfDirectory(atPath: entry.path).map { name in
      (name, try Data(contentsOf: entry.appending(path: name)))
    }
    let entries = cache.appending(path: "entries").path
    for number in 0..<count {
      let tail = String(format: "%08x", number &* 2_654_435_761 & 0xFFFF_FFFF)
      let shard = "\(entries)/\(tail.suffix(2))"
      let directory = "\(shard)/\(String(repeating: "0", count: 24))\(tail)"
      mkdir(shard, 0o700)
      guard mkdir(directory, 0o700) == 0 else { throw Failure("\(directory) cannot be made") }
      for (name, content) in files { try write(content, to: "\(directory)/\(name)") }
    }
  }

  private static func write(_ content: Data, to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
    guard descriptor >= 0 else { throw Failure("\(path) cannot be made") }
    defer { close(descriptor) }
    let count = content.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
    guard count == content.count else { throw Failure("\(path) cannot be written") }
  }
}
