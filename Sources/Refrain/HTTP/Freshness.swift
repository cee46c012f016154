// SPDX-License-Identifier: MIT
package import Foundation

/// How long a stored response may be used without revalidation (RFC 9111 §4.2).
package struct Freshness: Codable, Sendable, Hashable {
  /// When the response with this information arrived.
  package var confirmedAt: Date
  /// The same time on a clock that nobody can set.
  var confirmedUptime: Uptime?
  /// The age of the response then, in seconds (RFC 9111 §4.2.3, `corrected_initial_age`).
  var initialAge: Double = 0
  /// The age at which the response becomes stale, in seconds.
  package var lifetime: Double
  /// Whether the stale response must not be used while the origin is unavailable (RFC 9111 §4.2.4).
  package var mustRevalidate = false
  package var noStore = false
  /// Whether the origin sent no lifetime, so that it is a heuristic one (RFC 9111 §4.2.2).
  package var isGuessed: Bool?
  /// Whether the response was found to have changed, or a request may have changed it (RFC 9111
  /// §4.4): stale, until the origin confirms it.
  var isOutdated: Bool?
  /// Whether its status was 203: a proxy on the way has changed the content (RFC 9110 §15.3.4).
  package var isTransformed: Bool?
  /// For shared caches: whether a redirect to it may lead requests with cookies elsewhere.
  var mayDifferByCookies: Bool?
  /// Whether the response's own fields state more than this, since a redirect led to it; nil: no.
  package var isBounded: Bool?
  /// How long the stale response may be used while it is being confirmed, in seconds (RFC 5861 §3).
  var staleWhileRevalidate: Double?
  /// As above, while the origin is unavailable (RFC 5861 §4); nil if the origin has set no limit.
  var staleIfError: Double?
  /// How soon the origin changes the resource, by its bytes; nil if it is no document.
  package var pace: UpdatePace?

  /// The properties of the cache and of the request that decide on storing.
  struct Keeper: Sendable, Hashable {
    var isShared = false
    var isAuthorized = false
    var hasCookies = false
    /// Whether the resource is a secret of its group (`ResourcePolicy.Group.isSecret`).
    var isSecret = false
    /// Whether the origin held the response back: the time until then says nothing of its age.
    var wasHeldBack = false
  }
}

extension Freshness {
  init(
    status: Int, headers: HeaderFields, requestTime: Date, responseTime: Date,
    keeper: Keeper = Keeper()
  ) {
    let control = CacheControl(headers, isShared: keeper.isShared)
    let sent = headers["Date"].flatMap { HTTPDate.parse($0) } ?? responseTime
    // The first member of Age, if it is a number (RFC 9111 §5.1).
    let age = headers.values(of: "Age").first.flatMap {
      Int64(saturatingDigits: $0.prefix { $0 != "," }.trimmingOWS, at: CacheControl.longest)
    }
    self.init(confirmedAt: responseTime, lifetime: 0)
    if control.noStore && !control.mustUnderstand || control.noCache
      || headers.members(of: "Vary").contains("*")
    {
      // `Vary: *`: only the answered request itself matches (RFC 9111 §4.1).
      lifetime = 0
    } else if let maxAge = (keeper.isShared ? control.sharedMaxAge : nil) ?? control.maxAge {
      lifetime = Double(maxAge)
    } else if !control.isTargeted, let expires = headers.values(of: "Expires").first {
      // An invalid date, especially "0", lies in the past (RFC 9111 §5.3).
      let date = HTTPDate.parse(expires)
      lifetime = Self.bounded(date?.timeIntervalSince(sent) ?? 0)
    } else {
      isGuessed = true
      if Self.isHeuristicallyCacheable(status),
        let modified = HTTPDate.parse(headers["Last-Modified"] ?? "")
      {
        // A tenth (RFC 9111 §4.2.2), and at most a day.
        lifetime = min(Self.bounded(sent.timeIntervalSince(modified)) / 10, 24 * 3600)
      }
    }
    // In whole seconds, as Date is: a document may be useful for less than one.
    let apparent = responseTime.timeIntervalSince(sent).rounded(.down)
    let delay = keeper.wasHeldBack ? 0 : responseTime.timeIntervalSince(requestTime)
    initialAge = Self.bounded(max(apparent, Double(age ?? 0) + Self.bounded(delay)))
    mustRevalidate =
      control.mustRevalidate || control.noCache
      || (keeper.isShared && (control.proxyRevalidate || control.sharedMaxAge != nil))
    noStore =
      control.forbidsStoring(status: status)
      || (keeper.isShared && !Self.isSharable(control, headers, keeper))
    staleWhileRevalidate = control.staleWhileRevalidate.map { Double($0) }
    staleIfError = control.staleIfError.map { Double($0) }
    if status == 203 { isTransformed = true }
  }

  /// RFC 9111 §3, §3.5, §7.3: a response that sets a cookie is for one person, and so is one to a
  /// request with cookies, unless the origin permits it for everybody.
  private static func isSharable(
    _ control: CacheControl, _ headers: HeaderFields, _ keeper: Keeper
  ) -> Bool {
    // Beside what it opens, a secret would open it to everybody.
    if keeper.isSecret { return false }
    if control.isPrivate || headers.setsCookie { return false }
    if keeper.hasCookies, !control.isForEverybody { return false }
    return !keeper.isAuthorized || control.isPublic || control.mustRevalidate
      || control.sharedMaxAge != nil
  }

  package func isFresh(at now: Date) -> Bool { remaining(at: now) > 0 }

  /// Returns the seconds until the response becomes stale; negative once it is. If the clock was
  /// set back, the age stays the initial one; if by more than the lifetime, the response is not
  /// fresh.
  package func remaining(at now: Date) -> Double {
    // If the origin of an ongoing document sent no lifetime, the pace is the heuristic one: many
    // clients cost it as many requests as one.
    let paced = pace?.longestUse ?? .infinity
    let isByPaceAlone = isGuessed == true && paced.isFinite
    let lifetime = isByPaceAlone ? paced : min(self.lifetime, paced)
    let elapsed = now.timeIntervalSince(confirmedAt)
    guard elapsed >= -lifetime, isOutdated != true else { return -.infinity }
    return lifetime - age(at: now)
  }

  /// Returns the seconds since the origin generated or confirmed the response (RFC 9111 §4.2.3).
  package func age(at now: Date) -> Double {
    initialAge + max(now.timeIntervalSince(confirmedAt), 0)
  }

  /// Returns the freshness after a 304 that has updated the stored fields (RFC 9111 §4.3.4).
  static func confirmed(
    by headers: HeaderFields, merged: HeaderFields, requestTime: Date, responseTime: Date,
    keeper: Keeper = Keeper()
  ) -> Freshness {
    var all = merged
    all["Age"] = headers["Age"]
    // Never stored, but it makes the response personal.
    for name in HeaderFields.settingCookies { all[name] = headers[name] }
    return Freshness(
      status: 200, headers: all, requestTime: requestTime, responseTime: responseTime,
      keeper: keeper)
  }

  package func isUsableWhileConfirmed(at now: Date) -> Bool {
    guard let staleWhileRevalidate, !mustRevalidate, isOutdated != true, pace?.isLive != true
    else { return false }
    return -remaining(at: now) < staleWhileRevalidate
  }

  func isTooStaleForErrors(at now: Date) -> Bool {
    staleIfError.map { age(at: now) - lifetime > $0 } ?? false
  }

  var outdated: Freshness {
    var outdated = self
    outdated.isOutdated = true
    return outdated
  }

  /// RFC 9110 §15.1.
  static func isHeuristicallyCacheable(_ status: Int) -> Bool {
    [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
  }

  /// Clamps to a value that is neither negative nor infinite, so that it can be stored and added.
  private static func bounded(_ seconds: Double) -> Double {
    seconds.isNaN ? 0 : min(max(seconds, 0), Double(CacheControl.longest))
  }
}

/// How soon an origin may change a document, by its own bytes (`DocumentRules`). Stored with the
/// freshness of its response.
public enum UpdatePace: Codable, Sendable, Hashable {
  /// The bytes of the document have not all arrived: at any moment. While they arrive, another
  /// request would bring no newer ones.
  case unread
  /// The document is complete, and does not change any more.
  case complete
  /// The document does not say.
  case unstated
  /// Every so many seconds.
  case every(Double)

  /// The longest use without asking the origin, in seconds: half of the time between two changes.
  var longestUse: Double {
    switch self {
    // As long as the bytes of a document take to arrive.
    case .unread: 0.5
    case .complete, .unstated: .infinity
    case .every(let seconds): seconds / 2
    }
  }

  /// The greatest useful age while the origin is unavailable, in seconds. A player that receives an
  /// older document assumes that nothing follows.
  package var longestUnconfirmedUse: Double {
    if case .every(let seconds) = self { return 1.5 * seconds }
    return .infinity
  }

  /// Whether the origin changes the resource by itself, so that its URL never names fixed bytes.
  package var isLive: Bool {
    if case .every = self { return true }
    return false
  }
}

/// One directive of a Cache-Control field (RFC 9111 §5.2), of a request or a response.
package struct CacheDirective: Sendable, Hashable {
  /// In lower case.
  package var name: String
  /// A token, or a quoted string without its quotes and backslashes (RFC 9110 §5.6.4).
  package var argument: String?
  private var isQuoted = false

  /// Whether it is a valid member of a dictionary (RFC 9651 §3.2): a time in seconds is no string.
  fileprivate var isStructured: Bool {
    let times = ["max-age", "s-maxage", "stale-if-error", "stale-while-revalidate"]
    return !(isQuoted && times.contains(name))
      && name.allSatisfy { $0.isLowercase || $0.isNumber || "_-.*".contains($0) }
  }

  /// Returns the directives of a field's value, in order. Anything else in it is ignored: an
  /// unterminated string extends to the end, and other text to the next comma.
  package static func all(in value: String) -> [CacheDirective] {
    var directives: [CacheDirective] = []
    var rest = value.utf8.drop(while: \.isOWS)
    while !rest.isEmpty {
      let name = rest.prefix(while: \.isTokenCharacter)
      rest = rest[name.endIndex...].drop(while: \.isOWS)
      var directive = CacheDirective(name: String(decoding: name, as: UTF8.self).lowercased())
      if rest.first == UInt8(ascii: "=") {
        rest = rest.dropFirst().drop(while: \.isOWS)
        directive.isQuoted = rest.first == UInt8(ascii: "\"")
        directive.argument = argument(from: &rest)
      }
      if !name.isEmpty { directives.append(directive) }
      rest = rest.drop { $0 != UInt8(ascii: ",") }.dropFirst().drop(while: \.isOWS)
    }
    return directives
  }

  private static func argument(from rest: inout Substring.UTF8View) -> String {
    guard rest.first == UInt8(ascii: "\"") else {
      let token = rest.prefix { $0 != UInt8(ascii: ",") }
      rest = rest[token.endIndex...]
      return String(String(decoding: token, as: UTF8.self).trimmingOWS)
    }
    rest.removeFirst()
    var bytes: [UInt8] = []
    while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
      guard let byte = byte == UInt8(ascii: "\\") ? rest.popFirst() : byte else { break }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Cache-Control, of a response (RFC 9111 §5.2.2) or of a request (`RequestDirectives`).
package struct CacheControl: Sendable, Hashable {
  /// By name; nil if a directive has none.
  private(set) var arguments: [String: String?]
  /// Whether these are the directives for shared caches, which override Expires, too.
  var isTargeted = false

  /// The largest number of seconds; larger ones are reduced to it (RFC 9111 §1.2.2).
  package static let longest: Int64 = 1 << 31

  init(_ value: String?) {
    let directives = CacheDirective.all(in: value ?? "").lazy.map { ($0.name, $0.argument) }
    arguments = Dictionary(directives) { first, _ in first }
  }

  /// - Parameter isShared: whether the directives for shared caches, if there are any, override those
  ///   for all caches (RFC 9213 §2.2).
  init(_ headers: HeaderFields, isShared: Bool) {
    self.init(headers["Cache-Control"])
    guard isShared, let field = headers["CDN-Cache-Control"] else { return }
    var targeted = CacheControl(field)
    guard !targeted.arguments.isEmpty else { return }
    // There a directive may be false.
    targeted.arguments = targeted.arguments.filter { $0.value != "?0" }
    guard CacheDirective.all(in: field).allSatisfy(\.isStructured) else {
      // A field that is no valid dictionary must be ignored (§2.1). A restriction in it counts all the
      // same: otherwise a slip would have the responses for one person given to everybody.
      for name in ["no-store", "no-cache", "private"] where targeted.has(name) {
        arguments.updateValue(nil, forKey: name)
      }
      return
    }
    targeted.isTargeted = true
    // One that states neither a lifetime nor a restriction does not lift those of Cache-Control.
    if targeted.hasLifetime || targeted.isRestricted || !isRestricted { self = targeted }
  }

  package static func isForEverybody(_ headers: HeaderFields) -> Bool {
    CacheControl(headers, isShared: true).isForEverybody
  }

  // `no-cache` and `private` count also if they name fields (`no-cache="Set-Cookie"`): an unnecessary
  // request, and storing too little, are harmless.
  var noStore: Bool { has("no-store") }
  var noCache: Bool { has("no-cache") }
  var isPrivate: Bool { has("private") }
  var isPublic: Bool { has("public") }
  var mustRevalidate: Bool { has("must-revalidate") }
  var proxyRevalidate: Bool { has("proxy-revalidate") }
  var mustUnderstand: Bool { has("must-understand") }
  var maxAge: Int64? { seconds("max-age") }
  var sharedMaxAge: Int64? { seconds("s-maxage") }
  var staleIfError: Int64? { seconds("stale-if-error") }
  var staleWhileRevalidate: Int64? { seconds("stale-while-revalidate") }

  /// Whether shared caches may give the response to everybody, whoever requested it.
  var isForEverybody: Bool { isPublic || sharedMaxAge != nil }

  /// Whether a response with this status must not be stored (RFC 9111 §5.2.2.3, §5.2.2.5): the cache
  /// does what the statuses require that it stores or follows.
  func forbidsStoring(status: Int) -> Bool {
    guard mustUnderstand else { return noStore }
    return !Freshness.isHeuristicallyCacheable(status) && ![302, 303, 307].contains(status)
  }

  private var hasLifetime: Bool { number("max-age") != nil || number("s-maxage") != nil }
  private var isRestricted: Bool { noStore || noCache || isPrivate }

  func has(_ name: String) -> Bool { arguments[name] != nil }

  /// What is no number of seconds, such as a negative one, counts as zero (RFC 9111 §4.2.1).
  private func seconds(_ name: String) -> Int64? { has(name) ? number(name) ?? 0 : nil }

  func number(_ name: String) -> Int64? {
    arguments[name]?.flatMap { Int64(saturatingDigits: $0.trimmingOWS, at: Self.longest) }
  }
}
