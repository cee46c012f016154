// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import TestSupport
import Testing

/// A drive that requires credentials, and the three ways to provide them.
@Suite(.enabled(if: RequiredProgram.rclone.isUsable), .timeLimit(.minutes(2)))
struct WebDAVTests {
  private let name = "tune.flac"
  private let content = testBytes(1_000_003, seed: 1)

  @Test func `Missing or wrong credentials are an error with a remedy`() async throws {
    try await withRealOrigin(.rclone) { origin in
      try origin.put(name, content)
      for headers: HeaderFields in [[:], ["Authorization": "Basic d3Jvbmc6d3Jvbmc="]] {
        try await origin.withCache { cache in
          let resource = Resource(url: try origin.url(name), headers: headers)
          let error = await #expect(throws: MediaCacheError.self) {
            _ = try await cache.read(resource)
          }
          #expect(error?.code == .status)
          #expect(error?.status == 401)
          #expect(error?.remedy.contains("credentials") == true)
          try await #expect(cache.entries().isEmpty)
        }
      }
    }
  }

  @Test func `The authorize hook is called once, and its header is reused`() async throws {
    try await withRealOrigin(.rclone) { origin in
      try origin.put(name, content)
      let asked = Mutex<[Int]>([])
      try await origin.withCache {
        $0.authorize = { resource, status in
          asked.withLock { $0.append(status) }
          var resource = resource
          resource.headers["Authorization"] = RealServer.authorization
          return resource
        }
      } _: { cache in
        let read = try await cache.read(Resource(url: origin.url(name)))
        #expect(isSame(read.bytes, content))
        #expect(asked.withLock { $0 } == [401])
      }
    }
  }

  @Test func `A URL with a user and password is accepted, and neither is stored`() async throws {
    try await withRealOrigin(.rclone) { origin in
      try origin.put(name, content)
      let url = try #require(
        URL(string: "http://listener:pass%20word@127.0.0.1:\(origin.port)/\(name)"))
      try await origin.withCache { cache in
        let read = try await cache.read(Resource(url: url))
        #expect(isSame(read.bytes, content))
        let entry = try #require(try await cache.entries().first)
        #expect(entry.key.rawValue == "http://127.0.0.1:\(origin.port)/\(name)")
        try #expect(entry.url == origin.url(name))
      }
      // One resource, whichever way it is requested.
      let other = try await origin.withCache { try await $0.read(origin.resource(name)) }
      #expect(isSame(other.bytes, content))
      #expect(other.statistics.requests == 0)
    }
  }
}
