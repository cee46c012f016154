// SPDX-License-Identifier: MIT
import Foundation

/// An origin: nginx with one worker that serves a folder of files, and logs the bytes it sends. In
/// processes of its own, so that its work is not counted as ours.
struct FileOrigin {
  let files: URL
  let peer: Peer
  private let log: URL

  var port: Int { peer.port }

  /// - Parameter rate: the bytes per second of a response; nil: as fast as its client takes them.
  init(in directory: URL, rate: Int? = nil) throws {
    files = directory.appending(path: "files")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    let folder = directory.appending(path: "origin")
    log = folder.appending(path: "log")
    peer = try Peer.nginx(serving: files, in: folder, log: log, rate: rate)
  }

  func url(_ path: String) -> String { peer.url(path) }

  func stop() { peer.stop() }

  /// Returns the body bytes sent for completed requests for a path, by the server's log.
  func bytesSent(_ path: String) throws -> Int64 {
    try lines(path).reduce(0) { $0 + $1 }
  }

  /// Returns the same, once nothing was logged for two seconds. Open requests are not included.
  func settledBytes(_ path: String) async throws -> (bytes: Int64, requests: Int) {
    var (found, quiet) = (try lines(path), 0)
    while quiet < 20 {
      try await Task.sleep(for: .milliseconds(100))
      let now = try lines(path)
      quiet = now.count == found.count ? quiet + 1 : 0
      found = now
    }
    return (found.reduce(0, +), found.count)
  }

  private func lines(_ path: String) throws -> [Int64] {
    try String(contentsOf: log, encoding: .utf8).split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      return words.count >= 2 && words[0] == path ? Int64(words[1]) : nil
    }
  }
}
