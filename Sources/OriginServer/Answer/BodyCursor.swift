// SPDX-License-Identifier: MIT

internal import NIOCore

/// A cursor over a response's body: returns the next step and performs none.
struct BodyCursor {
  struct Chunk {
    let data: IOData
    let length: Int64
    /// The offsets of the resource that the chunk carries.
    let range: Range<Int64>?
    /// The file from which the data is read while it is written.
    let file: OpenFile?
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
  private let largestChunk: Int64
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
    largestChunk = events.isEmpty && answer.isFile ? 256 * 1024 : 64 * 1024
  }

  /// Returns the next step. `limit` bounds a chunk sent at a rate; chunks are at most 64 KiB, or
  /// 256 KiB of a file without events.
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
    var length = min(body[segment].length - offset, largestChunk, max(1, limit), room)
    defer {
      offset += length
      position += length
    }
    switch body[segment] {
    case .bytes(let bytes):
      let slice = bytes[Int(offset)..<Int(offset + length)]
      return .send(
        Chunk(data: .byteBuffer(ByteBuffer(bytes: slice)), length: length, range: nil, file: nil))
    case .content(let content, let range, let counted):
      let part = range.lowerBound + offset..<range.lowerBound + offset + length
      return .send(
        Chunk(
          data: content.read(part, allocator), length: length, range: counted ? part : nil,
          file: content.file))
    case .interleaved(let content, let interleaving, _):
      switch interleaving.piece(at: offset) {
      case .audio(let range):
        let part = range.clamped(to: range.lowerBound..<range.lowerBound + length)
        length = part.upperBound - part.lowerBound
        return .send(
          Chunk(
            data: content.read(part, allocator), length: length, range: part, file: content.file))
      case .block(let bytes):
        let part = bytes.prefix(Int(min(length, Int64(bytes.count))))
        length = Int64(part.count)
        return .send(
          Chunk(data: .byteBuffer(ByteBuffer(bytes: part)), length: length, range: nil, file: nil))
      }
    }
  }
}

extension Answer {
  var isFile: Bool {
    body.contains {
      if case .content(let content, _, _) = $0 { content.file != nil } else { false }
    }
  }
}
