// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// Small documents that change as they go on, by rules that know no format: a text that begins with
/// "list" and ends with the seconds until the next version.
final class ListRules: DocumentRules {
  struct Calls: Sendable, Equatable {
    var urls = 0
    var heads = 0
    var bodies = 0
  }

  let longest: Int64 = 64 << 10
  let fileExtensions = ["text/list": "list"]
  private let calls = Mutex(Calls())

  var counted: Calls { calls.withLock { $0 } }

  func isDocument(mimeType: String?, url: URL) -> Bool {
    calls.withLock { if mimeType == nil { $0.urls += 1 } else { $0.heads += 1 } }
    return mimeType == "text/list" || url.pathExtension == "list"
  }

  func mayBeUnnamed(mimeType: String?) -> Bool { mimeType == nil }

  func isHeldBack(_ url: URL) -> Bool { false }

  func pace(at url: URL, beginning: Data, whole: () -> Data?) -> UpdatePace? {
    calls.withLock { $0.bodies += 1 }
    guard beginning.starts(with: Data("list".utf8)), let body = whole() else { return nil }
    let last = String(decoding: body, as: UTF8.self).split(separator: " ").last ?? ""
    return Double(last).map { .every($0) } ?? .complete
  }

  /// Turns every byte by one bit.
  func decoder(of coding: String) -> DocumentDecoder? {
    guard coding == "turned" else { return nil }
    return { body, limit throws(DocumentFault) in
      guard body.count <= limit else { throw .tooLong }
      return Data(body.map { ~$0 })
    }
  }
}

@Suite(.timeLimit(.minutes(1))) struct DocumentRulesTests {
  private func serve(_ text: String, _ test: TestCache, at path: String, coding: String? = nil) {
    var bytes = Array(text.utf8)
    if coding != nil { bytes = bytes.map { ~$0 } }
    var resource = OriginResource(.bytes(bytes), contentType: "text/list", etag: "\"\(text)\"")
    resource.headers.append(Field("Cache-Control", "max-age=3600"))
    if let coding { resource.headers.append(Field("Content-Encoding", coding)) }
    test.origin.serve(resource, at: path)
  }

  @Test func `A document is used for half of the time that it states`() async throws {
    let (rules, time) = (ListRules(), TestClock())
    try await withCache({
      $0.policy = ResourcePolicy(documents: rules)
      $0.clock = time.now
    }) { test in
      serve("list one 8", test, at: "/a.list")
      let first = try await test.read("/a.list")
      serve("list two 8", test, at: "/a.list")
      time.pass(3)
      #expect(try await test.read("/a.list") == first)
      #expect(try await test.settledLog("/a.list").requests.count == 1)
      time.pass(2)
      #expect(try await test.read("/a.list") == Array("list two 8".utf8))
    }
  }

  @Test func `A document that was stored without rules is examined once it has some`() async throws
  {
    let time = TestClock()
    try await withCache({ $0.clock = time.now }) { test in
      serve("list one 8", test, at: "/a.list")
      let first = try await test.read("/a.list")
      serve("list two 8", test, at: "/a.list")
      let rules = ListRules()
      try await test.reopened({
        $0.policy = ResourcePolicy(documents: rules)
        $0.clock = time.now
      }) { test in
        time.pass(3)
        let again = try await test.read("/a.list")
        let requests = try await test.settledLog("/a.list").requests.count
        #expect(again == first && requests == 1 && rules.counted.bodies == 1)
        time.pass(2)
        let last = try await test.read("/a.list")
        #expect(last == Array("list two 8".utf8))
      }
    }
  }

  @Test func `A film costs no call for a chunk, and a small body one`() async throws {
    let rules = ListRules()
    try await withCache({ $0.policy = ResourcePolicy(documents: rules) }) { test in
      test.origin.serve(.synthetic(seed: 1, length: 6 << 20), at: "/film")
      _ = try await test.read("/film")
      let film = rules.counted
      let requests = try await test.settledLog("/film").requests.count
      #expect(film.bodies == 0 && film.heads <= requests && film.urls <= 2 * requests + 1)
      test.origin.serve(.synthetic(seed: 2, length: 60_000), at: "/small")
      _ = try await test.read("/small")
      #expect(rules.counted.bodies == 1 && rules.counted.heads <= film.heads + 1)
      // Stored bytes need none.
      _ = try await test.read("/film")
      #expect(rules.counted.bodies == 1)
    }
  }

  @Test func `An encoded document is stored decoded, by one request`() async throws {
    try await withCache({ $0.policy = ResourcePolicy(documents: ListRules()) }) { test in
      serve("list one", test, at: "/a.list", coding: "turned")
      #expect(try await test.read("/a.list") == Array("list one".utf8))
      let url = test.origin.url("/a.list")
      try await test.cache.prefetch(url)
      let file = try #require(try await test.cache.completeFile(for: url))
      #expect(try Data(contentsOf: file) == Data("list one".utf8))
      #expect(file.pathExtension == "list")
      #expect(try await test.settledLog("/a.list").requests.count == 1)
    }
  }

  @Test func `Without rules nothing is a document`() async throws {
    try await withCache { test in
      serve("list one 8", test, at: "/a.list", coding: "turned")
      await #expect(throws: MediaCacheError.self) { try await test.read("/a.list") }
    }
  }

  @Test func `A resource's own rules count before those of the cache`() async throws {
    let (own, others) = (ListRules(), ListRules())
    try await withCache({ $0.policy = ResourcePolicy(documents: others) }) { test in
      serve("list one 8", test, at: "/a.list")
      var resource = Resource(url: test.origin.url("/a.list"))
      resource.policy.documents = own
      try await test.cache.prefetch(resource)
      #expect(own.counted.bodies == 1 && others.counted == ListRules.Calls())
    }
  }
}
