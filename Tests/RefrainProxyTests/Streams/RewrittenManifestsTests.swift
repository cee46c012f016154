// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainProxy
@testable import RefrainStreams

/// The rewritten manifests that a proxy keeps in memory.
@Suite(.timeLimit(.minutes(1))) struct RewrittenManifestsTests {
  private func key(_ path: String = "/list.m3u8") -> RewrittenManifests.Key {
    RewrittenManifests.Key(
      url: URL(filePath: path), clientTarget: path, session: nil, imported: [:])
  }

  private func rewritten(_ body: [UInt8]) -> ManifestRewriting.Rewritten {
    ManifestRewriting.Rewritten(body: body, isChanged: true)
  }

  @Test func `A manifest is found for the same bytes alone, and in its newest version alone`() {
    let kept = RewrittenManifests()
    #expect(kept.rewritten([1], key()) == nil)
    kept.insert(rewritten([11]), of: [1], key())
    #expect(kept.rewritten([1], key())?.body == [11])
    #expect(kept.rewritten([2], key()) == nil)
    kept.insert(rewritten([12]), of: [2], key())
    #expect(kept.rewritten([2], key())?.body == [12])
    #expect(kept.rewritten([1], key()) == nil)
  }

  @Test func `Everything that a rewriting depends on tells manifests apart`() {
    let kept = RewrittenManifests()
    kept.insert(rewritten([11]), of: [1], key())
    let changes: [(inout RewrittenManifests.Key) -> Void] = [
      { $0.url = URL(filePath: "/other.m3u8") }, { $0.clientTarget = "/other.m3u8" },
      { $0.session = "s" }, { $0.imported = ["a": "b"] },
    ]
    for change in changes {
      var other = key()
      change(&other)
      #expect(kept.rewritten([1], other) == nil)
    }
  }

  @Test func `The manifests not used for the longest time go first`() {
    let kept = RewrittenManifests(mostManifests: 3)
    for number in 1...3 { kept.insert(rewritten([0]), of: [0], key("/\(number)")) }
    #expect(kept.rewritten([0], key("/1")) != nil)
    kept.insert(rewritten([0]), of: [0], key("/4"))
    let found = (1...4).map { kept.rewritten([0], key("/\($0)")) != nil }
    #expect(found == [true, false, true, true])
  }

  @Test func `They take no more memory than the limit`() {
    let kept = RewrittenManifests(mostBytes: 1000)
    let body = [UInt8](repeating: 0, count: 200)
    for number in 1...3 { kept.insert(rewritten(body), of: body, key("/\(number)")) }
    #expect((1...3).map { kept.rewritten(body, key("/\($0)")) != nil } == [false, true, true])
    // One that is replaced gives up its place.
    kept.insert(rewritten(body), of: body, key("/3"))
    #expect(kept.rewritten(body, key("/2")) != nil)
    let long = [UInt8](repeating: 0, count: 600)
    kept.insert(rewritten(long), of: long, key("/long"))
    #expect(kept.rewritten(long, key("/long")) == nil)
    #expect(kept.rewritten(body, key("/2")) != nil)
  }
}
