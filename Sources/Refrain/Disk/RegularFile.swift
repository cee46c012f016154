// SPDX-License-Identifier: MIT
package import Foundation

#if canImport(Darwin)
  import Darwin
#endif

/// A local file that is read, and may be shortened meanwhile. Its calls block.
package struct RegularFile {
  private let handle: FileHandle
  /// In bytes, as it was when the file was opened.
  package let length: Int64

  /// Returns nil for anything but a regular file: reading a pipe or a device would wait, and take
  /// bytes from others.
  ///
  /// - Throws: `POSIXError` if the file cannot be opened.
  package init?(_ url: URL) throws {
    let file = open(url.path(percentEncoded: false), O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    length = Int64(status.st_size)
  }

  /// Returns the bytes of a range; fewer if the file is shorter by now, none if it cannot be read.
  package func bytes(in range: Range<Int64>) -> [UInt8] {
    do {
      try handle.seek(toOffset: UInt64(range.lowerBound))
      return [UInt8](try handle.read(upToCount: range.count) ?? Data())
    } catch { return [] }
  }

  /// A file that was only read from is closed whatever close(2) returns.
  package func close() { try? handle.close() }
}
