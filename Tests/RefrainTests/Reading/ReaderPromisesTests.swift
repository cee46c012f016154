// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1))) struct ReaderPromisesTests {
  private let length: Int64 = 300_007
  private let bytes = SyntheticBytes(seed: 7)

  @Test func `Negative and excessively long ranges are refused`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      let bad: [ByteRange] = [-1..<10, -1..<Int64.max, Int64.min..<Int64.max, -10 ..< -5]
      for range in bad {
        let error = await #expect(throws: MediaCacheError.self) {
          try await reader.bytes(in: range)
        }
        #expect(error?.code == .badRange, "\(range)")
        let other = await #expect(throws: MediaCacheError.self) {
          for try await _ in reader.chunks(in: range) {}
        }
        #expect(other?.code == .badRange, "\(range)")
      }
      await expectError(.badRange) { try await reader.bytes(in: 0..<1 << 40) }
    }
  }

  @Test(arguments: [300_007, 300_008, 300_107, 1 << 62, (1 << 62) + 1, .max - 1, .max] as [Int64])
  func `Nothing is readable beyond the end of the resource`(_ offset: Int64) async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      for isKnown in [false, true] {
        let reader = try await test.reader("/a")
        defer { reader.cancel() }
        if isKnown { _ = try await reader.contentInformation() }
        try await #expect(reader.waitUntilReadable(at: offset) == offset..<offset)
        guard case .end = try await reader.available(at: offset, count: 10) else {
          Issue.record("There is something at \(offset).")
          return
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 10, alignment: 1)
        defer { buffer.deallocate() }
        try await #expect(reader.read(into: buffer, at: offset) == 0)
        // A 416 has told the length, unless the offset is too large to ask for.
        if !isKnown, offset < 1 << 62 {
          #expect(test.origin.log("/a").requests.map(\.status) == [416])
        }
        try await #expect(reader.contentInformation().length == length)
        try await #expect(reader.bytes(in: length - 5..<length + 5).count == 5)
        try await #expect(reader.bytes(in: 5..<5).isEmpty)
      }
    }
  }

  @Test func `A cancelled reader stays cancelled`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      let reader = try await test.reader("/a")
      _ = try await reader.bytes(in: 0..<10)
      reader.cancel()
      reader.cancel()
      await #expect(throws: CancellationError.self) { try await reader.bytes(in: 0..<10) }
      await #expect(throws: CancellationError.self) { try await reader.contentInformation() }
    }
  }

  @Test func `Reads cancelled from another thread fail only with CancellationError`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      for _ in 0..<100 {
        let reader = try await test.reader("/a")
        let read = Task {
          for offset in stride(from: Int64(0), to: length, by: 1000) {
            _ = try await reader.bytes(in: offset..<offset + 10)
          }
        }
        await Task.yield()
        reader.cancel()
        do { try await read.value } catch { #expect(error is CancellationError) }
      }
    }
  }

  @Test func `Blocking reads return the origin's bytes`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      let read = try await onThread {
        #expect(try reader.contentInformationBlocking().length == length)
        var all: [UInt8] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 7777, alignment: 1)
        defer { buffer.deallocate() }
        while true {
          let count = try reader.readBlocking(into: buffer, at: Int64(all.count))
          if count == 0 { return all }
          all += buffer[..<count]
        }
      }
      #expect(read == bytes.bytes(in: 0..<length))
    }
  }

  @Test func `Statistics separate bytes from disk and bytes from the origin`() async throws {
    try await withCache { test in
      var resource = OriginResource.synthetic(seed: 7, length: length)
      resource.headers.append(Field("Cache-Control", "max-age=100"))
      test.origin.serve(resource, at: "/a")
      _ = try await test.read("/a", 0..<65_536)
      // The bytes requested ahead are stored first; nothing more is requested.
      try await test.closed()
      let before = try await test.settledLog("/a").bodyBytesSent
      try await eventually("what was sent is not stored") {
        try await test.cache.entries().map(\.cachedBytes) == [before]
      }
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      _ = try await reader.bytes(in: 0..<length)
      let statistics = reader.statistics
      #expect(statistics.bytesRead == length)
      #expect(before >= 65_536)
      #expect(statistics.bytesFromDisk == before)
      #expect(statistics.bytesFromOrigin == length - before)
      #expect(statistics.requests >= 1)
    }
  }

  @Test func `Bytes read twice count once as bytes from disk`() async throws {
    try await withCache { test in
      var resource = OriginResource.synthetic(seed: 7, length: length)
      resource.headers.append(Field("Cache-Control", "max-age=100"))
      test.origin.serve(resource, at: "/a")
      _ = try await test.read("/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      _ = try await reader.bytes(in: 100..<length)
      _ = try await reader.bytes(in: 0..<200)
      _ = try await reader.bytes(in: 0..<length)
      let statistics = reader.statistics
      #expect(statistics.bytesRead == 2 * length + 100)
      #expect(statistics.bytesFromDisk == length)
    }
  }

  @Test func `A URL that is not an absolute HTTP or HTTPS URL is refused`() async throws {
    try await withCache { test in
      for text in ["file:///etc/passwd", "ftp://host/a", "http:///a", "a/b"] {
        let url = try #require(URL(string: text))
        await expectError(.badURL) { try await test.cache.open(Resource(url: url)) }
      }
    }
  }
}
