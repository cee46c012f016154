// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks

/// The facts recorded for the log while a response is sent.
final class AnswerReport: Sendable {
  struct Values: Sendable {
    var url: String?
    var status = 0
    var range: ByteRange?
    var bytesSent: Int64 = 0
    /// Those of them that were stored before the request.
    var bytesFromCache: Int64 = 0
    /// Whether the request is neither logged nor counted.
    var isSilent = false
    var source = ServedRequest.Source.proxy
    var error: String?
    /// Whether it shares a request to the origin.
    var isJoined = false
  }

  private let state = Mutex(Values())

  var values: Values { state.withLock { $0 } }

  func note(_ change: (inout Values) -> Void) {
    state.withLock { change(&$0) }
  }
}
