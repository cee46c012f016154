// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// A user and password in a URL: sent to that origin as a header, and kept nowhere.
@Suite(.timeLimit(.minutes(1)))
struct CredentialTests {
  private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  @Test(arguments: [
    ("http://me:secret@host/a", "me:secret", "http://host/a"),
    ("https://me:secret@host:8443/a?b=c@d#e", "me:secret", "https://host:8443/a?b=c@d#e"),
    ("http://m%40e:p%3Aw%20%C3%A9@host/", "m@e:p:w é", "http://host/"),
    ("http://token@host/a%2Fb", "token:", "http://host/a%2Fb"),
    ("http://:secret@[::1]:81/", ":secret", "http://[::1]:81/"),
    ("http://me:@host/", "me:", "http://host/"),
  ])
  func `User information in a URL becomes Basic credentials`(
    _ text: String, _ pair: String, _ plain: String
  ) throws {
    let url = try url(text)
    #expect(url.basicAuthorization == "Basic " + Data(pair.utf8).base64EncodedString())
    #expect(url.withoutUserInfo.absoluteString == plain)
    #expect(CacheKey(url: url) == CacheKey(url: try self.url(plain)))
  }

  @Test(arguments: [
    "http://host/a@b", "http://host/?u=me:secret@there", "http://host/#me:secret@there",
    "http://@host/", "http://:@host/",
  ])
  func `A URL without a user or password has no credentials`(_ text: String) throws {
    try #expect(url(text).basicAuthorization == nil)
  }

  @Test func `An error does not contain the password of the URL`() async throws {
    try await withCache { test in
      do {
        _ = try await test.cache.open(Resource(url: try url("ftp://me:secret@host/a")))
        Issue.record("An ftp URL was opened.")
      } catch let error as MediaCacheError {
        #expect(error.code == .badURL)
        #expect(!error.description.contains("secret"))
      }
    }
  }

  @Test func `URL credentials become a header unless Authorization is set`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/a.wav")
      let port = try #require(test.origin.url("/a.wav").port)
      let url = try url("http://me:secret@127.0.0.1:\(port)/a.wav")
      let reader = try await test.cache.open(Resource(url: url))
      _ = try await reader.contentInformation()
      reader.cancel()
      let first = try #require(test.origin.log("/a.wav").requests.last?.request)
      #expect(first.target == "/a.wav")
      #expect(first.headers.first("Authorization") == "Basic bWU6c2VjcmV0")
      #expect(first.headers.first("Host") == "127.0.0.1:\(port)")

      test.origin.serve(.synthetic(seed: 2, length: 1000), at: "/a.wav")
      let resource = Resource(url: url, headers: ["authorization": "Bearer token"])
      let other = try await test.cache.open(resource)
      _ = try await other.contentInformation()
      let second = try #require(test.origin.log("/a.wav").requests.last?.request)
      #expect(second.headers.filter { $0.name.lowercased() == "authorization" }.count == 1)
      #expect(second.headers.first("Authorization") == "Bearer token")
    }
  }

  @Test func `No stored file contains the password`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 1, length: 100_000), at: "/a.wav")
      let port = try #require(test.origin.url("/a.wav").port)
      let resource = Resource(url: try url("http://me:secret@127.0.0.1:\(port)/a.wav"))
      try await test.cache.prefetch(resource)
      let entry = try #require(try await test.cache.entry(for: test.cache.key(for: resource)))
      #expect(entry.url.absoluteString == "http://127.0.0.1:\(port)/a.wav")
      #expect(entry.isComplete)
      let files = FileManager.default.enumerator(atPath: test.directory.path)
      while let name = files?.nextObject() as? String {
        #expect(!name.contains("secret"))
        let file = test.directory.appending(path: name)
        guard let bytes = try? Data(contentsOf: file) else { continue }
        #expect(bytes.range(of: Data("secret".utf8)) == nil, "\(name)")
      }
    }
  }

  @Test func `A cacheKey function does not receive the password`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let cache = try MediaCache(
      directory: directory,
      configuration: TestCache.configuration {
        $0.cacheKey = { CacheKey(rawValue: $0.absoluteString) }
      })
    let resource = Resource(url: try url("http://me:secret@host/a?b#c"))
    #expect(cache.key(for: resource).rawValue == "http://host/a?b#c")
    await cache.close()
  }
}
