// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOFoundationCompat
import Refrain
import RefrainStreams

extension CachedAnswer {
  func send(_ selected: SelectedResponse) async throws {
    let (known, length) = (selected.known, selected.length)
    var range = range
    switch try conditions?.evaluate(known.validator, hasRange: range != nil) {
    case .ignoreRange: range = nil
    case .notModified: return try await delivery.send(head(304, selected, nil), length: nil)
    case .proceed, nil: break
    }
    let settled =
      range != nil && length == nil ? try await settledRange(of: selected.reader) : nil
    if let part = settled ?? length.flatMap({ range?.resolved(length: $0) }) {
      try await send(part, of: selected, status: 206)
    } else if range == nil || length == nil {
      let isTransformed = known.freshness.isTransformed == true
      try await send(0..<(length ?? .max), of: selected, status: isTransformed ? 203 : 200)
    } else {
      try await delivery.send(
        ProxyResponse(
          status: 416,
          fields: [
            "Content-Range": "bytes */\(length ?? 0)", "Accept-Ranges": "bytes",
            "Cache-Control": "no-store",
          ]))
    }
  }

  /// - Parameter wanted: nil if no body is sent.
  func head(_ status: Int, _ selected: SelectedResponse, _ wanted: ByteRange?) -> ResponseHead {
    let known = selected.known
    let now = service.cache.now.wall
    var fields = service.fields.stored(known)
    fields.append("Age", String(ResponseFields.age(known.freshness, at: now)))
    if status == 304 {
      // A client with the content knows the fields that describe it (RFC 9110 §15.4.5).
      for name in ["Content-Type", "Content-Encoding", "Content-Language", "Accept-Ranges"] {
        fields[name] = nil
      }
    }
    var (source, cacheStatus) = selected.source(of: isHEAD || status == 304 ? nil : wanted)
    cacheStatus.timeToLive = ResponseFields.timeToLive(known, at: now)
    service.fields.add(cacheStatus, to: &fields)
    delivery.note { $0.served.source = source }
    return ResponseHead(status: status, fields: fields)
  }

  private func send(
    _ range: ByteRange, of selected: SelectedResponse, status: Int
  ) async throws {
    let length = selected.length
    var head = head(status, selected, range)
    var size = length
    if status == 206 {
      let total = length.map { String($0) } ?? "*"
      head.fields.append(
        "Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)")
      size = range.upperBound - range.lowerBound
      // The end of a longer one is not known.
      if size ?? 0 >= Self.longest { size = nil }
      delivery.note { $0.served.range = range }
    }
    try await delivery.send(head, length: size) {
      selected.reader.setEnd(range.upperBound, readsOn: true)
      var offset = range.lowerBound
      while offset < range.upperBound {
        // Counted as read at once: bytes that the socket does not accept wait in the file.
        let count = min(range.upperBound - offset, 256 << 10)
        switch try await selected.reader.available(at: offset, count: Int(count)) {
        case .file(let file, let upTo):
          let end = min(upTo, offset + count)
          try await delivery.write(file, offset..<end, stored: selected.reader.spansBefore)
          // Every 4 MiB: a client that accepts all at once would keep the event loop from others. A
          // yield on the loop itself would let other tasks run, but no connection.
          if offset >> 22 != end >> 22 {
            await withTaskExecutorPreference(globalConcurrentExecutor) { await Task.yield() }
          }
          offset = end
        case .memory(let bytes):
          try await delivery.write(ByteBuffer(data: bytes))
          offset += Int64(bytes.count)
        case .end: return
        }
      }
    }
  }
}

/// Serves ranges of a segment that the origin still writes: its length is unknown, and the response
/// has `Content-Range: bytes a-b/*` (RFC 9110 §14.4).
extension CachedAnswer {
  /// A longer range is one without a known end (RFC 8673).
  private static let longest: Int64 = 1 << 40

  /// Returns the range as soon as all of it is stored or announced: the requested one, or as much
  /// as exists if its end is open. Nil if the client, or the request to the origin, is for the
  /// whole segment.
  private func settledRange(of reader: MediaReader) async throws -> ByteRange? {
    let (start, end) = bounds
    guard isGrowing, let end, var announced = reader.announcedEnd(from: start) else { return nil }
    if end - start < Self.longest {
      while announced < end {
        if case .end = try await reader.available(at: announced, count: 0) { break }
        guard let next = reader.announcedEnd(from: announced), next > announced else { break }
        announced = next
      }
    }
    return announced > start ? start..<min(announced, end) : nil
  }
}
