// SPDX-License-Identifier: MIT

/// Applies faults to a response that has been decided.
extension AnswerPlan {
  /// Applies faults that change head and body.
  mutating func alter(_ fault: Fault) {
    switch fault {
    case .delay(let duration): answer.delays.append(duration)
    case .informational(let status, let headers):
      answer.informational.append((status, headers))
    case .statusLine(let status): if hasBody { answer.status = status }
    case .hugeHeaders(let bytes):
      for index in 0..<max(1, bytes / 1024) {
        answer.headers.append(Field("X-Padding-\(index)", String(repeating: "p", count: 1000)))
      }
    case .wrongContentRange(let start, let end, let total):
      rewriteContentRange { ($0 + start, $1 + end, $2.map { $0 + total }) }
    case .atMost(let limit): limitRange(to: limit)
    case .truncatedBody(let limit): setBody(Self.cut(answer.body, to: limit))
    case .extendedBody(let bytes): setBody(answer.body + [.bytes(bytes)])
    case .chunked: if hasBody { answer.framing = .chunked }
    case .toTheClose:
      if hasBody {
        answer.framing = .toTheClose
        answer.closes = true
      }
    case .gzip: gzip()
    case .multipart: multipart()
    default: break
    }
  }

  /// Schedules faults that occur while the body is sent.
  mutating func schedule(_ fault: Fault) {
    switch fault {
    case .drop(let position, let reset): add(.drop(reset: reset), at: place(of: position))
    case .stall(let position, let duration): add(.stall(duration), at: place(of: position))
    case .dribble(let rate, let position, let count):
      guard let start = place(of: position) else { return }
      add(.rate(rate), at: start)
      if let count { add(.rate(nil), at: start + count) }
    default: break
    }
  }

  /// Applies the faults that depend on all others: the length, fields by name, HEAD.
  mutating func finish(_ faults: [Fault]) {
    for case .wrongContentLength(let difference) in faults {
      guard case .contentLength(let length) = answer.framing else { continue }
      answer.framing = .contentLength(max(0, length + difference))
      // The rest of the declared length never comes: a client would wait for it forever.
      if difference > 0 { add(.drop(reset: false), at: answer.bodyLength) }
    }
    for case .header(let name, let value) in faults { answer.headers.set(name, value) }
    if request.method == "HEAD" {
      answer.body = []
      answer.events = []
      if case .contentLength(let length) = answer.framing {
        answer.headers.set("Content-Length", "\(length)")
      }
      answer.framing = .none
    }
    // Stable: of two events at one position, the one given first comes first.
    let order = answer.events.enumerated().sorted {
      ($0.element.position, $0.offset) < ($1.element.position, $1.offset)
    }
    answer.events = order.map(\.element)
  }

  // MARK: Body

  private var hasBody: Bool {
    if case .none = answer.framing { false } else { true }
  }

  private mutating func setBody(_ body: [Answer.Segment]) {
    answer.body = body
    if case .contentLength = answer.framing { answer.framing = .contentLength(answer.bodyLength) }
  }

  private static func cut(_ body: [Answer.Segment], to limit: Int64) -> [Answer.Segment] {
    var left = max(0, limit)
    return body.compactMap { segment in
      guard left > 0 else { return nil }
      let length = min(left, segment.length)
      left -= length
      switch segment {
      case .bytes(let bytes): return .bytes(Array(bytes.prefix(Int(length))))
      case .content(let content, let range, let counted):
        return .content(
          content, range.lowerBound..<range.lowerBound + length, counted: counted)
      case .interleaved(let content, let interleaving, _):
        return .interleaved(content, interleaving, length: length)
      }
    }
  }

  private mutating func limitRange(to limit: Int64) {
    guard answer.status == 206, limit > 0, limit < answer.bodyLength else { return }
    setBody(Self.cut(answer.body, to: limit))
    rewriteContentRange { start, _, total in (start, start + limit - 1, total) }
  }

  private mutating func gzip() {
    guard hasBody else { return }
    answer.headers.set("Content-Encoding", "gzip")
    setBody([.bytes(StoredGzip.encode(answer.body.flatMap { $0.bytes() }))])
  }

  private mutating func multipart() {
    guard answer.status == 206, let range = answer.headers.first("Content-Range") else { return }
    let type = answer.headers.first("Content-Type") ?? "application/octet-stream"
    answer.headers.set("Content-Range", nil)
    answer.headers.set("Content-Type", "multipart/byteranges; boundary=REFRAIN")
    let head = "--REFRAIN\r\nContent-Type: \(type)\r\nContent-Range: \(range)\r\n\r\n"
    setBody([.bytes(Array(head.utf8))] + answer.body + [.bytes(Array("\r\n--REFRAIN--\r\n".utf8))])
  }

  private mutating func rewriteContentRange(
    _ change: (Int64, Int64, Int64?) -> (Int64, Int64, Int64?)
  ) {
    guard let field = answer.headers.first("Content-Range"), field.hasPrefix("bytes ") else {
      return
    }
    let parts = field.dropFirst(6).split { $0 == "-" || $0 == "/" }
    guard parts.count == 3, let start = Int64(parts[0]), let end = Int64(parts[1]) else { return }
    let new = change(start, end, Int64(parts[2]))
    answer.headers.set("Content-Range", "bytes \(new.0)-\(new.1)/\(new.2.map { "\($0)" } ?? "*")")
  }

  // MARK: Positions

  private mutating func add(_ event: Answer.Event, at position: Int64?) {
    if let position { answer.events.append((position, event)) }
  }

  /// Returns the position's offset in the body; `nil` if the body does not contain it.
  private func place(of position: BodyPosition) -> Int64? {
    switch position {
    case .body(let count): return (0...answer.bodyLength).contains(count) ? count : nil
    case .resource(let offset):
      var start: Int64 = 0
      for segment in answer.body {
        if case .content(_, let range, _) = segment, range.contains(offset) {
          return start + offset - range.lowerBound
        }
        start += segment.length
      }
      return nil
    }
  }
}

/// A gzip member (RFC 1952) whose deflate blocks are all stored: valid, but not smaller.
enum StoredGzip {
  static func encode(_ bytes: [UInt8]) -> [UInt8] {
    var out: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
    out.reserveCapacity(bytes.count + bytes.count / 65_535 * 5 + 32)
    var start = 0
    repeat {
      let end = min(start + 65_535, bytes.count)
      let size = UInt16(end - start)
      out.append(end == bytes.count ? 1 : 0)
      append(size, to: &out)
      append(~size, to: &out)
      out.append(contentsOf: bytes[start..<end])
      start = end
    } while start < bytes.count
    append(crc32(bytes), to: &out)
    append(UInt32(truncatingIfNeeded: bytes.count), to: &out)
    return out
  }

  private static func append(_ number: some FixedWidthInteger, to out: inout [UInt8]) {
    withUnsafeBytes(of: number.littleEndian) { out.append(contentsOf: $0) }
  }

  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { crc, _ in crc & 1 == 1 ? 0xEDB8_8320 ^ (crc >> 1) : crc >> 1 }
  }

  static func crc32(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~UInt32(0)) { crc, byte in table[Int((crc ^ UInt32(byte)) & 0xFF)] ^ (crc >> 8) }
  }
}
