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
