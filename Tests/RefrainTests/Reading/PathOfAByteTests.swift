// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// The page "The path of a byte" names files, and shows in which of them a question is answered.
@Suite struct PathOfAByteTests {
  private static let sources = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Sources")

  private static func page() throws -> String {
    try String(
      contentsOf: sources.appending(path: "Refrain/Refrain.docc/PathOfAByte.md"), encoding: .utf8)
  }

  @Test func `Every file that the page names exists`() throws {
    let modules = try FileManager.default.contentsOfDirectory(
      at: Self.sources, includingPropertiesForKeys: nil)
    let named = try Self.page().matches(of: /(?:[A-Z]\w+\/)+[A-Z][\w+]*/).map { String($0.output) }
    #expect(named.count > 30)
    for name in Set(named) where name != "Sources/Refrain" {
      let places = [Self.sources] + modules
      let isThere = places.contains { place in
        ["", ".swift"].contains { ending in
          FileManager.default.fileExists(atPath: place.appending(path: name + ending).path)
        }
      }
      #expect(isThere, "\(name)")
    }
  }

  @Test func `Each question is answered by three files at most, on a page of two screens`() throws {
    let page = try Self.page()
    #expect(page.split(separator: "\n", omittingEmptySubsequences: false).count <= 100)
    let rows = page.split(separator: "\n").filter { $0.hasPrefix("| ") && $0.contains("? |") }
    #expect(rows.count == 6)
    for row in rows {
      let files = row.matches(of: /`[A-Z][\w+\/]*`/)
      #expect((1...3).contains(files.count), "\(row)")
    }
  }
}
