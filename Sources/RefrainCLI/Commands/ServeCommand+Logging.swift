// SPDX-License-Identifier: MIT
import RefrainProxy

/// What `refrain serve` writes of each request.
extension ServeCommand {
  /// Returns what takes each request: the lines, the access log, both, or nil for neither.
  func logging(
    to log: RequestLog, and accessLog: AccessLog?
  ) -> (@Sendable (ServedRequest) -> Void)? {
    guard let accessLog else { return quiet ? nil : log.note }
    guard !quiet, !accessLog.isOnOutput else { return accessLog.note }
    return { request in
      log.note(request)
      accessLog.note(request)
    }
  }

  /// The lines of requests on standard output.
  var log: RequestLog {
    let isJSON = options.json
    return RequestLog { requests, leftOut in
      let width = Console.shared.outputWidth
      var lines: [String] = []
      if leftOut > 0 {
        lines.append(
          try isJSON ? JSONText.line(LeftOut(requests: leftOut)) : RequestLogLine.leftOut(leftOut))
      }
      for request in requests {
        lines.append(
          isJSON
            ? try JSONText.line(RequestReport(request))
            : RequestLogLine(request: request).text(width: width))
      }
      try Console.shared.printAlone(lines.joined(separator: "\n"))
    }
  }

  private struct LeftOut: Encodable {
    var event = "leftOut"
    var requests: Int
  }
}
