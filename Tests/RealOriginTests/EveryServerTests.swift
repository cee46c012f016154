// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import TestSupport
import Testing

/// Properties of every server: the right bytes, cold, warm, interrupted, changed, gone.
@Suite(.timeLimit(.minutes(2)))
struct EveryServerTests {
  private let name = "tune.flac"
  private let content = testBytes(3_000_017, seed: 1)

  @Test(arguments: RealServer.usable)
  func `A cold read returns the file, and a warm read fetches nothing`(
    _ server: RealServer
  ) async throws {
    try await withRealOrigin(server) { origin in
      try origin.put(name, content)
      let resource = try origin.resource(name)
      let cold = try await origin.withCache { try await $0.read(resource) }
      #expect(isSame(cold.bytes, content))
      #expect(cold.statistics.bytesFromOrigin == Int64(content.count))
      #expect(cold.statistics.bytesFromDisk == 0)

      let warm = try await origin.withCache { try await $0.read(resource) }
      #expect(isSame(warm.bytes, content))
      #expect(warm.statistics.requests == 0)
      #expect(warm.statistics.bytesFromOrigin == 0)
      #expect(warm.statistics.bytesFromDisk == Int64(content.count))
    }
  }

  @Test(arguments: RealServer.usable)
  func `A stale entry is confirmed by one request without a body`(
    _ server: RealServer
  ) async throws {
    try await withRealOrigin(server) { origin in
      try origin.put(name, content, modified: .recentlyModified)
      let resource = try origin.resource(name)
      _ = try await origin.withCache { try await $0.read(resource) }
      try await origin.letReadFilesGoStale()
      let again = try await origin.withCache { try await $0.read(resource) }
      #expect(isSame(again.bytes, content))
      #expect(again.statistics.requests == 1)
      #expect(again.statistics.bytesFromOrigin == 0)
    }
  }

  @Test(arguments: RealServer.usable)
  func `A prefetched file is stored as an ordinary file and not fetched again`(
    _ server: RealServer
  ) async throws {
    try await withRealOrigin(server) { origin in
      try origin.put(name, content)
      try await origin.withCache { cache in
        let resource = try origin.resource(name)
        let received = Mutex<Int64>(0)
        let information = try await cache.prefetch(resource) { progress in
          received.withLock { $0 = progress.bytesFromOrigin }
        }
        #expect(information.length == Int64(content.count))
        #expect(information.supportsRanges == server.hasRanges)
        #expect(received.withLock { $0 } == Int64(content.count))
        let file = try #require(try await cache.completeFile(for: cache.key(for: resource)))
        #expect(file.pathExtension == "flac")
        #expect(isSame(try Data(contentsOf: file), content))
        try await cache.prefetch(resource) { progress in
          received.withLock { $0 = progress.bytesFromOrigin }
        }
        #expect(received.withLock { $0 } == 0)
      }
    }
  }

  @Test(arguments: RealServer.usable)
  func `Ranges in the middle and past the end return the file's bytes`(
    _ server: RealServer
  ) async throws {
    try await withRealOrigin(server) { origin in
      try origin.put(name, content)
      try await origin.withCache { cache in
        let part = try await cache.read(origin.resource(name), 2_000_001..<2_100_001)
        #expect(isSame(part.bytes, content[2_000_001..<2_100_001]))
        if server.hasRanges { #expect(part.statistics.bytesFromOrigin <= 256 << 10) }
        let end = try await cache.read(origin.resource(name), 3_000_000..<4_000_000)
        #expect(isSame(end.bytes, content[3_000_000...]))
      }
    }
  }

  @Test(arguments: RealServer.usable)
  func `A later read continues where a stopped player left off`(_ server: RealServer) async throws {
    try await withRealOrigin(server) { origin in
      try origin.put(name, content)
      let resource = try origin.resource(name)
      let received = try await origin.withCache { cache in
        let reader = try await cache.open(resource)
        let (signals, signal) = AsyncStream<Void>.makeStream()
        let player = Task {
          defer { reader.cancel() }
          var bytes = Data()
          for try await chunk in reader.chunks(in: nil) {
            bytes += chunk
            if bytes.count < 600_000 { continue }
            signal.finish()
            // Paused until it is stopped.
            try await Task.sleep(for: .seconds(100))
          }
        }
        for await _ in signals {}
        player.cancel()
        await #expect(throws: CancellationError.self) { try await player.value }
        await cache.close()
        return reader.statistics.bytesFromOrigin
      }
      let stored = try await origin.storedBytes(name)
      #expect(stored >= 600_000)
      #expect(stored < Int64(content.count))
      #expect(received - stored <= 256 << 10)

      let rest = try await origin.withCache { try await $0.read(resource) }
      #expect(isSame(rest.bytes, content))
      if server.hasRanges {
        #expect(rest.statistics.bytesFromOrigin == Int64(content.count) - stored)
      } else {
        #expect(rest.statistics.bytesFromOrigin <= Int64(content.count))
      }
    }
  }

  @Test(arguments: RealServer.usable)
  func `A read continues where it broke off after a server restart`(
    _ server: RealServer
  ) async throws {
    try await withRealOrigin(server) { origin in
      let content = testBytes(12_000_000, seed: 2)
      try origin.put(name, content)
      try await origin.withCache {
        $0.retry.attempts = 10_000
        $0.retry.firstAttempts = 10_000
      } _: { cache in
        // nginx sends slowly here, so that it dies in the middle of a response.
        let path = server == .nginx ? "slow/" + name : name
        let reader = try await cache.open(origin.resource(path))
        defer { reader.cancel() }
        let half: Int64 = 3_000_000
        let first = try await reader.bytes(0..<half)
        await origin.kill()
        let rest = Task { try await reader.bytes(half..<Int64.max) }
        try await origin.startAgain()
        let second = try await rest.value
        #expect(isSame(first + second, content))
        if server.hasRanges {
          #expect(reader.statistics.bytesFromOrigin == Int64(content.count))
        }
      }
    }
  }

  @Test(arguments: RealServer.usable)
  func `A replaced file returns its new bytes when it is opened again`(
    _ server: RealServer
  ) async throws {
    let lengths = [
      (1_000_000, 1_000_000), (1_000_000, 700_000), (700_000, 1_000_000), (300_000, 0),
      (0, 300_000),
    ]
    func content(_ number: Int, _ length: Int, isNew: Bool) -> Data {
      testBytes(length, seed: UInt64(number * 2 + (isNew ? 21 : 20)))
    }
    try await withRealOrigin(server) { origin in
      for (number, (old, _)) in lengths.enumerated() {
        let bytes = content(number, old, isNew: false)
        try origin.put("\(number).flac", bytes, modified: .recentlyModified)
        let resource = try origin.resource("\(number).flac")
        let before = try await origin.withCache { try await $0.read(resource) }
        #expect(isSame(before.bytes, bytes))
      }
      for (number, (_, new)) in lengths.enumerated() {
        try origin.put("\(number).flac", content(number, new, isNew: true), modified: Date())
      }
      try await origin.letReadFilesGoStale()
      for (number, (old, new)) in lengths.enumerated() {
        for _ in 0..<2 {
          let resource = try origin.resource("\(number).flac")
          let after = try await origin.withCache { try await $0.read(resource) }
          #expect(isSame(after.bytes, content(number, new, isNew: true)), "\(old) → \(new)")
        }
      }
    }
  }

  @Test(arguments: RealServer.usable)
  func `A read ends with an error if the restarted server has another file`(
    _ server: RealServer
  ) async throws {
    try await withRealOrigin(server) { origin in
      let (old, new) = (testBytes(12_000_000, seed: 6), testBytes(12_000_000, seed: 7))
      try origin.put(name, old, modified: .recentlyModified)
      try await origin.withCache {
        $0.retry.attempts = 10_000
        $0.retry.firstAttempts = 10_000
      } _: { cache in
        let reader = try await cache.open(origin.resource(name))
        defer { reader.cancel() }
        var bytes = try await reader.bytes(0..<1_000_000)
        await origin.kill()
        try origin.put(name, new, modified: Date())
        try await origin.startAgain()
        do {
          for try await chunk in reader.chunks(in: 1_000_000..<Int64.max) { bytes += chunk }
          Issue.record("The file was read to its end: \(isSame(bytes, old)).")
        } catch let error as MediaCacheError {
          #expect(error.code == .resourceChanged)
        }
        #expect(bytes.count >= 1_000_000)
        #expect(isSame(bytes, old.prefix(bytes.count)))
        let after = try await cache.read(origin.resource(name))
        #expect(isSame(after.bytes, new))
      }
    }
  }

  @Test(arguments: RealServer.usable)
  func `A reader never mixes old and new bytes of a replaced file`(
    _ server: RealServer
  ) async throws {
    try await withRealOrigin(server) { origin in
      let (old, new) = (testBytes(12_000_000, seed: 4), testBytes(12_000_000, seed: 5))
      try origin.put(name, old, modified: .recentlyModified)
      let resource = try origin.resource(name)
      try await origin.withCache { cache in
        let reader = try await cache.open(resource)
        defer { reader.cancel() }
        var bytes = Data()
        do {
          for try await chunk in reader.chunks(in: nil) {
            let isFirst = bytes.isEmpty
            bytes += chunk
            if isFirst { try origin.put(name, new, modified: Date()) }
          }
          // A server that has the old file open sends it to its end.
          #expect(isSame(bytes, old))
        } catch let error as MediaCacheError {
          #expect(error.code == .resourceChanged)
          #expect(isSame(bytes, old.prefix(bytes.count)))
        }
      }
      // While the resource is open, the origin's first response holds; the next open asks the
      // origin again.
      try await origin.letReadFilesGoStale()
      let after = try await origin.withCache { try await $0.read(resource) }
      #expect(isSame(after.bytes, new), "\(difference(after.bytes, old: old, new: new))")
    }
  }

  @Test(arguments: RealServer.usable)
  func `Without the server, stored bytes play, and missing ones are an error`(
    _ server: RealServer
  ) async throws {
    try await withRealOrigin(server) { origin in
      try origin.put(name, content, modified: .recentlyModified)
      try origin.put("part.flac", content, modified: .recentlyModified)
      try await origin.withCache { cache in
        _ = try await cache.read(origin.resource(name))
        _ = try await cache.read(origin.resource("part.flac"), 0..<500_000)
      }
      await origin.kill()
      // The playing resource is stale now.
      try await origin.letReadFilesGoStale()
      try await origin.withCache { cache in
        let whole = try await cache.read(origin.resource(name))
        #expect(isSame(whole.bytes, content))
        let part = try await cache.read(origin.resource("part.flac"), 0..<500_000)
        #expect(isSame(part.bytes, content.prefix(500_000)))
        let error = await #expect(throws: MediaCacheError.self) {
          _ = try await cache.read(origin.resource("part.flac"))
        }
        #expect(error?.code == .unreachable)
        #expect(error?.remedy.isEmpty == false)
      }
    }
  }

  @Test(arguments: RealServer.usable)
  func `An empty file is stored as empty, and read without the server`(
    _ server: RealServer
  ) async throws {
    try await withRealOrigin(server) { origin in
      try origin.put("empty.flac", Data())
      let resource = try origin.resource("empty.flac")
      for _ in 0..<2 {
        try await origin.withCache { cache in
          let reader = try await cache.open(resource)
          defer { reader.cancel() }
          try await #expect(reader.bytes().isEmpty)
          try await #expect(reader.contentInformation().length == 0)
          try await cache.prefetch(resource)
        }
      }
      await origin.kill()
      try await origin.withCache { cache in
        try await #expect(cache.read(resource).bytes.isEmpty)
        let file = try #require(try await cache.completeFile(for: cache.key(for: resource)))
        try #expect(Data(contentsOf: file).isEmpty)
      }
    }
  }

  @Test(arguments: RealServer.usable)
  func `A file with special characters in its name is read`(_ server: RealServer) async throws {
    let names = [
      "with spaces and + plus.flac", "100% %41 %2F.flac", "Übergrößenträger 東京 🎵.flac",
      "a?b#c&d=e;f.flac", "'quotes' \"and\" [brackets] {braces}|\\^`.flac", "~tilde!$(),*:@.flac",
    ]
    try await withRealOrigin(server) { origin in
      try await origin.withCache { cache in
        for (number, name) in names.enumerated() {
          let bytes = testBytes(70_000 + number, seed: UInt64(10 + number))
          try origin.put(name, bytes)
          // Three spellings: minimal encoding, full encoding, and as a person would type it.
          let least = name.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed)
          let most = name.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
          for spelling in [try #require(least), most] {
            let read = try await cache.read(origin.resource(spelling))
            #expect(isSame(read.bytes, bytes), "\(spelling)")
          }
        }
        let spelled = try #require(URL(text: "\(origin.url(""))with spaces and + plus.flac"))
        let read = try await cache.read(Resource(url: spelled, headers: server.headers))
        #expect(isSame(read.bytes, testBytes(70_000, seed: 10)))
      }
    }
  }

  @Test(arguments: RealServer.usable)
  func `A missing file is reported as a 404 and not stored`(_ server: RealServer) async throws {
    try await withRealOrigin(server) { origin in
      try await origin.withCache { cache in
        let error = await #expect(throws: MediaCacheError.self) {
          _ = try await cache.read(origin.resource("nothing.flac"))
        }
        #expect(error?.status == 404)
        try await #expect(cache.entries().isEmpty)
      }
    }
  }
}

/// Compares without a failing `#expect` printing megabytes.
func isSame(_ left: Data, _ right: Data) -> Bool { left == right }

/// Describes the bytes that were read instead of the new ones.
private func difference(_ bytes: Data, old: Data, new: Data) -> String {
  if isSame(bytes, old) { return "the old bytes, all of them" }
  if isSame(bytes, old.prefix(bytes.count)) { return "the first \(bytes.count) old bytes" }
  if isSame(bytes, new.prefix(bytes.count)) { return "the first \(bytes.count) new bytes" }
  return "\(bytes.count) bytes, mixed"
}
