// SPDX-License-Identifier: MIT

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
    case content(OpenContent, Range<Int64>, counted: Bool)
    /// All of the content with metadata in it, up to this length.
    case interleaved(OpenContent, Interleaving, length: Int64)

    var length: Int64 {
      switch self {
      case .bytes(let bytes): Int64(bytes.count)
      case .content(_, let range, _): range.upperBound - range.lowerBound
      case .interleaved(_, _, let length): length
      }
    }

    /// Returns all of the segment in memory, for encoders.
    func bytes() throws -> [UInt8] {
      switch self {
      case .bytes(let bytes): bytes
      case .content(let content, let range, _): try content.array(range)
      case .interleaved(let content, let interleaving, let length):
        try Self.bytes(content, interleaving, length)
      }
    }

    private static func bytes(
      _ content: OpenContent, _ interleaving: Interleaving, _ length: Int64
    ) throws -> [UInt8] {
      var all: [UInt8] = []
      while Int64(all.count) < length {
        let left = length - Int64(all.count)
        switch interleaving.piece(at: Int64(all.count)) {
        case .block(let block): all += block.prefix(Int(min(left, Int64(block.count))))
        case .audio(let range):
          let end = min(range.upperBound, range.lowerBound + left)
          all += try content.array(range.lowerBound..<end)
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
