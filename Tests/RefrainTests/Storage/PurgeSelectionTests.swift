// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// Which entries a purge concerns.
struct PurgeSelectionTests {
  private func contains(
    _ selection: PurgeSelection, _ key: String, _ fields: HeaderFields = [:]
  ) -> Bool {
    selection.contains(CacheKey(rawValue: key), url: key, fields: fields)
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

  @Test func `Tags are separated by spaces in one field and by commas in the other`() {
    let fields: HeaderFields = [
      "Surrogate-Key": "a  b,c", "surrogate-key": "d", "Cache-Tag": "e, f g ,,h",
    ]
    #expect(PurgeSelection.tags(in: fields) == ["a", "b,c", "d", "e", "f g", "h"])
    var selection = PurgeSelection()
    selection.tags = ["f g"]
    #expect(contains(selection, "https://example.org/a", fields))
    selection.tags = ["A", "f"]
    #expect(!contains(selection, "https://example.org/a", fields))
  }

  @Test func `Outdated bytes are accepted only where the origin permits stale ones`() {
    let now = Date(timeIntervalSince1970: 1000)
    var terms = FreshnessRequirements()
    terms.acceptsOutdated = true
    let fresh = Freshness(confirmedAt: now, lifetime: 60)
    #expect(terms.accept(fresh.outdated, at: now))
    // One that has become stale by itself is confirmed first.
    #expect(!terms.accept(fresh, at: now + 61))
    let strict = Freshness(confirmedAt: now, lifetime: 60, mustRevalidate: true)
    #expect(!terms.accept(strict.outdated, at: now))
    terms.acceptsOutdated = false
    terms.maxStale = .max
    #expect(!terms.accept(fresh.outdated, at: now))
    #expect(terms.accept(fresh, at: now + 61))
  }
}
