// SPDX-License-Identifier: MIT

package import OriginServer

/// What came back for one request.
package struct Reply: Sendable {
  package var informational: [Int] = []
  package var status = 0
  package var fields: [Field] = []
  /// Without the framing of chunks.
  package var body: [UInt8] = []
  /// Whether the body reached the end that its framing declares.
  package var isComplete = false

  package init() {}

  package subscript(name: String) -> String? { fields.first(name) }

  package var text: String { String(decoding: body, as: UTF8.self) }
}
