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
    /// Follows a body.
    case end
  }

  private enum Step: Sendable {
    case head
    case body(remaining: Int64, isChunk: Bool)
    case chunkLine
    case chunkEnd
    case trailer
    case end
    case refused(HTTPError)
  }

  private let limits: Limits
  private var step = Step.head
  private var reading: RequestHead?
  /// The start of the current line, and the offset up to which no line feed was found: in bytes
  /// from the buffer's first readable one.
  private var lineStart = 0
  private var searched = 0
  private var emptyLineCount = 0
  /// The number of fields of the head or the trailer so far.
  private var fieldCount = 0

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
        try skipEmptyLines(&buffer)
        guard try readLines(of: buffer, isTrailer: false), let bytes = takeLines(&buffer),
          var head = reading.take()
        else { return nil }
        head.bytes = bytes
        emptyLineCount = 0
        switch head.framing {
        case .none, .length(0): step = .head
        case .length(let length): step = .body(remaining: length, isChunk: false)
        case .chunked: step = .chunkLine
        }
        return .head(head)
      case .body(let remaining, let isChunk):
        let most = Int(clamping: min(remaining, Int64(buffer.readableBytes)))
        guard most > 0, let bytes = buffer.readSlice(length: most) else { return nil }
        let rest = remaining - Int64(most)
        step = rest > 0 ? .body(remaining: rest, isChunk: isChunk) : isChunk ? .chunkEnd : .end
        return .body(bytes)
      case .chunkLine:
        guard let size = try readChunkLine(of: buffer) else { return nil }
        _ = takeLines(&buffer)
        step = size > 0 ? .body(remaining: size, isChunk: true) : .trailer
      case .chunkEnd:
        guard try readChunkEnd(of: buffer) else { return nil }
        _ = takeLines(&buffer)
        step = .chunkLine
      case .trailer:
        guard try readLines(of: buffer, isTrailer: true) else { return nil }
        _ = takeLines(&buffer)
        step = .end
      case .end:
        step = .head
        return .end
      }
    }
  }
}

// MARK: - Lines

extension RequestParser {
  private mutating func skipEmptyLines(_ buffer: inout ByteBuffer) throws(HTTPError) {
    while lineStart == 0, buffer.getInteger(at: buffer.readerIndex, as: UInt16.self) == 0x0D0A {
      lineStart = 2
      _ = takeLines(&buffer)
      emptyLineCount += 1
      guard emptyLineCount <= limits.emptyLines else {
        throw HTTPError(400, "The client sent empty lines instead of a request.")
      }
    }
  }

  /// Reads the lines of a head or a trailer, up to the empty one. The fields of a trailer are
  /// discarded: those that are refused before a body are refused after it too, and no code here uses
  /// them (RFC 9110 §6.5.1).
  ///
  /// - Returns: false if the empty line has not arrived.
  private mutating func readLines(
    of buffer: ByteBuffer, isTrailer: Bool
  ) throws(HTTPError) -> Bool {
    try buffer.withUnsafeReadableBytes { (bytes) throws(HTTPError) -> Bool in
      if !isTrailer, lineStart == 0, let first = bytes.first, !first.isTokenCharacter {
        // Perhaps the beginning of an empty line. A client that speaks TLS is refused at once.
        guard first == .carriageReturn, bytes.count == 1 else {
          throw HTTPError(400, "The received bytes are not an HTTP request.")
        }
      }
      while true {
        let isFirst = lineStart == 0 && !isTrailer
        // Room for a method and the version.
        let limit = isFirst ? min(limits.targetBytes + 64, limits.headBytes) : limits.headBytes
        let line = try nextLine(
          bytes, limit: limit,
          isFirst
            ? HTTPError(414, "The request line is too long.")
            : HTTPError(
              431, "The request's \(isTrailer ? "trailer" : "head") is longer than \(limit) bytes.")
        )
        guard let line else { return false }
        if isFirst {
          reading = try RequestHead(bytes.part(line), targetLimit: limits.targetBytes)
          continue
        }
        if line.isEmpty {
          try reading?.checkWhole()
          return true
        }
        fieldCount += 1
        guard fieldCount <= limits.fields else {
          throw HTTPError(431, "The request has more than \(limits.fields) header fields.")
        }
        let field = try FieldLine(bytes, line)
        try reading?.read(field, in: bytes)
      }
    }
  }

  private mutating func readChunkLine(of buffer: ByteBuffer) throws(HTTPError) -> Int64? {
    let limit = limits.chunkLineBytes
    return try buffer.withUnsafeReadableBytes { (bytes) throws(HTTPError) -> Int64? in
      let line = try nextLine(
        bytes, limit: limit,
        HTTPError(400, "The line of a chunk size is longer than \(limit) bytes."))
      guard let line else { return nil }
      return try ChunkSize.read(bytes.part(line))
    }
  }

  private mutating func readChunkEnd(of buffer: ByteBuffer) throws(HTTPError) -> Bool {
    try buffer.withUnsafeReadableBytes { (bytes) throws(HTTPError) -> Bool in
      try nextLine(
        bytes, limit: 2, HTTPError(400, "A chunk does not have the declared size.")) != nil
    }
  }

  /// Returns the place of the next line, without its CRLF; nil if its end has not arrived.
  ///
  /// - Parameter limit: the offset before which it has to end.
  private mutating func nextLine(
    _ bytes: UnsafeRawBufferPointer, limit: Int, _ tooLong: @autoclosure () -> HTTPError
  ) throws(HTTPError) -> Range<Int>? {
    guard let feed = bytes.lineFeed(from: searched) else {
      searched = bytes.count
      // The line's end will follow all bytes received so far.
      guard bytes.count < limit else { throw tooLong() }
      return nil
    }
    guard feed < limit else { throw tooLong() }
    guard feed > lineStart, bytes[feed - 1] == .carriageReturn else {
      throw HTTPError(400, "A line of the request does not end in CR LF.")
    }
    defer { (lineStart, searched) = (feed + 1, feed + 1) }
    return lineStart..<feed - 1
  }

  /// Removes the lines that were read.
  private mutating func takeLines(_ buffer: inout ByteBuffer) -> ByteBuffer? {
    defer { (lineStart, searched, fieldCount) = (0, 0, 0) }
    return buffer.readSlice(length: lineStart)
  }
}
