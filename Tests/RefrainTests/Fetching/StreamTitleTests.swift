// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain
@testable import TestSupport

/// Metadata between the audio: only readers that requested titles receive it, and never among the
/// bytes.
@Suite(.timeLimit(.minutes(2))) struct StreamTitleTests {
  private let bytes = SyntheticBytes(seed: 7)
  private let interleaving = Interleaving(
    interval: 8192, titles: [1: "Refrain - One", 3: "It's - Two", 60: "Far - Three"])

  private func open(_ test: TestCache, _ path: String = "/radio") async throws -> MediaReader {
    try await test.cache.open(
      Resource(url: test.origin.url(path), headers: ["Icy-MetaData": "1"]))
  }

  @Test func `Stream titles are reported with offsets and removed from the audio`() async throws {
    try await withCache { test in
      test.origin.serve(
        .station(seed: 7, name: "Radio R", interleaving: interleaving), at: "/radio")
      let events = test.cache.events(includingTraffic: false)
      let reader = try await open(test)
      try await #expect(Array(reader.bytes(in: 0..<600_000)) == bytes.bytes(in: 0..<600_000))
      #expect(reader.streamTitle(at: 0)?.title == nil)
      let station = StreamStation(
        name: "Radio R", genre: "Test", url: "http://radio.example", bitrate: 128)
      #expect(reader.streamTitle(at: 0)?.station == station)
      #expect(reader.streamTitle(at: 8191)?.title == nil)
      #expect(reader.streamTitle(at: 8192)?.title == "Refrain - One")
      #expect(reader.streamTitle(at: 3 * 8192)?.title == "It's - Two")
      #expect(reader.streamTitle(at: 60 * 8192 - 1)?.title == "It's - Two")
      #expect(reader.streamTitle(at: .max)?.title == "Far - Three")
      let information = try await reader.contentInformation()
      #expect(information.length == nil && !information.supportsRanges)
      reader.cancel()
      await test.cache.close()
      var told: [StreamTitle] = []
      for await event in events {
        if case .streamTitle(_, let title) = event { told.append(title) }
      }
      #expect(told.map(\.title) == [nil, "Refrain - One", "It's - Two", "Far - Three"])
      #expect(told.map(\.offset) == [0, 8192, 3 * 8192, 60 * 8192])
      #expect(told.allSatisfy { $0.station == station })
      #expect(test.origin.log("/radio").requests.count == 1)
    }
  }

  @Test func `A reader that requests no titles receives the plain stream`() async throws {
    try await withCache { test in
      test.origin.serve(.station(seed: 7, interleaving: interleaving), at: "/radio")
      let reader = try await test.reader("/radio")
      defer { reader.cancel() }
      try await #expect(Array(reader.bytes(in: 0..<100_000)) == bytes.bytes(in: 0..<100_000))
      let request = try #require(test.origin.log("/radio").requests.first?.request)
      #expect(request.headers.first("Icy-MetaData") == nil)
      #expect(reader.streamTitle(at: .max)?.station.name == "Radio")
    }
  }

  @Test func `A request for titles changes nothing for an ordinary origin`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: 300_007), at: "/a")
      for _ in 0..<2 {
        let reader = try await open(test, "/a")
        try await #expect(
          Array(reader.bytes(in: 0..<300_007)) == bytes.bytes(in: 0..<300_007))
        #expect(reader.streamTitle(at: .max) == nil)
        reader.cancel()
      }
      // The key and the stored bytes are those of the resource without the field.
      let received = test.origin.log("/a").bodyBytesSent
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<300_007))
      #expect(test.origin.log("/a").bytesSentTwice <= 3)
      #expect(test.origin.log("/a").bodyBytesSent - received <= 1)
      try await #expect(test.cache.entries().map(\.isComplete) == [true])
    }
  }

  @Test func `An invalid title interval is an error`() async throws {
    try await withCache { test in
      test.origin.serve(.station(seed: 7, interleaving: interleaving), at: "/radio")
      test.origin.script(
        "/radio",
        .on(
          .where { $0.headers.first("Icy-MetaData") != nil }, .header("icy-metaint", "8192, 16000"))
      )
      let reader = try await open(test)
      defer { reader.cancel() }
      await expectError(.invalidResponse) { try await reader.bytes(in: 0..<100_000) }
    }
  }

  /// Content-Length counts the metadata, too.
  @Test func `A body with a length and metadata ends with its audio`() async throws {
    try await withCache { test in
      let length: Int64 = 100_003
      var resource = OriginResource.synthetic(seed: 7, length: length)
      resource.supportsRanges = false
      for etag in ["\"seed-7\"", nil] {
        let path = etag == nil ? "/plain" : "/tagged"
        resource.etag = etag
        resource.headers = [Field("icy-name", "Radio")]
        resource.interleaving = interleaving
        test.origin.serve(resource, at: path)
        let reader = try await open(test, path)
        defer { reader.cancel() }
        try await #expect(Array(reader.bytes(in: 0..<200_000)) == bytes.bytes(in: 0..<length))
        try await #expect(reader.contentInformation().length == length)
        #expect(reader.streamTitle(at: .max)?.title == "It's - Two")
      }
    }
  }

  @Test func `A broken body with titles is fetched again and stored without them`() async throws {
    try await withCache { test in
      let length: Int64 = 500_003
      var resource = OriginResource.synthetic(seed: 7, length: length)
      resource.supportsRanges = false
      resource.declaresLength = false
      resource.headers = [Field("icy-name", "Radio"), Field("Cache-Control", "max-age=1000")]
      resource.interleaving = interleaving
      test.origin.serve(resource, at: "/radio")
      // The second response breaks in the middle of a block, the first in the middle of the audio.
      test.origin.script(
        "/radio",
        .on(.number(1), .drop(at: .body(40_000)))
          .on(.number(2), .drop(at: .body(60 * 8193 + 80))))
      let reader = try await open(test)
      // To the end, which is unknown before it is reached.
      try await #expect(Array(reader.bytes(in: 0..<length + 1)) == bytes.bytes(in: 0..<length))
      #expect(reader.streamTitle(at: .max)?.title == "Far - Three")
      reader.cancel()
      let requests = test.origin.log("/radio").requests.count
      #expect(requests == 3)
      // A reader that requests no titles is served from the stored bytes, too.
      try await #expect(test.read("/radio") == bytes.bytes(in: 0..<length))
      #expect(test.origin.log("/radio").requests.count == requests)
    }
  }
}
