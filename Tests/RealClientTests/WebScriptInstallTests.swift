// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

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
