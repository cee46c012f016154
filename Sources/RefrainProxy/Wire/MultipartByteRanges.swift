// SPDX-License-Identifier: MIT
internal import Refrain

/// An answer with several ranges: multipart/byteranges (RFC 9110 §14.6, RFC 2046 §5.1).
struct MultipartByteRanges: Sendable {
  let ranges: [ByteRange]
  /// Of the whole resource.
  let length: Int64
  /// Of the whole resource; nil where none is known.
  let contentType: String?
  let boundary: String

  /// - Parameter boundary: what the bytes of no part contain. Letters and digits.
  init(
    ranges: [ByteRange], length: Int64, contentType: String?,
    boundary: String = Self.randomBoundary()
  ) {
    self.ranges = ranges
    self.length = length
    self.contentType = contentType
    self.boundary = boundary
  }

  /// 192 random bits: that the media contains them is less likely than that the disk forgets them.
  static func randomBoundary() -> String {
    String(TokenCheck.random().map { $0 == "-" || $0 == "_" ? "0" : $0 })
  }

  /// The value of Content-Type.
  var type: String { "multipart/byteranges; boundary=\(boundary)" }

  /// What is sent before the bytes of a part.
  func heading(before range: ByteRange) -> String {
    var text = "\r\n--\(boundary)\r\n"
    if let contentType { text += "Content-Type: \(contentType)\r\n" }
    let last = range.isEmpty ? range.lowerBound : range.upperBound - 1
    return text + "Content-Range: bytes \(range.lowerBound)-\(last)/\(length)\r\n\r\n"
  }

  /// What is sent after the last part.
  var closing: String { "\r\n--\(boundary)--\r\n" }

  /// Of the whole answer, in bytes; nil where it does not fit a number.
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
