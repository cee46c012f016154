// SPDX-License-Identifier: MIT
import Foundation

/// What the `icy-` fields of a response (Icecast, SHOUTcast) say of its body. A pure value.
enum ICYAnswer: Sendable, Hashable {
  /// The body is what was asked for.
  case plain
  /// Metadata comes after every so many bytes of audio.
  case interleaved(interval: Int64)
  /// Nobody can say which bytes of the body are which of the resource: to be asked for once more
  /// without that field, and nothing kept of it.
  case askAgain(without: String)

  static let request = "Icy-MetaData"
  static let interval = "icy-metaint"

  /// Stations have some 8 or 16 KiB; what is far beyond is no interval.
  private static let longestInterval: Int64 = 16 << 20

  /// - Parameters:
  ///   - request: the fields that were sent.
  ///   - headers: the response's.
  init(request: HTTPFields, status: Int, headers: HTTPFields) {
    let asked = Self.isAsked(request)
    let intervals = Set(headers.values(of: Self.interval).map { Int64(digits: $0.trimmingOWS) })
    switch status {
    case 200 where asked && !intervals.isEmpty:
      // Interleaved in a way that cannot be undone, or not at all: without the question it is not.
      guard intervals.count == 1, let first = intervals.first, let interval = first,
        (1...Self.longestInterval).contains(interval)
      else {
        self = .askAgain(without: Self.request)
        return
      }
      self = .interleaved(interval: interval)
    case 206 where request["Range"] != nil && Self.isLive(headers):
      // Some servers cut a range out of what they send at the moment, to please clients that ask for
      // one. The next range would not go on where this one ends.
      self = .askAgain(without: "Range")
    case 206 where asked && !intervals.isEmpty:
      // Whether the range counts the metadata is written nowhere.
      self = .askAgain(without: Self.request)
    default:
      self = .plain
    }
  }

  /// Servers take other values than 1 for a yes, too.
  static func isAsked(_ request: HTTPFields) -> Bool {
    guard let value = request[Self.request]?.trimmingOWS else { return false }
    return !value.isEmpty && value != "0"
  }

  /// A station's: what it sends is what it plays now, and another answer begins elsewhere. One that
  /// gives a validator says that its bytes stay, and is believed.
  static func isLive(_ headers: HTTPFields) -> Bool {
    let isStation = headers.fields.contains { field in
      let name = field.name.lowercased()
      return name.hasPrefix("icy-") || name.hasPrefix("ice-")
    }
    return isStation && Validator(headers: headers).isEmpty
  }

  /// The fields for who sees the audio alone: what counts the interleaved bytes is gone.
  static func plainHeaders(_ headers: HTTPFields) -> HTTPFields {
    var headers = headers
    headers[interval] = nil
    headers["Content-Length"] = nil
    return headers
  }
}
