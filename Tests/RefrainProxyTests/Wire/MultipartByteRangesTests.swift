// SPDX-License-Identifier: MIT
import Refrain
import Testing

@testable import RefrainProxy

@Suite struct MultipartByteRangesTests {
  @Test func `Parts are framed as in RFC 2046, with an exact Content-Length`() {
    let resource = Array("0123456789".utf8)
    let parts = MultipartByteRanges(
      ranges: [0..<2, 7..<10], length: 10, contentType: "audio/mpeg", boundary: "xyz")
    var body = ""
    for range in parts.ranges {
      body += parts.heading(before: range)
      body += String(
        decoding: resource[Int(range.lowerBound)..<Int(range.upperBound)], as: UTF8.self)
    }
    body += parts.closing
    #expect(
      body == """
        \r\n--xyz\r\nContent-Type: audio/mpeg\r\nContent-Range: bytes 0-1/10\r\n\r\n01\
        \r\n--xyz\r\nContent-Type: audio/mpeg\r\nContent-Range: bytes 7-9/10\r\n\r\n789\
        \r\n--xyz--\r\n
        """)
    #expect(parts.contentLength == Int64(body.utf8.count))
    #expect(parts.type == "multipart/byteranges; boundary=xyz")
  }

  @Test func `A part of unknown type has no Content-Type`() {
    let parts = MultipartByteRanges(ranges: [0..<1], length: 10, contentType: nil, boundary: "x")
    #expect(parts.heading(before: 0..<1) == "\r\n--x\r\nContent-Range: bytes 0-0/10\r\n\r\n")
  }

  @Test func `A length that overflows is reported as unknown`() {
    let parts = MultipartByteRanges(
      ranges: [0..<(.max - 100), (.max - 1)..<(.max)], length: .max, contentType: nil)
    #expect(parts.contentLength == nil)
  }

  @Test func `Each random boundary is unique and alphanumeric`() {
    let boundaries = Set((0..<100).map { _ in MultipartByteRanges.randomBoundary() })
    #expect(boundaries.count == 100)
    #expect(
      boundaries.allSatisfy { $0.count == 32 && $0.allSatisfy { $0.isLetter || $0.isNumber } })
  }
}
