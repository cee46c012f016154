// SPDX-License-Identifier: MIT
internal import Refrain

/// A response with several ranges: multipart/byteranges (RFC 9110 §14.6, RFC 2046 §5.1).
struct MultipartByteRanges: Sendable {
  let ranges: [ByteRange]
  /// The length of the whole resource.
  let length: Int64
  /// The type of the whole resource; nil if none is known.
  let contentType: String?
  let boundary: String

  /// - Parameter boundary: letters and digits that occur in no part.
  init(
    ranges: [ByteRange], length: Int64, contentType: String?,
    boundary: String = Self.randomBoundary()
  ) {
    self.ranges = ranges
    self.length = length
    self.contentType = contentType
    self.boundary = boundary
  }

  /// Returns some 124 random bits: the media is less likely to contain them than the disk to fail.
  static func randomBoundary() -> String {
    (0..<4).map { _ in String(UInt32.random(in: 1 << 28 ... .max), radix: 16) }.joined()
  }

  /// The value of Content-Type.
  var type: String { "multipart/byteranges; boundary=\(boundary)" }

  /// Returns the text before the bytes of a part.
  func heading(before range: ByteRange) -> String {
    var text = "\r\n--\(boundary)\r\n"
    if let contentType { text += "Content-Type: \(contentType)\r\n" }
    let last = range.isEmpty ? range.lowerBound : range.upperBound - 1
    return text + "Content-Range: bytes \(range.lowerBound)-\(last)/\(length)\r\n\r\n"
  }

  /// The text after the last part.
  var closing: String { "\r\n--\(boundary)--\r\n" }

  /// The length of the whole body, in bytes; nil if it overflows.
  var contentLength: Int64? {
    var sum = Int64(closing.utf8.count)
    for range in ranges {
      let (size, isTooLong) = range.upperBound.subtractingReportingOverflow(range.lowerBound)
      let (withHeading, overflowed) = sum.addingReportingOverflow(
        Int64(heading(before: range).utf8.count))
      let (withBytes, overflowedToo) = withHeading.addingReportingOverflow(size)
      guard !isTooLong, !overflowed, !overflowedToo else { return nil }
      sum = withBytes
    }
    return sum
  }
}
