// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1))) struct EventTests {
  private let length: Int64 = 300_007

  @Test func `The event stream reports reads and fetches and ends with the cache`() async throws {
    try await withCache { test in
      var resource = OriginResource.synthetic(seed: 7, length: length)
      resource.headers.append(Field("Cache-Control", "max-age=100"))
      test.origin.serve(resource, at: "/a")
      let key = CacheKey(url: test.origin.url("/a"))
      let events = test.cache.events()
      _ = try await test.read("/a")
      _ = try await test.read("/a")
      _ = await #expect(throws: MediaCacheError.self) { try await test.read("/missing") }
      await test.cache.close()
      var opened: [CacheKey] = []
      var started = RangeSet<Int64>()
      var running = 0
      var received = 0
      var served = 0
      var committed = RangeSet<Int64>()
      var failed: [MediaCacheError] = []
      for await event in events {
        switch event {
        case .opened(let key): opened.append(key)
        case .fetchStarted(let of, let range):
          running += 1
          if of == key { started.insert(contentsOf: range) }
        case .fetchFinished: running -= 1
        case .received(_, let count): received += count
        case .servedFromDisk(_, let count): served += count
        case .committed(let of, let range):
          #expect(of == key)
          committed.insert(contentsOf: range)
        case .failed(_, let error): failed.append(error)
        case .generationChanged, .evicted, .warning, .streamTitle, .retrying:
          Issue.record("\(event)")
        }
      }
      #expect(opened.filter { $0 == key }.count >= 1)
      #expect(running == 0)
      #expect(committed == RangeSet(0..<length))
      #expect(committed.subtracting(started).isEmpty)
      #expect(received == Int(length))
      #expect(served == Int(length))
      #expect(failed.map(\.status) == [404])
    }
  }

  @Test func `A request does not run any more once its end is reported`() async throws {
    try await withCache { test in
      let count = 100
      for number in 0..<count {
        test.origin.serve(.synthetic(seed: 7, length: 1000), at: "/\(number)")
      }
      let events = test.cache.events(includingTraffic: false)
      let reading = Task {
        for number in 0..<count { _ = try await test.read("/\(number)") }
        await test.cache.close()
      }
      var ended = 0
      for await event in events {
        guard case .fetchFinished(let key, _, _) = event else { continue }
        ended += 1
        #expect(test.cache.fetchingRanges(of: key).isEmpty)
      }
      try await reading.value
      #expect(ended == count)
    }
  }

  @Test func `A retried failure is reported with its error`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      test.origin.script("/a", .on(.first(1), .unavailable()))
      let events = test.cache.events(includingTraffic: false)
      _ = try await test.read("/a")
      await test.cache.close()
      var reasons: [Int?] = []
      for await event in events {
        if case .retrying(let key, let error, let delay) = event {
          #expect(key == CacheKey(url: test.origin.url("/a")) && delay > .zero)
          reasons.append(error.status)
        }
      }
      #expect(reasons == [503])
    }
  }

  @Test func `A change of the resource is reported once`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      _ = try await reader.bytes(in: 0..<10)
      let events = test.cache.events()
      test.origin.serve(.synthetic(seed: 8, length: length), at: "/a")
      _ = await #expect(throws: MediaCacheError.self) {
        try await reader.bytes(in: 200_000..<200_010)
      }
      _ = try await test.read("/a")
      await test.cache.close()
      var changes = 0
      for await event in events { if case .generationChanged = event { changes += 1 } }
      #expect(changes == 1)
    }
  }

  @Test func `A listener receives events while other listeners stop`() async throws {
    let streams = EventStreams()
    for _ in 0..<200 {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<3 {
          group.addTask { _ = streams.stream(includingTraffic: true) }
        }
        group.addTask {
          let stream = streams.stream(includingTraffic: true)
          streams.send(.warning("heard"))
          for await _ in stream { return }
        }
      }
    }
  }

  @Test func `An event stream without traffic reports all other events`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 1, length: 100_000), at: "/a.mp3")
      let (quiet, all) = (test.cache.events(includingTraffic: false), test.cache.events())
      _ = try await test.read("/a.mp3")
      _ = try await test.read("/a.mp3")
      await test.cache.close()
      var told: [[CacheEvent]] = []
      for events in [quiet, all] {
        var list: [CacheEvent] = []
        for await event in events { list.append(event) }
        told.append(list)
      }
      let isTraffic: (CacheEvent) -> Bool = {
        switch $0 {
        case .received, .committed, .servedFromDisk: true
        default: false
        }
      }
      #expect(told[1].contains(where: isTraffic))
      #expect(!told[0].contains(where: isTraffic))
      #expect(told[0].count == told[1].filter { !isTraffic($0) }.count)
      #expect(!told[0].isEmpty)
    }
  }
}
