// SPDX-License-Identifier: MIT
package import Foundation

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A local file that is read, and may be shortened meanwhile. Its calls block.
package struct RegularFile {
  private let descriptor: CInt
  /// In bytes, as it was when the file was opened.
  package let length: Int64

  /// Returns nil for anything but a regular file: reading a pipe or a device would wait, and take
  /// bytes from others.
  ///
  /// - Throws: `POSIXError` if the file cannot be opened.
  package init?(_ url: URL) throws {
    let file = open(url.path(percentEncoded: false), O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      Self.close(file)
      return nil
    }
    descriptor = file
    length = Int64(status.st_size)
  }

  /// Returns the bytes of a range; fewer if the file is shorter by now, or cannot be read.
  package func bytes(in range: Range<Int64>) -> [UInt8] {
    // Filling an empty array writes to memory that all empty arrays share.
    if range.isEmpty { return [] }
    let count = Int(range.upperBound - range.lowerBound)
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let rest = UnsafeMutableBufferPointer(rebasing: buffer[filled...])
        let place = range.lowerBound + Int64(filled)
        let read = pread(descriptor, rest.baseAddress, rest.count, off_t(place))
        guard read > 0 else { break }
        filled += read
      }
    }
  }

  package func close() { Self.close(descriptor) }

  /// A descriptor that was only read from is closed whatever close(2) returns.
  private static func close(_ descriptor: CInt) {
    #if canImport(Glibc)
      _ = Glibc.close(descriptor)
    #else
      _ = Darwin.close(descriptor)
    #endif
  }
}
