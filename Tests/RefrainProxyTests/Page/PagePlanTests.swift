// SPDX-License-Identifier: MIT
import Refrain
import Testing

@testable import RefrainProxy

/// The strips of streams by what their playlists name.
@Suite struct PagePlanTests {
  private func part(_ name: String, _ range: ByteRange? = nil) -> PagePlan.Part {
    PagePlan.Part(keys: [CacheKey(rawValue: name)], range: range)
  }

  private func plan(_ sections: [[String]]...) -> PagePlan {
    var plan = PagePlan(manifests: [CacheKey(rawValue: "m")])
    for section in sections { plan.append(section.map { $0.map { part($0) } }) }
    return plan
  }

  private func strip(_ plan: PagePlan, _ entries: [PageEntry]) -> PagePlan.Strip? {
    let stored = Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0) })
    return plan.strip { stored[$0] }
  }

  private func whole(_ name: String) -> PageEntry {
    PageModelTests.entry(name, spans: [0..<1000], stream: "m")
  }

  @Test func `A strip shows what is missing, in the order of the playlist`() throws {
    var partly = PageModelTests.entry("s3", spans: [0..<500], stream: "m")
    partly.fetching = [500..<1000]
    var read = whole("s10")
    read.readers = [3]
    let drawn = try #require(
      strip(plan([["s10", "s9", "s1", "s3", "s2"]]), [partly, read, whole("s9"), whole("s2")]))
    #expect(drawn.length == 5 && drawn.whole == 3)
    #expect(drawn.spans == [0..<2, 4..<5])
    #expect(drawn.fetching == [3..<4] && drawn.readers == [0])
  }

  @Test func `Of several variants, the most complete one counts, in each period apart`() throws {
    let entries = ["a2", "b1", "b2", "c1", "d2"].map(whole)
    let drawn = try #require(
      strip(
        plan(
          [["a1", "a2", "a3"], ["b1", "b2", "b3"]], [["c1", "c2", "c3", "c4"], ["d1", "d2"]]),
        entries))
    #expect(drawn.length == 5 && drawn.whole == 3)
    #expect(drawn.spans == [0..<2, 4..<5])
  }

  @Test func `A plan without parts draws no strip`() {
    #expect(strip(plan(), [whole("a")]) == nil)
    #expect(strip(plan([[]]), [whole("a")]) == nil)
  }

  @Test func `A part that is a range is whole if the range is stored`() throws {
    var plan = PagePlan(manifests: [])
    plan.append([[part("f", 0..<100), part("f", 200..<300), part("f", 900..<2000)]])
    var entry = PageModelTests.entry("f", spans: [0..<150, 250..<300, 900..<1000])
    entry.readers = [260]
    entry.fetching = [150..<210]
    let drawn = try #require(strip(plan, [entry]))
    #expect(drawn.spans == [0..<1, 2..<3] && drawn.fetching == [1..<2] && drawn.readers == [1])
  }

  @Test func `A part may be stored under each of its keys`() throws {
    var plan = PagePlan(manifests: [])
    plan.append([[.init(keys: [CacheKey(rawValue: "x"), CacheKey(rawValue: "y")])]])
    #expect(strip(plan, [whole("y")])?.whole == 1)
  }

  @Test func `A stream is outdated when one of its entries changes, until it is drawn`() throws {
    var model = PageModel()
    let key = CacheKey(rawValue: "m")
    model.apply([PageModelTests.entry("m"), whole("s1"), PageModelTests.entry("song")])
    let taken = [model.takeOutdated(10), model.takeOutdated(10)]
    #expect(taken == [[key], []])
    let seen = model.version
    let isCurrent = model.draw(plan([["s1", "s2"]]), of: key)
    #expect(isCurrent)
    let row = try #require(model.difference(since: seen)?.rows.first)
    #expect(row.parts == 1 && row.length == 2 && row.spans == [0..<1])
    let marks = model.marks(of: [key, CacheKey(rawValue: "none")])
    #expect(marks == [PagePlan.Mark(length: 1000, stored: 0), nil])
    model.apply([whole("s2")])
    let isStillCurrent = model.draw(plan([["s1", "s2"]]), of: key)
    #expect(!isStillCurrent)
    #expect(model.difference(since: 0)?.rows.first { $0.key == key }?.parts == 2)
    // Without its parts it is no stream.
    model.apply([], removing: ["s1", "s2"].map { CacheKey(rawValue: $0) })
    let rest = model.takeOutdated(10)
    #expect(rest.isEmpty)
    #expect(model.difference(since: 0)?.rows.allSatisfy { $0.parts == nil } == true)
  }

  @Test func `The streams that were used last are drawn first`() {
    var model = PageModel()
    for number in 0..<5 {
      model.apply([
        PageModelTests.entry("m\(number)", used: Int64(number)),
        PageModelTests.entry("s\(number)", stream: "m\(number)"),
      ])
    }
    let taken = [model.takeOutdated(3), model.takeOutdated(3)].map { $0.map(\.rawValue) }
    #expect(taken == [["m4", "m3", "m2"], ["m1", "m0"]])
  }

  @Test func `Only the plans that were used last are kept`() {
    var plans = KeptPlans()
    func key(_ number: Int) -> CacheKey { CacheKey(rawValue: "\(number)") }
    for number in 0...KeptPlans.most {
      plans.keep(.init(plan: plan([["s"]]), marks: []), of: key(number))
    }
    let oldest = plans.take(key(0))
    let next = plans.take(key(1))
    #expect(oldest == nil && next != nil)
    var long = PagePlan(manifests: [])
    long.append([(0...PagePlan.mostParts).map { part("\($0)") }])
    plans.keep(.init(plan: long, marks: []), of: key(-1))
    let others = plans.take(key(2))
    let kept = plans.take(key(-1))
    #expect(others == nil && kept != nil)
  }
}

/// The plans of stored streams.
@Suite(.timeLimit(.minutes(1))) struct PageStreamPlanTests {
  private static let list = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n"

  private func segments(_ name: String) -> String {
    (0..<10).map { "#EXTINF:4,\n\(name)\($0).ts\n" }.joined()
  }

  private func serve(_ test: TestProxy, isLive: Bool = false) {
    let entry = "#EXT-X-STREAM-INF:BANDWIDTH="
    test.serve(
      "#EXTM3U\n\(entry)1000000,RESOLUTION=640x360\nlow.m3u8\n"
        + "\(entry)4000000,RESOLUTION=1920x1080\nhigh.m3u8\n", at: "/main.m3u8")
    for name in ["low", "high"] {
      test.serve(
        Self.list + segments(name) + (isLive ? "" : "#EXT-X-ENDLIST\n"), at: "/\(name).m3u8")
      for index in 0..<10 {
        test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/\(name)\(index).ts")
      }
    }
  }

  private func get(_ paths: [String], _ test: TestProxy) async throws {
    for path in paths { #expect(try await test.get(path).status == 200, "\(path)") }
  }

  /// Returns once an open page shows the row of the stream as wanted.
  private func waitForRow(
    _ test: TestProxy, where isWanted: @Sendable ([String: Any]) -> Bool
  ) async throws {
    try await test.connect { connection async throws in
      try await connection.request("/\(test.token)/page/events", host: test.host)
      _ = try await connection.readHead()
      _ = try await connection.nextEvent { event in
        (event["rows"] as? [[String: Any]] ?? []).contains {
          ($0["url"] as? String)?.hasSuffix("/main.m3u8") == true && isWanted($0)
        }
      }
    }
  }

  @Test func `A stream of which one segment is stored shows one of ten parts`() async throws {
    try await withPage { test, _ async throws in
      serve(test)
      try await get(["/main.m3u8", "/low.m3u8", "/high.m3u8", "/low3.ts"], test)
      try await waitForRow(test) { row in
        row["length"] as? Int == 10 && row["parts"] as? Int == 1
          && row["spans"] as? [Int] == [3, 4]
      }
    }
  }

  @Test func `A stream without a stored playlist of a variant has no length`() async throws {
    try await withPage { test, _ async throws in
      serve(test)
      try await get(["/main.m3u8", "/low.m3u8", "/low0.ts"], test)
      _ = try await test.cache.remove(test.key("/low.m3u8"))
      let plan = try await PageStream(cache: test.cache).plan(of: test.key("/main.m3u8"))
      #expect(!plan.isKnown)
      // It is read again when one of them is stored.
      #expect(plan.manifests.contains(test.key("/high.m3u8")))
      let row = try #require(try await test.rows()["main.m3u8"])
      #expect(row["length"] == nil && row["spans"] == nil && row["parts"] as? Int == 1)
    }
  }

  @Test func `The parts of a live stream are unknown`() async throws {
    try await withPage { test, _ async throws in
      serve(test, isLive: true)
      try await get(["/main.m3u8", "/low.m3u8", "/low0.ts"], test)
      let plan = try await PageStream(cache: test.cache).plan(of: test.key("/main.m3u8"))
      #expect(!plan.isKnown)
    }
  }

  @Test func `The plan of a DASH stream follows the representations of each period`()
    async throws
  {
    try await withPage { test, _ async throws in
      let template = """
        <SegmentTemplate media="$RepresentationID$-$Number$.m4s" duration="4" startNumber="1"/>
        """
      func set(_ kind: String, _ ids: [String]) -> String {
        #"<AdaptationSet contentType="\#(kind)" mimeType="\#(kind)/mp4">"# + template
          + ids.map { #"<Representation id="\#($0)" bandwidth="1000"/>"# }.joined()
          + "</AdaptationSet>"
      }
      test.origin.serve(
        OriginResource(
          .bytes(
            Array(
              (#"<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static">"#
                + #"<Period duration="PT12S">"# + set("audio", ["x"]) + set("video", ["a", "b"])
                + #"</Period><Period duration="PT8S">"# + set("audio", ["y"]) + "</Period></MPD>")
                .utf8)), contentType: "application/dash+xml",
          headers: [Field("Cache-Control", "max-age=600")]), at: "/main.mpd")
      try await get(["/main.mpd"], test)
      let plan = try await PageStream(cache: test.cache).plan(of: test.key("/main.mpd"))
      #expect(plan.sections.map { $0.map(\.count) } == [[3, 3], [2]])
      #expect(plan.sections.first?.last?.first?.keys.contains(test.key("/b-1.m4s")) == true)
    }
  }
}
