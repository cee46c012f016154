// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport

  /// The program `refrain`, as it was built beside the tests.
  enum BuiltProgram {
    /// Starts it in a directory that is its home, too.
    ///
    /// - Parameter output: the file for its stdout and stderr.
    static func start(
      _ arguments: [String], cache: URL, output: URL, home: URL
    ) throws -> LeashedProcess {
      try LeashedProcess(
        executable(), arguments, in: home, output: output,
        environment: [
          "REFRAIN_CACHE": cache.path(percentEncoded: false),
          "HOME": home.path(percentEncoded: false), "TMPDIR": home.path(percentEncoded: false),
        ])
    }

    /// What `refrain info --json` reports of one resource.
    struct Info: Decodable, Sendable {
      var length: Int64?
      /// Pairs of the first offset and the one after the last.
      var spans: [[Int64]]

      var ranges: RangeSet<Int64> {
        RangeSet(spans.compactMap { $0.count == 2 && $0[0] < $0[1] ? $0[0]..<$0[1] : nil })
      }
    }

    /// Returns what a process of its own reports of a URL; nil if nothing is stored.
    static func info(_ url: URL, in cache: URL) async throws -> Info? {
      try await withDirectory { directory -> Info? in
        let output = directory.appending(path: "info.json")
        let process = try LeashedProcess(
          executable(),
          [
            "info", "--json", "--log-level", "error", "--cache",
            cache.path(percentEncoded: false), url.absoluteString,
          ],
          in: directory, output: output)
        let status = try await process.exitStatus(within: .seconds(60))
        let said = try Data(contentsOf: output)
        let text = String(decoding: said, as: UTF8.self)
        switch status {
        case 0: return try JSONDecoder().decode(Info.self, from: said)
        case 1 where text.contains("Nothing is stored"): return nil
        default:
          let end = status.map { "ended with status \($0)" } ?? "still ran after a minute"
          throw ClientFailure(description: "refrain info \(end): \(text.suffix(2000))")
        }
      }
    }

    private static func executable() throws -> URL {
      let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      let program = URL(filePath: tests).deletingLastPathComponent().appending(path: "refrain")
      guard FileManager.default.isExecutableFile(atPath: program.path(percentEncoded: false)) else {
        throw ClientFailure(description: "refrain is not built beside the tests.")
      }
      return program
    }
  }
#endif
