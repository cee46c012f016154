// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// libmpv brings hundreds of libraries: only commands that play load and need them.
  @Suite(.timeLimit(.minutes(2)))
  struct LoadedLibraryTests {
    /// Returns the libraries that the dynamic linker looks for in a run: LD_DEBUG in ld.so(8).
    private func librariesSought(_ run: Program.Run) -> [Substring] {
      run.errors.split(separator: "\n").compactMap { line in
        guard let name = line.firstRange(of: "find library=") else { return nil }
        return line[name.upperBound...].prefix { $0 != " " }
      }
    }

    @Test func `Commands that play nothing do not load libmpv`() async throws {
      try await Program.withSong([1, 2, 3]) { program, _, url in
        for arguments in [
          ["--version"], ["help", "play"], ["get", url], ["ls"], ["info", url], ["path", url],
          ["rm", url],
        ] {
          let run = try await program.run(arguments, adding: ["LD_DEBUG": "libs"])
          #expect(run.status == 0, "\(arguments)")
          let libraries = librariesSought(run)
          #expect(libraries.contains("libc.so.6"))
          #expect(!libraries.contains { $0.hasPrefix("libmpv") || $0.hasPrefix("libav") })
        }
      }
    }

    /// Puts an empty file in libmpv's place, which the dynamic linker finds first and cannot load.
    private func hideLibmpv(in program: Program) throws -> [String: String] {
      try Data().write(to: program.directory.appending(path: "libmpv.so.2"))
      return ["LD_LIBRARY_PATH": program.directory.path(percentEncoded: false)]
    }

    @Test(arguments: [[], ["--json"], ["--sample"], ["--audio-output", "heard.wav"]])
    func `Play without libmpv fails with one line that names the package`(
      _ options: [String]
    ) async throws {
      try await Program.withSong([1, 2, 3]) { program, origin, url in
        let environment = try hideLibmpv(in: program)
        let media = options == ["--sample"] ? [] : [url]
        let run = try await program.run(["play"] + options + media, adding: environment)
        #expect(run.status == 1)
        #expect(!run.output.contains("first sound"))
        #expect(run.errorLines.count == 1)
        #expect(
          run.errors.hasPrefix("refrain: libmpv, which plays the sound, could not be loaded: "))
        #expect(run.errors.hasSuffix("on Debian: apt-get install libmpv2.\n"))
        // They may be on their way when that is known.
        #expect(origin.log("/song.flac").requests.count <= 1)
      }
    }
  }
#endif
