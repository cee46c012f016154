// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import Testing

@testable import RefrainProxy

/// What the cache has saved, today and in all.
@Suite(.timeLimit(.minutes(1))) struct PageSavingsTests {
  private func request(_ source: ServedRequest.Source, saved: Int64) -> ServedRequest {
    var request = ServedRequest(
      method: "GET", url: "https://example.org/a", status: 200, range: nil, bytesSent: 100,
      source: source, seconds: 0, client: "127.0.0.1", error: nil)
    request.bytesFromCache = saved
    return request
  }

  @Test func `A new day begins at zero, the sum goes on`() {
    var savings = PageSavings()
    let noon = Calendar.current.startOfDay(for: Date(timeIntervalSince1970: 1_800_000_000)) + 43_200
    savings.note(request(.hit, saved: 100), at: noon)
    savings.note(request(.partial, saved: 40), at: noon + 60)
    #expect(savings.today == .init(requests: 2, hits: 1, sent: 200, saved: 140))
    #expect(savings.all == savings.today)
    savings.turn(to: noon + 86_400)
    #expect(savings.today == .init())
    savings.note(request(.miss, saved: 0), at: noon + 86_400)
    #expect(savings.today == .init(requests: 1, hits: 0, sent: 100, saved: 0))
    #expect(savings.all == .init(requests: 3, hits: 1, sent: 300, saved: 140))
  }

  @Test func `What was counted since a state is added to another count once`() throws {
    var savings = PageSavings()
    let date = Date(timeIntervalSince1970: 1_800_000_000)
    savings.note(request(.hit, saved: 100), at: date)
    let before = savings
    savings.note(request(.stale, saved: 100), at: date)
    let news = savings.since(before)
    #expect(news.all.saved == 100 && news.today.hits == 1)
    let stored = try JSONDecoder().decode(
      PageSavings.self, from: try JSONEncoder().encode(before))
    var sum = news
    sum.add(stored)
    #expect(sum.all == savings.all && sum.today == savings.today)
  }

  private func withCache(_ body: (MediaCache) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: directory) }
    let cache = try MediaCache(directory: directory)
    try await body(cache)
    await cache.close()
  }

  /// Returns what a program finds that starts now.
  private func found(in cache: MediaCache) async -> PageSavings {
    let traffic = PageTraffic { Date() }
    await PageSavingsFile(cache, traffic).open()
    return traffic.savings
  }

  @Test(arguments: [.max, .min, -1, (1 << 53) + 1] as [Int64])
  func `A damaged file counts as none`(value: Int64) async throws {
    try await withCache { cache in
      let amount = #"{"requests":1,"hits":1,"saved":1,"sent":\#(value)}"#
      let whole = #"{"requests":1,"hits":1,"saved":1,"sent":1}"#
      for (all, today) in [(amount, whole), (whole, amount), (amount, amount)] {
        let traffic = PageTraffic { Date() }
        let file = PageSavingsFile(cache, traffic)
        let text = #"{"all":\#(all),"day":"\#(traffic.savings.day)","today":\#(today)}"#
        try cache.privateFiles.replace("savings.json", with: Array(text.utf8))
        await file.open()
        #expect(traffic.savings.all == .init())
        traffic.note(request(.hit, saved: 100))
        await file.save()
        #expect(await found(in: cache).all == .init(requests: 1, hits: 1, sent: 100, saved: 100))
      }
    }
  }

  @Test func `Savings that could not be written are written the next time, once`() async throws {
    try await withCache { cache in
      let traffic = PageTraffic { Date() }
      let file = PageSavingsFile(cache, traffic)
      await file.open()
      traffic.note(request(.hit, saved: 100))
      let path = cache.privateFiles.path(of: "savings.json")
      try FileManager.default.createDirectory(
        atPath: path + "/x", withIntermediateDirectories: true)
      await file.save()
      try FileManager.default.removeItem(atPath: path)
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<5 { group.addTask { await file.save() } }
      }
      #expect(await found(in: cache).all.saved == 100)
      traffic.note(request(.hit, saved: 100))
      await file.save()
      #expect(await found(in: cache).all.saved == 200)
    }
  }

  @Test func `The savings survive a restart, and count cached bytes once`() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    for round in 1...2 {
      try await withProxy(
        directory: directory, origin: origin,
        proxy: { configuration, _ in configuration.servesPage = true }
      ) { test in
        test.serve("/a", ["Cache-Control": "max-age=600"])
        for _ in 0..<2 { #expect(try await test.get("/a").status == 200) }
        let page = try #require(test.proxy.service.page)
        // The first request of all brought the bytes.
        let hits = Int64(round * 2 - 1)
        try await eventually("the requests are counted") {
          page.traffic.savings.all.requests == round * 2
        }
        #expect(page.traffic.savings.all.saved == hits * Caching.length)
        #expect(page.traffic.savings.all.hits == hits)
        #expect(page.traffic.sent == 2 * Caching.length)
      }
    }
    await origin.stop()
  }
}
