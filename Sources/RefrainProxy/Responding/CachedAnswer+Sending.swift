// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOFoundationCompat
import Refrain
import RefrainStreams

/// Sends the selected response.
extension CachedAnswer {
  func send(_ selected: SelectedResponse) async throws {
    let known = selected.known
    let length = known.information.length
    var selection = length.map { range.selection(length: $0) } ?? .whole
    if length == nil, isGrowing, let part = try await settledRange(of: selected.reader) {
      selection = .single(part)
    }
    if let conditions = Preconditions(fields: exchange.fields) {
      let outcome = conditions.evaluate(
        hasRange: range != .whole, etag: known.etag, lastModified: known.lastModified,
        isStrongLastModified: known.isStrongLastModified)
      switch outcome {
      case .proceed: break
      case .ignoreRange: selection = .whole
      case .notModified: return try await notModified(selected)
      case .failed: throw Self.preconditionFailed
      }
    }
    switch selection {
    case .whole:
      let isTransformed = selected.reader.handedStatus == 203
      try await send(
        0..<(length ?? .max), of: selected, status: isTransformed ? 203 : 200)
    case .single(let range):
      try await send(range, of: selected, status: 206)
    case .several(let ranges):
      try await send(ranges, of: selected)
    case .unsatisfiable:
      try await unsatisfiable(length ?? 0)
    }
  }

  static let preconditionFailed = HTTPError(
    412, "The resource does not meet the request's preconditions.")

  func head(_ status: Int, _ selected: SelectedResponse, _ wanted: [ByteRange]) -> ResponseHead {
    let known = selected.known
    let handed = selected.reader.handedFields
    var fields = handed.map { service.fields.handed($0) } ?? service.fields.stored(known)
    fields.append("Age", String(AnswerFields.age(known.freshness, at: service.cache.now.wall)))
    let isStale =
      service.cache.rest(of: resource) != nil
      && !known.freshness.isFresh(at: service.cache.now.wall)
    let origin = ResponseSource(
      reader: selected.reader, known: known, wanted: isHEAD || status == 304 ? [] : wanted,
      since: selected.started,
      isStale: isStale)
    var cacheStatus = origin.cacheStatus
    // A request for missing parts may not have been answered yet.
    if [.uriMiss, .stale, .request].contains(cacheStatus.forwarded), !cacheStatus.isCollapsed,
      let forwardedStatus = selected.reader.originStatus, forwardedStatus != status
    {
      cacheStatus.forwardedStatus = forwardedStatus
    }
    cacheStatus.timeToLive = AnswerFields.timeToLive(known, at: service.cache.now.wall)
    cacheStatus.key = resourceKey.rawValue
    if handed == nil, [.miss, .revalidated].contains(origin.source) {
      service.fields.add(way: selected.reader.originWay(since: selected.started), to: &fields)
    }
    service.fields.add(cacheStatus, to: &fields)
    delivery.note { record in
      record.source = origin.source
      record.isJoined = origin.cacheStatus.isCollapsed
    }
    let isFetched = origin.source == .miss || origin.source == .partial
    return ResponseHead(status: status, fields: fields, isFetched: isFetched)
  }

  private func notModified(_ selected: SelectedResponse) async throws {
    var head = head(304, selected, [])
    // A client with the content knows the fields that describe it (RFC 9110 §15.4.5).
    for name in ["Content-Type", "Content-Encoding", "Content-Language", "Accept-Ranges"] {
      head.fields[name] = nil
    }
    try await delivery.begin(head, length: nil)
    try await delivery.writer.end()
  }

  private func unsatisfiable(_ length: Int64) async throws {
    try await delivery.send(
      ProxyResponse(
        status: 416,
        fields: [
          "Content-Range": "bytes */\(length)", "Accept-Ranges": "bytes",
          "Cache-Control": "no-store",
        ]))
  }

  private func send(
    _ range: ByteRange, of selected: SelectedResponse, status: Int
  ) async throws {
    let length = selected.known.information.length
    let size = length == nil && status != 206 ? nil : Self.size(of: range)
    var head = head(status, selected, [range])
    if status == 206 {
      let total = length.map { String($0) } ?? "*"
      head.fields.append(
        "Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)")
      delivery.note { $0.range = range }
    }
    selected.reader.setEnd(range.upperBound, readsOn: true)
    if try await delivery.begin(head, length: size) {
      try await copy(selected.reader, range, isFetched: head.isFetched)
    }
    try await delivery.writer.end()
  }

  private func send(_ ranges: [ByteRange], of selected: SelectedResponse) async throws {
    let known = selected.known
    guard let length = known.information.length else { return }
    let parts = MultipartByteRanges(
      ranges: ranges, length: length,
      contentType: service.fields.passable(known.headers)["Content-Type"])
    guard let size = parts.contentLength else { return try await unsatisfiable(length) }
    var head = head(206, selected, ranges)
    head.fields["Content-Type"] = parts.type
    try await delivery.begin(head, length: size)
    for range in ranges {
      try await delivery.write(ByteBuffer(string: parts.heading(before: range)))
      selected.reader.setEnd(range.upperBound, readsOn: true)
      try await copy(selected.reader, range, isFetched: head.isFetched)
    }
    try await delivery.write(ByteBuffer(string: parts.closing))
    try await delivery.writer.end()
  }

  /// The bytes counted as read at once: those that the socket does not accept wait in the file.
  private static let step: Int64 = 1 << 20
  /// Smaller for bytes that are fetched ahead of the read position.
  private static let fetchedStep: Int64 = 256 << 10

  private func copy(
    _ reader: MediaReader, _ range: ByteRange, isFetched: Bool
  ) async throws {
    let step = isFetched ? Self.fetchedStep : Self.step
    var offset = range.lowerBound
    while offset < range.upperBound {
      let count = min(range.upperBound - offset, step)
      switch try await reader.available(at: offset, count: Int(count)) {
      case .file(let file, let upTo):
        let end = min(upTo, offset + count)
        let before = reader.spansBefore.intersection(RangeSet(offset..<end))
        try await delivery.writer.write(file, offset..<end) { part in
          delivery.noteSent(Int64(part.count), stored: Self.count(of: before, in: part))
        }
        offset = end
      case .memory(let bytes):
        try await delivery.write(ByteBuffer(data: bytes))
        offset += Int64(bytes.count)
      case .end:
        return
      }
    }
  }

  /// Returns the number of bytes of the range that are in the set.
  static func count(of set: RangeSet<Int64>, in range: ByteRange) -> Int64 {
    set.intersection(RangeSet(range)).ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) }
  }
}

/// The range to send of a segment that the origin still writes: its length is unknown, and the
/// response has `Content-Range: bytes a-b/*` (RFC 9110 §14.4).
extension CachedAnswer {
  /// Whether the client requests a range of a segment that may still grow.
  var isGrowing: Bool { range != .whole && service.parts.isGrowing(exchange.url) }

  /// A longer range is one without a known end (RFC 8673).
  private static let longest: Int64 = 1 << 40

  /// Returns the size of a range; nil if its end is unknown.
  static func size(of range: ByteRange) -> Int64? {
    let size = range.upperBound - range.lowerBound
    return size < longest ? size : nil
  }

  /// Returns the range as soon as all of it is stored or announced: the requested one, or as much as
  /// exists if the client requests all that follows. Nil if the client, or the request to the
  /// origin, is for the whole segment.
  func settledRange(of reader: MediaReader) async throws -> ByteRange? {
    guard case .one(let asked) = range, let end = range.bounds.end else { return nil }
    let start = range.bounds.start
    guard var announced = reader.announcedEnd(from: start) else { return nil }
    if case .closed = asked, end - start < Self.longest {
      while announced < end {
        if case .end = try await reader.available(at: announced, count: 0) { break }
        guard let next = reader.announcedEnd(from: announced), next > announced else { break }
        announced = next
      }
    }
    return announced > start ? start..<min(announced, end) : nil
  }
}

/// The source of a response's bytes, determined when it begins.
struct ResponseSource: Sendable {
  var source: ServedRequest.Source
  /// RFC 9211.
  var cacheStatus: CacheStatus

  /// - Parameter isStale: whether a stale response is served because the origin must not be asked
  ///   now.
  init(
    reader: MediaReader, known: StoredResponse, wanted: [ByteRange], since started: Date,
    isStale: Bool
  ) {
    let before = reader.spansBefore
    let bounded = wanted.map { range in
      range.lowerBound..<min(range.upperBound, known.information.length ?? range.upperBound)
    }
    let there = bounded.reduce(into: Int64(0)) { $0 += CachedAnswer.count(of: before, in: $1) }
    let all = bounded.reduce(into: Int64(0)) { $0 += $1.upperBound - $1.lowerBound }
    let asked = reader.statistics.requests > 0
    let isNews = known.freshness.confirmedAt >= started
    if there == all, !(wanted.isEmpty && before.isEmpty && asked) {
      switch (asked, isNews) {
      case (false, _) where isStale:
        source = .stale
        cacheStatus = CacheStatus(detail: "stale, because the origin asked for a pause")
      case (false, _):
        source = .hit
        cacheStatus = CacheStatus.hit
      case (true, true):
        source = .revalidated
        cacheStatus = CacheStatus(forwarded: Self.reason(reader) ?? .stale)
      case (true, false):
        source = .stale
        cacheStatus = CacheStatus(detail: "stale, because the origin could not be asked")
      }
    } else if there > 0 {
      source = .partial
      cacheStatus = .forwarded(.partial, isStored: reader.isStoring)
    } else {
      source = .miss
      cacheStatus = .forwarded(Self.reason(reader) ?? .uriMiss, isStored: reader.isStoring)
      cacheStatus.isCollapsed = !asked
    }
  }

  /// Returns why the request was forwarded although a response was stored; nil if none was, or if
  /// it could be used.
  private static func reason(_ reader: MediaReader) -> CacheStatus.Forwarded? {
    switch reader.obstacle {
    case .stale: .stale
    case .request: .request
    case nil: nil
    }
  }
}
