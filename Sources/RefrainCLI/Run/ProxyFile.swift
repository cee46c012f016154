// SPDX-License-Identifier: MIT
import Foundation
import Refrain

#if canImport(Darwin)
  import Darwin
#endif

/// `proxy.json` in the cache directory: the record of its proxy, for nobody else to read.
///
/// A small file, read and written once in a command's life. All of it blocks, for as long as the
/// disk takes.
struct ProxyFile: Sendable {
  static let name = "proxy.json"

  let directory: URL

  private var path: String { directory.appending(path: Self.name).path(percentEncoded: false) }

  /// The record; nil where there is none yet.
  ///
  /// - Throws: where others could have read the token, or written it, and where it is no record.
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
        .storage, "\(path) holds the proxy's token, and others may read or write it.",
        remedy: "Remove it, and a new token is made; URLs that were given out then no longer hold.")
    }
    guard let bytes = try contents(of: file), let record = ProxyRecord(decoding: bytes) else {
      throw malformed
    }
    return record
  }

  /// The record that is there, else a new one, put there. When two processes do this at the same
  /// time, both get the one that came first.
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

  /// Puts the record in the place of the one that is there: a reader finds one or the other.
  func replace(with record: ProxyRecord) throws {
    let temporary = try writeTemporary(record)
    guard rename(temporary, path) == 0 else {
      let number = errno
      unlink(temporary)
      throw failure("written", number)
    }
  }

  /// Returns the path of a new file, which nobody else can have made before.
  private func writeTemporary(_ record: ProxyRecord) throws -> String {
    let bytes = try record.encoded()
    if mkdir(directory.path(percentEncoded: false), 0o700) != 0, errno != EEXIST {
      throw failure("written", errno)
    }
    let temporary = "\(path).\(UUID().uuidString)"
    let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw failure("written", errno) }
    defer { close(file) }
    // So small a write is whole or fails, and neither is interrupted (write(2), on a file).
    let count = bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
    guard count == bytes.count, fsync(file) == 0 else {
      let number = count < 0 || count == bytes.count ? errno : ENOSPC
      unlink(temporary)
      throw failure("written", number)
    }
    return temporary
  }

  /// Nil where it is larger than any record.
  private func contents(of file: CInt) throws -> Data? {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = bytes.withUnsafeMutableBytes { Foundation.read(file, $0.baseAddress, $0.count) }
    guard count >= 0 else { throw failure("read", errno) }
    return count < bytes.count ? Data(bytes[..<count]) : nil
  }

  private var malformed: MediaCacheError {
    MediaCacheError(
      .storage, "\(path) is not the record of a proxy.",
      remedy: "Remove it, and a new one is made; URLs that were given out then no longer hold.")
  }

  private func failure(_ what: String, _ number: CInt) -> MediaCacheError {
    MediaCacheError(
      .storage, "\(path) could not be \(what): \(String(cString: strerror(number))).",
      remedy: "Check the cache directory, or name another with --cache.")
  }
}
