// SPDX-License-Identifier: MIT
internal import NIOCore

/// The source of a resource's bytes.
public struct OriginContent: Sendable {
  private enum Source: Sendable {
    case memory(ByteBuffer)
    case synthetic(SyntheticBytes)
  }

  private let source: Source
  let length: Int64

  /// These bytes, held in memory once.
  public static func bytes(_ bytes: some Sequence<UInt8>) -> OriginContent {
    let buffer = ByteBuffer(bytes: bytes)
    return OriginContent(source: .memory(buffer), length: Int64(buffer.readableBytes))
  }

  /// The first `length` bytes of `SyntheticBytes(seed:)`, computed while they are sent.
  public static func synthetic(seed: UInt64, length: Int64) -> OriginContent {
    precondition(length >= 0, "a length is never negative")
    return OriginContent(source: .synthetic(SyntheticBytes(seed: seed)), length: length)
  }

  /// Returns the bytes of a range within the content, ready to be written to a channel.
  func read(_ range: Range<Int64>, _ allocator: ByteBufferAllocator) -> ByteBuffer {
    switch source {
    case .memory(let buffer):
      return buffer.getSlice(at: Int(range.lowerBound), length: range.count) ?? ByteBuffer()
    case .synthetic(let bytes):
      var buffer = allocator.buffer(capacity: range.count)
      buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: range.count) { space in
        bytes.fill(
          UnsafeMutableRawBufferPointer(rebasing: space[..<range.count]),
          at: range.lowerBound)
        return range.count
      }
      return buffer
    }
  }

  /// Returns the bytes of a range within the content.
  func array(_ range: Range<Int64>) -> [UInt8] {
    switch source {
    case .memory(let buffer):
      buffer.getBytes(at: Int(range.lowerBound), length: range.count) ?? []
    case .synthetic(let bytes): bytes.bytes(in: range)
    }
  }
}
