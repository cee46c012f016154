// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Several servers behind one host name, each with its own tag for the same bytes.
@Suite(.timeLimit(.minutes(1))) struct AlternatingServersTests {
  private let length: Int64 = 1_000_003
  private let bytes = SyntheticBytes(seed: 7)

  private func serve(_ test: TestCache, control: String = "max-age=3600") {
    var resource = OriginResource.synthetic(seed: 7, length: length)
    resource.etag = "\"a\""
    resource.headers = [Field("Cache-Control", control)]
    test.origin.serve(resource, at: "/a")
    alternate(test)
  }

  private func alternate(_ test: TestCache) {
    test.origin.script("/a", .on(.where { $0.number % 2 == 0 }, .etag("\"b\"")))
  }

  @Test func `A reader continues when another ETag comes with the same bytes`() async throws {
    try await withCache { test in
      serve(test)
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
      let log = try await test.settledLog("/a")
      #expect(log.bodyBytesSent < length + 400_000, "\(log.requests.map { $0.status })")
      #expect(log.requests.count < 10)
      // The entry is complete: a later reader fetches nothing.
      test.origin.resetLog("/a")
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
      #expect(test.origin.log("/a").requests.isEmpty)
    }
  }

  @Test func `Reads at random offsets continue across two ETags of the same bytes`() async throws {
    for round in 0..<6 as Range<UInt64> {
      try await withCache({ $0.firstRequest = 8 << 10 }) { test in
        serve(test)
        var random = SeededGenerator(seed: round)
        let reader = try await test.reader("/a")
        defer { reader.cancel() }
        for _ in 0..<20 {
          let start = Int64.random(in: 0..<length, using: &random)
          let range = start..<min(length, start + 20_000)
          try await #expect(Array(reader.bytes(in: range)) == bytes.bytes(in: range))
        }
        let log = try await test.settledLog("/a")
        #expect(log.requests.count < 120)
      }
    }
  }

  @Test func `A 304 of either server confirms the stored bytes`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    try await withCache(directory: directory, origin: origin) { test in
      serve(test, control: "no-cache")
      // One request for each server makes both tags known.
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      _ = try await reader.bytes(in: 0..<200_000)
      try await #expect(Array(reader.bytes(in: 0..<length)) == bytes.bytes(in: 0..<length))
    }
    origin.resetLog("/a")
    for _ in 0..<4 {
      try await withCache(directory: directory, origin: origin) { test in
        try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
      }
    }
    #expect(origin.log("/a").requests.map(\.status) == [304, 304, 304, 304])
    await origin.stop()
  }

  /// The other server has another version of the same length and type. It differs from one byte on:
  /// before, at, or after the stored bytes.
  @Test(arguments: [0, 5_000, 64 << 10, 100_000, 500_000, 999_000] as [Int64])
  func `A reader never receives bytes of two versions of the same length`(
    _ place: Int64
  ) async throws {
    let one = bytes.bytes(in: 0..<length)
    let other = Array(one[..<Int(place)]) + SyntheticBytes(seed: 8).bytes(in: place..<length)
    for tail in [nil, 990_000..<990_100] as [ByteRange?] {
      try await withCache { test in
        serve(test)
        var changed = OriginResource(.bytes(other), etag: "\"b\"")
        changed.headers = [Field("Cache-Control", "max-age=3600")]
        test.origin.script("/a", .on(.where { $0.number % 2 == 0 }, .answerFrom(changed)))
        for _ in 0..<4 {
          let reader = try await test.reader("/a")
          defer { reader.cancel() }
          var read: [(ByteRange, [UInt8])] = []
          do {
            if let tail { read.append((tail, Array(try await reader.bytes(in: tail)))) }
            var offset: Int64 = 0
            for try await chunk in reader.chunks() {
              read.append((offset..<offset + Int64(chunk.count), Array(chunk)))
              offset += Int64(chunk.count)
            }
          } catch let error as MediaCacheError {
            #expect(error.code == .resourceChanged)
          }
          let isOne = read.allSatisfy {
            $0.1 == Array(one[Int($0.0.lowerBound)..<Int($0.0.upperBound)])
          }
          let isOther = read.allSatisfy {
            $0.1 == Array(other[Int($0.0.lowerBound)..<Int($0.0.upperBound)])
          }
          #expect(isOne || isOther, "\(read.map(\.0))")
        }
      }
    }
  }

  /// The response that differs at its end starts the new generation with all bytes it brought.
  @Test func `A response that turns out to be a new version is not requested again`() async throws {
    let place: Int64 = 600_000
    let one = bytes.bytes(in: 0..<length)
    let other = Array(one[..<Int(place)]) + SyntheticBytes(seed: 8).bytes(in: place..<length)
    try await withCache({ $0.joinPatience = .seconds(100) }) { test in
      var resource = OriginResource(.bytes(one), etag: "\"a\"")
      resource.headers = [Field("Cache-Control", "max-age=3600")]
      test.origin.serve(resource, at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      _ = try await reader.bytes(in: 0..<1000)
      _ = try await reader.bytes(in: 700_000..<701_000)
      let unread = try await test.reader("/a")
      defer { unread.cancel() }
      _ = try await test.settledLog("/a")
      test.origin.resetLog("/a")
      resource.content = .bytes(other)
      resource.etag = "\"b\""
      test.origin.serve(resource, at: "/a")
      try await #expect(
        Array(unread.bytes(in: 900_000..<901_000)) == Array(other[900_000..<901_000]))
      try await #expect(Array(unread.bytes(in: 0..<length)) == other)
      let error = await #expect(throws: MediaCacheError.self) {
        try await reader.bytes(in: 300_000..<301_000)
      }
      #expect(error?.code == .resourceChanged)
      let log = try await test.settledLog("/a")
      #expect(log.requests.map(\.status) == [200])
      #expect(log.bodyBytesSent == length)
    }
  }
}
