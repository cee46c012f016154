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
  /// Whether the response has changed, or a request may have changed it (RFC 9111 §4.4): stale,
  /// until the origin confirms it.
  var isOutdated: Bool?
  /// Whether its status was 203: a proxy on the way has changed the content (RFC 9110 §15.3.4).
  package var isTransformed: Bool?
  /// For shared caches: whether a redirect to it may lead requests with cookies elsewhere.
  var mayDifferByCookies: Bool?
  /// Whether the response's own fields state more than this, since a redirect led to it.
  package var isBounded: Bool?
  /// How long the stale response may be used while it is being confirmed, in seconds (RFC 5861 §3).
  var staleWhileRevalidate: Double?
  /// As above, while the origin is unavailable (RFC 5861 §4).
  var staleIfError: Double?
  /// How soon the origin changes the resource, by its bytes; nil if it is no document.
  package var pace: UpdatePace?

  /// The properties of the cache and of the request that decide on storing.
  struct Keeper: Sendable, Hashable {
    var isShared = false
    var isAuthorized = false
    var hasCookies = false
    /// `ResourcePolicy.Group.isSecret`.
    var isSecret = false
    /// Whether the origin held the response back: the time until then says nothing of its age.
    var wasHeldBack = false
  }
}

extension Freshness {
  /// - Parameter confirmation: the 304 that has updated the stored `headers` (RFC 9111 §4.3.4).
  init(
    status: Int, headers: HeaderFields, confirmation: HeaderFields? = nil, requestTime: Date,
    responseTime: Date, keeper: Keeper = Keeper()
  ) {
    let message = confirmation ?? headers
    let control = CacheControl(headers, isShared: keeper.isShared)
    let sent = HTTPDate.parse(headers["Date"]) ?? responseTime
    self.init(confirmedAt: responseTime, lifetime: 0)
    // The cache does what these statuses require that it stores or follows (RFC 9111 §5.2.2.3).
    let isUnderstood = Self.cacheable.contains(status) || [302, 303, 307].contains(status)
    noStore = control.has("must-understand") ? !isUnderstood : control.noStore
    // `Vary: *`: only the answered request itself matches (RFC 9111 §4.1).
    let isNeverFresh = noStore || control.noCache || headers.members(of: "Vary").contains("*")
    if !isNeverFresh {
      let sharedAge = keeper.isShared ? control.seconds("s-maxage") : nil
      if let maxAge = sharedAge ?? control.seconds("max-age") {
        lifetime = Double(maxAge)
      } else if let expires = headers.values(of: "Expires").first {
        // An invalid date, especially "0", lies in the past (RFC 9111 §5.3).
        lifetime = Self.bounded(HTTPDate.parse(expires)?.timeIntervalSince(sent) ?? 0)
      } else {
        isGuessed = true
        let modified = HTTPDate.parse(headers["Last-Modified"])
        if let modified, Self.cacheable.contains(status) {
          // A tenth (RFC 9111 §4.2.2), and at most a day.
          lifetime = min(Self.bounded(sent.timeIntervalSince(modified)) / 10, 24 * 3600)
        }
      }
    }
    // The first member of Age, if it is a number (RFC 9111 §5.1).
    let age = message.members(of: "Age").first
      .flatMap { Int64(saturatingDigits: $0, at: CacheControl.longest) }
    // In whole seconds, as Date is: a document may be useful for less than one.
    let apparent = responseTime.timeIntervalSince(sent).rounded(.down)
    let delay = keeper.wasHeldBack ? 0 : responseTime.timeIntervalSince(requestTime)
    initialAge = Self.bounded(max(apparent, Double(age ?? 0) + max(delay, 0)))
    mustRevalidate = control.has("must-revalidate") || control.noCache
    staleWhileRevalidate = control.seconds("stale-while-revalidate").map { Double($0) }
    staleIfError = control.seconds("stale-if-error").map { Double($0) }
    if status == 203 { isTransformed = true }
    guard keeper.isShared else { return }
    // A response that sets a cookie is for one person, and so is one to a request with cookies or
    // an authorization, unless the origin permits it for everybody (RFC 9111 §3, §3.5, §7.3).
    // Beside what it opens, a secret would open it to everybody.
    let isPersonal = keeper.isSecret || control.isPrivate || message.setsCookie
    let isForOne = keeper.hasCookies || keeper.isAuthorized && !control.has("must-revalidate")
    if isPersonal || isForOne && !control.isForEverybody { noStore = true }
    if control.has("proxy-revalidate") || control.has("s-maxage") { mustRevalidate = true }
  }

  package func isFresh(at now: Date) -> Bool { remaining(at: now) > 0 }

  /// Returns the seconds until the response becomes stale; negative once it is, and if the clock
  /// was set back by more than the lifetime.
  package func remaining(at now: Date) -> Double {
    // If the origin of an ongoing document sent no lifetime, the pace is the heuristic one: many
    // clients cost it as many requests as one.
    let paced = pace?.longestUse ?? .infinity
    let lifetime = isGuessed == true && paced.isFinite ? paced : min(self.lifetime, paced)
    let elapsed = now.timeIntervalSince(confirmedAt)
    guard elapsed >= -lifetime, isOutdated != true else { return -.infinity }
    return lifetime - age(at: now)
  }

  /// Returns the seconds since the origin generated or confirmed the response (RFC 9111 §4.2.3).
  package func age(at now: Date) -> Double {
    initialAge + max(now.timeIntervalSince(confirmedAt), 0)
  }

  package func isUsableWhileConfirmed(at now: Date) -> Bool {
    guard let staleWhileRevalidate, !mustRevalidate, isOutdated != true, pace?.isLive != true
    else { return false }
    return -remaining(at: now) < staleWhileRevalidate
  }

  /// RFC 9110 §15.1.
  private static let cacheable = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

  private static func bounded(_ seconds: Double) -> Double {
    min(max(seconds, 0), Double(CacheControl.longest))
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

  /// The longest use without asking the origin, in seconds.
  var longestUse: Double {
    switch self {
    // As long as the bytes take to arrive.
    case .unread: 0.5
    case .complete, .unstated: .infinity
    case .every(let seconds): seconds / 2
    }
  }

  /// The greatest useful age while the origin is unavailable: a player that receives an older
  /// document assumes that nothing follows.
  package var longestUnconfirmedUse: Double {
    if case .every(let seconds) = self { 1.5 * seconds } else { .infinity }
  }

  /// Whether the origin changes the resource by itself, so that its URL never names fixed bytes.
  package var isLive: Bool { if case .every = self { true } else { false } }
}

/// Cache-Control, of a response (RFC 9111 §5.2.2) or of a request (`RequestDirectives`).
package struct CacheControl: Sendable, Hashable {
  /// By name in lower case; nil if a directive has none. A string stands without its quotes.
  private(set) var arguments: [String: String?] = [:]

  /// The largest number of seconds; larger ones are reduced to it (RFC 9111 §1.2.2).
  package static let longest: Int64 = 1 << 31

  /// The first directive of a name counts. Anything else is ignored: an unterminated string extends
  /// to the end, and other text to the next comma.
  init(_ value: String?) {
    let quote = UInt8(ascii: "\"")
    var rest = (value ?? "").utf8[...]
    while !rest.isEmpty {
      rest = rest.drop(while: \.isOWS)
      let name = String(Substring(rest.prefix(while: \.isTokenCharacter))).lowercased()
      rest = rest.dropFirst(name.utf8.count).drop(while: \.isOWS)
      var argument: String?
      if rest.first == UInt8(ascii: "=") {
        rest = rest.dropFirst().drop(while: \.isOWS)
        var isEscaped = false
        let isString = rest.first == quote
        if isString { rest.removeFirst() }
        let text = rest.prefix { byte in
          defer { isEscaped = byte == UInt8(ascii: "\\") && !isEscaped }
          return isString ? byte != quote || isEscaped : byte != UInt8(ascii: ",")
        }
        argument = String(Substring(text).trimmingOWS)
        rest = rest[text.endIndex...]
      }
      if !name.isEmpty, !has(name) { arguments.updateValue(argument, forKey: name) }
      rest = rest.drop { $0 != UInt8(ascii: ",") }.dropFirst()
    }
  }

  /// - Parameter isShared: whether CDN-Cache-Control counts, too (RFC 9213 §2.2): one that states a
  ///   lifetime overrides the directives for all caches, any other adds what it forbids.
  package init(_ headers: HeaderFields, isShared: Bool) {
    self.init(headers["Cache-Control"])
    guard isShared, let field = headers["CDN-Cache-Control"] else { return }
    let targeted = CacheControl(field)
    // The names of a valid dictionary (RFC 9651 §3.2), in which no directive needs a string, and
    // none is denied (`?0`).
    let isValid = targeted.arguments.keys.joined(separator: "").utf8.allSatisfy {
      $0.isLetter || $0.isDigit || "_-.*".utf8.contains($0)
    }
    if isValid, !field.utf8.contains(where: "\"?".utf8.contains),
      targeted.number("max-age") ?? targeted.number("s-maxage") != nil
    {
      self = targeted
      return
    }
    // Otherwise a slip would have the responses for one person given to everybody.
    for name in ["no-store", "no-cache", "private"] where targeted.has(name) {
      arguments.updateValue(nil, forKey: name)
    }
  }

  // `no-cache` and `private` count also if they name fields (`no-cache="Set-Cookie"`): an unnecessary
  // request, and storing too little, are harmless.
  var noStore: Bool { has("no-store") }
  var noCache: Bool { has("no-cache") }
  var isPrivate: Bool { has("private") }
  /// Whether shared caches may give the response to everybody, whoever requested it.
  package var isForEverybody: Bool { has("public") || has("s-maxage") }

  func has(_ name: String) -> Bool { arguments[name] != nil }

  /// What is no number of seconds, such as a negative one, counts as zero (RFC 9111 §4.2.1).
  func seconds(_ name: String) -> Int64? { has(name) ? number(name) ?? 0 : nil }

  func number(_ name: String) -> Int64? {
    arguments[name]?.flatMap { Int64(saturatingDigits: $0, at: Self.longest) }
  }
}
