// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOFoundationCompat
import Refrain

/// Answers GET and HEAD from the cache, which fetches what is missing.
struct CachedAnswer: Sendable {
  let exchange: Exchange

  private var service: ProxyService { exchange.service }
  private var writer: ResponseWriter { exchange.writer }
  private var isHEAD: Bool { exchange.request.head.isHEAD }

  func run() async throws {
    let directives = RequestDirectives(exchange.fields)
    let resource = resource
    let key = key(for: resource)
    var terms = Self.terms(directives)
    terms.hasCookies = isPersonal(resource)
    // A response that is not stored because of its cookies may be stored for requests without.
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
    let (reader, known): (MediaReader, KnownResponse)
    do {
      (reader, known) = try await find(resource, key, terms)
    } catch let error as MediaCacheError where error.isEncoded {
      // The client may be able to decode what cannot be kept.
      service.uncacheable.insert(memory, .encoded)
      return try await relay(.uriMiss, asksWhole: true)
    } catch let error as MediaCacheError where error.status == 508 {
      // Relayed, the redirect would only send the client round as well.
      throw Refusal.loop
    } catch let error as MediaCacheError where error.isPersonal {
      if directives.onlyIfCached { throw Self.notThere }
      service.uncacheable.insert(memory, .notStorable)
      return try await relay(.bypass)
    } catch let error as MediaCacheError where error.isOriginsAnswer {
      // The origin wants to be left alone, by this client too.
      if let rest = service.cache.rest(of: resource) { throw Refusal(rest) }
      return try await relay(.uriMiss)
    }
    defer { reader.cancel() }
    guard reader.isSelected(known, by: resource.headers) else { return try await relay(.varyMiss) }
    if service.cache.isShared, known.freshness.noStore {
      // What another request was answered may be for that one alone: it is not remembered.
      if reader.statistics.requests > 0 { service.uncacheable.insert(memory, .notStorable) }
      return try await relay(.bypass)
    }
    // The answer may have come to a request without cookies that was made at the same time.
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

  /// What is asked of the cache.
  var resource: Resource {
    var resource = Resource(
      url: exchange.url,
      headers: service.originFields.forCache(exchange.fields, referrer: exchange.referrer))
    resource.filter = service.routes.filter
    return resource
  }

  /// Under which key it is kept: apart for each one who shows credentials, where others share the
  /// cache (RFC 9111 §3.5).
  func key(for resource: Resource) -> CacheKey {
    let key = service.cache.key(for: resource)
    guard service.cache.isShared, exchange.fields["Authorization"] != nil,
      let credentials = Variant.of(exchange.fields, names: ["authorization"])
    else { return key }
    return CacheKey(rawValue: "\(key.rawValue) for:\(credentials)")
  }

  /// Whether the response may be made for one person: the request has cookies, and the cache serves
  /// several people.
  func isPersonal(_ resource: Resource) -> Bool {
    service.cache.isShared && resource.headers["Cookie"] != nil
  }

  private static func terms(_ directives: RequestDirectives) -> ReadingTerms {
    var terms = ReadingTerms()
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

  // MARK: Finding out

  /// A reader of the representation that the request selects, and what is known of it.
  private func find(
    _ resource: Resource, _ key: CacheKey, _ terms: ReadingTerms
  ) async throws -> (MediaReader, KnownResponse) {
    for _ in 0..<3 {
      do {
        return try await findOnce(resource, key, terms)
      } catch let error as MediaCacheError where error.code == .resourceChanged {
        // The origin has answered somebody else meanwhile. Nothing was sent yet.
      }
    }
    return try await findOnce(resource, key, terms)
  }

  private func findOnce(
    _ resource: Resource, _ key: CacheKey, _ terms: ReadingTerms
  ) async throws -> (MediaReader, KnownResponse) {
    var reader = try await open(resource, key, terms)
    do {
      if terms.isOnlyStored { try checkIsThere(reader, terms) }
      var known = try await learn(reader)
      // Found out together with others, it may be for one of them.
      for _ in 0..<4 where !reader.isSelected(known, by: resource.headers) {
        reader.cancel()
        reader = try await open(resource, key, terms)
        known = try await learn(reader)
      }
      return (reader, known)
    } catch {
      reader.cancel()
      throw error
    }
  }

  private func open(
    _ resource: Resource, _ key: CacheKey, _ terms: ReadingTerms
  ) async throws -> MediaReader {
    do {
      return try await service.cache.open(resource, on: terms, fill: .onDemand, key: key)
    } catch let error as MediaCacheError where error.code == .notFound && !error.isPersonal {
      throw Self.notThere
    }
  }

  /// RFC 9111 §5.2.1.7: 504 where it would take a request.
  private func checkIsThere(_ reader: MediaReader, _ terms: ReadingTerms) throws {
    let held = service.cache.hold(reader)
    let known = held?.known(terms, at: service.cache.now)
    let isThere =
      known.flatMap { known -> Bool? in
        guard let length = known.information.length else { return nil }
        let ranges: [ByteRange] =
          switch selection(length) {
          case .whole: isHEAD ? [] : [0..<length]
          case .single(let range): [range]
          case .several(let ranges): ranges
          case .unsatisfiable: []
          }
        return ranges.allSatisfy { $0.isEmpty || held?.file(of: known, holding: $0) != nil }
      } ?? false
    guard isThere else { throw Self.notThere }
  }

  private static let notThere = Refusal(
    504, "It is not all in the cache, and only the cache was asked.")

  /// Waits until it is known what the resource is. The first request to the origin is made where
  /// the client wants to begin.
  private func learn(_ reader: MediaReader) async throws -> KnownResponse {
    let asked =
      isHEAD
      ? nil
      : exchange.request.head.withValue(of: .range) {
        $0.flatMap { SimpleRange($0) }
      }
    let start: Int64
    switch asked {
    case .closed(let first, let last):
      start = first
      reader.setEnd(last < .max ? last + 1 : .max)
    case .from(let first): start = first
    default: start = 0
    }
    if isHEAD { reader.setEnd(1) }
    if start > 0 {
      do {
        if case .end = try await reader.available(at: start, count: 0) {
          // All that the origin said may be where the end is.
          reader.setEnd(.max)
          _ = try await reader.available(at: 0, count: 0)
        }
      } catch let error as MediaCacheError where error.code == .badRange {
        // Beyond its end, and the origin does not say where that is: the beginning tells.
      }
    }
    return try await reader.settle()
  }

  /// A playlist that lies elsewhere than was asked: what it refers to lies there too, so that the
  /// client has to know. And a page, where players are to see its own URL.
  private func redirection(_ known: KnownResponse) -> String? {
    if service.configuration.redirectsPages, known.information.mimeType == "text/html" {
      return exchange.url.absoluteString
    }
    guard service.configuration.origin == nil, let type = known.information.mimeType,
      Self.playlists.contains(type)
    else { return nil }
    let final = known.information.finalURL
    guard final.absoluteString != exchange.url.absoluteString,
      service.routes.filter?.allows(final) != false
    else { return nil }
    return service.routes.target(for: final)
  }

  private static let playlists: Set<String> = [
    "application/vnd.apple.mpegurl", "application/x-mpegurl", "audio/mpegurl", "audio/x-mpegurl",
    "application/dash+xml",
  ]

  private func redirect(to location: String) async throws {
    var fields: HTTPFields = [
      "Date": HTTPDate.format(Date()), "Location": location, "Cache-Control": "no-cache",
    ]
    service.fields.addWebOrigin(to: &fields)
    exchange.report.note { $0.status = 302 }
    try await writer.begin(ResponseHead(status: 302, fields: fields, body: .length(0)))
    try await writer.end()
  }

  /// Further requests for it are answered at once.
  private func holdOpen(_ reader: MediaReader, _ known: KnownResponse) {
    guard !known.varies, !known.freshness.noStore, reader.isStoring,
      exchange.target.hasPrefix("/"),
      exchange.fields["Authorization"] == nil,
      service.hot.resource(for: exchange.target)?.isHeld != true,
      let held = service.cache.hold(reader)
    else { return }
    let fields = service.fields
    service.hot.insert(
      HotResource(
        held: held, credentials: Credentials.of(resource), urlText: exchange.url.absoluteString,
        isShared: service.cache.isShared
      ) { known in
        var rendered = fields.stored(known)
        rendered.append("Cache-Status", CacheStatus.hit.value)
        return rendered
      }, for: exchange.target)
  }

  // MARK: Answering

  private func selection(_ length: Int64) -> RangeSelection {
    guard !isHEAD, let value = exchange.fields["Range"] else { return .whole }
    return RangeSelection.select(value, length: length)
  }

  private func answer(
    _ reader: MediaReader, _ known: KnownResponse, since started: Date
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
        throw Refusal(412, "The resource is not in the state that was asked for.")
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

  private func head(
    _ status: Int, _ known: KnownResponse, _ reader: MediaReader, _ wanted: [ByteRange],
    _ started: Date, body: ResponseHead.Body
  ) -> ResponseHead {
    var fields = service.fields.stored(known)
    fields.append("Age", String(AnswerFields.age(known, at: service.cache.now.wall)))
    let isStale =
      service.cache.rest(of: resource) != nil
      && !known.freshness.isFresh(at: service.cache.now.wall)
    let origin = ResponseOrigin(
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

  private func notModified(
    _ reader: MediaReader, _ known: KnownResponse, _ started: Date
  ) async throws {
    var head = head(304, known, reader, [], started, body: .none)
    // What describes the content is known to who has it (RFC 9110 §15.4.5).
    for name in ["Content-Type", "Content-Encoding", "Content-Language", "Accept-Ranges"] {
      head.fields[name] = nil
    }
    try await writer.begin(head)
    try await writer.end()
  }

  private func unsatisfiable(_ length: Int64) async throws {
    var fields: HTTPFields = [
      "Date": HTTPDate.format(Date()), "Content-Range": "bytes */\(length)",
      "Accept-Ranges": "bytes", "Cache-Control": "no-store",
    ]
    service.fields.addWebOrigin(to: &fields)
    exchange.report.note { $0.status = 416 }
    try await writer.begin(ResponseHead(status: 416, fields: fields, body: .length(0)))
    try await writer.end()
  }

  private func send(
    _ reader: MediaReader, _ known: KnownResponse, _ range: ByteRange, status: Int,
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
    reader.setEnd(range.upperBound)
    try await writer.begin(head)
    if !isHEAD { try await copy(reader, range, isFetched: head.isFetched) }
    try await writer.end()
  }

  private func send(
    _ reader: MediaReader, _ known: KnownResponse, _ ranges: [ByteRange], _ started: Date
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
      reader.setEnd(range.upperBound)
      try await copy(reader, range, isFetched: head.isFetched)
    }
    try await writer.write(ByteBuffer(string: parts.closing))
    try await writer.end()
  }

  /// So much is taken as read at once: what the socket does not take waits in the file.
  private static let step: Int64 = 1 << 20
  /// Less where it is fetched ahead of what is read.
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

  private func noteSent(_ count: Int64) {
    exchange.report.note { $0.bytesSent += count }
  }

  private func relay(_ reason: CacheStatus.Forwarded, asksWhole: Bool = false) async throws {
    var answer = RelayedAnswer(exchange: exchange, reason: reason)
    answer.asksWhole = asksWhole
    try await answer.run()
  }
}

extension Refusal {
  /// Repeats what the origin has answered.
  init(_ rest: OriginRests.Rest) {
    self.init(
      rest.status, "The origin answered \(rest.status). Try again after the time in Retry-After.",
      retryAfter: rest.seconds)
  }
}

extension MediaCacheError {
  /// The origin did answer, with an error or a redirect that leads nowhere: what it says is for the
  /// client.
  fileprivate var isOriginsAnswer: Bool {
    status != nil && (code == .status || code == .redirect)
  }
}
