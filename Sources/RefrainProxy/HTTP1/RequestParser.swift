// SPDX-License-Identifier: MIT
internal import NIOCore
internal import Refrain

/// Parses requests of HTTP/1.1 and HTTP/1.0 from a connection's bytes (RFC 9112), strictly: bytes
/// that another program might read differently are refused, not repaired.
///
/// Examines each byte of a head once to find its line's end and once to read the line, however the
/// bytes arrive, and allocates nothing.
struct RequestParser: Sendable {
  struct Limits: Sendable {
    /// The whole head, and a body's whole trailer; a longer one is refused (431).
    var headBytes = 32 * 1024
    /// A longer target is refused (414).
    var targetBytes = 16 * 1024
    /// More fields are refused (431).
    var fields = 128
    /// The line before a chunk, with its CRLF.
    var chunkLineBytes = 256
    /// Empty lines before a request, which are ignored (RFC 9112 §2.2).
    var emptyLines = 4
  }

  enum Event: Sendable {
    case head(RequestHead)
    /// Some of the body, without its framing; never empty.
    case body(ByteBuffer)
    /// Follows each request, including one without a body.
    case end
  }

  private enum Step: Sendable {
    case head
    case body(remaining: Int64)
    case chunkLine
    case chunk(remaining: Int64)
    case chunkEnd
    case trailer
    case end
    case refused(HTTPError)
  }

  private let limits: Limits
  private var step = Step.head
  private var reading = RequestHead()
  /// The start of the current line, and the offset up to which no line feed was found: in bytes
  /// from the buffer's first readable one.
  private var lineStart = 0
  private var searched = 0
  private var emptyLineCount = 0
  private var trailerBytes = 0
  private var trailerCount = 0

  init(limits: Limits = Limits()) {
    self.limits = limits
  }

  /// Whether no byte of a next request has been seen: the connection is idle.
  var isAtStart: Bool {
    guard case .head = step else { return false }
    return searched == 0
  }

  /// Returns the next event; nil if it needs more bytes: call again with the same buffer, grown.
  /// Bytes that were read are removed from the buffer. After a refusal only the same refusal
  /// follows, because the start of the next request is unknown.
  mutating func next(_ buffer: inout ByteBuffer) throws(HTTPError) -> Event? {
    do throws(HTTPError) {
      return try advance(&buffer)
    } catch {
      step = .refused(error)
      throw error
    }
  }

  private mutating func advance(_ buffer: inout ByteBuffer) throws(HTTPError) -> Event? {
    while true {
      switch step {
      case .refused(let httpError):
        throw httpError
      case .head:
        guard let head = try nextHead(&buffer) else { return nil }
        return .head(head)
      case .body(let remaining):
        guard let bytes = Self.take(remaining, from: &buffer) else { return nil }
        let rest = remaining - Int64(bytes.readableBytes)
        step = rest > 0 ? .body(remaining: rest) : .end
        return .body(bytes)
      case .chunkLine:
        guard let size = try nextChunkSize(&buffer) else { return nil }
        step = size > 0 ? .chunk(remaining: size) : .trailer
      case .chunk(let remaining):
        guard let bytes = Self.take(remaining, from: &buffer) else { return nil }
        let rest = remaining - Int64(bytes.readableBytes)
        step = rest > 0 ? .chunk(remaining: rest) : .chunkEnd
        return .body(bytes)
      case .chunkEnd:
        guard try takeLineEnd(from: &buffer) else { return nil }
        step = .chunkLine
      case .trailer:
        guard try takeTrailer(from: &buffer) else { return nil }
        step = .end
      case .end:
        step = .head
        return .end
      }
    }
  }

  private static func take(_ remaining: Int64, from buffer: inout ByteBuffer) -> ByteBuffer? {
    guard buffer.readableBytes > 0 else { return nil }
    return buffer.readSlice(length: Int(clamping: min(remaining, Int64(buffer.readableBytes))))
  }
}

// MARK: - Head

extension RequestParser {
  private mutating func nextHead(_ buffer: inout ByteBuffer) throws(HTTPError) -> RequestHead? {
    if lineStart == 0 {
      guard try skipEmptyLines(&buffer) else { return nil }
    }
    let length = try buffer.withUnsafeReadableBytes { (bytes) throws(HTTPError) -> Int? in
      try readHead(bytes)
    }
    guard let length, let bytes = buffer.readSlice(length: length) else { return nil }
    var head = reading
    head.bytes = bytes
    switch head.framing {
    case .none, .length(0): step = .end
    case .length(let length): step = .body(remaining: length)
    case .chunked: step = .chunkLine
    }
    reading = RequestHead()
    forgetLine()
    emptyLineCount = 0
    trailerBytes = 0
    trailerCount = 0
    return head
  }

  /// - Returns: false if the first byte of the request has not arrived.
  private mutating func skipEmptyLines(_ buffer: inout ByteBuffer) throws(HTTPError) -> Bool {
    while true {
      guard let first = buffer.getInteger(at: buffer.readerIndex, as: UInt8.self) else {
        return false
      }
      guard first == .carriageReturn else { break }
      guard let both = buffer.getInteger(at: buffer.readerIndex, as: UInt16.self) else {
        searched = 1
        return false
      }
      guard both == 0x0D0A else { break }
      buffer.moveReaderIndex(forwardBy: 2)
      forgetLine()
      emptyLineCount += 1
      guard emptyLineCount <= limits.emptyLines else {
        throw HTTPError(400, "The client sent empty lines instead of a request.")
      }
    }
    return true
  }

  /// - Returns: the length of the head, with its empty line; nil if it is incomplete.
  private mutating func readHead(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) -> Int? {
    // A client that speaks TLS is refused at once.
    guard bytes.first?.isTokenCharacter != false else {
      throw HTTPError(400, "The received bytes are not an HTTP request.")
    }
    while let feed = bytes.lineFeed(from: searched) {
      let end = feed + 1
      try checkHeadLength(end)
      guard feed > lineStart, bytes[feed - 1] == .carriageReturn else { throw Self.bareLineFeed }
      let line = lineStart..<feed - 1
      if lineStart == 0 {
        reading.line = try RequestLine(bytes.part(line), targetLimit: limits.targetBytes)
      } else if line.isEmpty {
        try reading.checkWhole()
        return end
      } else {
        try reading.readField(bytes, line, limit: limits.fields)
      }
      lineStart = end
      searched = end
    }
    searched = bytes.count
    // The line's end will follow all bytes received so far.
    try checkHeadLength(bytes.count + 1)
    return nil
  }

  private func checkHeadLength(_ end: Int) throws(HTTPError) {
    if lineStart == 0 {
      // Room for a method and the version.
      guard end <= min(limits.targetBytes + 64, limits.headBytes) else {
        throw HTTPError(414, "The request line is too long.")
      }
    } else if end > limits.headBytes {
      throw HTTPError(431, "The request's head is longer than \(limits.headBytes) bytes.")
    }
  }

  private mutating func forgetLine() {
    lineStart = 0
    searched = 0
  }

  private static var bareLineFeed: HTTPError {
    HTTPError(400, "A line of the request does not end in CR LF.")
  }
}

// MARK: - Chunks (RFC 9112 §7.1)

extension RequestParser {
  private mutating func nextChunkSize(_ buffer: inout ByteBuffer) throws(HTTPError) -> Int64? {
    let limit = limits.chunkLineBytes
    return try takeLine(
      from: &buffer, limit: limit,
      HTTPError(400, "The line of a chunk size is longer than \(limit) bytes.")
    ) { (line) throws(HTTPError) -> Int64 in try ChunkSize.read(line) }
  }

  /// - Returns: false if it has not arrived yet.
  private func takeLineEnd(from buffer: inout ByteBuffer) throws(HTTPError) -> Bool {
    guard let first = buffer.getInteger(at: buffer.readerIndex, as: UInt8.self) else {
      return false
    }
    let both = buffer.getInteger(at: buffer.readerIndex, as: UInt16.self)
    guard first == .carriageReturn, both == nil || both == 0x0D0A else {
      throw HTTPError(400, "A chunk does not have the declared size.")
    }
    guard both != nil else { return false }
    buffer.moveReaderIndex(forwardBy: 2)
    return true
  }

  /// Reads and discards the fields after the last chunk: fields that are refused before a body are
  /// refused after it too, and no code here uses them (RFC 9110 §6.5.1).
  ///
  /// - Returns: false if their end has not arrived yet.
  private mutating func takeTrailer(from buffer: inout ByteBuffer) throws(HTTPError) -> Bool {
    let tooLong = HTTPError(431, "The trailer fields are too long or too many.")
    while true {
      let room = limits.headBytes - trailerBytes
      let count = try takeLine(from: &buffer, limit: room, tooLong) {
        (line) throws(HTTPError) -> Int in
        if !line.isEmpty { _ = try FieldLine(line, 0..<line.count) }
        return line.count
      }
      guard let count else { return false }
      if count == 0 { return true }
      trailerBytes += count + 2
      trailerCount += 1
      guard trailerCount <= limits.fields else { throw tooLong }
    }
  }

  /// Takes one line, with its CRLF.
  private mutating func takeLine<Value>(
    from buffer: inout ByteBuffer, limit: Int, _ tooLong: @autoclosure () -> HTTPError,
    _ read: (UnsafeRawBufferPointer) throws(HTTPError) -> Value
  ) throws(HTTPError) -> Value? {
    let found = try buffer.withUnsafeReadableBytes {
      (bytes) throws(HTTPError) -> (length: Int, value: Value)? in
      guard let feed = bytes.lineFeed(from: searched) else {
        searched = bytes.count
        guard bytes.count < limit else { throw tooLong() }
        return nil
      }
      guard feed < limit else { throw tooLong() }
      guard feed > 0, bytes[feed - 1] == .carriageReturn else { throw Self.bareLineFeed }
      return (feed + 1, try read(bytes.part(0..<feed - 1)))
    }
    guard let found else { return nil }
    buffer.moveReaderIndex(forwardBy: found.length)
    searched = 0
    return found.value
  }
}
