// SPDX-License-Identifier: MIT

/// Where the content of an operation of an MPD patch belongs (ISO/IEC 23009-1 §5.15, RFC 5261 §4).
struct DASHPatchTarget {
  /// What the text of an operation becomes.
  enum Text {
    /// The value of an attribute of the last element.
    case attribute(ArraySlice<UInt8>)
    /// The text of the last element.
    case content
  }

  /// The elements of the MPD around the operation's content, from the root.
  private(set) var elements: [DASHElement] = []
  /// Nil if the content consists of elements.
  private(set) var text: Text?

  private static let mostSteps = 32

  /// - Parameters:
  ///   - operation: `.add` or `.replace`.
  ///   - selector: the value of `sel`, as `/MPD/Period[@id='1']/BaseURL/text()`.
  ///   - type: the value of `type`, as `@media`.
  ///   - position: the value of `pos`, as `before`.
  /// - Returns: nil if the selector is none of those that patches may use.
  init?(operation: DASHElement, selector: String, type: String?, position: String?) {
    guard var steps = Self.steps(of: selector), let last = steps.last else { return nil }
    if last.first == UInt8(ascii: "@") {
      text = .attribute(last.dropFirst())
      steps.removeLast()
    } else if last.elementsEqual("text()".utf8) {
      text = .content
      steps.removeLast()
    } else if let type {
      guard type.hasPrefix("@") else { return nil }
      text = .attribute(Array(type.utf8).dropFirst())
    } else if operation == .replace || position == "before" || position == "after" {
      // The content stands beside the selected element, or in its place.
      steps.removeLast()
    }
    for step in steps { elements.append(DASHElement(step, in: elements.last)) }
    guard elements.first == .mpd else { return nil }
  }

  /// Splits a path at its slashes outside of predicates, which are removed. Nil if the path does not
  /// begin at the root, or is incomplete.
  private static func steps(of selector: String) -> [ArraySlice<UInt8>]? {
    var steps: [[UInt8]] = []
    var quote: UInt8?
    var depth = 0
    for byte in selector.utf8 {
      if let open = quote {
        if byte == open { quote = nil }
        continue
      }
      switch byte {
      case UInt8(ascii: "'"), UInt8(ascii: "\""): quote = byte
      case UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: "/") where depth == 0: steps.append([])
      case _ where depth == 0:
        guard !steps.isEmpty else { return nil }
        steps[steps.count - 1].append(byte)
      default: break
      }
      guard steps.count <= mostSteps else { return nil }
    }
    return quote == nil && depth == 0 ? steps.map { $0[...] } : nil
  }
}
