// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainServer

/// The changes that the page asks for, and the rows that show them.
@Suite(.timeLimit(.minutes(1))) struct PageActionTests {
  private func add(_ test: TestProxy, _ path: String, pin: Bool = false) async throws {
    let url = test.origin.url(path).absoluteString
    let reply = try await test.change(#"{"action":"add","url":"\#(url)","pin":\#(pin)}"#)
    #expect(reply.status == 200, "\(reply.text)")
  }

  private func wait(
    _ page: Page, for state: PageDownloads.Item.State, of key: CacheKey
  ) async throws -> PageDownloads.Item {
    try await eventually("\(key) is \(state)") { page.downloads.items[key]?.state == state }
    return try #require(page.downloads.items[key])
  }

  private func waitForEnd(_ page: Page, of key: CacheKey) async throws {
    try await eventually("the download of \(key) has ended") { page.downloads.items[key] == nil }
  }

  @Test func `A download pauses, goes on where it was, and is cancelled`() async throws {
    try await withPage { test, page async throws in
      test.origin.serve(.synthetic(seed: 3, length: 4 << 20), at: "/big")
      test.origin.script("/big", .on(.first(1), .stall(at: .body(1 << 20))))
      try await add(test, "/big")
      let key = test.key("/big")
      try await eventually("the first MiB arrives") {
        try await test.cache.progress(of: key).storedBytes > 0
      }
      let pause = #"{"action":"pause","key":"\#(key.rawValue)"}"#
      #expect(try await test.change(pause).status == 200)
      _ = try await wait(page, for: .paused, of: key)
      #expect(try await test.change(pause).status == 409)
      let row = try #require(try await test.rows()["big"]?["download"] as? [String: Any])
      #expect(row["state"] as? String == "paused")
      let before = try await test.cache.progress(of: key).storedBytes
      #expect(before > 0)
      // A reader that comes in time joins the fetch that stalls.
      _ = try await test.settledLog("/big")
      try await add(test, "/big")
      try await waitForEnd(page, of: key)
      #expect(try await test.cache.progress(of: key).isComplete)
      test.origin.script("/other", .on(.all, .stall(at: .body(1))))
      test.origin.serve(.synthetic(seed: 4, length: 1000), at: "/other")
      try await add(test, "/other")
      let cancel = #"{"action":"cancel","key":"\#(test.key("/other").rawValue)"}"#
      #expect(try await test.change(cancel).status == 200)
      #expect(page.downloads.items.isEmpty)
      #expect(try await test.change(cancel).status == 404)
      #expect(try await test.rows()["big"] != nil)
    }
  }

  @Test func `A download that is to be pinned while it runs is pinned as a whole`() async throws {
    try await withPage { test, page async throws in
      test.origin.serve(.synthetic(seed: 4, length: 1 << 20), at: "/x")
      test.origin.script("/x", .on(.first(1), .stall(at: .body(1000))))
      try await add(test, "/x")
      try await test.origin.wait(for: "/x") { $0.stalled == 1 }
      try await add(test, "/x", pin: true)
      #expect(page.downloads.items[test.key("/x")]?.isPinned == true)
      test.origin.release("/x")
      try await waitForEnd(page, of: test.key("/x"))
      let summary = try await test.cache.entry(for: test.key("/x"))
      #expect(summary?.isPinned == true && summary?.isComplete == true)
    }
  }

  @Test func `A failed download shows the error with its remedy`() async throws {
    try await withPage { test, page async throws in
      test.origin.script("/gone", .on(.all, .status(404)))
      try await add(test, "/gone")
      let item = try await wait(page, for: .failed, of: test.key("/gone"))
      #expect(item.error?.contains("404") == true)
      // Nothing is stored of it, and it has a row.
      let row = try #require(try await test.rows()["gone"]?["download"] as? [String: Any])
      #expect(row["error"] as? String == item.error)
    }
  }

  @Test(arguments: [false, true])
  func `A live stream is refused, and its playlist is as pinned as before`(
    wasPinned: Bool
  ) async throws {
    try await withPage { test, page async throws in
      test.serve(
        "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\ns0.ts\n", at: "/live.m3u8",
        headers: [Field("Cache-Control", "max-age=600")])
      if wasPinned { try await test.cache.pin(Resource(url: test.origin.url("/live.m3u8"))) }
      try await add(test, "/live.m3u8", pin: true)
      let item = try await wait(page, for: .failed, of: test.key("/live.m3u8"))
      #expect(item.error?.contains("live stream") == true)
      let isPinned = try await test.cache.entry(for: test.key("/live.m3u8"))?.isPinned ?? false
      #expect(isPinned == wasPinned)
    }
  }

  @Test func `A row is pinned, unpinned and removed`() async throws {
    try await withPage { test, _ async throws in
      test.serve("/a", ["Cache-Control": "max-age=600"])
      #expect(try await test.get("/a").status == 200)
      #expect(try await test.get("/a").status == 200)
      let key = test.key("/a").rawValue
      #expect(try await test.change(#"{"action":"pin","key":"\#(key)"}"#).status == 200)
      #expect(try await test.cache.entry(for: test.key("/a"))?.isPinned == true)
      #expect(try await test.change(#"{"action":"unpin","key":"\#(key)"}"#).status == 200)
      #expect(try await test.cache.entry(for: test.key("/a"))?.isPinned == false)
      #expect(try await test.change(#"{"action":"remove","key":"\#(key)"}"#).status == 200)
      #expect(try await test.rows().isEmpty)
      for action in ["remove", "pin", "unpin"] {
        let reply = try await test.change(#"{"action":"\#(action)","key":"\#(key)"}"#)
        #expect(reply.status == 404 && reply.refusal != nil, "\(action)")
      }
      // It was held open for fast responses.
      #expect(try await test.get("/a").status == 200)
      #expect(try await test.asked("/a") == 2)
    }
  }

  @Test func `Removing a row during a fill leaves no old byte`() async throws {
    try await withPage { test, _ async throws in
      let fields = ["Cache-Control": "max-age=600"]
      test.serve("/a", 2, fields)
      test.origin.script(
        "/a",
        .on(.number(1), .answerFrom(Caching.resource(1, fields)), .stall(at: .body(700))))
      async let early = test.get("/a")
      try await test.origin.wait(for: "/a") { $0.stalled == 1 }
      try await eventually("bytes are stored") {
        try await test.cache.entry(for: test.key("/a"))?.cachedBytes == 700
      }
      let key = test.key("/a").rawValue
      #expect(try await test.change(#"{"action":"remove","key":"\#(key)"}"#).status == 200)
      #expect(try await test.get("/a").body == Caching.bytes(2))
      test.origin.release("/a")
      let reply = try await early
      #expect(reply.body == Caching.bytes(1) && reply.isComplete)
      #expect(try await test.get("/a").body == Caching.bytes(2))
      #expect(try await test.asked("/a") == 2)
      let file = try #require(try await test.cache.completeFile(for: test.key("/a")))
      #expect(try Data(contentsOf: file) == Data(Caching.bytes(2)))
    }
  }

  @Test func `A stream is added, shown, pinned and removed as one row`() async throws {
    try await withPage { test, page async throws in
      let entry = "#EXT-X-STREAM-INF:BANDWIDTH="
      test.serve(
        "#EXTM3U\n\(entry)1000000,RESOLUTION=640x360\nlow.m3u8\n"
          + "\(entry)4000000,RESOLUTION=1920x1080\nhigh.m3u8\n", at: "/main.m3u8")
      for list in ["low", "high"] {
        test.serve(
          "#EXTM3U\n#EXTINF:4,\n\(list)0.ts\n#EXTINF:6,\n\(list)1.ts\n#EXT-X-ENDLIST\n",
          at: "/\(list).m3u8")
        for index in 0..<2 {
          test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/\(list)\(index).ts")
        }
      }
      try await add(test, "/main.m3u8")
      try await waitForEnd(page, of: test.key("/main.m3u8"))
      // The two segments of the best variant. Their last bytes are counted a moment later.
      try await eventually("both parts are shown") {
        let rows = try await test.rows()
        return rows.count == 1 && rows["main.m3u8"]?["parts"] as? Int == 2
      }
      let key = test.key("/main.m3u8").rawValue
      #expect(try await test.change(#"{"action":"pin","key":"\#(key)"}"#).status == 200)
      // Rows change at most four times a second.
      try await eventually("the row is shown as pinned") {
        try await test.rows()["main.m3u8"]?["pinned"] as? String == "yes"
      }
      #expect(try await test.change(#"{"action":"remove","key":"\#(key)"}"#).status == 200)
      #expect(try await test.cache.entries().isEmpty)
    }
  }
}
