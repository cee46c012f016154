// SPDX-License-Identifier: MIT
import Foundation

/// What Chromium hands to a screen reader.
struct AccessibilityTree: Sendable {
  struct Node: Sendable {
    var role: String
    var name: String
    /// The level of a heading.
    var level: Int?
    var isLiveAssertive = false
  }

  /// All nodes that are not ignored.
  var nodes: [Node]

  /// Roles that say nothing without a name.
  private static let named: Set = [
    "button", "textbox", "searchbox", "checkbox", "combobox", "grid", "row", "columnheader",
    "image", "meter", "dialog", "region", "heading", "option", "Video", "Audio",
  ]

  init(of tools: DevTools) async throws {
    let json = try await tools.call("Accessibility.getFullAXTree")
    let tree = try JSONDecoder().decode(Answer.self, from: json)
    nodes = tree.nodes.filter { $0.ignored != true }.map { node in
      var properties: [String: Scalar] = [:]
      for property in node.properties ?? [] { properties[property.name] = property.value?.value }
      return Node(
        role: node.role?.value?.text ?? "", name: node.name?.value?.text ?? "",
        level: properties["level"]?.number.map { Int($0) },
        isLiveAssertive: properties["live"]?.text == "assertive")
    }
  }

  func count(_ role: String) -> Int { nodes.count { $0.role == role } }

  /// What is wrong: none, or one line each.
  var findings: [String] {
    var list = nodes.filter { Self.named.contains($0.role) && $0.name.isEmpty }
      .map { "\($0.role) without a name" }
    list += nodes.filter(\.isLiveAssertive).map { "\($0.role) interrupts" }
    for role in ["main", "banner", "grid", "RootWebArea"] where count(role) > 1 {
      list.append("\(count(role)) of \(role)")
    }
    return list
  }

  // MARK: The protocol

  private struct Answer: Decodable { var nodes: [AXNode] }

  private struct AXNode: Decodable {
    var ignored: Bool?
    var role: AXValue?
    var name: AXValue?
    var properties: [AXProperty]?
  }

  private struct AXProperty: Decodable {
    var name: String
    var value: AXValue?
  }

  private struct AXValue: Decodable { var value: Scalar? }

  /// A text or a number; anything else is neither.
  private struct Scalar: Decodable {
    var text: String?
    var number: Double?

    init(from decoder: any Swift.Decoder) throws {
      let container = try decoder.singleValueContainer()
      text = try? container.decode(String.self)
      number = try? container.decode(Double.self)
    }
  }
}
