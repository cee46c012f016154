// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainProxy
import RefrainServer

/// One request to the proxy as a line; columns of fixed width come first and align.
///
/// `GET  206 hit           64.0 KiB    3 ms  https://example.org/song.flac  bytes 0-65535`
struct RequestLogLine: Sendable {
  var request: ServedRequest

  /// - Parameter width: the line's width, to which the URL is shortened; nil without a terminal.
  func text(width: Int? = nil) -> String {
    let method = left(printable(String(request.method.prefix(8))), 4)
    let time = right(TimeText.span(.seconds(max(0, request.seconds))), 7)
    let facts =
      "\(method) \(right("\(request.status)", 3)) \(left(request.source.rawValue, 11)) "
      + "\(right(ByteSize.text(request.bytesSent), 10)) \(time)"
    var end = ""
    if let range = request.range {
      end += "  bytes \(range.lowerBound)-\(range.upperBound - 1)"
    }
    if let error = request.error { end += "  \(printable(error))" }
    let room = width.map { max(32, $0 - facts.utf8.count - 2 - end.count) } ?? 120
    return "\(facts)  \(shortened(printable(request.shownURL), to: room))\(end)"
  }

  /// Returns the line that replaces requests dropped from the log.
  static func leftOut(_ count: Int) -> String { "… \(count) requests are not listed …" }

  // All of these are ASCII: one byte is one column.

  private func left(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.utf8.count))
  }

  private func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.utf8.count)) + text
  }
}

/// One request to the proxy, for programs.
struct RequestReport: Sendable, Encodable {
  var event = "request"
  var method: String
  var url: String
  var status: Int
  /// The first offset and the one after the last.
  var range: [Int64]?
  var bytesSent: Int64
  var source: String
  var seconds: Double
  var client: String
  var error: String?

  init(_ request: ServedRequest) {
    method = request.method
    url = request.shownURL
    status = request.status
    range = request.range.map { [$0.lowerBound, $0.upperBound] }
    bytesSent = request.bytesSent
    source = request.source.rawValue
    seconds = request.seconds
    client = request.client
    error = request.error
  }
}
