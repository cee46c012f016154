// SPDX-License-Identifier: MIT
import Foundation
import Refrain

#if canImport(Darwin)
  import Darwin
#endif

/// `proxy.json` in the cache directory: the record of its proxy, readable only by its owner.
///
/// A small file, read and written once per command. All methods block for as long as the disk
/// takes.
struct ProxyFile: Sendable {
  static let name = "proxy.json"

  let directory: URL

  private var path: String { directory.appending(path: Self.name).path(percentEncoded: false) }

  /// Returns the record; nil if there is none yet.
  ///
  /// - Throws: if others could have read or written the token, or if the file is not a record.
  func read() throws -> ProxyRecord? {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw failure("read", errno)
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw failure("read", errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw malformed }
    guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
      throw MediaCacheError(
        .storage, "\(path) holds the proxy's token, and other users can read or write it.",
        remedy: "Remove it to create a new token; URLs printed before then become invalid.")
    }
    guard let bytes = try contents(of: file), let record = ProxyRecord(decoding: bytes) else {
      throw malformed
    }
    return record
  }

  /// Returns the existing record, else creates one. If two processes do this at the same time, both
  /// receive the first one.
  func readOrCreate() throws -> ProxyRecord {
    if let record = try read() { return record }
    let record = ProxyRecord.new()
    let temporary = try writeTemporary(record)
    defer { unlink(temporary) }
    // Unlike rename(2), link(2) replaces nothing.
    if link(temporary, path) == 0 { return record }
    let number = errno
    guard number == EEXIST, let other = try read() else { throw failure("written", number) }
    return other
  }

  /// Replaces the existing record: a reader finds either the old or the new one.
  func replace(with record: ProxyRecord) throws {
    let temporary = try writeTemporary(record)
    guard rename(temporary, path) == 0 else {
      let number = errno
      unlink(temporary)
      throw failure("written", number)
    }
  }

  /// Returns the path of a new file, which no other process can have created before.
  private func writeTemporary(_ record: ProxyRecord) throws -> String {
    let bytes = try record.encoded()
    if mkdir(directory.path(percentEncoded: false), 0o700) != 0, errno != EEXIST {
      throw failure("written", errno)
    }
    let temporary = "\(path).\(UUID().uuidString)"
    let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw failure("written", errno) }
    defer { close(file) }
    // A write this small is complete or fails, and is not interrupted (write(2), on a file).
    let count = bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
    guard count == bytes.count, fsync(file) == 0 else {
      let number = count < 0 || count == bytes.count ? errno : ENOSPC
      unlink(temporary)
      throw failure("written", number)
    }
    return temporary
  }

  /// Returns nil if the file is larger than any record.
  private func contents(of file: CInt) throws -> Data? {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = bytes.withUnsafeMutableBytes { Foundation.read(file, $0.baseAddress, $0.count) }
    guard count >= 0 else { throw failure("read", errno) }
    return count < bytes.count ? Data(bytes[..<count]) : nil
  }

  private var malformed: MediaCacheError {
    MediaCacheError(
      .storage, "\(path) is not a proxy record.",
      remedy: "Remove it to create a new one; URLs printed before then become invalid.")
  }

  private func failure(_ what: String, _ number: CInt) -> MediaCacheError {
    MediaCacheError(
      .storage, "\(path) could not be \(what): \(String(cString: strerror(number))).",
      remedy: "Check the cache directory, or name another with --cache.")
  }
}

/// The stored state of a proxy between runs: its token, and how it was last reached.
struct ProxyRecord: Sendable, Hashable, Codable {
  var token: String
  var address = ListenAddress.standardHost
  var port = ListenAddress.standardPort
  /// The one origin of a reverse proxy; nil if URLs carry the token.
  var origin: URL?
  var names: [String] = []
  var allowedHosts: [String] = []

  /// Returns a record with an unguessable token: 192 random bits.
  static func new() -> ProxyRecord {
    var source = SystemRandomNumberGenerator()
    let bytes = (0..<24).map { _ in UInt8.random(in: .min ... .max, using: &source) }
    let token = Data(bytes).base64EncodedString()
      .replacing("+", with: "-").replacing("/", with: "_")
    return ProxyRecord(token: token)
  }

  /// Returns nil if the bytes are not a record: no JSON, a token that could be guessed, no valid
  /// port.
  init?(decoding bytes: Data) {
    guard let record = try? JSONDecoder().decode(Self.self, from: bytes),
      record.token.utf8.count >= 16, record.token.utf8.allSatisfy(\.isUnreserved),
      (1..<65536).contains(record.port), !record.address.isEmpty
    else { return nil }
    self = record
  }

  init(token: String) { self.token = token }

  func encoded() throws -> Data { Data((try JSONText.line(self) + "\n").utf8) }
}
