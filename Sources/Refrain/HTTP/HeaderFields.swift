// SPDX-License-Identifier: MIT

/// HTTP header fields in their given order. Names are compared case-insensitively (RFC 9110 §5.1).
public struct HeaderFields: Sendable, Hashable, ExpressibleByDictionaryLiteral {
  public struct Field: Sendable, Hashable {
    public var name: String
    public var value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }

    /// Whether name and value follow the grammar: others could be read as another line.
    package var isValid: Bool { name.isToken && value.utf8.allSatisfy(\.isValueByte) }
  }

  public private(set) var fields: [Field] = []

  public init() {}

  public init(_ fields: some Sequence<(String, String)>) {
    for (name, value) in fields { append(name, value) }
  }

  public init(dictionaryLiteral elements: (String, String)...) { self.init(elements) }

  public var isEmpty: Bool { fields.isEmpty }

  /// Adds a field at the end, even if one of that name exists.
  public mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// All values of a name joined by `", "` (RFC 9110 §5.3), nil if there is none. Setting
  /// replaces every field of the name; nil removes them.
  public subscript(name: String) -> String? {
    get {
      let found = values(of: name)
      return found.isEmpty ? nil : found.joined(separator: ", ")
    }
    set {
      let key = name.lowercased()
      fields.removeAll { $0.name.lowercased() == key }
      if let newValue { append(name, newValue) }
    }
  }

  /// Returns the values of every field of that name, in order.
  public func values(of name: String) -> [String] {
    let key = name.lowercased()
    return fields.compactMap { $0.name.lowercased() == key ? $0.value : nil }
  }

  /// Returns the members of a field's lists in lower case, split at every comma, quoted or not
  /// (RFC 9110 §5.6.1), without empty ones.
  package func members(of name: String) -> [String] {
    values(of: name).flatMap { $0.split(separator: ",") }.map { $0.trimmingOWS.lowercased() }
      .filter { !$0.isEmpty }
  }

  /// Returns the fields with these names, which are in lower case.
  func only(_ names: Set<String>) -> HeaderFields {
    var kept = self
    kept.fields.removeAll { !names.contains($0.name.lowercased()) }
    return kept
  }

  /// The names, in lower case, of the fields that are for the next hop only (RFC 9110 §7.6.1).
  package static let hopByHop: Set<String> = [
    "connection", "keep-alive", "proxy-connection", "proxy-authenticate",
    "proxy-authentication-info", "proxy-authorization", "te", "trailer", "transfer-encoding",
    "upgrade", "http2-settings",
  ]

  static let ofRange = ["Range", "If-Range"]

  /// Set-Cookie2 is obsolete (RFC 2965, RFC 6265 §9.4).
  package var setsCookie: Bool { ["Set-Cookie", "Set-Cookie2"].contains { self[$0] != nil } }

  package var grantingAccess: HeaderFields { only(["authorization", "cookie"]) }

  /// Fields that only describe the program, the page from which it comes, and what it can play, in
  /// lower case. Any other field may be a credential, under whatever name.
  static let harmlessNames: Set<String> = [
    "user-agent", "accept", "accept-language", "referer", "origin",
  ]

  package var harmless: HeaderFields { only(Self.harmlessNames) }

  /// Adds the fields that are missing, without which some origins, and firewalls before them, refuse
  /// a request. `Accept: */*` means the same as no Accept (RFC 9110 §12.5.1).
  package mutating func addDefaults() {
    if self["Accept"] == nil { append("Accept", "*/*") }
    if self["User-Agent"] == nil { append("User-Agent", "Refrain") }
  }
}

/// Fields that describe the body.
extension HeaderFields {
  /// Words that servers write in Content-Encoding though they name no coding (RFC 9110 §8.4):
  /// `none`, the charset of a text, how an upload was sent.
  private static let noCodings: Set<String> = [
    "identity", "none", "binary", "utf-8", "utf8", "aws-chunked",
  ]

  /// The codings of the body, in the order in which they were applied, in lower case.
  package var contentCodings: [String] {
    members(of: "Content-Encoding").filter { !Self.noCodings.contains($0) }
  }

  /// Removes the words that name no coding, so that neither what is stored nor a client has them.
  package mutating func dropNoCodings() {
    let codings = contentCodings
    self["Content-Encoding"] = codings.isEmpty ? nil : codings.joined(separator: ", ")
  }

  /// All values of Content-Length, in several fields or as a list.
  private var lengths: [Substring] {
    values(of: "Content-Length").flatMap {
      $0.split(separator: ",", omittingEmptySubsequences: false).map(\.trimmingOWS)
    }
  }

  /// Whether Content-Length is no number, or several different ones (RFC 9112 §6.3).
  package var hasInvalidLength: Bool {
    let areNumbers = lengths.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(\.isDigit) }
    return !areNumbers || Set(lengths.map { $0.drop { $0 == "0" } }).count > 1
  }

  /// The announced length of the body (RFC 9110 §8.6), unless in a transfer coding (RFC 9112 §6.3).
  package var bodyLength: Int64? {
    guard self["Transfer-Encoding"] == nil, !hasInvalidLength else { return nil }
    return lengths.first.flatMap { Int64(digits: $0) }
  }

  package var contentRange: ContentRange? { self["Content-Range"].flatMap(ContentRange.init) }
}

/// A half-open range of byte offsets in a resource. HTTP's inclusive form exists only where a
/// header is parsed or written.
public typealias ByteRange = Range<Int64>

extension ByteRange {
  /// The value of Range that requests these bytes, at least one (RFC 9110 §14.2); the end is
  /// unknown if it is `.max`.
  var fieldValue: String {
    let last = upperBound == .max ? "" : "\(Swift.max(upperBound - 1, lowerBound))"
    return "bytes=\(lowerBound)-\(last)"
  }
}

/// The value of Content-Range (RFC 9110 §14.4).
///
///     bytes 0-499/1234   range 0..<500, total 1234
///     bytes 0-499/*      range 0..<500, total unknown
///     bytes */1234       no range: the requested one lies outside (416)
package struct ContentRange: Sendable, Hashable {
  package var range: ByteRange?
  package var total: Int64?

  /// Nil if the value is invalid: another unit, an end before the start or beyond the total.
  package init?(_ value: String) {
    let value = value.trimmingOWS
    let unit = value.prefix { $0 != " " && $0 != "\t" }
    let sides = value[unit.endIndex...].trimmingOWS
      .split(separator: "/", omittingEmptySubsequences: false)
    guard unit.lowercased() == "bytes", sides.count == 2, sides != ["*", "*"] else { return nil }
    total = Int64(digits: sides[1])
    guard total != nil || sides[1] == "*" else { return nil }
    if sides[0] == "*" { return }
    let ends = sides[0].split(separator: "-", omittingEmptySubsequences: false)
      .map { Int64(digits: $0) }
    // `digits` stays below the greatest Int64, so `last + 1` fits.
    guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last,
      last < total ?? .max
    else { return nil }
    range = first..<(last + 1)
  }
}

/// The response fields stored with an entry.
enum StoredFields {
  /// The most bytes of all fields, besides Vary. Without Vary, all requests would receive one
  /// representation; a response's head is bounded.
  static let longest = 16 << 10

  /// Fields that describe the message and not the resource (RFC 9111 §3.1), or the one range or
  /// exchange; and cookies, which are for the requester.
  private static let excluded = HeaderFields.hopByHop.union([
    "content-length", "content-range", "age", "set-cookie", "set-cookie2", "warning",
    "cache-status", "via", "accept-ranges",
  ])

  /// Fields of the stored bytes, which a mere confirmation cannot change (RFC 9111 §3.2).
  private static let ofContent: Set<String> = [
    "content-encoding", "content-type", "content-md5", "content-digest", "repr-digest",
  ]

  /// Returns the fields to store after a response, which as a confirmation brings no bytes.
  static func merged(
    _ stored: HeaderFields, with headers: HeaderFields, isConfirmation: Bool
  ) -> HeaderFields {
    var left = excluded.union(headers.members(of: "Connection"))
    if isConfirmation { left.formUnion(ofContent) }
    let news = headers.fields.filter { !left.contains($0.name.lowercased()) }
    var replaced = Set(news.map { $0.name.lowercased() })
    // The Date of an older message would make the newer one as old (RFC 9110 §6.6.1).
    if isConfirmation { replaced.insert("date") }
    let kept = stored.fields.filter { !replaced.contains($0.name.lowercased()) }
    var (merged, room) = (HeaderFields(), longest)
    for field in kept + news {
      let isVary = field.name.lowercased() == "vary"
      let size = isVary ? 0 : field.name.utf8.count + field.value.utf8.count
      guard size <= room else { continue }
      room -= size
      merged.append(field.name, field.value)
    }
    return merged
  }
}
