// SPDX-License-Identifier: MIT
import Refrain

/// The range to send of a segment that the origin still writes: its length is unknown, and the
/// response has `Content-Range: bytes a-b/*` (RFC 9110 §14.4).
extension CachedAnswer {
  /// Whether the client requests a range of a segment that may still grow.
  var isGrowing: Bool { range != .none && service.growing.contains(exchange.url) }

  /// A longer range is one without a known end (RFC 8673).
  private static let longest: Int64 = 1 << 40

  /// Returns the size of a range; nil if its end is unknown.
  static func size(of range: ByteRange) -> Int64? {
    let size = range.upperBound - range.lowerBound
    return size < longest ? size : nil
  }

  /// Returns the range as soon as all of it is stored or announced: the requested one, or as much as
  /// exists if the client requests all that follows. Nil if the client, or the request to the
  /// origin, is for the whole segment.
  func settledRange(of reader: MediaReader) async throws -> ByteRange? {
    guard case .simple(let asked) = range, let end = range.bounds.end else { return nil }
    let start = range.bounds.start
    guard var announced = reader.announcedEnd(from: start) else { return nil }
    if case .closed = asked, end - start < Self.longest {
      while announced < end {
        if case .end = try await reader.available(at: announced, count: 0) { break }
        guard let next = reader.announcedEnd(from: announced), next > announced else { break }
        announced = next
      }
    }
    return announced > start ? start..<min(announced, end) : nil
  }
}
