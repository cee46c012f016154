// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOFoundationCompat
import Refrain

/// Responds to GET and HEAD from the cache, which fetches missing bytes.
struct CachedAnswer: Sendable {
  let exchange: Exchange

  var service: ProxyService { exchange.service }
  var writer: ResponseWriter { exchange.writer }
  var isHEAD: Bool { exchange.request.head.isHEAD }

  func run() async throws {
    let directives = RequestDirectives(exchange.fields)
    let resource = resource
    let key = key(for: resource)
    var terms = Self.terms(directives)
    terms.hasCookies = isPersonal(resource)
    // A response not stored because of cookies may be stored for requests without them.
    let memory = terms.hasCookies ? CacheKey(rawValue: "\(key.rawValue) cookies") : key
    if key != service.cache.key(for: resource) {
      terms.notBefore = service.invalidations.last(of: service.cache.key(for: resource))
    }
    if directives.onlyIfCached {
      if service.uncacheable.reason(memory) != nil { throw Self.notThere }
    } else {
      if directives.noStore { return try await relay(.request) }
      if let reason = service.uncacheable.reason(memory) {
        return try await relay(.bypass, asksWhole: reason == .encoded)
      }
    }
    let started = service.cache.now.wall
    let (reader, known): (MediaReader, StoredResponse)
    do {
      (reader, known) = try await find(resource, key, terms)
    } catch let error as MediaCacheError where error.isEncoded {
      // The client may be able to decode a response that cannot be stored.
      service.uncacheable.insert(memory, .encoded)
      return try await relay(.uriMiss, asksWhole: true)
    } catch let error as MediaCacheError where error.status == 508 {
      // A relayed redirect would only send the client round as well.
      throw HTTPError.loop
    } catch let error as MediaCacheError where error.isPersonal {
      if directives.onlyIfCached { throw Self.notThere }
      service.uncacheable.insert(memory, .notStorable)
      return try await relay(.bypass)
    } catch let error as MediaCacheError where error.isOriginsAnswer {
      // The origin asked for a pause, which applies to this client too.
      if let rest = service.cache.rest(of: resource) { throw HTTPError(rest) }
      return try await relay(.uriMiss)
    }
    defer { reader.cancel() }
    guard reader.isSelected(known, by: resource.headers) else { return try await relay(.varyMiss) }
    if service.cache.isShared, known.freshness.noStore {
      // The response to another request may be for that one only: it is not remembered.
      if reader.statistics.requests > 0 { service.uncacheable.insert(memory, .notStorable) }
      return try await relay(.bypass)
    }
    // The response may be that of a concurrent request without cookies.
    if terms.hasCookies, !known.isForEverybody { return try await relay(.bypass) }
    if let location = redirection(known) { return try await redirect(to: location) }
    if service.configuration.fetchesWhole, !known.freshness.noStore {
      var whole = resource
      whole.key = reader.key
      service.fills.begin(whole)
    }
    holdOpen(reader, known)
    try await answer(reader, known, since: started)
  }

  /// The resource requested from the cache.
  var resource: Resource {
    var resource = Resource(
      url: exchange.url,
      headers: service.originFields.forCache(exchange.fields, referrer: exchange.referrer))
    resource.filter = service.routes.filter
    return resource
  }

  /// Returns the key of the response: separate for each set of credentials in a shared cache
  /// (RFC 9111 §3.5).
  func key(for resource: Resource) -> CacheKey {
    let key = service.cache.key(for: resource)
    guard service.cache.isShared, exchange.fields["Authorization"] != nil,
      let credentials = Variant.of(exchange.fields, names: ["authorization"])
    else { return key }
    return CacheKey(rawValue: "\(key.rawValue) for:\(credentials)")
  }

  /// Whether the response may be personal: the request has cookies, and the cache serves several
  /// people.
  func isPersonal(_ resource: Resource) -> Bool {
    service.cache.isShared && resource.headers["Cookie"] != nil
  }

  static func terms(_ directives: RequestDirectives) -> FreshnessRequirements {
    var terms = FreshnessRequirements()
    terms.isStrict = true
    terms.reportsErrors = true
    terms.isOnlyStored = directives.onlyIfCached
    terms.noCache = directives.noCache
    terms.maxAge = directives.maxAge
    terms.minFresh = directives.minFresh
    switch directives.maxStale {
    case .any: terms.maxStale = .max
    case .upTo(let seconds): terms.maxStale = seconds
    case nil: break
    }
    return terms
  }

  // MARK: Answering

  func selection(_ length: Int64) -> RangeSelection {
    guard !isHEAD, let value = exchange.fields["Range"] else { return .whole }
    return RangeSelection.select(value, length: length)
  }

  func answer(
    _ reader: MediaReader, _ known: StoredResponse, since started: Date
  ) async throws {
    let length = known.information.length
    var selection = length.map { self.selection($0) } ?? .whole
    if let conditions = Preconditions(fields: exchange.fields) {
      let outcome = conditions.evaluate(
        isGetOrHead: true, hasRange: !isHEAD && exchange.fields["Range"] != nil, etag: known.etag,
        lastModified: known.lastModified, isStrongLastModified: known.isStrongLastModified)
      switch outcome {
      case .proceed: break
      case .ignoreRange: selection = .whole
      case .notModified: return try await notModified(reader, known, started)
      case .failed:
        throw HTTPError(412, "The resource does not meet the request's preconditions.")
      }
    }
    switch selection {
    case .whole:
      try await send(reader, known, 0..<(length ?? .max), status: 200, started)
    case .single(let range):
      try await send(reader, known, range, status: 206, started)
    case .several(let ranges):
      try await send(reader, known, ranges, started)
    case .unsatisfiable:
      try await unsatisfiable(length ?? 0)
    }
  }

  func head(
    _ status: Int, _ known: StoredResponse, _ reader: MediaReader, _ wanted: [ByteRange],
    _ started: Date, body: ResponseHead.Body
  ) -> ResponseHead {
    var fields = service.fields.stored(known)
    fields.append("Age", String(AnswerFields.age(known, at: service.cache.now.wall)))
    let isStale =
      service.cache.rest(of: resource) != nil
      && !known.freshness.isFresh(at: service.cache.now.wall)
    let origin = ResponseSource(
      reader: reader, known: known, wanted: isHEAD || status == 304 ? [] : wanted, since: started,
      isStale: isStale)
    fields.append("Cache-Status", origin.cacheStatus.value)
    exchange.report.note { values in
      values.status = status
      values.source = origin.source
    }
    let isFetched = origin.source == .miss || origin.source == .partial
    return ResponseHead(status: status, fields: fields, body: body, isFetched: isFetched)
  }

  func notModified(
    _ reader: MediaReader, _ known: StoredResponse, _ started: Date
  ) async throws {
    var head = head(304, known, reader, [], started, body: .none)
    // A client with the content knows the fields that describe it (RFC 9110 §15.4.5).
    for name in ["Content-Type", "Content-Encoding", "Content-Language", "Accept-Ranges"] {
      head.fields[name] = nil
    }
    try await writer.begin(head)
    try await writer.end()
  }

  func unsatisfiable(_ length: Int64) async throws {
    var fields: HeaderFields = [
      "Date": HTTPDate.format(Date()), "Content-Range": "bytes */\(length)",
      "Accept-Ranges": "bytes", "Cache-Control": "no-store",
    ]
    service.fields.addWebOrigin(to: &fields)
    exchange.report.note { $0.status = 416 }
    try await writer.begin(ResponseHead(status: 416, fields: fields, body: .length(0)))
    try await writer.end()
  }

  func send(
    _ reader: MediaReader, _ known: StoredResponse, _ range: ByteRange, status: Int,
    _ started: Date
  ) async throws {
    let length = known.information.length
    let size = length == nil ? nil : range.upperBound - range.lowerBound
    let body: ResponseHead.Body = isHEAD ? .omitted(size) : size.map { .length($0) } ?? .open
    var head = head(status, known, reader, [range], started, body: body)
    if status == 206, let length {
      head.fields.append(
        "Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)")
      exchange.report.note { $0.range = range }
    }
    reader.setEnd(range.upperBound, readsOn: true)
    try await writer.begin(head)
    if !isHEAD { try await copy(reader, range, isFetched: head.isFetched) }
    try await writer.end()
  }

  func send(
    _ reader: MediaReader, _ known: StoredResponse, _ ranges: [ByteRange], _ started: Date
  ) async throws {
    guard let length = known.information.length else { return }
    let parts = MultipartByteRanges(
      ranges: ranges, length: length,
      contentType: service.fields.passable(known.headers)["Content-Type"])
    guard let size = parts.contentLength else { return try await unsatisfiable(length) }
    var head = head(206, known, reader, ranges, started, body: .length(size))
    head.fields["Content-Type"] = parts.type
    try await writer.begin(head)
    for range in ranges {
      try await writer.write(ByteBuffer(string: parts.heading(before: range)))
      reader.setEnd(range.upperBound, readsOn: true)
      try await copy(reader, range, isFetched: head.isFetched)
    }
    try await writer.write(ByteBuffer(string: parts.closing))
    try await writer.end()
  }

  /// The bytes counted as read at once: those that the socket does not accept wait in the file.
  static let step: Int64 = 1 << 20
  /// Smaller for bytes that are fetched ahead of the read position.
  static let fetchedStep: Int64 = 256 << 10

  func copy(
    _ reader: MediaReader, _ range: ByteRange, isFetched: Bool
  ) async throws {
    let step = isFetched ? Self.fetchedStep : Self.step
    var offset = range.lowerBound
    while offset < range.upperBound {
      let count = min(range.upperBound - offset, step)
      switch try await reader.available(at: offset, count: Int(count)) {
      case .file(let file, let upTo):
        let end = min(upTo, offset + count)
        try await writer.write(file, offset..<end)
        noteSent(end - offset)
        offset = end
      case .memory(let bytes):
        try await writer.write(ByteBuffer(data: bytes))
        noteSent(Int64(bytes.count))
        offset += Int64(bytes.count)
      case .end:
        return
      }
    }
  }

  func noteSent(_ count: Int64) {
    exchange.report.note { $0.bytesSent += count }
  }

  func relay(_ reason: CacheStatus.Forwarded, asksWhole: Bool = false) async throws {
    var answer = RelayedAnswer(exchange: exchange, reason: reason)
    answer.asksWhole = asksWhole
    try await answer.run()
  }
}

extension HTTPError {
  /// Repeats the origin's response.
  init(_ rest: OriginRests.Rest) {
    self.init(
      rest.status, "The origin answered \(rest.status). Retry after the time in Retry-After.",
      retryAfter: rest.seconds)
  }
}

extension MediaCacheError {
  /// Whether the origin did respond, with an error or a redirect that leads nowhere: the client
  /// should receive that response.
  fileprivate var isOriginsAnswer: Bool {
    status != nil && (code == .status || code == .redirect)
  }
}
