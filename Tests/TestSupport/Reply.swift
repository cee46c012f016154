// SPDX-License-Identifier: MIT

package import OriginServer

/// The response to one request.
package struct Reply: Sendable {
  package var informational: [Int] = []
  package var status = 0
  package var fields: [Field] = []
  /// The body without chunk framing.
  package var body: [UInt8] = []
  /// Whether the body reached the end that its framing declares.
  package var isComplete = false

  package init() {}

  package subscript(name: String) -> String? { fields.first(name) }

  package var text: String { String(decoding: body, as: UTF8.self) }
}
