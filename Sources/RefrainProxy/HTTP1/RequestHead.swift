// SPDX-License-Identifier: MIT
internal import NIOCore
internal import Refrain

/// The head of a request, validated as its lines are read. Nothing is copied out of the bytes
/// before it is needed: most requests need only their kind, the target, and perhaps Range.
struct RequestHead: Sendable {
  /// From the method to the empty line.
  var bytes = ByteBuffer()
  /// The places of its parts, in bytes from its start.
  private let methodPlace: Range<Int>
  private let targetPlace: Range<Int>
  /// Of the values, without surrounding white space.
  private(set) var host: Range<Int>?
  private(set) var range: Range<Int>?
  let isGET: Bool
  let isHEAD: Bool
  /// 0 or 1; a later HTTP/1.x counts as 1 (RFC 9110 §2.5).
  let minorVersion: Int
  /// The length of the body; nil if none is stated, so that there is no body.
  private(set) var contentLength: Int64?
  private var isChunked = false
  /// Whether a field begins with `If-`.
  private(set) var isConditional = false
  /// Whether there is Cache-Control.
  private(set) var hasDirectives = false
  private(set) var hasAuthorization = false
  private(set) var hasCookie = false
  private(set) var hasExpectation = false
  private var asksToClose = false

  var hasBody: Bool { contentLength ?? 0 > 0 }

  /// Whether another request may follow (RFC 9112 §9.3); after one of HTTP/1.0 none does.
  var keepsAlive: Bool { !asksToClose && minorVersion >= 1 }

  /// A client of HTTP/1.0 does not wait for 100, and none does without a body (RFC 9110 §10.1.1).
  var expectsContinue: Bool { hasExpectation && minorVersion >= 1 && hasBody }

  var method: String { withBytes(at: methodPlace, \.text) }

  /// As received (RFC 9112 §3.2).
  var target: String { withTarget(\.text) }

  func withTarget<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try withBytes(at: targetPlace, body)
  }

  var fields: HeaderFields {
    bytes.withUnsafeReadableBytes { bytes in
      var fields = HeaderFields()
      var start = (bytes.lineFeed(from: 0) ?? bytes.count) + 1
      // The empty line at the end is no field.
      while let feed = bytes.lineFeed(from: start),
        let field = try? bytes.field(at: start..<feed - 1)
      {
        fields.append(bytes.part(field.name).text, bytes.part(field.value).text)
        start = feed + 1
      }
      return fields
    }
  }

  func withBytes<R>(
    at place: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> R
  ) rethrows -> R {
    try bytes.withUnsafeReadableBytes { try body($0.part(place)) }
  }
}

extension RequestHead {
  /// Reads `method SP request-target SP HTTP-version` without its CRLF (RFC 9112 §3), strictly: a
  /// line that two programs read differently permits request smuggling (RFC 9112 §11.2).
  init(_ line: UnsafeRawBufferPointer, targetLimit: Int) throws(HTTPError) {
    let methodEnd = line.firstIndex { !$0.isTokenCharacter } ?? line.count
    guard methodEnd > 0, methodEnd < line.count, line[methodEnd] == UInt8(ascii: " ")
    else { throw HTTPError.malformed }
    let start = methodEnd + 1
    // Visible ASCII without `#`; a fragment is never sent.
    var end = start
    while end < line.count, 0x21...0x7E ~= line[end], line[end] != UInt8(ascii: "#") { end += 1 }
    guard end > start, end < line.count, line[end] == UInt8(ascii: " ")
    else { throw HTTPError.malformed }
    guard end - start <= targetLimit else {
      throw HTTPError(414, "The request's target is longer than \(targetLimit) bytes.")
    }
    let (method, target) = (line.part(0..<methodEnd), line.part(start..<end))
    (methodPlace, targetPlace) = (0..<methodEnd, start..<end)
    (isGET, isHEAD) = (method.elementsEqual("GET".utf8), method.elementsEqual("HEAD".utf8))
    // `HTTP/1.1`: eight bytes, in capitals (RFC 9112 §2.3).
    let version = line.part(end + 1..<line.count)
    guard version.count == 8, version.part(0..<5).elementsEqual("HTTP/".utf8), version[5].isDigit,
      version[6] == UInt8(ascii: "."), version[7].isDigit
    else { throw HTTPError.malformed }
    guard version[5] == UInt8(ascii: "1") else {
      throw HTTPError(505, "Only HTTP/1.1 and HTTP/1.0 are supported.")
    }
    minorVersion = version[7] == UInt8(ascii: "0") ? 0 : 1
    // The forms of a target (RFC 9112 §3.2).
    if method.elementsEqual("CONNECT".utf8) {
      throw HTTPError(501, "Tunnels (CONNECT) are not supported.")
    }
    guard
      target[0] == UInt8(ascii: "/")
        || target.starts(with: "http://") && target.count > 7 && target[7] != UInt8(ascii: "/")
        || target.elementsEqual("*".utf8) && method.elementsEqual("OPTIONS".utf8)
    else { throw HTTPError.malformed }
  }

  /// Notes what a field decides; the places are in `bytes`.
  mutating func note(
    _ namePlace: Range<Int>, _ valuePlace: Range<Int>, in bytes: UnsafeRawBufferPointer
  ) throws(HTTPError) {
    let (name, value) = (bytes.part(namePlace), bytes.part(valuePlace))
    switch name.count {
    case 4 where name.equals("host"):
      // The only one, which must not begin a path or name a user (RFC 9112 §3.2).
      guard host == nil, value.allSatisfy(Self.isHostByte) else { throw HTTPError.malformed }
      host = valuePlace
    case 5 where name.equals("range"):
      // Two would form one invalid value (RFC 9110 §5.3), which programs read differently.
      guard range == nil else { throw HTTPError.malformed }
      range = valuePlace
    case 6 where name.equals("cookie"): hasCookie = true
    case 6 where name.equals("expect"):
      guard value.equals("100-continue") else {
        throw HTTPError(417, "The request's expectation is not supported.")
      }
      hasExpectation = true
    case 10 where name.equals("connection"):
      for option in value.split(separator: UInt8(ascii: ","))
      where UnsafeRawBufferPointer(rebasing: option).trimmed.equals("close") {
        asksToClose = true
      }
    case 13 where name.equals("cache-control"): hasDirectives = true
    case 13 where name.equals("authorization"): hasAuthorization = true
    case 14 where name.equals("content-length"):
      // One number; a list of equal ones may be rejected (RFC 9112 §6.3).
      guard !isChunked, contentLength == nil, let length = Int64(digits: value.text)
      else { throw HTTPError.malformed }
      contentLength = length
    case 17 where name.equals("transfer-encoding"):
      // Other programs find another end of the body wherever there is more to it (RFC 9112 §6.3).
      guard !isChunked, contentLength == nil, minorVersion >= 1, value.equals("chunked")
      else { throw HTTPError.malformed }
      isChunked = true
    case 8... where name.starts(with: "if-"): isConditional = true
    default: break
    }
  }

  /// Checks what only the whole head shows.
  func check() throws(HTTPError) {
    guard host != nil || minorVersion == 0 else { throw HTTPError.malformed }
    // A server may require the length (RFC 9112 §6.3): chunks are one more way to smuggle requests.
    guard !isChunked else {
      throw HTTPError(411, "The request's body is in chunks. Send it with Content-Length.")
    }
  }

  private static func isHostByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0...0x20, 0x22, 0x23, 0x2C, 0x2F, 0x3C, 0x3E, 0x3F, 0x40, 0x5C, 0x5E, 0x60: false
    case 0x7B...0x7D, 0x7F...: false
    default: true
    }
  }
}

extension HTTPError {
  /// Of bytes that are no request, or that two programs might read differently.
  static let malformed = HTTPError(400, "This is not a valid request of HTTP/1.1 (RFC 9112).")
}

/// A request on its way from the connection to the task that responds to it.
struct ClientRequest: Sendable {
  var head: RequestHead
  var client: String
  var localAddress: String?
  var started: NIODeadline
  /// Refuses the request for a limit of the client's; nil: it is served.
  var refusal: HTTPError?
}

/// The client closed the connection, or was silent for too long.
package struct ClientDisconnected: Error {}
