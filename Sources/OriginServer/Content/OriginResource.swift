// SPDX-License-Identifier: MIT
public import Foundation

#if canImport(Darwin)
  import Darwin
#endif

/// One resource of the origin: its bytes, and how the origin describes them.
///
/// Responses follow RFC 9110: single ranges (§14; a request for several ranges receives all of the
/// resource, which §14.2 allows), `If-Range`, `If-None-Match` and `If-Modified-Since` (§13).
public struct OriginResource: Sendable {
  public var content: OriginContent
  public var contentType: String
  /// With its quotes, preceded by `W/` if it is weak; `nil`: none is sent.
  public var etag: String?
  /// Sent with whole seconds; `nil`: none is sent.
  public var lastModified: Date?
  /// `false`: every response is a 200 with all of the resource.
  public var supportsRanges: Bool
  /// `false`: no `Content-Length` (the body is chunked) and no total in `Content-Range`.
  public var declaresLength: Bool
  /// Further header fields of every response that carries or confirms the resource.
  public var headers: [Field]
  /// A request without this header field receives 401.
  public var requiredHeader: Field?
  /// The rate at which a body is sent; `nil`: no limit.
  public var bytesPerSecond: Int?
  /// Metadata inserted into the complete bodies of requests with `Icy-MetaData: 1`.
  public var interleaving: Interleaving?

  public init(
    _ content: OriginContent, contentType: String = "application/octet-stream",
    etag: String? = nil, lastModified: Date? = nil, supportsRanges: Bool = true,
    declaresLength: Bool = true, headers: [Field] = [], requiredHeader: Field? = nil,
    bytesPerSecond: Int? = nil, interleaving: Interleaving? = nil
  ) {
    self.content = content
    self.contentType = contentType
    self.etag = etag
    self.lastModified = lastModified
    self.supportsRanges = supportsRanges
    self.declaresLength = declaresLength
    self.headers = headers
    self.requiredHeader = requiredHeader
    self.bytesPerSecond = bytesPerSecond
    self.interleaving = interleaving
  }

  /// A station: endless synthetic bytes of unknown length; every response begins with the first
  /// byte. With `Fault.answerFrom` a later response begins elsewhere.
  public static func station(
    seed: UInt64, name: String = "Radio", interleaving: Interleaving? = nil
  ) -> OriginResource {
    OriginResource(
      .synthetic(seed: seed, length: .max), contentType: "audio/mpeg", supportsRanges: false,
      declaresLength: false,
      headers: [
        Field("icy-name", name), Field("icy-genre", "Test"), Field("icy-br", "128"),
        Field("icy-url", "http://radio.example"), Field("Cache-Control", "no-cache, no-store"),
      ], interleaving: interleaving)
  }

  /// `length` synthetic bytes, with a strong ETag derived from the seed.
  public static func synthetic(seed: UInt64, length: Int64) -> OriginResource {
    OriginResource(.synthetic(seed: seed, length: length), etag: "\"seed-\(seed)\"")
  }
}

/// A header field.
public struct Field: Sendable, Hashable {
  public var name: String
  public var value: String

  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  func isNamed(_ other: String) -> Bool { name.lowercased() == other.lowercased() }
}

extension [Field] {
  /// The value of the first field of that name.
  public func first(_ name: String) -> String? { first { $0.isNamed(name) }?.value }

  mutating func set(_ name: String, _ value: String?) {
    removeAll { $0.isNamed(name) }
    if let value { append(Field(name, value)) }
  }
}

/// Dates of header fields: IMF-fixdate (RFC 9110 §5.6.7), always GMT.
enum HTTPDate {
  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  static func format(_ date: Date) -> String {
    var (seconds, parts) = (time_t(date.timeIntervalSince1970.rounded(.down)), tm())
    gmtime_r(&seconds, &parts)
    let month = months[Int(parts.tm_mon)]
    return "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(month) \(parts.tm_year + 1900) "
      + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
  }

  /// Parses an IMF-fixdate; returns `nil` for any other form, including the obsolete ones.
  static func parse(_ text: String) -> Date? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", let day = CInt(words[1]), let year = CInt(words[3]),
      let month = months.firstIndex(of: String(words[2]))
    else { return nil }
    let time = words[4].split(separator: ":").compactMap { CInt($0) }
    guard time.count == 3, (1...31).contains(day), (1...9999).contains(year) else { return nil }
    var parts = tm()
    (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, CInt(month), day)
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (time[0], time[1], time[2])
    return Date(timeIntervalSince1970: Double(timegm(&parts)))
  }

  private static func two(_ number: CInt) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
