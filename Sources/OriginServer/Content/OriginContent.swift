// SPDX-License-Identifier: MIT

public import Foundation
internal import NIOCore
internal import NIOPosix

/// The source of a resource's bytes.
public struct OriginContent: Sendable {
  enum Source: Sendable {
    case memory(ByteBuffer)
    case synthetic(SyntheticBytes, length: Int64)
    case file(String)
  }

  let source: Source

  /// These bytes, held in memory once.
  public static func bytes(_ bytes: some Sequence<UInt8>) -> OriginContent {
    OriginContent(source: .memory(ByteBuffer(bytes: bytes)))
  }

  /// The first `length` bytes of `SyntheticBytes(seed:)`, computed while they are sent.
  public static func synthetic(seed: UInt64, length: Int64) -> OriginContent {
    precondition(length >= 0, "a length is never negative")
    return OriginContent(source: .synthetic(SyntheticBytes(seed: seed), length: length))
  }

  /// A regular file, sent with sendfile(2); its length is read for each request.
  public static func file(_ url: URL) -> OriginContent {
    OriginContent(source: .file(url.path))
  }

  /// Opens the content for one response. Throws if a file cannot be opened.
  func open() throws -> OpenContent {
    switch source {
    case .memory(let buffer):
      return OpenContent(length: Int64(buffer.readableBytes), bytes: .memory(buffer))
    case .synthetic(let bytes, let length):
      return OpenContent(length: length, bytes: .synthetic(bytes))
    case .file(let path):
      let handle = try NIOFileHandle(_deprecatedPath: path)
      do {
        let length = Int64(try FileRegion(fileHandle: handle).readableBytes)
        return OpenContent(length: length, bytes: .file(OpenFile(handle)))
      } catch {
        try handle.close()
        throw error
      }
    }
  }
}
