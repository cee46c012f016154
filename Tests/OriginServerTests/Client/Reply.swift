// SPDX-License-Identifier: MIT

import OriginServer

/// What came back for one request.
struct Reply: Sendable {
  var informational: [Int] = []
  var status = 0
  var fields: [Field] = []
  /// Without the framing of chunks.
  var body: [UInt8] = []
  /// Whether the body reached the end that its framing declares.
  var isComplete = false

  subscript(name: String) -> String? { fields.first(name) }

  var text: String { String(decoding: body, as: UTF8.self) }
}
