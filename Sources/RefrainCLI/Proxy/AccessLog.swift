// SPDX-License-Identifier: MIT
import Foundation
import RefrainProxy

/// The access log of a proxy: a line for each request that has ended.
struct AccessLog: Sendable {
  enum Place: Sendable {
    case file(AccessLogFile)
    /// Standard output, whose reader may stall: the lines wait in memory.
    case output(WritingQueue<String>)
  }

  let place: Place
  /// Whether URLs are written as paths.
  let hasOrigin: Bool

  var isOnOutput: Bool {
    switch place {
    case .file: false
    case .output: true
    }
  }

  /// Writes the line of a request that has just ended. May be called on any thread.
  func note(_ request: ServedRequest) {
    let line = AccessLogLine(request: request, date: Date(), hasOrigin: hasOrigin).text()
    switch place {
    case .file(let file): file.write(line)
    case .output(let queue): queue.note(line)
    }
  }

  /// Waits until what was noted is written, for at most some seconds if standard output stalls.
  func end() async {
    switch place {
    case .file: break
    case .output(let queue): await queue.end()
    }
  }
}
