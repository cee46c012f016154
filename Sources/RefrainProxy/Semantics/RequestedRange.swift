// SPDX-License-Identifier: MIT
internal import Refrain
internal import RefrainStreams

/// The Range of a request (RFC 9110 §14.1–14.2), parsed once, before the length of the resource is
/// known.
struct RequestedRange: Sendable {
  /// Nil: there is no Range, or it is ignored: it is invalid, or its unit is not bytes. Empty: there
  /// are more ranges than are served, since no player needs them (RFC 9110 §14.2, CVE-2011-3192).
  private(set) var ranges: [SimpleRange]?

  /// The bytes that it selects of a resource.
  enum Selection: Equatable, Sendable {
    case whole
    /// No existing byte (416).
    case unsatisfiable
    case single(ByteRange)
    /// At least two, in the requested order, far enough apart to be worth a part each.
    case several([ByteRange])
  }

  private static let mostRanges = 32

  /// The size of a part's heading: ranges with a smaller gap between them are sent as one
  /// (RFC 9110 §15.3.7.2).
  private static let smallestGap: Int64 = 80

  /// - Parameter value: the value of the only Range field; nil if there is none.
  init(_ value: String?) {
    guard var value else { return }
    ranges = value.withUTF8 { Self.parse(UnsafeRawBufferPointer($0).trimmed) }
  }

  private static func parse(_ value: UnsafeRawBufferPointer) -> [SimpleRange]? {
    guard value.starts(with: "bytes=") else { return nil }
    var (count, ranges) = (0, [SimpleRange?]())
    value.part(6..<value.count).forEachElement { element in
      count += 1
      if count <= mostRanges { ranges.append(SimpleRange(specifier: element)) }
    }
    let valid = ranges.compactMap(\.self)
    guard count > 0, valid.count == ranges.count else { return nil }
    return count <= mostRanges ? valid : []
  }

  var isWhole: Bool { ranges == nil }

  /// Returns the bytes that it selects of a resource of that length.
  func selection(length: Int64) -> Selection {
    guard let ranges else { return .whole }
    var found: [ByteRange] = []
    for range in ranges.compactMap({ $0.resolved(length: length) }) {
      Self.add(range, to: &found)
    }
    guard let first = found.first else { return .unsatisfiable }
    return found.count == 1 ? .single(first) : .several(found)
  }

  /// The first byte, and the byte after the last, as far as they are known without the length.
  var bounds: (start: Int64, end: Int64?) {
    guard let ranges else { return (0, .max) }
    guard ranges.count == 1 else { return (0, nil) }
    return switch ranges[0] {
    case .closed(let first, let last): (first, last < .max ? last + 1 : .max)
    case .from(let first): (first, .max)
    case .suffix: (0, nil)
    }
  }

  /// Merges the range with all that it touches, at the place of the first of them: no byte is sent
  /// twice.
  private static func add(_ range: ByteRange, to ranges: inout [ByteRange]) {
    var joined = range
    var place = ranges.count
    while let index = ranges.firstIndex(where: { isNear(joined, $0) }) {
      let other = ranges.remove(at: index)
      joined = min(joined.lowerBound, other.lowerBound)..<max(joined.upperBound, other.upperBound)
      place = min(place, index)
    }
    ranges.insert(joined, at: place)
  }

  private static func isNear(_ one: ByteRange, _ other: ByteRange) -> Bool {
    let gap = max(one.lowerBound, other.lowerBound) - min(one.upperBound, other.upperBound)
    return gap < smallestGap
  }
}

/// One range of a Range, parsed without an allocation. As in HTTP, the last byte is included.
enum SimpleRange: Equatable, Sendable {
  /// `bytes=0-499`.
  case closed(Int64, Int64)
  /// `bytes=500-`.
  case from(Int64)
  /// `bytes=-500`: the last 500.
  case suffix(Int64)

  /// Returns nil for anything else: several ranges, other units, white space, an invalid Range.
  /// `RequestedRange` handles those.
  ///
  /// - Parameter bytes: the value of Range, without surrounding white space.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.starts(with: "bytes=") else { return nil }
    self.init(specifier: bytes.part(6..<bytes.count))
  }

  /// Parses one `range-spec` of RFC 9110 §14.1.1. Numbers that overflow become the greatest one.
  init?(specifier bytes: UnsafeRawBufferPointer) {
    var index = 0
    let first = Self.number(bytes, &index)
    guard index < bytes.count, bytes[index] == UInt8(ascii: "-") else { return nil }
    index += 1
    let last = Self.number(bytes, &index)
    guard index == bytes.count else { return nil }
    switch (first, last) {
    case (let first?, let last?) where first <= last: self = .closed(first, last)
    case (let first?, nil): self = .from(first)
    case (nil, let last?): self = .suffix(last)
    default: return nil
    }
  }

  /// Returns the range in a resource of that length; nil if it contains no byte of it.
  func resolved(length: Int64) -> ByteRange? {
    let range =
      switch self {
      case .closed(let first, let last): min(first, length)..<min(last, length - 1) + 1
      case .from(let first): min(first, length)..<length
      case .suffix(let count): length - min(count, length)..<length
      }
    return range.isEmpty ? nil : range
  }

  private static func number(_ bytes: UnsafeRawBufferPointer, _ index: inout Int) -> Int64? {
    var value: Int64?
    while index < bytes.count, bytes[index].isDigit {
      value = value ?? 0
      value?.append(digit: bytes[index])
      index += 1
    }
    return value
  }
}

/// A response with several ranges: multipart/byteranges (RFC 9110 §14.6, RFC 2046 §5.1).
struct MultipartByteRanges: Sendable {
  let ranges: [ByteRange]
  /// The length of the whole resource.
  let length: Int64
  /// The type of the whole resource; nil if none is known.
  let contentType: String?
  /// Some 124 random bits: the media is less likely to contain them than the disk to fail.
  private let boundary = (0..<4).map { _ in
    String(UInt32.random(in: 1 << 28 ... .max), radix: 16)
  }.joined()

  /// The value of Content-Type.
  var type: String { "multipart/byteranges; boundary=\(boundary)" }

  /// Returns the text before the bytes of a part.
  func heading(before range: ByteRange) -> String {
    var text = "\r\n--\(boundary)\r\n"
    if let contentType { text += "Content-Type: \(contentType)\r\n" }
    return text
      + "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)\r\n\r\n"
  }

  /// The text after the last part.
  var closing: String { "\r\n--\(boundary)--\r\n" }

  /// The length of the whole body, in bytes; nil if it overflows.
  var contentLength: Int64? {
    let sum = ranges.reduce(Int64(closing.utf8.count)) { sum, range in
      sum.addingSaturated(Int64(heading(before: range).utf8.count))
        .addingSaturated(range.upperBound - range.lowerBound)
    }
    return sum < .max ? sum : nil
  }
}
