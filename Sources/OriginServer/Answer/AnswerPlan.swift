// SPDX-License-Identifier: MIT
internal import Foundation

/// Decides the response to a request: first that of an origin without faults, to the resource as
/// the faults present it; then applies the faults to the response.
struct AnswerPlan {
  let request: ReceivedRequest
  let serial: Int
  var resource: OriginResource?
  var ignoresRange = false
  var ignoresIfRange = false
  var answer = Answer()

  static func answer(to served: OriginState.Served) -> Answer {
    answer(to: served, from: served.resource, with: served.faults)
  }

  /// Returns the response from a resource of a live stream.
  static func answer(
    to served: OriginState.Served, from resource: OriginResource?, with faults: [Fault]
  ) -> Answer {
    var plan = AnswerPlan(request: served.request, serial: served.serial, resource: resource)
    for fault in faults { plan.present(fault) }
    plan.decide(instead: faults)
    for fault in faults { plan.alter(fault) }
    for fault in faults { plan.schedule(fault) }
    plan.finish(faults)
    return plan.answer
  }

  // MARK: The resource

  /// Applies faults that change the origin's view of its resource.
  private mutating func present(_ fault: Fault) {
    switch fault {
    case .answerFrom(let other): resource = other
    case .etag(let etag): resource?.etag = etag
    case .otherServer(let suffix):
      if let etag = resource?.etag, etag.hasSuffix("\"") {
        resource?.etag = "\(etag.dropLast())\(suffix)\""
      }
    case .lastModified(let date): resource?.lastModified = date
    case .noValidators:
      resource?.etag = nil
      resource?.lastModified = nil
    case .ignoreRange: ignoresRange = true
    case .ignoreIfRange: ignoresIfRange = true
    default: break
    }
  }

  // MARK: The answer

  private mutating func decide(instead faults: [Fault]) {
    answer.headers = [Field("Date", HTTPDate.format(Date())), Field("Server", "OriginServer")]
    for fault in faults {
      switch fault {
      case .closeWithoutAnswer:
        answer.raw = []
        return
      case .garbage(let bytes):
        answer.raw = bytes
        return
      case .status(let status, let headers, let body): return reply(status, headers, body)
      case .redirect(let status, let location):
        return reply(status, [Field("Location", location)])
      default: break
      }
    }
    guard let resource else { return reply(404) }
    guard request.method == "GET" || request.method == "HEAD" else {
      return reply(405, [Field("Allow", "GET, HEAD")])
    }
    if let required = resource.requiredHeader,
      request.headers.first(required.name) != required.value
    {
      return reply(401, [Field("WWW-Authenticate", "Bearer realm=\"origin\"")])
    }
    answer(from: resource)
  }

  /// Responds with a small body that is not the resource.
  private mutating func reply(_ status: Int, _ headers: [Field] = [], _ body: [UInt8]? = nil) {
    let body = body.flatMap { $0.isEmpty ? nil : $0 } ?? Array("\(status)\n".utf8)
    answer.status = status
    answer.headers += [Field("Content-Type", "text/plain")] + headers
    if status == 304 || status == 204 { return }
    answer.body = [.bytes(body)]
    answer.framing = .contentLength(Int64(body.count))
  }

  private mutating func answer(from resource: OriginResource) {
    let content = resource.content
    let lastModified = resource.lastModified.map(HTTPDate.format)
    answer.generation = GenerationKey(
      serial: serial, etag: resource.etag, lastModified: lastModified)
    answer.bytesPerSecond = resource.bytesPerSecond
    answer.headers.set("ETag", resource.etag)
    answer.headers.set("Last-Modified", lastModified)
    if resource.headers.first("Date") != nil { answer.headers.set("Date", nil) }
    answer.headers += resource.headers
    if notModified(resource) {
      answer.status = 304
      return
    }
    if resource.supportsRanges { answer.headers.append(Field("Accept-Ranges", "bytes")) }
    let obeysRange =
      resource.supportsRanges && !ignoresRange && (ignoresIfRange || ifRangeHolds(resource))
    let total = resource.declaresLength ? "\(content.length)" : "*"
    var range = 0..<content.length
    switch RangeRequest(obeysRange ? request.range : nil, length: content.length) {
    case .whole: break
    case .part(let part):
      answer.status = 206
      range = part
      answer.headers.append(
        Field("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(total)"))
    case .unsatisfiable:
      if resource.declaresLength {
        answer.headers.append(Field("Content-Range", "bytes */\(total)"))
      }
      return reply(416)
    }
    answer.headers.append(Field("Content-Type", resource.contentType))
    answer.body = [.content(content, range, counted: true)]
    if answer.status == 200, let interleaving = resource.interleaving,
      request.headers.first("Icy-MetaData") == "1"
    {
      answer.headers.append(Field("icy-metaint", "\(interleaving.interval)"))
      let length = interleaving.length(of: content.length)
      answer.body = [.interleaved(content, interleaving, length: length)]
    }
    answer.framing = resource.declaresLength ? .contentLength(answer.bodyLength) : .chunked
  }

  // MARK: Conditions (RFC 9110 §13)

  /// Whether the response is 304. `If-None-Match` compares weakly and takes precedence over
  /// `If-Modified-Since` (§13.2.2).
  private func notModified(_ resource: OriginResource) -> Bool {
    if let wanted = request.headers.first("If-None-Match") {
      if wanted == "*" { return true }
      guard let etag = resource.etag else { return false }
      let tags = wanted.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
      return tags.contains { Self.opaque($0) == Self.opaque(etag) }
    }
    if let field = request.headers.first("If-Modified-Since"), let since = HTTPDate.parse(field),
      let date = resource.lastModified
    {
      return date.timeIntervalSince1970.rounded(.down) <= since.timeIntervalSince1970
    }
    return false
  }

  /// Whether the range applies: `If-Range` compares strongly, or the date exactly (§13.1.5); true
  /// without the field.
  private func ifRangeHolds(_ resource: OriginResource) -> Bool {
    guard let wanted = request.headers.first("If-Range") else { return true }
    if wanted.hasPrefix("\"") || wanted.hasPrefix("W/") {
      return wanted == resource.etag && !wanted.hasPrefix("W/")
    }
    return resource.lastModified.map(HTTPDate.format) == wanted
  }

  private static func opaque(_ etag: String) -> Substring {
    etag.hasPrefix("W/") ? etag.dropFirst(2) : etag[...]
  }
}

/// The range that a `Range` header field requests (RFC 9110 §14.1.2).
enum RangeRequest: Equatable {
  /// All of the resource: no field, an invalid one, or several ranges.
  case whole
  /// A single range, cut to the existing bytes.
  case part(Range<Int64>)
  /// Well-formed, but none of its bytes exist.
  case unsatisfiable

  init(_ field: String?, length: Int64) {
    self = Self.parse(field, length: length) ?? .whole
  }

  private static func parse(_ field: String?, length: Int64) -> RangeRequest? {
    guard let field, field.lowercased().hasPrefix("bytes=") else { return nil }
    let spec = field.dropFirst("bytes=".count)
    let ends = spec.split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    if ends[0].isEmpty {
      guard let suffix = number(ends[1]) else { return nil }
      guard suffix > 0, length > 0 else { return .unsatisfiable }
      return .part(max(0, length - suffix)..<length)
    }
    guard let first = number(ends[0]) else { return nil }
    guard !ends[1].isEmpty else {
      return first < length ? .part(first..<length) : .unsatisfiable
    }
    guard let last = number(ends[1]), last >= first else { return nil }
    return first < length ? .part(first..<min(last, length - 1) + 1) : .unsatisfiable
  }

  private static func number(_ text: Substring) -> Int64? {
    text.utf8.allSatisfy { (48...57).contains($0) } ? Int64(text) : nil
  }
}
