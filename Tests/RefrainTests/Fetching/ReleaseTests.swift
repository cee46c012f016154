// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A reader that leaves releases everything: fetches, waits, descriptors, connections, memory.
@Suite(.timeLimit(.minutes(1))) struct ReleaseTests {
  private let length: Int64 = 3_000_017

  private func resource(_ change: (inout OriginResource) -> Void = { _ in }) -> OriginResource {
    var resource = OriginResource.synthetic(seed: 7, length: length)
    change(&resource)
    return resource
  }

  /// Open files of this process below a directory.
  private func descriptors(below directory: URL) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd")) ?? []
    // Matched by its own unique name: the path to it may contain links.
    return names.compactMap(Self.file(ofDescriptor:)).filter {
      $0.contains(directory.lastPathComponent)
    }
  }

  /// The path of the file behind a descriptor.
  private static func file(ofDescriptor name: String) -> String? {
    #if canImport(Darwin)
      guard let descriptor = Int32(name) else { return nil }
      var path = [UInt8](repeating: 0, count: Int(PATH_MAX))
      guard fcntl(descriptor, F_GETPATH, &path) == 0 else { return nil }
      return String(decoding: path.prefix { $0 != 0 }, as: UTF8.self)
    #else
      return try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
    #endif
  }

  @Test func `Cancelled readers leave no open entry, request or file`() async throws {
    try await withCache { test in
      test.origin.serve(resource(), at: "/a")
      test.origin.script("/a", .on(.from(3), .stall(at: .body(1000), for: .milliseconds(50))))
      for round in 0..<10 {
        let reader = try await test.reader("/a", fill: round.isMultiple(of: 2) ? .onDemand : nil)
        let reads = (0..<4).map { index in
          Task { try await reader.bytes(in: Int64(index) * 700_000..<Int64(index) * 700_000 + 10) }
        }
        if round > 2 { try await test.origin.wait(for: "/a") { !$0.requests.isEmpty } }
        reader.cancel()
        for read in reads {
          do { _ = try await read.value } catch { #expect(error is CancellationError) }
        }
      }
      try await test.closed()
      try await test.origin.wait(for: "/a") { $0.running == 0 }
      #expect(descriptors(below: test.directory).isEmpty)
    }
  }

  @Test func `A released reader leaves no open entry or file`() async throws {
    try await withCache { test in
      test.origin.serve(resource(), at: "/a")
      do {
        let reader = try await test.reader("/a", fill: .wholeResource)
        _ = try await reader.bytes(in: 0..<10)
      }
      try await test.closed()
      #expect(descriptors(below: test.directory).isEmpty)
    }
  }

  @Test func `A whole response without readers is closed`() async throws {
    let origin = try await OriginServer.start(sendBuffer: 64 << 10)
    try await withCache(origin: origin) { test in
      for round in 0..<20 {
        let path = "/\(round)"
        origin.serve(resource { $0.supportsRanges = false }, at: path)
        // The reader leaves before, while, or after the head arrives.
        if round.isMultiple(of: 3) { origin.script(path, .on(.all, .delay(.milliseconds(5)))) }
        let reader = try await test.reader(path)
        let read = Task { try await reader.waitUntilReadable(at: 0) }
        if round.isMultiple(of: 2) {
          try await origin.wait(for: path) { !$0.requests.isEmpty }
        } else {
          _ = await read.result
        }
        reader.cancel()
        _ = await read.result
      }
      try await test.closed()
      for round in 0..<20 { try await origin.wait(for: "/\(round)") { $0.running == 0 } }
    }
    await origin.stop()
  }

  /// The response asks for a retry in an hour; no reader waits that long.
  @Test func `A pending retry ends when its last reader is cancelled`() async throws {
    try await withCache({ $0.retry.longestDelay = .seconds(3600) }) { test in
      test.origin.serve(resource(), at: "/a")
      let reader = try await test.reader("/a")
      _ = try await reader.bytes(in: 0..<10)
      let before = try await test.settledLog("/a").requests.count
      test.origin.script("/a", .on(.all, .unavailable(.seconds(3600))))
      let read = Task { try await reader.bytes(in: 500_000..<500_010) }
      try await test.origin.wait(for: "/a") { $0.requests.count == before + 1 && $0.running == 0 }
      reader.cancel()
      await #expect(throws: CancellationError.self) { try await read.value }
      try await test.closed()
      #expect(test.origin.log("/a").requests.count == before + 1)
    }
  }

  @Test func `A stalled fetch ends when its last reader is cancelled`() async throws {
    for fault in [Fault.stall(at: .body(1000)), .delay(nil)] {
      try await withCache { test in
        test.origin.serve(resource(), at: "/a")
        test.origin.script("/a", .on(.from(2), fault))
        let reader = try await test.reader("/a")
        _ = try await reader.bytes(in: 0..<10)
        let read = Task { try await reader.bytes(in: 500_000..<502_000) }
        try await test.origin.wait(for: "/a") { $0.stalled == 1 }
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await read.value }
        try await test.closed()
      }
    }
  }

  @Test func `A cancelled task ends its wait, and its reader stays usable`() async throws {
    try await withCache { test in
      test.origin.serve(resource(), at: "/a")
      test.origin.script("/a", .on(.number(1), .delay(nil)))
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      for _ in 0..<20 {
        let read = Task { try await reader.bytes(in: 0..<10) }
        if Bool.random() { await Task.yield() }
        read.cancel()
        await #expect(throws: CancellationError.self) { try await read.value }
      }
      let read = Task { try await reader.bytes(in: 0..<10) }
      try await test.origin.wait(for: "/a") { $0.stalled == 1 }
      test.origin.release("/a")
      try await #expect(read.value.count == 10)
    }
  }

  @Test func `Closing the cache ends open readers in tasks and on threads`() async throws {
    try await withCache { test in
      test.origin.serve(resource(), at: "/a")
      test.origin.script("/a", .on(.all, .delay(nil)))
      let reader = try await test.reader("/a", fill: .wholeResource)
      let waiting = Task { try await reader.bytes(in: 0..<10) }
      let blocking = Task { try await onThread { try reader.contentInformationBlocking() } }
      try await eventually("both wait") {
        test.cache.table.openEntries.first?.current?
          .withState { $0.readers.waiters.count } ?? 0 >= 3
      }
      await test.cache.close()
      await expectError(.closed) { try await waiting.value }
      await expectError(.closed) { try await blocking.value }
      await expectError(.closed) { try await test.reader("/a") }
      #expect(test.cache.table.isEmpty)
    }
  }

  /// Entries that are being opened when the cache is closed end, too.
  @Test func `Closing the cache finishes while readers are being opened`() async throws {
    for _ in 0..<30 {
      try await withCache { test in
        test.origin.serve(resource(), at: "/a")
        let opening = (0..<4).map { index in
          Task { try await test.reader("/\(index)") }
        }
        if Bool.random() { await Task.yield() }
        await test.cache.close()
        for task in opening {
          if let reader = try? await task.value {
            await #expect(throws: MediaCacheError.self) { try await reader.bytes(in: 0..<10) }
          }
        }
        #expect(test.cache.table.isEmpty)
      }
    }
  }

  @Test func `A released cache releases its transport`() async throws {
    final class Watched: Transport, Sendable {
      #if os(Linux)
        let base = CurlTransport()
      #else
        let base = URLSessionTransport()
      #endif
      func send(_ request: OriginRequest) async throws -> OriginResponse {
        try await base.send(request)
      }
    }
    weak var held: Watched?
    do {
      let transport = Watched()
      held = transport
      try await withCache({ $0.transport = transport }) { test in
        test.origin.serve(resource(), at: "/a")
        test.origin.script("/a", .on(.number(2), .drop(at: .body(1000))))
        _ = try await test.read("/a")
        let reader = try await test.reader("/a", fill: .wholeResource)
        _ = try await reader.bytes(in: 0..<10)
      }
    }
    try await eventually("nothing holds the transport") { held == nil }
  }
}
