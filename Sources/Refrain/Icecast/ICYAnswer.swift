// SPDX-License-Identifier: MIT
import Foundation

/// How the `icy-` fields of a response (Icecast, SHOUTcast) describe its body. A pure value.
enum ICYAnswer: Sendable, Hashable {
  /// The body is as requested.
  case plain
  /// Metadata follows each `interval` bytes of audio.
  case interleaved(interval: Int64)
  /// The body's bytes cannot be assigned to the resource's: the resource is requested again without
  /// this field, and nothing of this response is stored.
  case askAgain(without: String)

  static let request = "Icy-MetaData"
  static let interval = "icy-metaint"

  /// Stations use some 8 or 16 KiB; a much larger value is no interval.
  private static let longestInterval: Int64 = 16 << 20

  /// - Parameters:
  ///   - request: the fields that were sent.
  ///   - headers: the response's.
  init(request: HTTPFields, status: Int, headers: HTTPFields) {
    let asked = Self.isAsked(request)
    let intervals = Set(headers.values(of: Self.interval).map { Int64(digits: $0.trimmingOWS) })
    switch status {
    case 200 where asked && !intervals.isEmpty:
      // The interleaving is unknown, or there is none; without the request field there is none.
      guard intervals.count == 1, let first = intervals.first, let interval = first,
        (1...Self.longestInterval).contains(interval)
      else {
        self = .askAgain(without: Self.request)
        return
      }
      self = .interleaved(interval: interval)
    case 206 where request["Range"] != nil && Self.isLive(headers):
      // Some servers cut a range out of the current stream for clients that request one. The next
      // range would not continue where this one ends.
      self = .askAgain(without: "Range")
    case 206 where asked && !intervals.isEmpty:
      // No specification says whether the range counts the metadata.
      self = .askAgain(without: Self.request)
    default:
      self = .plain
    }
  }

  /// Servers accept other values than 1, too.
  static func isAsked(_ request: HTTPFields) -> Bool {
    guard let value = request[Self.request]?.trimmingOWS else { return false }
    return !value.isEmpty && value != "0"
  }

  /// Whether the response is a station's: it sends what is playing now, and another response begins
  /// elsewhere. A validator, however, means that the bytes stay.
  static func isLive(_ headers: HTTPFields) -> Bool {
    let isStation = headers.fields.contains { field in
      let name = field.name.lowercased()
      return name.hasPrefix("icy-") || name.hasPrefix("ice-")
    }
    return isStation && Validator(headers: headers).isEmpty
  }

  /// Returns the fields without those that count the interleaved bytes, for readers of the audio
  /// alone.
  static func plainHeaders(_ headers: HTTPFields) -> HTTPFields {
    var headers = headers
    headers[interval] = nil
    headers["Content-Length"] = nil
    return headers
  }
}
