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

/// `.ci/install-scripts`, which `make clients` calls, with a stand-in for pip.
@Suite(.enabled(if: RequiredProgram.python3.isUsable), .timeLimit(.minutes(1)))
struct WebScriptInstallTests {
  private static let folder = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: ".ci", directoryHint: .isDirectory)

  /// Runs the script where `pip` is a Python module of this text.
  ///
  /// - Returns: also whether `.ci/has` finds the script afterwards.
  private func install(
    _ name: String, pip: String
  ) async throws -> (status: CInt?, output: String, isInstalled: Bool) {
    try await withDirectory { directory in
      try Data(pip.utf8).write(to: directory.appending(path: "pip.py"))
      let path = directory.path(percentEncoded: false)
      let environment = ["PYTHONPATH": path, "XDG_DATA_HOME": path]
      func run(_ script: String, _ program: URL) async throws -> (status: CInt?, output: String) {
        let output = directory.appending(path: "\(script).txt")
        let file = Self.folder.appending(path: script).path(percentEncoded: false)
        let process = try LeashedProcess(
          program, [file, name], in: directory, output: output, environment: environment)
        let status = try await process.exitStatus(within: .seconds(30))
        return (status, try String(contentsOf: output, encoding: .utf8))
      }
      let installing = try await run("install-scripts", try RequiredProgram.python3.path)
      let looking = try await run("has", URL(filePath: "/bin/bash"))
      return (installing.status, installing.output, looking.status == 0)
    }
  }

  @Test func `A failed download prints what pip printed`() async throws {
    let run = try await install("video.js", pip: "import sys\nsys.exit('pip: no network')\n")
    #expect(run.status == 1 && !run.isInstalled)
    #expect(run.output.contains("pip: no network"))
    #expect(run.output.contains("Check the network"))
  }

  @Test func `A script other than the known one is not installed`() async throws {
    // Writes what the package is to contain, as pip does once the package's own hash is right.
    let pip = """
      import io, os, sys, tarfile
      place = sys.argv[sys.argv.index("--dest") + 1]
      asked = open(sys.argv[sys.argv.index("--requirement") + 1]).read()
      assert asked.startswith("js.videojs==") and " --hash=sha256:" in asked
      os.mkdir(place)
      with tarfile.open(place + "/package.tar.gz", "w:gz") as package:
          member = tarfile.TarInfo("js.videojs-7.5.5/js/videojs/resources/video.min.js")
          member.size = 5
          package.addfile(member, io.BytesIO(b"other"))
      """
    let run = try await install("video.js", pip: pip)
    #expect(run.status == 1 && !run.isInstalled)
    #expect(run.output.contains("is not the known video.js"))
  }
}
