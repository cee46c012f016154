// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The result of checking one entry.
struct VerifyReport: Encodable {
  var key: String?
  var directory: String
  var problems: [String]
  var droppedBytes: Int64

  /// The lines for people.
  var lines: [String] {
    let name = key ?? directory
    return problems.map { printable("\(name): \($0)") }
  }

  init(_ result: MediaCache.VerifyResult) {
    key = result.key?.rawValue
    directory = result.directory.path(percentEncoded: false)
    problems = result.problems
    droppedBytes = result.droppedBytes
  }
}
