// SPDX-License-Identifier: MIT

internal import Foundation
internal import NIOCore
internal import NIOPosix

/// Content while it is being sent.
struct OpenContent {
  enum Bytes {
    case memory(ByteBuffer)
    case synthetic(SyntheticBytes)
    case file(OpenFile)
  }

  let length: Int64
  let bytes: Bytes

  var file: OpenFile? {
    if case .file(let file) = bytes { file } else { nil }
  }

  /// Returns the bytes of a range within the content, ready to be written to a channel.
  func read(_ range: Range<Int64>, _ allocator: ByteBufferAllocator) -> IOData {
    switch bytes {
    case .memory(let buffer):
      let slice = buffer.getSlice(at: Int(range.lowerBound), length: range.count)
      return .byteBuffer(slice ?? ByteBuffer())
    case .synthetic(let bytes):
      var buffer = allocator.buffer(capacity: range.count)
      buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: range.count) { space in
        bytes.fill(
          UnsafeMutableRawBufferPointer(rebasing: space[..<range.count]),
          at: range.lowerBound)
        return range.count
      }
      return .byteBuffer(buffer)
    case .file(let file):
      return .fileRegion(
        FileRegion(
          fileHandle: file.handle, readerIndex: Int(range.lowerBound),
          endIndex: Int(range.upperBound)))
    }
  }

  /// Returns the bytes of a range within the content.
  func array(_ range: Range<Int64>) throws -> [UInt8] {
    switch bytes {
    case .memory(let buffer):
      return buffer.getBytes(at: Int(range.lowerBound), length: range.count) ?? []
    case .synthetic(let bytes): return bytes.bytes(in: range)
    case .file(let file):
      return try file.handle.withUnsafeFileDescriptor { descriptor in
        try [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
          while count < range.count {
            let rest = UnsafeMutableRawBufferPointer(
              rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
            let got = pread(
              descriptor, rest.baseAddress, rest.count, off_t(range.lowerBound) + off_t(count))
            guard got > 0 else { throw IOError(errnoCode: errno, reason: "pread") }
            count += got
          }
        }
      }
    }
  }
}

/// Closes the file when its last reference is released. The channel holds a region's handle until
/// the region is written or failed, so the writer keeps this until the promise completes.
final class OpenFile: Sendable {
  let handle: NIOFileHandle

  init(_ handle: NIOFileHandle) { self.handle = handle }

  deinit {
    // Nothing was written through it; closing fails only for a descriptor of someone else's.
    do { try handle.close() } catch { assertionFailure("\(error)") }
  }
}
