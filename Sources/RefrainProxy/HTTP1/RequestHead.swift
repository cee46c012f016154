// SPDX-License-Identifier: MIT
internal import NIOCore
internal import Refrain

/// The head of a request, validated by `RequestParser`.
///
/// Nothing is copied out of the bytes before it is needed: most requests need only the marks, the
/// target, and perhaps Range.
struct RequestHead: Sendable {
  /// From the method to the empty line.
  var bytes: ByteBuffer
  /// 0 or 1; a later HTTP/1.x counts as 1 (RFC 9110 §2.5).
  var minorVersion: Int
  var framing: BodyFraming
  /// Whether another request may follow, by the version and Connection (RFC 9112 §9.3).
  var keepsAlive: Bool
  /// Whether the client withholds its body until it receives 100 (RFC 9110 §10.1.1).
  var expectsContinue: Bool
  var marks: Marks

  private let methodPlace: Place
  private let targetPlace: Place
  private let hostPlace: Place
  private let rangePlace: Place

  init(bytes: ByteBuffer, reading: HeadReading) {
    self.bytes = bytes
    minorVersion = reading.line.minorVersion
    framing = reading.framing
    keepsAlive = reading.keepsAlive
    expectsContinue = reading.expectsContinue
    marks = reading.marks
    methodPlace = reading.line.method
    targetPlace = reading.line.target
    hostPlace = reading.host
    rangePlace = reading.range
  }

  var isGET: Bool { isMethod("GET") }
  var isHEAD: Bool { isMethod("HEAD") }

  var method: String { withBytes(at: methodPlace, \.text) }

  /// The target as received (RFC 9112 §3.2).
  var target: String { withBytes(at: targetPlace, \.text) }

  func withTarget<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try withBytes(at: targetPlace, body)
  }

  enum KnownField: Sendable {
    case host, range
  }

  /// Calls `body` with the value of a field whose place is known, without surrounding white space;
  /// nil if there is no such field.
  func withValue<R>(
    of field: KnownField, _ body: (UnsafeRawBufferPointer?) throws -> R
  ) rethrows -> R {
    switch field {
    case .host: marks.contains(.host) ? try withBytes(at: hostPlace, body) : try body(nil)
    case .range: marks.contains(.range) ? try withBytes(at: rangePlace, body) : try body(nil)
    }
  }

  /// All fields, in order.
  var fields: HeaderFields {
    bytes.withUnsafeReadableBytes { bytes in
      var fields = HeaderFields()
      var start = (bytes.lineFeed(from: 0) ?? bytes.count) + 1
      while let feed = bytes.lineFeed(from: start), feed > start + 1 {
        let line = bytes.part(start..<feed - 1)
        if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
          fields.append(
            line.part(0..<colon).text, line.part(colon + 1..<line.count).trimmed.text)
        }
        start = feed + 1
      }
      return fields
    }
  }

  /// Compares the method, with regard to case (RFC 9110 §9.1).
  private func isMethod(_ name: StaticString) -> Bool {
    withBytes(at: methodPlace) { method in
      method.count == name.utf8CodeUnitCount
        && method.elementsEqual(
          UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }
  }

  private func withBytes<R>(
    at place: Place, _ body: (UnsafeRawBufferPointer) throws -> R
  ) rethrows -> R {
    try bytes.withUnsafeReadableBytes { try body($0.part(place.range)) }
  }
}

/// The place of a part of a head, in bytes from the head's start.
struct Place: Sendable, Hashable {
  private var offset: UInt32
  private var count: UInt32

  init(_ range: Range<Int>) {
    offset = UInt32(clamping: range.lowerBound)
    count = UInt32(clamping: range.count)
  }

  var range: Range<Int> { Int(offset)..<Int(offset) + Int(count) }

  static let none = Place(0..<0)
}

/// How the end of a request's body is found (RFC 9112 §6.3).
enum BodyFraming: Sendable, Hashable {
  /// There is no body.
  case none
  /// A body of this many bytes.
  case length(Int64)
  case chunked
}

/// The presence of fields that decide how a request is handled.
struct Marks: OptionSet, Sendable, Hashable {
  var rawValue: UInt16

  static let host = Marks(rawValue: 1 << 0)
  static let range = Marks(rawValue: 1 << 1)
  /// Any field that begins with `If-`.
  static let conditional = Marks(rawValue: 1 << 2)
  /// Cache-Control or Pragma.
  static let cacheControl = Marks(rawValue: 1 << 3)
  static let authorization = Marks(rawValue: 1 << 4)
  static let cookie = Marks(rawValue: 1 << 5)
  static let origin = Marks(rawValue: 1 << 6)
  static let via = Marks(rawValue: 1 << 7)
  /// Connection lists more than `close` and `keep-alive`.
  static let connectionNominates = Marks(rawValue: 1 << 8)
  static let upgrade = Marks(rawValue: 1 << 9)
}

/// A request on its way from the connection to the task that responds to it.
struct ClientRequest: Sendable {
  var head: RequestHead
  /// The client's numeric address.
  var client: String
  /// The local address that received the request.
  var localAddress: String?
  var started: NIODeadline
  /// The error with which the request is refused for a limit of the client's; nil: it is served.
  var refusal: HTTPError?
}

/// The client closed the connection, or was silent for too long.
package struct ClientDisconnected: Error {}
