// SPDX-License-Identifier: MIT
internal import Refrain

/// A client's cache directives: Cache-Control of a request (RFC 9111 §5.2.1), or Pragma if there is
/// none (§5.4). Unknown directives and invalid numbers are ignored.
struct RequestDirectives: Sendable, Hashable {
  enum Staleness: Sendable, Hashable {
    case any
    /// Stale by no more than this many seconds.
    case upTo(Int64)
  }

  var noCache = false
  var noStore = false
  var onlyIfCached = false
  /// In seconds; the smallest of several.
  var maxAge: Int64?
  var maxStale: Staleness?
  /// In seconds; the greatest of several.
  var minFresh: Int64?

  /// The maximum; greater numbers of seconds are reduced to it (RFC 9111 §1.2.2).
  private static let longest: Int64 = 1 << 31

  init(_ fields: HeaderFields) {
    guard let value = fields["Cache-Control"] else {
      let pragma = fields["Pragma"]?.split(separator: ",") ?? []
      noCache = pragma.contains { $0.trimmingOWS.lowercased() == "no-cache" }
      return
    }
    for element in Self.elements(value) {
      let parts = element.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = parts.first?.trimmingOWS.lowercased() else { continue }
      apply(name, parts.count > 1 ? parts[1].trimmingOWS : nil)
    }
  }

  private mutating func apply(_ name: String, _ argument: Substring?) {
    switch name {
    case "no-cache": noCache = true
    case "no-store": noStore = true
    case "only-if-cached": onlyIfCached = true
    case "max-age":
      guard let seconds = Self.seconds(argument) else { return }
      maxAge = min(maxAge ?? seconds, seconds)
    case "min-fresh":
      guard let seconds = Self.seconds(argument) else { return }
      minFresh = max(minFresh ?? seconds, seconds)
    case "max-stale":
      guard let argument else {
        maxStale = maxStale ?? .any
        return
      }
      guard let seconds = Self.seconds(argument) else { return }
      if case .upTo(let other) = maxStale {
        maxStale = .upTo(min(other, seconds))
      } else {
        maxStale = .upTo(seconds)
      }
    default: break
    }
  }

  /// Returns the seconds, also of a quoted argument, as RFC 9111 §5.2 suggests.
  private static func seconds(_ argument: Substring?) -> Int64? {
    guard var digits = argument else { return nil }
    if digits.utf8.count >= 2, digits.hasPrefix("\""), digits.hasSuffix("\"") {
      digits = digits.dropFirst().dropLast()
    }
    return Int64(saturatingDigits: digits, at: longest)
  }

  /// Splits the value at commas outside of quoted strings.
  private static func elements(_ value: String) -> [Substring] {
    var elements: [Substring] = []
    var start = value.startIndex
    var isQuoted = false
    var isEscaped = false
    for index in value.utf8.indices {
      let byte = value.utf8[index]
      if isEscaped {
        isEscaped = false
      } else if isQuoted, byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if byte == UInt8(ascii: ","), !isQuoted {
        elements.append(value[start..<index])
        start = value.utf8.index(after: index)
      }
    }
    return elements + [value[start...]]
  }
}
