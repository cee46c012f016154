// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// Which entries a purge concerns.
struct PurgeSelectionTests {
  private func contains(_ selection: PurgeSelection, _ key: String) -> Bool {
    selection.contains(CacheKey(rawValue: key), url: key, group: nil)
  }

  @Test func `A key stands for all representations of its resource, and for no other`() {
    var selection = PurgeSelection()
    #expect(selection.isEmpty)
    selection.keys = [CacheKey(rawValue: "https://example.org/a")]
    for key in [
      "https://example.org/a", "https://example.org/a vary:x", "https://example.org/a for:x",
    ] {
      #expect(contains(selection, key))
    }
    for key in ["https://example.org/ab", "https://example.org/a?b", "https://example.org/"] {
      #expect(!contains(selection, key))
    }
    #expect(!selection.isEmpty && !selection.needsSearch)
  }

  @Test(
    arguments: [
      ("https://example.org", "https://example.org/a", true),
      ("https://example.org", "https://example.org.evil/a", false),
      ("https://example.org:80", "https://example.org:8080/a", false),
      ("https://EXAMPLE.org/al", "https://example.org/album/1", true),
      ("https://example.org/album/", "https://example.org/album", false),
      ("https://me:secret@example.org/a#b", "https://example.org/ab", true),
      ("http://example.org/", "https://example.org/", false),
      ("https://example.org/a?b=", "https://example.org/a?b=1", true),
    ])
  func `A prefix ends within one host`(prefix: String, url: String, isConcerned: Bool) throws {
    var selection = PurgeSelection()
    selection.insert(prefix: try #require(URL(string: prefix)))
    #expect(contains(selection, url) == isConcerned, "\(selection.prefixes)")
  }
}
