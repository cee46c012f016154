// SPDX-License-Identifier: MIT
internal import NIOCore

/// The response to one request: a value, decided before its first byte is sent.
struct Answer {
  enum Framing {
    /// A body of known length; the number is the one in the head, true or not.
    case contentLength(Int64)
    case chunked
    case toTheClose
    /// The head ends the response: HEAD, 304.
    case none
  }

  /// A part of the body.
  enum Segment {
    case bytes([UInt8])
    /// A range of the resource's content; `counted`: its offsets are recorded in the log.
    case content(OriginContent, Range<Int64>, counted: Bool)
    /// All of the content with metadata in it, up to this length.
    case interleaved(OriginContent, Interleaving, length: Int64)

    var length: Int64 {
      switch self {
      case .bytes(let bytes): Int64(bytes.count)
      case .content(_, let range, _): range.upperBound - range.lowerBound
      case .interleaved(_, _, let length): length
      }
    }

    /// Returns all of the segment in memory, for encoders.
    func bytes() -> [UInt8] {
      switch self {
      case .bytes(let bytes): bytes
      case .content(let content, let range, _): content.array(range)
      case .interleaved(let content, let interleaving, let length):
        Self.bytes(content, interleaving, length)
      }
    }

    private static func bytes(
      _ content: OriginContent, _ interleaving: Interleaving, _ length: Int64
    ) -> [UInt8] {
      var all: [UInt8] = []
      while Int64(all.count) < length {
        let left = length - Int64(all.count)
        switch interleaving.piece(at: Int64(all.count)) {
        case .block(let block): all += block.prefix(Int(min(left, Int64(block.count))))
        case .audio(let range):
          let end = min(range.upperBound, range.lowerBound + left)
          all += content.array(range.lowerBound..<end)
        }
      }
      return all
    }
  }

  /// An event at a position in the body.
  enum Event {
    case stall(Duration?)
    case drop(reset: Bool)
    /// From here on this many bytes per second; `nil`: the resource's own rate.
    case rate(Int?)
  }

  /// Sent instead of an HTTP response; then the connection closes.
  var raw: [UInt8]?
  var delays: [Duration?] = []
  /// 1xx responses sent first.
  var informational: [(status: Int, headers: [Field])] = []
  var status = 200
  var headers: [Field] = []
  var framing = Framing.none
  var body: [Segment] = []
  var events: [(position: Int64, event: Event)] = []
  var bytesPerSecond: Int?
  var closes = false
  var generation = GenerationKey(serial: 0, etag: nil, lastModified: nil)

  var bodyLength: Int64 { body.reduce(0) { $0 + $1.length } }

  /// The status line, the fields (with those of the framing) and the empty line.
  var head: [UInt8] {
    var fields = headers
    switch framing {
    case .contentLength(let length): fields.append(Field("Content-Length", "\(length)"))
    case .chunked: fields.append(Field("Transfer-Encoding", "chunked"))
    case .toTheClose, .none: break
    }
    if closes { fields.append(Field("Connection", "close")) }
    let early = informational.map { Self.head($0.status, $0.headers) }.joined()
    return Array((early + Self.head(status, fields)).utf8)
  }

  private static func head(_ status: Int, _ fields: [Field]) -> String {
    let lines = fields.map { "\($0.name): \($0.value)\r\n" }.joined()
    return "HTTP/1.1 \(status) \(reasons[status] ?? "Status")\r\n\(lines)\r\n"
  }

  private static let reasons = [
    100: "Continue", 102: "Processing", 103: "Early Hints", 200: "OK",
    203: "Non-Authoritative Information", 206: "Partial Content",
    301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
    307: "Temporary Redirect", 308: "Permanent Redirect", 401: "Unauthorized", 403: "Forbidden",
    404: "Not Found", 405: "Method Not Allowed", 408: "Request Timeout", 410: "Gone",
    416: "Range Not Satisfiable", 429: "Too Many Requests", 500: "Internal Server Error",
    502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
  ]
}

/// A cursor over a response's body: returns the next step and performs none.
struct BodyCursor {
  struct Chunk {
    let data: ByteBuffer
    let length: Int64
    /// The offsets of the resource that the chunk carries.
    let range: Range<Int64>?
  }

  enum Step {
    case send(Chunk)
    case stall(Duration?)
    case drop(reset: Bool)
    /// From here on at this rate; `nil`: without a limit.
    case rate(Int?)
    case end
  }

  private let body: [Answer.Segment]
  private let events: [(position: Int64, event: Answer.Event)]
  private let usualRate: Int?
  private var segment = 0
  private var offset: Int64 = 0
  private var event = 0
  /// The number of body bytes returned so far.
  private(set) var position: Int64 = 0

  init(_ answer: Answer) {
    body = answer.body
    usualRate = answer.bytesPerSecond
    let start = answer.bytesPerSecond.map { [(Int64(0), Answer.Event.rate($0))] } ?? []
    events = start + answer.events
  }

  private static let largestChunk: Int64 = 64 * 1024

  /// Returns the next step. `limit` bounds a chunk sent at a rate; chunks are at most 64 KiB.
  mutating func next(limit: Int64 = .max, _ allocator: ByteBufferAllocator) -> Step {
    if event < events.count, events[event].position <= position {
      defer { event += 1 }
      switch events[event].event {
      case .stall(let duration): return .stall(duration)
      case .drop(let reset): return .drop(reset: reset)
      case .rate(let rate): return .rate(rate ?? usualRate)
      }
    }
    while segment < body.count, offset == body[segment].length {
      segment += 1
      offset = 0
    }
    guard segment < body.count else { return .end }
    let room = event < events.count ? events[event].position - position : .max
    var length = min(body[segment].length - offset, Self.largestChunk, max(1, limit), room)
    defer {
      offset += length
      position += length
    }
    switch body[segment] {
    case .bytes(let bytes):
      let slice = bytes[Int(offset)..<Int(offset + length)]
      return .send(Chunk(data: ByteBuffer(bytes: slice), length: length, range: nil))
    case .content(let content, let range, let counted):
      let part = range.lowerBound + offset..<range.lowerBound + offset + length
      return .send(
        Chunk(data: content.read(part, allocator), length: length, range: counted ? part : nil))
    case .interleaved(let content, let interleaving, _):
      switch interleaving.piece(at: offset) {
      case .audio(let range):
        let part = range.clamped(to: range.lowerBound..<range.lowerBound + length)
        length = part.upperBound - part.lowerBound
        return .send(Chunk(data: content.read(part, allocator), length: length, range: part))
      case .block(let bytes):
        let part = bytes.prefix(Int(min(length, Int64(bytes.count))))
        length = Int64(part.count)
        return .send(Chunk(data: ByteBuffer(bytes: part), length: length, range: nil))
      }
    }
  }
}
