// SPDX-License-Identifier: MIT
import Foundation
import TestSupport

/// curl on one resource.
struct Curl {
  enum Server { case origin, proxy }

  struct Answer {
    var status: Int
    /// The lines of the head.
    var head: [Substring]
    var body: Data

    func header(_ name: String) -> String? {
      let start = name.lowercased() + ":"
      return head.first { $0.lowercased().hasPrefix(start) }
        .map { $0.dropFirst(start.count).trimmingCharacters(in: .whitespaces) }
    }
  }

  let origin: URL
  let proxy: URL
  let directory: URL

  /// - Parameter after: the contents of curl's output file beforehand; nil: there is no file.
  func get(
    _ options: [String], from server: Server = .proxy, after: Data? = nil
  ) async throws -> Answer {
    let name = UUID().uuidString
    let file = directory.appending(path: name)
    try after?.write(to: file)
    let url = server == .origin ? origin : proxy
    let status = try await run(
      .curl,
      ["-q", "-sS", "--noproxy", "*", "-D", name + ".head", "-o", name, "-w", "%{http_code}"]
        + options + [url.absoluteString],
      in: directory)
    let head = try String(contentsOf: directory.appending(path: name + ".head"), encoding: .utf8)
    // curl writes no file for a response without a body, and -I writes the head.
    let exists = FileManager.default.fileExists(atPath: file.path(percentEncoded: false))
    return Answer(
      status: Int(status) ?? 0, head: head.split(separator: "\r\n"),
      body: exists ? try Data(contentsOf: file) : Data())
  }
}
