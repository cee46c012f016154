// SPDX-License-Identifier: MIT
import Foundation

#if canImport(Darwin)
  import Darwin
#endif

extension ConfigurationFile {
  /// Far more than any configuration has.
  private static let longest = 1 << 20

  /// Reads a file. Blocks for as long as the disk takes; never for a writer of a pipe.
  init(reading path: String) throws(ConfigurationError) {
    let bytes = try Self.bytes(of: path)
    guard let text = String(bytes: bytes, encoding: .utf8) else {
      throw ConfigurationError(path, "The file is not text in UTF-8.", remedy: "Convert it.")
    }
    try self.init(parsing: text, path: path)
  }

  private static func bytes(of path: String) throws(ConfigurationError) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw failure(path, errno) }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw failure(path, errno) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw ConfigurationError(
        path, "This is not a file, and could not be read again.", remedy: "Name a file.")
    }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while bytes.count <= longest {
      let count = part.withUnsafeMutableBytes { read(file, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure(path, errno) }
      guard count > 0 else { return bytes }
      bytes += part[..<count]
    }
    throw ConfigurationError(
      path, "The file is larger than \(ByteSize.text(Int64(longest))).",
      remedy: "Name the configuration.")
  }

  private static func failure(_ path: String, _ number: CInt) -> ConfigurationError {
    ConfigurationError(
      path, "The file could not be read: \(String(cString: strerror(number))).",
      remedy: number == ENOENT
        ? "Create it, empty if there are no options, or omit --config."
        : "Check its permissions, or name another file with --config.")
  }
}
