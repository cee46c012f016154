// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// `CacheProxy.update(_:)` while the proxy serves.
@Suite(.timeLimit(.minutes(TestSeed.minutes(2)))) struct SettingsTests {
  private static let length: Int64 = 200_000
  private let song = SyntheticBytes(seed: 1).bytes(in: 0..<length)

  private func withSong(
    _ configure: (inout CacheProxy.Configuration, OriginServer) -> Void = { _, _ in },
    _ body: (TestProxy) async throws -> Void
  ) async throws {
    try await withProxy(proxy: configure) { test async throws in
      test.origin.serve(
        OriginResource(
          .synthetic(seed: 1, length: Self.length), etag: "\"1\"",
          headers: [Field("Cache-Control", "max-age=1000")]), at: "/a")
      try await body(test)
    }
  }

  private func change(
    _ test: TestProxy, _ body: (inout CacheProxy.Settings) -> Void
  ) throws(CacheProxyError) {
    var settings = test.proxy.settings
    body(&settings)
    try test.proxy.update(settings)
  }

  // MARK: Hosts

  @Test func `A host that is no longer allowed is refused at once, even where it is stored`()
    async throws
  {
    try await withSong { test async throws in
      let target = try test.target("/a")
      let host = "127.0.0.1:\(test.origin.port)"
      try await test.connect { connection async throws in
        // The later ones are served on the event loop, which asks for no host.
        for _ in 0..<3 {
          #expect(try await connection.reply(to: target, host: test.host).body == song)
        }
        try change(test) { $0.allowedHosts = ["example.org"] }
        for _ in 0..<2 {
          #expect(try await connection.reply(to: target, host: test.host).status == 403)
        }
        #expect(throws: MediaCacheError.self) { try test.proxy.url(for: test.origin.url("/a")) }
        try change(test) { $0.allowedHosts = ["example.org", host] }
        #expect(try await connection.reply(to: target, host: test.host).body == song)
        try change(test) { $0.allowedHosts = [] }
        #expect(try await connection.reply(to: target, host: test.host).body == song)
      }
      #expect(test.origin.log("/a").bodyBytesSent == Self.length)
    }
  }

  @Test func `A redirect is followed as soon as its host is allowed`() async throws {
    let other = try await OriginServer.start()
    other.serve(.synthetic(seed: 1, length: Self.length), at: "/there")
    try await withReverseProxy { test async throws in
      test.origin.script("/r", .on(.all, .redirect(302, to: other.url("/there").absoluteString)))
      #expect(try await test.get("/r").status == 302)
      #expect(other.connectionsAccepted == 0)
      try change(test) { $0.allowedHosts = ["127.0.0.1:\(other.port)"] }
      #expect(try await test.get("/r").body == song)
    }
    await other.stop()
  }

  @Test func `The references of a stored playlist follow the allowed hosts`() async throws {
    try await withProxy { test in
      let list = "#EXTM3U\n#EXTINF:2,\nhttp://media.example/s.ts\n#EXT-X-ENDLIST\n"
      test.serve(list, at: "/list.m3u8")
      func isRewritten() async throws -> Bool {
        let text = try await test.get("/list.m3u8").text
        let place = "/\(test.token)/http/media.example/s.ts"
        #expect(text == list || text == list.replacing("http://media.example/s.ts", with: place))
        return text != list
      }
      for _ in 0..<2 { #expect(try await isRewritten()) }
      try change(test) { $0.allowedHosts = [test.originHost] }
      for _ in 0..<2 { #expect(try await !isRewritten()) }
      try change(test) { $0.allowedHosts = [test.originHost, "media.example"] }
      for _ in 0..<2 { #expect(try await isRewritten()) }
    }
  }

  @Test func `Invalid settings change nothing`() async throws {
    try await withSong { test async throws in
      let before = test.proxy.settings
      for host in ["a b", "*.127.0.0.1"] {
        let error = #expect(throws: CacheProxyError.self) {
          try change(test) {
            $0.allowedHosts = [host]
            $0.clientLimits.requestsPerSecond = 0.01
          }
        }
        #expect(error?.code == .invalidConfiguration)
      }
      #expect(throws: CacheProxyError.self) {
        try change(test) {
          $0.allowedHosts = ["example.org"]
          $0.clientLimits.connections = 0
        }
      }
      #expect(test.proxy.settings == before)
      for _ in 0..<15 { #expect(try await test.get("/a").status == 200) }
    }
  }

  @Test func `A proxy for others keeps its allowed hosts`() throws {
    var configuration = CacheProxy.Configuration()
    (configuration.address, configuration.allowedHosts) = ("0.0.0.0", ["example.org"])
    let routes = try Routes(configuration)
    #expect(try routes.checked(["example.com"]).isEmpty == false)
    let error = #expect(throws: CacheProxyError.self) { _ = try routes.checked([]) }
    #expect(error?.reason.contains("open proxy") == true)
    configuration.origin = URL(string: "https://example.org")
    #expect(try Routes(configuration).checked([]).isEmpty)
  }

  @Test func `What was fetched under allowed hosts stays out of private networks without them`()
    throws
  {
    var configuration = CacheProxy.Configuration()
    configuration.allowedHosts = ["example.org"]
    let routes = try Routes(configuration)
    let filter = try #require(routes.filter)
    let (home, site) = (
      try #require(URL(string: "http://192.168.1.1/")),
      try #require(URL(string: "https://example.com/"))
    )
    #expect(!filter.allows(site))
    routes.allow(try routes.checked([]))
    #expect(routes.filter == nil)
    #expect(filter.allows(site) && !filter.allows(home))
  }

  @Test(arguments: ["http://192.168.1.1/", "https://example.com/"])
  func `What was fetched without allowed hosts follows those named since`(_ text: String) throws {
    let routes = try Routes(CacheProxy.Configuration())
    let url = try #require(URL(string: text))
    let named = try #require(URL(string: "https://example.org/"))
    let filter = routes.filter(for: url)
    #expect(filter.allows(url))
    routes.allow(try routes.checked(["example.org"]))
    #expect(!filter.allows(url) && filter.allows(named))
    routes.allow(try routes.checked([]))
    #expect(filter.allows(url))
  }

  // MARK: Limits

  @Test func `A new limit of connections counts those that are open`() async throws {
    try await withSong { test async throws in
      try await test.connect { first async throws in
        let target = try test.target("/a")
        #expect(try await first.reply(to: target, host: test.host).status == 200)
        try change(test) { $0.clientLimits.connections = 1 }
        #expect(try await test.get("/a").status == 429)
        #expect(try await first.reply(to: target, host: test.host).status == 200)
        try change(test) { $0.clientLimits.connections = 2 }
        try await eventually("the second is accepted") { try await test.get("/a").status == 200 }
      }
    }
  }

  @Test func `A new limit of all connections counts those that are open`() async throws {
    try await withSong { test async throws in
      try await test.connect { first async throws in
        let target = try test.target("/a")
        #expect(try await first.reply(to: target, host: test.host).status == 200)
        try change(test) { $0.maximumConnections = 1 }
        #expect(test.proxy.settings.maximumConnections == 1)
        #expect(try await test.get("/a").status == 503)
        #expect(try await first.reply(to: target, host: test.host).status == 200)
        try change(test) { $0.maximumConnections = 2 }
        try await eventually("the second is accepted") { try await test.get("/a").status == 200 }
        #expect(throws: CacheProxyError.self) { try change(test) { $0.maximumConnections = 0 } }
      }
    }
  }

  @Test func `A request rate begins and ends on an open connection`() async throws {
    try await withSong { test async throws in
      let target = try test.target("/a")
      try await test.connect { connection async throws in
        for _ in 0..<15 {
          #expect(try await connection.reply(to: target, host: test.host).status == 200)
        }
        // One more after 100 seconds.
        try change(test) { $0.clientLimits.requestsPerSecond = 0.01 }
        for _ in 0..<10 {
          #expect(try await connection.reply(to: target, host: test.host).status == 200)
        }
        #expect(try await connection.reply(to: target, host: test.host).status == 429)
        // Other settings do not give the allowance back.
        try change(test) { $0.clientLimits.connections = 100 }
        #expect(try await connection.reply(to: target, host: test.host).status == 429)
        try change(test) { $0.clientLimits.requestsPerSecond = nil }
        #expect(try await connection.reply(to: target, host: test.host).status == 200)
      }
    }
  }

  @Test(arguments: [false, true])
  func `A response under way follows another rate`(isStored: Bool) async throws {
    // More than three minutes for all of it: this test's time would be over.
    try await withSong({ configuration, _ in configuration.clientLimits.bytesPerSecond = 1000 }) {
      test async throws in
      if isStored { _ = try await test.cache.prefetch(Resource(url: test.origin.url("/a"))) }
      let target = try test.target("/a")
      try await test.connect { connection async throws in
        try await connection.request(target, host: test.host)
        #expect(try await connection.readHead().status == 200)
        let first = try await connection.read(upTo: 1000)
        try change(test) { $0.clientLimits.bytesPerSecond = nil }
        let rest = try await connection.read(upTo: Int(Self.length) - first.count)
        #expect(first + rest == song)
      }
    }
  }

  // MARK: Hours

  @Test func `What waits for its hours is fetched when there are none any more`() async throws {
    try await withProxy { test async throws in
      let hours = try #require(CacheProxy.FillHours(parsing: "01-07"))
      let fills = BackgroundFills(cache: test.cache, hours: hours) { 0 }
      let paths = (0..<9).map { "/\($0)" }
      for path in paths {
        test.origin.serve(.synthetic(seed: 1, length: Self.length), at: path)
        fills.begin(Resource(url: test.origin.url(path)))
      }
      #expect(fills.waitingCount == paths.count)
      fills.update(nil)
      fills.followHours()
      try await eventually("all are stored") {
        paths.allSatisfy { test.origin.log($0).distinctBytesSent == Self.length }
      }
      #expect(fills.waitingCount == 0)
      await fills.stop()
    }
  }

  @Test func `What new hours have ended goes on with others that follow at once`() async throws {
    try await withProxy { test async throws in
      let fills = BackgroundFills(cache: test.cache) { 0 }
      test.origin.serve(
        OriginResource(.synthetic(seed: 1, length: Self.length), etag: "\"1\""), at: "/a")
      test.origin.script("/a", .on(.first(1), .stall(at: .body(30_000))))
      fills.begin(Resource(url: test.origin.url("/a")))
      try await eventually("it has begun") { test.origin.log("/a").stalled == 1 }
      fills.update(CacheProxy.FillHours(parsing: "01-07"))
      fills.followHours()
      // The one that was ended may still be under way, and its request be joined.
      fills.update(nil)
      fills.followHours()
      test.origin.release("/a")
      try await eventually("it is stored") {
        test.origin.log("/a").distinctBytesSent == Self.length
      }
      try await eventually("nothing waits") { fills.waitingCount == 0 }
      await fills.stop()
    }
  }

  @Test func `New hours end what they exclude, and keep it for later`() async throws {
    try await withProxy { test async throws in
      let fills = BackgroundFills(cache: test.cache) { 0 }
      test.origin.serve(
        OriginResource(.synthetic(seed: 1, length: Self.length), etag: "\"1\""), at: "/a")
      test.origin.script("/a", .on(.first(1), .stall(at: .body(30_000))))
      fills.begin(Resource(url: test.origin.url("/a")))
      try await eventually("it has begun") { test.origin.log("/a").stalled == 1 }
      fills.update(CacheProxy.FillHours(parsing: "01-07"))
      fills.followHours()
      try await eventually("it has ended") { test.origin.log("/a").running == 0 }
      #expect(fills.waitingCount == 1)
      await fills.stop()
    }
  }
}
