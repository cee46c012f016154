// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

/// `.ci/install`, which `make deps` and `make clients` call, with stand-ins for dpkg and apt.
@Suite(.timeLimit(.minutes(1)))
struct InstallScriptTests {
  private static let script = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: ".ci/install")

  /// Prints as many lines as apt does.
  private static let chatter = "for i in $(seq 300); do echo \"Unpacking part $i\"; done"

  /// Writes programs, given by names and contents up to `--`, and then runs the script. A process of
  /// its own writes them: a program that another test starts meanwhile would inherit the open files
  /// of this one, and an open file cannot be run (ETXTBSY of execve(2)).
  private static let setUp = #"""
    while [ "$1" != -- ]; do printf %s "$2" >"$1"; chmod 755 "$1"; shift 2; done
    shift
    exec /bin/bash "$@"
    """#

  /// Runs the script where only `have` is installed and apt-get behaves as `apt` says.
  private func install(
    _ packages: [String], apt: String
  ) async throws -> (status: CInt?, lines: [Substring], called: Bool) {
    try await withDirectory { directory in
      let stubs = [
        "dpkg-query": #"[ "${@: -1}" = have ] && echo installed"#,
        "apt-get": "touch called; \(apt)", "id": "echo 0",
      ]
      let output = directory.appending(path: "output.txt")
      let folder = directory.path(percentEncoded: false)
      let files = stubs.flatMap { [$0.key, "#!/bin/bash\n\($0.value)\n"] }
      let process = try LeashedProcess(
        URL(filePath: "/bin/bash"),
        ["-c", Self.setUp, "bash"] + files + ["--", Self.script.path(percentEncoded: false)]
          + packages,
        in: directory, output: output,
        environment: ["PATH": "\(folder):/usr/bin:/bin", "TMPDIR": folder])
      let status = try await process.exitStatus(within: .seconds(30))
      let called = directory.appending(path: "called").path(percentEncoded: false)
      return (
        status, try String(contentsOf: output, encoding: .utf8).split(separator: "\n"),
        FileManager.default.fileExists(atPath: called)
      )
    }
  }

  @Test func `The script prints one line with the packages, and logs apt's output`() async throws {
    let run = try await install(["first", "have", "second"], apt: Self.chatter)
    #expect(run.status == 0)
    #expect(run.lines.count == 1)
    #expect(run.lines.first?.hasPrefix("Installing first second (log: ") == true)
  }

  @Test func `A failed installation prints the log`() async throws {
    let run = try await install(["first"], apt: "\(Self.chatter); echo E: no network; exit 100")
    #expect(run.status == 1)
    #expect(run.lines.contains("Unpacking part 300"))
    #expect(run.lines.contains("E: no network"))
    #expect(run.lines.last?.contains("Check the network") == true)
  }

  @Test func `The script does nothing if no package is missing`() async throws {
    let run = try await install(["have"], apt: "exit 1")
    #expect(run.status == 0 && run.lines.isEmpty && !run.called)
  }
}
