// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The content codings that Refrain decodes (RFC 9110 §8.4.1). Only whole bodies are decoded, and
/// only those of manifests: every request asks for identity, but many servers compress text
/// whatever the request.
enum ContentCoding: Sendable, Hashable {
  case gzip, deflate, brotli

  /// - Returns: nil for a coding that cannot be decoded here, and for several on top of each other.
  init?(_ name: String) {
    switch name.trimmingOWS.lowercased() {
    case "gzip", "x-gzip": self = .gzip
    case "deflate": self = .deflate
    case "br": self = .brotli
    default: return nil
    }
  }

  /// Returns the decoded body.
  ///
  /// - Parameter limit: the most bytes that it may have.
  func decode(_ body: Data, limit: Int) throws(DocumentFault) -> Data {
    let body = [UInt8](body)
    switch self {
    case .gzip: return try Self.inflate(body, .wrapped, limit: limit)
    case .deflate:
      do {
        return try Self.inflate(body, .wrapped, limit: limit)
      } catch .invalid {
        // Servers that misread the name of this coding send DEFLATE without zlib's header.
        return try Self.inflate(body, .raw, limit: limit)
      }
    case .brotli: return try Self.brotli(body, limit: limit)
    }
  }

  /// Whether this process can decode it.
  var isAvailable: Bool {
    switch self {
    case .gzip, .deflate: ZlibLibrary.shared != nil
    case .brotli: Self.hasBrotli
    }
  }

  private static func inflate(
    _ body: [UInt8], _ format: ZlibLibrary.Format, limit: Int
  ) throws(DocumentFault) -> Data {
    guard let library = ZlibLibrary.shared else { throw .invalid }
    return try library.decode(body, format, limit: limit)
  }

  #if os(Linux)
    private static var hasBrotli: Bool { BrotliLibrary.shared != nil }

    private static func brotli(_ body: [UInt8], limit: Int) throws(DocumentFault) -> Data {
      guard let library = BrotliLibrary.shared else { throw .invalid }
      return try library.decode(body, limit: limit)
    }
  #else
    /// URLSession decodes it before Refrain receives the body.
    private static var hasBrotli: Bool { false }

    private static func brotli(_ body: [UInt8], limit: Int) throws(DocumentFault) -> Data {
      throw .invalid
    }
  #endif
}
