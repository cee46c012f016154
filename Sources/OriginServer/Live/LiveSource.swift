// SPDX-License-Identifier: MIT

/// A live stream where a server serves it.
struct LiveSource: Sendable {
  /// With a slash at its end.
  let directory: String
  let stream: LiveStream
  let clock: LiveClock

  /// Returns the directory of a path, with a slash at its end.
  static func directory(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
  }

  /// Returns the response at this moment, with a Date by the stream's clock.
  func response(to request: ReceivedRequest) -> LiveStream.Response {
    let response = stream.response(
      to: request.target.dropFirst(directory.count), rangeStart: Self.start(of: request.range),
      at: clock.now)
    guard case .resource(var resource) = response else { return response }
    resource.headers.append(Field("Date", HTTPDate.format(clock.date)))
    return .resource(resource)
  }

  /// Returns the first byte of a Range, unless it counts from the end.
  private static func start(of range: String?) -> Int64? {
    guard let range, range.hasPrefix("bytes=") else { return nil }
    return Int64(range.dropFirst("bytes=".count).prefix { $0.isNumber })
  }
}

extension Fault {
  /// Whether the response is decided without looking for the resource.
  var replacesAnswer: Bool {
    switch self {
    case .closeWithoutAnswer, .garbage, .status, .redirect: true
    default: false
    }
  }
}
