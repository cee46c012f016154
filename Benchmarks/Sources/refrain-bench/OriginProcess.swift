// SPDX-License-Identifier: MIT
import Foundation
import OriginServer

/// An origin in a process of its own, so that its work is not counted as ours.
struct OriginProcess {
  static let command = "--origin"

  let process: Process
  let input: Pipe
  let url: URL

  /// Serves `length` bytes, of a file if one is given.
  init(length: Int64, file: URL? = nil) throws {
    process = Process()
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = [Self.command, "\(length)", file?.path ?? ""]
    let output = Pipe()
    input = Pipe()
    process.standardOutput = output
    process.standardInput = input
    try process.run()
    var line = Data()
    while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data([10]) {
      line += byte
    }
    guard let url = URL(string: String(decoding: line, as: UTF8.self)) else {
      throw CocoaError(.fileReadUnknown)
    }
    self.url = url
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
  }

  static func serve(arguments: [String]) async throws {
    let origin = try await OriginServer.start()
    let length = Int64(arguments[1]) ?? 0
    var resource = OriginResource.synthetic(seed: 1, length: length)
    if !arguments[2].isEmpty { resource.content = .file(URL(filePath: arguments[2])) }
    resource.etag = "\"bench\""
    resource.headers = [Field("Cache-Control", "max-age=86400")]
    origin.serve(resource, at: "/file.bin")
    let line = origin.url("/file.bin").absoluteString + "\n"
    try FileHandle.standardOutput.write(contentsOf: Data(line.utf8))
    // Until the parent closes the pipe, or terminates us.
    while readLine() != nil {}
    await origin.stop()
  }
}
