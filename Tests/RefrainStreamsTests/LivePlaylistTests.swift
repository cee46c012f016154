// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain
@testable import RefrainStreams

/// A resource that changes every few seconds is never served stale; a stable one is not requested
/// for every reader.
@Suite(.timeLimit(.minutes(1))) struct LivePlaylistTests {
  private func playlist(_ number: Int, isComplete: Bool = false) -> [UInt8] {
    var text = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:\(number)\n"
    for index in number..<number + 3 { text += "#EXTINF:2,\n\(index).ts\n" }
    return Array((text + (isComplete ? "#EXT-X-ENDLIST\n" : "")).utf8)
  }

  private func resource(
    _ bytes: [UInt8], _ type: String, modified: Date? = nil, etag: String? = nil,
    control: String? = nil
  ) -> OriginResource {
    var resource = OriginResource(
      .bytes(bytes), contentType: type, etag: etag, lastModified: modified)
    if let control { resource.headers.append(Field("Cache-Control", control)) }
    return resource
  }

  /// Reads with a new reader, as a proxy does for each request.
  private func get(_ test: TestCache, _ path: String) async throws -> [UInt8] {
    let reader = try await test.cache.open(Resource(url: test.origin.url(path)), on: .ofClient)
    defer { reader.cancel() }
    return Array(try await reader.bytes(in: 0..<1_000_000))
  }

  static let names = [
    ("/live.m3u8", "application/vnd.apple.mpegurl"), ("/live", "text/plain"),
    ("/live", "audio/mpegurl"), ("/live", "application/octet-stream"),
  ]

  @Test(arguments: names.indices, [nil, "max-age=600"] as [String?])
  func `A live playlist is requested again after half of its target duration`(
    index: Int, control: String?
  ) async throws {
    let (path, type) = Self.names[index]
    let time = TestClock()
    try await withCache({ $0.clock = time.now }) { test async throws in
      for number in 0..<4 {
        let list = playlist(number)
        test.origin.serve(
          resource(
            list, type, modified: time.now().wall - 3600, etag: "\"\(number)\"", control: control),
          at: path)
        #expect(try await get(test, path) == list)
        time.pass(1.1)
      }
      // A second client a moment later is served from the cache. The origin's Date does not follow
      // the moved clock, and would make the response look older.
      let last = playlist(9)
      test.origin.script(path, .on(.all, .header("Date", nil)))
      test.origin.serve(resource(last, type, etag: "\"9\"", control: control), at: path)
      #expect(try await get(test, path) == last)
      let before = try await test.settledLog(path).requests.count
      if control != nil {
        #expect(try await get(test, path) == last)
        #expect(try await test.settledLog(path).requests.count == before)
      }
    }
  }

  /// How an origin describes two versions of one length so that nothing tells them apart.
  enum Description: CaseIterable {
    case nothing, secondOfLastModified, tagOfTimeAndLength, weakTag

    /// - Parameter now: the Date of the response: the file was written in that second.
    func apply(to resource: inout OriginResource, at now: Date) {
      switch self {
      case .nothing: break
      case .secondOfLastModified: resource.lastModified = now
      case .tagOfTimeAndLength: (resource.lastModified, resource.etag) = (now, "\"6a-90\"")
      case .weakTag: (resource.lastModified, resource.etag) = (now, "W/\"6a-90\"")
      }
    }
  }

  private static func description(_ number: Int) -> [UInt8] {
    Array(
      """
      <MPD type="dynamic" minimumUpdatePeriod="PT2S"><Period id="\(number)"><AdaptationSet/>
      </Period></MPD>
      """.utf8)
  }

  @Test(
    arguments: [
      ("/live.m3u8", "application/vnd.apple.mpegurl"), ("/live", "text/plain"),
      ("/live.mpd", "application/dash+xml"),
    ], Description.allCases)
  func `The body of a live manifest shows that it has changed`(
    name: (path: String, type: String), description: Description
  ) async throws {
    let time = TestClock()
    try await withCache({ $0.clock = time.now }) { test async throws in
      var held: [(reader: MediaReader, body: [UInt8])] = []
      for number in 1...4 {
        let body = name.path.hasSuffix("mpd") ? Self.description(number) : playlist(number)
        var resource = resource(body, name.type)
        resource.supportsRanges = number % 2 == 0
        description.apply(to: &resource, at: time.now().wall)
        test.origin.serve(resource, at: name.path)
        // The origin's own Date does not follow the moved clock.
        test.origin.script(
          name.path, .on(.all, .header("Date", HTTPDate.format(time.now().wall))))
        let before = test.origin.log(name.path).requests.count
        #expect(try await get(test, name.path) == body)
        // A player that keeps its readers, each with the version that it has begun.
        let reader = try await test.reader(name.path)
        #expect(try await Array(reader.bytes(in: 0..<10)) == Array(body[..<10]))
        #expect(test.origin.log(name.path).requests.count == before + 1)
        held.append((reader, body))
        time.pass(1.1)
      }
      for (reader, body) in held {
        #expect(try await Array(reader.bytes(in: 0..<1_000_000)) == body)
        reader.cancel()
      }
    }
  }

  @Test func `A live playlist with a validator costs no body while it stays`() async throws {
    let time = TestClock()
    try await withCache({ $0.clock = time.now }) { test async throws in
      test.origin.serve(
        resource(playlist(1), "audio/mpegurl", modified: Date() - 60, etag: "\"1\""),
        at: "/live.m3u8")
      for _ in 0..<3 {
        #expect(try await get(test, "/live.m3u8") == playlist(1))
        time.pass(1.1)
      }
      let log = try await test.settledLog("/live.m3u8")
      #expect(log.requests.count == 3 && log.bytesSentTwice == 0)
    }
  }

  @Test
  func `A playlist's last byte is readable only once its update pace is known`() async throws {
    try await withCache { test async throws in
      let list = playlist(1)
      test.origin.serve(
        resource(list, "application/vnd.apple.mpegurl", etag: "\"1\""), at: "/a.m3u8")
      let disk = WatchedDisk()
      let cache = try MediaCache(
        directory: test.directory, configuration: test.configuration, disk: disk)
      let wasReadable = Mutex<[Bool]>([])
      disk.fail { operation, path in
        guard operation == .read, path.hasSuffix(".m3u8") else { return nil }
        let isReadable = cache.table.openEntries.contains { entry in
          entry.current?.withState { $0.stored.byteCount == Int64(list.count) } == true
        }
        wasReadable.withLock { $0.append(isReadable) }
        return nil
      }
      let reader = try await cache.open(test.origin.url("/a.m3u8"))
      #expect(try await Array(reader.bytes(in: 0..<1_000_000)) == list)
      // The first to read the file examines it.
      #expect(wasReadable.withLock { $0.first } == false)
      reader.cancel()
      await cache.close()
    }
  }

  @Test func `A complete playlist is fresh for its max-age`() async throws {
    let time = TestClock()
    try await withCache({ $0.clock = time.now }) { test async throws in
      let list = playlist(1, isComplete: true)
      test.origin.serve(
        resource(list, "application/vnd.apple.mpegurl", etag: "\"1\"", control: "max-age=60"),
        at: "/a.m3u8")
      for _ in 0..<5 {
        #expect(try await get(test, "/a.m3u8") == list)
        time.pass(10)
      }
      #expect(try await test.settledLog("/a.m3u8").requests.count == 1)
    }
  }

  @Test func `The update pace of a playlist is stored for the next process`() async throws {
    let time = TestClock()
    func serve(_ number: Int, _ test: TestCache) {
      test.origin.serve(
        resource(
          playlist(number), "text/plain", etag: "\"\(number)\"", control: "max-age=600"), at: "/a")
    }
    try await withCache({ $0.clock = time.now }) { test async throws in
      serve(1, test)
      #expect(try await get(test, "/a") == playlist(1))
      time.pass(1.1)
      serve(2, test)
      try await test.reopened {
        $0.clock = time.now
        $0.trustStored = true
      } _: { later async throws in
        #expect(try await get(later, "/a") == playlist(2))
      }
    }
  }

  /// - Parameter isHeld: whether the entry stays open from one request to the next.
  @Test(arguments: [false, true])
  func `A live playlist that cannot be confirmed soon becomes an error`(
    isHeld: Bool
  ) async throws {
    let time = TestClock()
    try await withCache({ $0.clock = time.now }) { test async throws in
      test.origin.serve(resource(playlist(1), "text/plain", etag: "\"1\""), at: "/a")
      #expect(try await get(test, "/a") == playlist(1))
      let held = isHeld ? try await test.reader("/a") : nil
      defer { held?.cancel() }
      test.origin.script("/a", .on(.all, .closeWithoutAnswer))
      time.pass(2)
      #expect(try await get(test, "/a") == playlist(1))
      // Less than half of the target duration after the attempt to confirm it.
      time.pass(0.9)
      #expect(try await get(test, "/a") == playlist(1))
      time.pass(0.2)
      // Refusing it to one reader does not allow it to the next.
      for _ in 0..<2 {
        await #expect(throws: MediaCacheError.self) { try await get(test, "/a") }
      }
    }
  }

  /// Audio is served for ten seconds: one play is many requests.
  @Test(arguments: [("text/plain", 2), ("application/json", 2), ("audio/mpeg", 11)])
  func `A resource modified a second ago is soon requested again`(
    _ type: String, _ seconds: Double
  ) async throws {
    let time = TestClock()
    try await withCache({ $0.clock = time.now }) { test async throws in
      for number in 0..<4 {
        let bytes = Array("version \(number)".utf8)
        let now = Date()
        test.origin.serve(resource(bytes, type, modified: now - 1, etag: "\"\(number)\""), at: "/a")
        #expect(try await get(test, "/a") == bytes)
        time.pass(seconds)
      }
    }
  }

  @Test func `A JSON resource without freshness is requested each time`() async throws {
    try await withCache { test async throws in
      for number in 0..<4 {
        let bytes = Array("{\"playing\": \(number)}".utf8)
        test.origin.serve(resource(bytes, "application/json", etag: "\"\(number)\""), at: "/a")
        #expect(try await get(test, "/a") == bytes)
      }
    }
  }

  @Test(
    arguments: [(nil, "video/mp4"), (3600, "text/plain"), (3600, "video/mp4")]
      as [(Double?, String)])
  func `Readers within a few seconds share one response`(
    _ age: Double?, _ type: String
  ) async throws {
    let time = TestClock()
    try await withCache({ $0.clock = time.now }) { test async throws in
      let bytes = SyntheticBytes(seed: 1).bytes(in: 0..<300_000)
      test.origin.serve(
        resource(bytes, type, modified: age.map { Date() - $0 }, etag: "\"a\""), at: "/a")
      // Proxies hold resources that are requested again and again.
      let held = try await test.reader("/a")
      defer { held.cancel() }
      #expect(try await Array(held.bytes(in: 0..<300_000)) == bytes)
      let before = try await test.settledLog("/a").requests.count
      for _ in 0..<5 {
        time.pass(1.5)
        #expect(try await get(test, "/a") == bytes)
      }
      #expect(try await test.settledLog("/a").requests.count == before)
    }
  }

  @Test func `A wall clock that is set back keeps no entry fresh for longer`() async throws {
    let time = TestClock()
    try await withCache({ $0.clock = time.now }) { test async throws in
      let bytes = { (number: Int) in Array("version \(number)".utf8) }
      test.origin.serve(resource(bytes(1), "text/plain", control: "max-age=60"), at: "/a")
      #expect(try await get(test, "/a") == bytes(1))
      // 70 seconds pass, and the clock is set back by 65.
      time.pass(70)
      time.set(forwardBy: -65)
      test.origin.serve(resource(bytes(2), "text/plain", control: "max-age=60"), at: "/a")
      #expect(try await get(test, "/a") == bytes(2))
    }
  }
}
