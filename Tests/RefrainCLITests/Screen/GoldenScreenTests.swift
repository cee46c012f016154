// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import RefrainCLI

/// Whole screens, stored in `Screens/` for review. Without colours.
///
/// After an intended change, `REFRAIN_WRITE_SCREENS=1 swift test --filter GoldenScreenTests`
/// rewrites them.
struct GoldenScreenTests {
  static let sizes = [ScreenSize(columns: 80, rows: 24), ScreenSize(columns: 120, rows: 40)]

  @Test(arguments: ScreenSamples.all.map(\.name), sizes)
  func `A screen matches the stored one`(_ name: String, _ size: ScreenSize) throws {
    let model = try #require(ScreenSamples.all.first { $0.name == name }).model
    try compare(
      ScreenRenderer(.blocks).lines(model, size), "\(name)-\(size.columns)x\(size.rows)")
  }

  @Test(arguments: ["half-cached", "wide-characters"])
  func `The screen is pure ASCII without UTF-8`(_ name: String) throws {
    let model = try #require(ScreenSamples.all.first { $0.name == name }).model
    let lines = ScreenRenderer(.ascii).lines(model, Self.sizes[0])
    #expect(lines.allSatisfy { $0.text.allSatisfy(\.isASCII) })
    try compare(lines, "\(name)-ascii-80x24")
  }

  @Test(arguments: [(20, 3), (20, 5), (30, 8), (40, 12)])
  func `A small screen matches the stored one`(_ columns: Int, _ rows: Int) throws {
    let size = ScreenSize(columns: columns, rows: rows)
    try compare(
      ScreenRenderer(.blocks).lines(ScreenSamples.halfCached, size),
      "half-cached-\(columns)x\(rows)")
  }

  private func compare(_ lines: [StyledLine], _ name: String) throws {
    let text = lines.map { line in
      var text = line.text
      while text.last == " " { text.removeLast() }
      return text + "\n"
    }.joined()
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Screens/\(name).txt")
    if ProcessInfo.processInfo.environment["REFRAIN_WRITE_SCREENS"] == "1" {
      try Data(text.utf8).write(to: file)
      Issue.record("\(name) was written anew: look at it.")
    }
    #expect(try String(contentsOf: file, encoding: .utf8) == text)
  }
}
