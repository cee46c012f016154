// SPDX-License-Identifier: MIT
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The load on a cache directory that several processes share: as much as a short test does, or
/// 25 seconds of it in a soak. Resource `number` has the synthetic bytes of the seed `number`.
package enum SharedLoad {
  package static let limit: Int64 = TestSeed.isSoak ? 256 << 20 : 8 << 20

  /// The length of each resource; together several times the limit.
  package static let lengths: [Int64] = {
    let unit: Int64 = TestSeed.isSoak ? 1 << 20 : 64 << 10
    var random = SeededGenerator(seed: 1)
    return (0..<120).map { _ in Int64.random(in: unit...unit * 12, using: &random) }
  }()

  package static func name(_ number: Int) -> String { "\(number).wav" }

  /// Whether a process continues after so many operations.
  package static func continues(
    after operations: Int, since start: ContinuousClock.Instant
  ) -> Bool {
    TestSeed.isSoak ? .now < start + .seconds(25) : operations < 40
  }
}

/// Returns the allocated blocks of a directory and its contents in bytes, as du(1) counts, while
/// other processes change it.
///
/// A walk is no instant: it may count a file, and then another that was written after the first was
/// removed. If the sum is above `limit`, a second walk follows, and each file counts with the lower
/// of its two sizes, which it had between the walks. What is then above the limit was so at once.
package func allocatedBytes(_ path: String, checking limit: Int64) -> Int64 {
  let first = blocks(path)
  let sum = first.values.reduce(0, +)
  guard sum > limit else { return sum }
  let second = blocks(path)
  return first.reduce(0) { $0 + min($1.value, second[$1.key] ?? 0) }
}

/// Returns the size of each file and directory. A name that is reused belongs to another file.
private func blocks(_ path: String) -> [String: Int64] {
  var found: [String: Int64] = [:]
  var pending = [path]
  while let path = pending.popLast() {
    var status = stat()
    guard lstat(path, &status) == 0 else { continue }
    found["\(path) \(status.st_ino)"] = Int64(status.st_blocks) * 512
    guard status.st_mode & S_IFMT == S_IFDIR else { continue }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    pending += names.map { "\(path)/\($0)" }
  }
  return found
}
