// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOFoundationCompat
import Refrain
import RefrainStreams

/// Sends the selected response.
extension CachedAnswer {
  func send(_ selected: SelectedResponse) async throws {
    let (known, length) = (selected.known, selected.length)
    var selection = selection(of: length)
    if length == nil, let part = try await settledRange(of: selected.reader) {
      selection = .single(part)
    }
    switch try conditions?.evaluate(known, etag: known.etag, hasRange: !range.isWhole) {
    case .ignoreRange: selection = .whole
    case .notModified: return try await delivery.send(head(304, selected, []), length: nil)
    case .proceed, nil: break
    }
    switch selection {
    case .whole:
      let isTransformed = selected.reader.handed?.status == 203
      try await send([0..<(length ?? .max)], of: selected, status: isTransformed ? 203 : 200)
    case .single(let range):
      try await send([range], of: selected, status: 206)
    case .several(let ranges):
      let parts = MultipartByteRanges(
        ranges: ranges, length: length ?? 0,
        contentType: service.fields.passable(known.headers)["Content-Type"])
      if parts.contentLength != nil {
        return try await send(ranges, of: selected, status: 206, as: parts)
      }
      fallthrough
    case .unsatisfiable:
      try await delivery.send(
        ProxyResponse(
          status: 416,
          fields: [
            "Content-Range": "bytes */\(length ?? 0)", "Accept-Ranges": "bytes",
            "Cache-Control": "no-store",
          ]))
    }
  }

  func head(_ status: Int, _ selected: SelectedResponse, _ wanted: [ByteRange]) -> ResponseHead {
    let (reader, known) = (selected.reader, selected.known)
    let now = service.cache.now.wall
    let handed = reader.handed?.headers
    var fields = handed.map { service.fields.handed($0) } ?? service.fields.stored(known)
    fields.append("Age", String(ResponseFields.age(known.freshness, at: now)))
    if status == 304 {
      // A client with the content knows the fields that describe it (RFC 9110 §15.4.5).
      for name in ["Content-Type", "Content-Encoding", "Content-Language", "Accept-Ranges"] {
        fields[name] = nil
      }
    }
    var (source, cacheStatus) = selected.source(
      of: isHEAD || status == 304 ? [] : wanted,
      isStale: service.cache.rest(of: resource) != nil && !known.freshness.isFresh(at: now))
    // A request for missing parts may not have been answered yet.
    if [.uriMiss, .stale, .request].contains(cacheStatus.forwarded), !cacheStatus.isCollapsed,
      let forwardedStatus = reader.originStatus, forwardedStatus != status
    {
      cacheStatus.forwardedStatus = forwardedStatus
    }
    cacheStatus.timeToLive = ResponseFields.timeToLive(known, at: now)
    cacheStatus.key = resourceKey.rawValue
    if handed == nil, [.miss, .revalidated].contains(source) {
      service.fields.add(way: reader.originWay(since: selected.started), to: &fields)
    }
    service.fields.add(cacheStatus, to: &fields)
    delivery.note { $0.served.source = source }
    return ResponseHead(
      status: status, fields: fields, isFetched: source == .miss || source == .partial)
  }

  /// - Parameter parts: the form of several ranges; nil: there is one.
  private func send(
    _ ranges: [ByteRange], of selected: SelectedResponse, status: Int,
    as parts: MultipartByteRanges? = nil
  ) async throws {
    let length = selected.length
    var head = head(status, selected, ranges)
    var size = length
    if let parts {
      head.fields["Content-Type"] = parts.type
      size = parts.contentLength
    } else if status == 206, let range = ranges.first {
      let total = length.map { String($0) } ?? "*"
      head.fields.append(
        "Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)")
      size = range.upperBound - range.lowerBound
      // The end of a longer one is not known.
      if size ?? 0 >= Self.longest { size = nil }
      delivery.note { $0.served.range = range }
    }
    try await delivery.send(head, length: size) {
      for range in ranges {
        if let parts { try await delivery.write(ByteBuffer(string: parts.heading(before: range))) }
        selected.reader.setEnd(range.upperBound, readsOn: true)
        try await copy(selected.reader, range, isFetched: head.isFetched)
      }
      if let parts { try await delivery.write(ByteBuffer(string: parts.closing)) }
    }
  }

  private func copy(
    _ reader: MediaReader, _ range: ByteRange, isFetched: Bool
  ) async throws {
    // The bytes counted as read at once: those that the socket does not accept wait in the file. Fewer
    // if they are fetched ahead of the read position.
    let step: Int64 = isFetched ? 256 << 10 : 1 << 20
    var offset = range.lowerBound
    while offset < range.upperBound {
      let count = min(range.upperBound - offset, step)
      switch try await reader.available(at: offset, count: Int(count)) {
      case .file(let file, let upTo):
        let end = min(upTo, offset + count)
        try await delivery.write(file, offset..<end, stored: reader.spansBefore)
        offset = end
      case .memory(let bytes):
        try await delivery.write(ByteBuffer(data: bytes))
        offset += Int64(bytes.count)
      case .end:
        return
      }
    }
  }
}

/// The range to send of a segment that the origin still writes: its length is unknown, and the
/// response has `Content-Range: bytes a-b/*` (RFC 9110 §14.4).
extension CachedAnswer {
  /// A longer range is one without a known end (RFC 8673).
  private static let longest: Int64 = 1 << 40

  /// Returns the range as soon as all of it is stored or announced: the requested one, or as much as
  /// exists if the client requests all that follows. Nil if the client, or the request to the
  /// origin, is for the whole segment.
  private func settledRange(of reader: MediaReader) async throws -> ByteRange? {
    let (start, end) = range.bounds
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
