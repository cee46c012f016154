// SPDX-License-Identifier: MIT
import Foundation
import OriginServer

/// An origin in a separate process, so that its work is not counted as ours.
struct OriginProcess {
  static let command = "--origin"

  private let child: Child
  let url: URL

  /// Serves `length` bytes, of a file if one is given.
  init(length: Int64, file: URL? = nil) throws {
    child = try Child(Program.own, [Self.command, "\(length)", file?.path ?? ""])
    guard let url = URL(string: try child.line()) else {
      child.stop()
      throw Failure("the origin has no address")
    }
    self.url = url
  }

  func stop() { child.stop() }

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
    // Until the parent terminates this process.
    while true { try await Task.sleep(for: .seconds(3600)) }
  }
}
