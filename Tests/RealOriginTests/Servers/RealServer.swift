// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

/// The tested servers: a plain one, one like a cloud drive, and one with almost no features.
enum RealServer: String, CaseIterable, Sendable, CustomTestStringConvertible {
  /// ETag, Last-Modified, ranges.
  case nginx
  /// WebDAV: as nginx, but requires a user and a password.
  case rclone
  /// Last-Modified, no ranges, HTTP/1.0.
  case python

  static let usable = allCases.filter(\.program.isUsable)

  var testDescription: String { rawValue }

  var program: RequiredProgram {
    switch self {
    case .nginx: .nginx
    case .rclone: .rclone
    case .python: .python3
    }
  }

  var hasRanges: Bool { self != .python }

  /// `Basic` of `listener:pass word`.
  static let user = "listener"
  static let password = "pass word"
  static let authorization = "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()

  var headers: HeaderFields {
    self == .rclone ? ["Authorization": Self.authorization] : [:]
  }

  /// - Parameter directory: contains `files`, which is served; the server's other files go beside
  ///   it.
  func arguments(port: Int, directory: URL) throws -> [String] {
    let files = directory.appending(path: "files").path(percentEncoded: false)
    switch self {
    case .nginx:
      let configuration = directory.appending(path: "nginx.conf")
      try Data(Nginx.configuration(port: port, directory: directory).utf8).write(to: configuration)
      let path = directory.path(percentEncoded: false)
      return ["-p", path, "-c", configuration.path(percentEncoded: false), "-e", "stderr"]
    case .rclone:
      // Changes in the folder are visible at once.
      return [
        "serve", "webdav", files, "--addr", "127.0.0.1:\(port)", "--user", Self.user, "--pass",
        Self.password, "--dir-cache-time", "0s", "--poll-interval", "0",
        "--config", directory.appending(path: "rclone.conf").path(percentEncoded: false),
        "--cache-dir", directory.appending(path: "rclone").path(percentEncoded: false),
      ]
    case .python:
      return ["-u", "-m", "http.server", "\(port)", "--bind", "127.0.0.1", "--directory", files]
    }
  }
}
