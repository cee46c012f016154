// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// The examples in the README and in the libraries' guides are parts of the package's snippets, which
/// every build compiles.
@Suite struct DocumentedExamplesTests {
  /// The lines of a text that are not blank, with a single space wherever there are several.
  private static func lines(_ text: some StringProtocol) -> [String] {
    text.split(separator: "\n").map {
      $0.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }.filter { !$0.isEmpty }
  }

  /// The visible lines of a snippet.
  private static func visibleLines(of snippet: URL) throws -> [String] {
    var isVisible = true
    return lines(try String(contentsOf: snippet, encoding: .utf8)).filter { line in
      if line == "// snippet.hide" { isVisible = false }
      if line == "// snippet.show" { isVisible = true }
      return isVisible && !line.hasPrefix("// snippet.")
    }
  }

  private static func examples(in text: String) -> [[String]] {
    text.components(separatedBy: "```swift\n").dropFirst().map {
      lines($0.components(separatedBy: "\n```")[0])
    }
  }

  /// Whether an example belongs into a manifest, which is no part of a program.
  private static func isManifest(_ example: [String]) -> Bool {
    example.contains { $0.contains(".package(url: refrain") }
  }

  @Test func `Each example in the README and the guides is a part of a snippet that is compiled`()
    throws
  {
    let snippets = try PackageFiles.files(in: "Snippets", withExtension: "swift").map {
      "\n" + (try Self.visibleLines(of: $0)).joined(separator: "\n") + "\n"
    }
    let products = [
      "Refrain", "RefrainAVFoundation", "RefrainPlayer", "RefrainProxy", "RefrainServer",
    ]
    let guides =
      [PackageFiles.root.appending(path: "README.md")]
      + products.flatMap { PackageFiles.files(in: "Sources/\($0)", withExtension: "md") }
    var count = 0
    for guide in guides {
      for example in Self.examples(in: try String(contentsOf: guide, encoding: .utf8))
      where !Self.isManifest(example) {
        count += 1
        let text = "\n" + example.joined(separator: "\n") + "\n"
        #expect(
          snippets.contains { $0.contains(text) },
          "no snippet contains this example of \(guide.lastPathComponent): \(text)")
      }
    }
    #expect(count > 20)
  }
}
