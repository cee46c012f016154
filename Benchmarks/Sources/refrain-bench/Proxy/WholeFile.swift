// SPDX-License-Identifier: MIT
import Foundation

/// curl downloading a file, or a part of it, and discarding it.
enum WholeFile {
  struct Result {
    var bytes: Int64
    var seconds: Double
    /// Seconds to the first byte of the response.
    var firstByte: Double
  }

  static func get(_ url: String, range: String? = nil) throws -> Result {
    let output = try Child.run("curl", arguments(url, range, to: "/dev/null"))
    let numbers = output.split(separator: " ").compactMap { Double($0) }
    guard numbers.count == 3 else { throw Failure("curl said: \(output)") }
    return Result(bytes: Int64(numbers[0]), seconds: numbers[1], firstByte: numbers[2])
  }

  /// Checks that a server's response is that file, and its ranges are the file's.
  static func check(_ url: String, is file: URL) throws {
    let copy = Measure.temporaryDirectory("copy")
    defer { try? FileManager.default.removeItem(at: copy) }
    _ = try Child.run("curl", arguments(url, nil, to: copy.path))
    _ = try Child.run("cmp", [file.path, copy.path])
    let content = try Data(contentsOf: file, options: .alwaysMapped)
    for _ in 0..<16 {
      let start = Int.random(in: 0..<content.count - (1 << 20))
      let end = start + Int.random(in: 1...(1 << 20))
      _ = try Child.run("curl", arguments(url, "\(start)-\(end - 1)", to: copy.path))
      guard try Data(contentsOf: copy) == content[start..<end] else {
        throw Failure("\(url) is wrong in \(start)..<\(end)")
      }
    }
  }

  private static func arguments(_ url: String, _ range: String?, to file: String) -> [String] {
    ["-q", "-sS", "--fail", "--noproxy", "*", "-o", file]
      + ["-w", "%{size_download} %{time_total} %{time_starttransfer}"]
      + (range.map { ["-r", $0] } ?? []) + [url]
  }
}
