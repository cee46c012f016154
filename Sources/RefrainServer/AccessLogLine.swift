// SPDX-License-Identifier: MIT
public import Foundation
import Refrain
public import RefrainProxy

#if canImport(Darwin)
  import Darwin
#endif

/// One request as a line of an access log, in the combined format of Apache's and nginx's logs, which
/// many programs read: printable ASCII only, whatever a client has sent. A pure value.
public struct AccessLogLine: Sendable {
  public var request: ServedRequest
  /// When the response ended.
  public var date: Date
  /// Whether the proxy serves one origin: the URL is then written as its path.
  public var hasOrigin: Bool

  public init(request: ServedRequest, date: Date, hasOrigin: Bool = false) {
    (self.request, self.date, self.hasOrigin) = (request, date, hasOrigin)
  }

  /// Returns the line without its line feed.
  public func text(in zone: TimeZone = .current) -> String {
    let parts = [
      Self.escaped(request.client), "- -", "[\(Self.clfDate(date, zone))]",
      "\"\(requestLine)\"", String(request.status), String(request.bytesSent),
      Self.quoted(request.referrer), Self.quoted(request.userAgent),
    ]
    return parts.joined(separator: " ")
  }

  private var requestLine: String {
    // Bytes that were not a request.
    guard request.method != "-" else { return "-" }
    let target = hasOrigin ? path : request.shownURL
    let line = "\(request.method) \(target.isEmpty ? "/" : target) \(request.version ?? "HTTP/1.1")"
    return Self.escaped(line)
  }

  /// The path and query of the URL.
  private var path: String {
    guard let scheme = request.url.range(of: "://") else { return request.url }
    let rest = request.url[scheme.upperBound...]
    return rest.firstIndex { "/?".contains($0) }.map { String(rest[$0...]) } ?? "/"
  }

  private static func quoted(_ text: String?) -> String { "\"\(text.map(escaped) ?? "-")\"" }

  /// Writes quotes, backslashes and all but printable ASCII as `\xHH`, as nginx does: nothing that
  /// a client sends ends a field or a line, or reaches a terminal as a command.
  static func escaped(_ text: String) -> String {
    if text.utf8.allSatisfy(isPlain) { return text }
    var result = ""
    for byte in text.utf8 {
      if isPlain(byte) {
        result.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        result += digits.utf8.count == 1 ? "\\x0\(digits)" : "\\x\(digits)"
      }
    }
    return result
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Returns a date as in `10/Oct/2000:13:55:36 -0700`.
  private static func clfDate(_ date: Date, _ zone: TimeZone) -> String {
    let offset = zone.secondsFromGMT(for: date)
    // As if it were a time of Greenwich: gmtime_r(3) then returns the parts of the local time.
    var seconds = time_t(date.timeIntervalSince1970.rounded(.down)) + offset
    var parts = tm()
    gmtime_r(&seconds, &parts)
    let minutes = abs(offset) / 60
    let day = "\(two(parts.tm_mday))/\(months[Int(parts.tm_mon)])/\(parts.tm_year + 1900)"
    let time = "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    return "\(day):\(time) \(offset < 0 ? "-" : "+")\(two(minutes / 60))\(two(minutes % 60))"
  }

  private static func two(_ number: some BinaryInteger) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }
}

extension ServedRequest {
  /// The URL without a password, which must not appear in a log.
  package var shownURL: String {
    guard url.utf8.contains(UInt8(ascii: "@")), let parsed = URL(text: url) else { return url }
    return parsed.withoutUserInfo.absoluteString
  }
}
