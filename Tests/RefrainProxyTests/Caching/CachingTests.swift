// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

@Suite(.timeLimit(.minutes(2))) struct FreshnessOverTheWireTests {
  static let cases: [(fields: [String: String], isShared: Bool, isFresh: Bool)] = [
    (["Cache-Control": "max-age=60"], false, true),
    (["Cache-Control": "max-age=60"], true, true),
    (["Cache-Control": "max-age=60", "Age": "20"], false, true),
    (["Cache-Control": "max-age=60", "Age": "61"], false, false),
    (["Cache-Control": "max-age=0, s-maxage=60"], true, true),
    (["Cache-Control": "max-age=0, s-maxage=60"], false, false),
    (["Cache-Control": "max-age=60, s-maxage=0"], true, false),
    (["Cache-Control": "max-age=60, s-maxage=0"], false, true),
    (["Expires": HTTPDate.format(Date() + 3600)], false, true),
    (["Expires": HTTPDate.format(Date() - 3600)], false, false),
    (["Expires": "0"], true, false),
    (["Cache-Control": "no-cache, max-age=60"], false, false),
    (["Cache-Control": "no-cache"], true, false),
    (["Cache-Control": "private, max-age=60"], false, true),
    (["Last-Modified": HTTPDate.format(Date() - 86400 * 20)], false, true),
    (["Vary": "*", "Cache-Control": "max-age=60"], false, false),
    (["Vary": "Accept-Encoding", "Cache-Control": "max-age=60"], true, true),
  ]

  @Test(arguments: cases.indices)
  func `A fresh response is reused, and a stale one is revalidated`(index: Int) async throws {
    let (fields, isShared, isFresh) = Self.cases[index]
    try await Caching.withEither(isShared: isShared) { test async throws in
      test.serve("/a", fields)
      for round in 0..<3 {
        let reply = try await test.get("/a", ["Accept-Encoding: gzip;q=0.\(round + 1)"])
        #expect(reply.status == 200 && reply.body == Caching.bytes(1), "\(fields)")
      }
      let log = try await test.settledLog("/a")
      #expect(log.requests.count == (isFresh ? 1 : 3), "\(fields)")
      #expect(log.requests.dropFirst().allSatisfy { $0.status == 304 }, "\(fields)")
      #expect(log.requests.allSatisfy { $0.request.headers.first("Accept-Encoding") == "identity" })
      let last = try #require(test.log.all.last)
      #expect(last.source == (isFresh ? .hit : .revalidated), "\(fields)")
    }
  }

  @Test func `Age continues from the origin's Age`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=3600", "Age": "1000"])
      for _ in 0..<3 {
        let reply = try await test.get("/a")
        let age = try #require(reply["Age"].flatMap { Int($0) })
        #expect((1000..<1030).contains(age))
      }
      #expect(try await test.asked("/a") == 1)
    }
  }
}

@Suite(.timeLimit(.minutes(2))) struct NotStoredTests {
  private func files(_ test: TestProxy) -> [String] {
    let all = FileManager.default.enumerator(atPath: test.directory.path)?.allObjects
    return (all as? [String] ?? []).filter { path in
      var isDirectory: ObjCBool = false
      let full = test.directory.path + "/" + path
      _ = FileManager.default.fileExists(atPath: full, isDirectory: &isDirectory)
      return !isDirectory.boolValue && path.hasPrefix("entries/")
    }
  }

  @Test(arguments: [false, true])
  func `An unstorable response is passed on, and nothing is stored`(isShared: Bool) async throws {
    try await Caching.withEither(isShared: isShared) { test async throws in
      test.serve("/a", ["Cache-Control": "no-store"])
      for _ in 0..<3 {
        #expect(try await test.get("/a").body == Caching.bytes(1))
        let part = try await test.get("/a", ["Range: bytes=10-19"])
        #expect(part.status == 206 && part.body == Array(Caching.bytes(1)[10..<20]))
      }
      #expect(try await test.asked("/a") == 6)
      await test.cache.close()
      #expect(files(test).filter { !$0.hasSuffix("lock") }.isEmpty, "\(files(test))")
    }
  }

  @Test func `A shared cache does not store a private response`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", 1, ["Cache-Control": "private, max-age=60"])
      #expect(try await test.get("/a").body == Caching.bytes(1))
      test.serve("/a", 2, ["Cache-Control": "private, max-age=60"])
      #expect(try await test.get("/a").body == Caching.bytes(2))
      await test.cache.close()
      #expect(files(test).filter { !$0.hasSuffix("lock") }.isEmpty, "\(files(test))")
    }
  }

  @Test
  func `A response that becomes private when revalidated is not served to others`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", 1, Caching.stale())
      #expect(try await test.get("/a").body == Caching.bytes(1))
      test.serve("/a", 1, ["Cache-Control": "private, max-age=60"])
      test.origin.script("/a", .on(.all, .header("X-Person", "first")))
      #expect(try await test.get("/a")["X-Person"] == "first")
      test.origin.script("/a", .on(.all, .header("X-Person", "second")))
      #expect(try await test.get("/a")["X-Person"] == "second")
      await test.cache.close()
      #expect(files(test).filter { !$0.hasSuffix("lock") }.isEmpty, "\(files(test))")
    }
  }

  @Test
  func `A response to credentials is never shared, and stored only if permitted`() async throws {
    let cases: [(String, isKept: Bool)] = [
      ("max-age=60", false), ("public, max-age=60", true), ("s-maxage=60", true),
      ("max-age=60, must-revalidate", true),
    ]
    for (control, isKept) in cases {
      try await withReverseProxy { test async throws in
        test.serve("/a", ["Cache-Control": control])
        for _ in 0..<2 {
          let reply = try await test.get("/a", ["Authorization: Basic b25lOm9uZQ=="])
          #expect(reply.body == Caching.bytes(1))
        }
        #expect(try await test.asked("/a") == (isKept ? 1 : 2), "\(control)")
        // Nor is one client's response served to clients without credentials or with others.
        for headers in [[], ["Authorization: Basic dHdvOnR3bw=="]] {
          _ = try await test.get("/a", headers)
          let last = try await test.settledLog("/a").requests.last
          #expect(
            last?.request.headers.first("Authorization")
              == headers.first.map { String($0.dropFirst(15)) }, "\(control)")
        }
      }
    }
  }

  @Test func `A shared cache does not use a private cache's entries`() async throws {
    try await withSuccession { origin, directory in
      try await withProxy(directory: directory, origin: origin) { test async throws in
        test.serve("/a", ["Cache-Control": "private, max-age=600"])
        origin.script("/a", .on(.all, .header("X-Person", "secret")))
        #expect(try await test.get("/a")["X-Person"] == "secret")
      }
      try await withReverseProxy(directory: directory, origin: origin) { test async throws in
        origin.script("/a", .on(.all, .header("X-Person", nil)))
        let reply = try await test.get("/a")
        #expect(reply.body == Caching.bytes(1))
        #expect(reply["X-Person"] == nil)
      }
    }
  }
}
