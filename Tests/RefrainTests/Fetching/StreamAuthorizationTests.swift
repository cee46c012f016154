// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// One answer of the authorization hook renews a whole stream.
@Suite(.timeLimit(.minutes(1))) struct StreamAuthorizationTests {
  private let length: Int64 = 50_000
  private let bytes = SyntheticBytes(seed: 7)

  /// The URLs for which the hook was called.
  private final class Calls: Sendable {
    let urls = Mutex<[String]>([])
    var count: Int { urls.withLock { $0.count } }

    func note(_ resource: Resource) {
      urls.withLock { $0.append(resource.url.absoluteString) }
    }
  }

  private func member(_ url: URL, _ headers: HeaderFields = [:]) -> Resource {
    var resource = Resource(url: url, headers: headers)
    resource.policy.group = .init(first: CacheKey(rawValue: "https://h/main.m3u8"))
    return resource
  }

  private func read(_ test: TestCache, _ resource: Resource) async throws -> [UInt8] {
    let reader = try await test.cache.open(resource)
    defer { reader.cancel() }
    return try await Array(reader.bytes(in: 0..<length))
  }

  /// Serves segments that refuse requests with `token=old`.
  private func serve(_ names: [String], on origin: OriginServer) {
    for name in names {
      origin.serve(.synthetic(seed: 7, length: length), at: name)
      origin.script(name, .on(.where { $0.target.contains("token=old") }, .status(403)))
    }
  }

  private static func renewing(_ calls: Calls, to value: String = "new")
    -> @Sendable (Resource, Int) async throws -> Resource?
  {
    { resource, _ in
      calls.note(resource)
      var next = resource
      let text = resource.url.absoluteString.replacing("token=old", with: "token=\(value)")
      next.url = try #require(URL(string: text))
      return next
    }
  }

  @Test(arguments: [true, false])
  func `A new parameter applies to every segment of the stream`(
    _ isConcurrent: Bool
  ) async throws {
    let calls = Calls()
    let names = (0..<8).map { "/s\($0)" }
    try await withCache({ $0.authorize = Self.renewing(calls) }) { test async throws in
      serve(names, on: test.origin)
      let resources = names.map { member(test.origin.url("\($0)?v=1&token=old&w=2")) }
      if isConcurrent {
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
          for resource in resources { group.addTask { try await read(test, resource) } }
          for try await found in group { #expect(found == bytes.bytes(in: 0..<length)) }
        }
      } else {
        for resource in resources {
          #expect(try await read(test, resource) == bytes.bytes(in: 0..<length))
        }
        // The others did not have to be refused first.
        #expect(names.dropFirst().allSatisfy { test.origin.log($0).requests.count == 1 })
      }
      #expect(calls.count == 1)
      for name in names {
        let last = try #require(test.origin.log(name).requests.last)
        #expect(last.request.target == "\(name)?v=1&token=new&w=2")
      }
    }
  }

  @Test func `A new header applies to every segment of the stream`() async throws {
    let calls = Calls()
    try await withCache({
      $0.authorize = { resource, _ in
        calls.note(resource)
        var next = resource
        next.headers["Authorization"] = "Bearer new"
        return next
      }
    }) { test async throws in
      for number in 0..<4 {
        var resource = OriginResource.synthetic(seed: 7, length: length)
        resource.requiredHeader = Field("Authorization", "Bearer new")
        test.origin.serve(resource, at: "/s\(number)")
        let headers: HeaderFields = number % 2 == 0 ? ["Authorization": "Bearer old"] : [:]
        let segment = member(test.origin.url("/s\(number)"), headers)
        #expect(try await read(test, segment) == bytes.bytes(in: 0..<length))
      }
      // One for the requests that had a header, and one for those that had none.
      #expect(calls.count == 2)
    }
  }

  @Test func `A cache for several people shares no renewed rights`() async throws {
    let calls = Calls()
    try await withCache({
      $0.isShared = true
      $0.authorize = { resource, _ in
        calls.note(resource)
        guard resource.headers["Authorization"] == "Bearer old" else { return nil }
        var next = resource
        next.headers["Authorization"] = "Bearer new"
        return next
      }
    }) { test async throws in
      var resource = OriginResource.synthetic(seed: 7, length: length)
      resource.requiredHeader = Field("Authorization", "Bearer new")
      for name in ["/s0", "/s1", "/s2"] { test.origin.serve(resource, at: name) }
      for name in ["/s0", "/s1"] {
        let segment = member(test.origin.url(name), ["Authorization": "Bearer old"])
        #expect(try await read(test, segment) == bytes.bytes(in: 0..<length))
      }
      let error = await #expect(throws: MediaCacheError.self) {
        try await read(test, member(test.origin.url("/s2")))
      }
      #expect(error?.status == 401 || error?.status == 403)
      #expect(calls.count == 3)
    }
  }

  @Test func `Nothing new is sent to another origin`() async throws {
    let calls = Calls()
    let other = try await OriginServer.start()
    do {
      try await withCache({
        $0.authorize = { resource, status in
          guard resource.url.path() == "/s0" else { return nil }
          var next = try await Self.renewing(calls)(resource, status)
          next?.headers["X-Secret"] = "new"
          return next
        }
      }) { test async throws in
        serve(["/s0"], on: test.origin)
        serve(["/s1"], on: other)
        let first = member(test.origin.url("/s0?token=old"))
        #expect(try await read(test, first) == bytes.bytes(in: 0..<length))
        await expectError(.status, status: 403) {
          try await read(test, member(other.url("/s1?token=old")))
        }
        let sent = other.log("/s1").requests.map(\.request)
        #expect(sent.map(\.target) == ["/s1?token=old", "/s1?token=old"])
        #expect(sent.allSatisfy { $0.headers.first("X-Secret") == nil })
      }
    } catch {
      await other.stop()
      throw error
    }
    await other.stop()
  }

  @Test func `A segment that is refused all the same is authorized by itself`() async throws {
    let calls = Calls()
    try await withCache({
      $0.authorize = { resource, status in
        guard resource.url.path() == "/own" else {
          return try await Self.renewing(calls)(resource, status)
        }
        calls.note(resource)
        var next = resource
        next.url.append(queryItems: [URLQueryItem(name: "own", value: "1")])
        return next
      }
    }) { test async throws in
      serve(["/s0", "/s1"], on: test.origin)
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/own")
      test.origin.script("/own", .on(.where { !$0.target.contains("own=1") }, .status(403)))
      for name in ["/s0", "/own", "/s1"] {
        let segment = member(test.origin.url("\(name)?token=old"))
        #expect(try await read(test, segment) == bytes.bytes(in: 0..<length))
      }
      #expect(calls.urls.withLock { $0.map { $0.suffix(16) } }.count == 2)
      #expect(test.origin.log("/own").requests.map(\.request.target).first == "/own?token=new")
    }
  }

  @Test func `A segment that is always refused asks the hook once`() async throws {
    let calls = Calls()
    try await withCache({ $0.authorize = Self.renewing(calls) }) { test async throws in
      serve(["/s0"], on: test.origin)
      test.origin.script("/gone", .on(.all, .status(403)))
      _ = try await read(test, member(test.origin.url("/s0?token=old")))
      await expectError(.status, status: 403) {
        try await read(test, member(test.origin.url("/gone?token=old")))
      }
      #expect(calls.count == 2)
    }
  }

  @Test func `Resources of no stream are authorized one by one`() async throws {
    let calls = Calls()
    try await withCache({ $0.authorize = Self.renewing(calls) }) { test async throws in
      serve(["/s0", "/s1"], on: test.origin)
      for name in ["/s0", "/s1"] {
        let resource = Resource(url: test.origin.url("\(name)?token=old"))
        #expect(try await read(test, resource) == bytes.bytes(in: 0..<length))
      }
      #expect(calls.count == 2)
    }
  }

  // MARK: Renewals

  private func resource(_ text: String, _ headers: HeaderFields = [:]) throws -> Resource {
    Resource(url: try #require(URL(string: text)), headers: headers)
  }

  private func renewal(from old: Resource, to new: Resource) -> Renewal {
    Renewal(group: CacheKey(rawValue: "group"), old: old, new: new)
  }

  private func origin(_ hook: @escaping Origin.Authorize) -> Origin {
    var configuration = MediaCache.Configuration()
    configuration.authorize = hook
    return configuration.origin(MemoryTransport(seed: 1, length: 1))
  }

  private func requests(for resource: Resource, to origin: Origin) -> EntryRequests {
    EntryRequests(resource, key: CacheKey(url: resource.url), to: origin, events: EventStreams())
  }

  @Test func `Parameters of one signature are replaced together or not at all`() throws {
    let renewal = try self.renewal(
      from: resource("https://h/a?Expires=1&Signature=x&n=1"),
      to: resource("https://h/a?Expires=2&Signature=y&n=1"))
    let changed = try renewal.applied(to: resource("https://h/b?n=2&Signature=x&Expires=1"))
    #expect(changed.url.absoluteString == "https://h/b?n=2&Signature=y&Expires=2")
    for text in [
      "https://h/b?Expires=1&Signature=z", "https://h/b?Expires=1", "https://h:444/b?\(0)",
      "http://h/b?Expires=1&Signature=x", "https://g/b?Expires=1&Signature=x",
    ] {
      let other = try resource(text)
      #expect(renewal.applied(to: other) == other)
    }
  }

  @Test func `Equal parameters that stay equal are replaced`() throws {
    let renewal = try self.renewal(
      from: resource("https://h/a?t=1&n=1&t=1"), to: resource("https://h/a?t=2&n=1&t=2"))
    let changed = try renewal.applied(to: resource("https://h/b?n=2&t=1&t=1"))
    #expect(changed.url.absoluteString == "https://h/b?n=2&t=2&t=2")
  }

  @Test func `A newer header of a request stays`() throws {
    let renewal = try self.renewal(
      from: resource("https://h/a", ["Authorization": "1", "Accept": "*/*"]),
      to: resource("https://h/a", ["Authorization": "2", "Accept": "*/*"]))
    let same = try resource("https://h/b", ["Authorization": "1"])
    #expect(renewal.applied(to: same).headers["Authorization"] == "2")
    for headers in [["Authorization": "3"], [:]] as [HeaderFields] {
      let other = try resource("https://h/b", headers)
      #expect(renewal.applied(to: other) == other)
    }
  }

  @Test func `A new header is added to requests that had none`() throws {
    let renewal = try self.renewal(
      from: resource("https://h/a"), to: resource("https://h/a", ["Authorization": "2"]))
    #expect(try renewal.applied(to: resource("https://h/b")).headers["Authorization"] == "2")
    let other = try resource("https://h/b", ["Authorization": "1"])
    #expect(renewal.applied(to: other) == other)
  }

  @Test(arguments: [
    ("https://h/a?t=1", "https://g/a?t=2"), ("https://h/a?t=1", "https://h/b?t=2"),
    ("https://h/a?t=1", "https://h/a?t=1&u=2"), ("https://h/a?t=1", "https://h/a?t=1"),
    ("https://h/a", "https://h/a?t=1"), ("https://h/a?t=1", "https://h/a?u=1"),
    // Which value is whose is unknown.
    ("https://h/a?t=1&t=1", "https://h/a?t=2&t=3"), ("https://h/a?t=1&t=1", "https://h/a?t=1&t=2"),
  ])
  func `A change of more than values renews nothing else`(_ old: String, _ new: String) throws {
    let renewal = try renewal(from: resource(old), to: resource(new))
    #expect(try renewal.applied(to: resource(old)) == resource(new))
    let other = try resource(old.replacing("/a", with: "/z"))
    #expect(renewal.applied(to: other) == other)
  }

  @Test func `An answer for one URL does not end the authorization of others`() async throws {
    let calls = Calls()
    let (asked, begins) = AsyncStream.makeStream(of: Void.self)
    let (answered, goesOn) = AsyncStream.makeStream(of: Void.self)
    let first = try member(resource("https://h/a").url)
    let second = try member(resource("https://h/b").url)
    let hook: Origin.Authorize = { resource, _ in
      calls.note(resource)
      guard resource == first else {
        return Resource(url: resource.url, headers: ["Authorization": "own"])
      }
      begins.yield()
      for await _ in answered { break }
      return nil
    }
    let origin = origin(hook)
    let (one, other) = (requests(for: first, to: origin), requests(for: second, to: origin))
    let refused = Task { try await one.authorize(insteadOf: first, status: 403) }
    for await _ in asked { break }
    let renewed = Task { try await other.authorize(insteadOf: second, status: 403) }
    // Usually the second waits for the first by then.
    for _ in 0..<200 { await Task.yield() }
    goesOn.yield()
    let outcome = try await renewed.value
    #expect(outcome && other.authorized().headers["Authorization"] == "own")
    #expect(try await !refused.value)
    #expect(calls.urls.withLock { $0 } == ["https://h/a", "https://h/b"])
  }

  @Test func `The hook's answer is used by a reader that came while it was asked`() async throws {
    let (asked, begins) = AsyncStream.makeStream(of: Void.self)
    let (answered, goesOn) = AsyncStream.makeStream(of: Void.self)
    let first = Resource(url: try #require(URL(string: "https://h/a?t=1")))
    let hook: Origin.Authorize = { _, _ in
      begins.yield()
      for await _ in answered { break }
      return Resource(url: try #require(URL(string: "https://h/a?t=2")))
    }
    let entry = requests(for: first, to: origin(hook))
    let refused = Task { try await entry.authorize(insteadOf: first, status: 401) }
    for await _ in asked { break }
    // It asks for the same, and belongs to somebody else.
    var newer = first
    newer.policy.keep = .seconds(60)
    entry.renew(newer)
    goesOn.yield()
    #expect(try await refused.value)
    let renewed = entry.authorized()
    #expect(renewed.url.query() == "t=2" && renewed.policy.keep == .seconds(60))
  }

  /// A new path is not for the others of the group.
  @Test func `The hook's answer is used by another entry with the same request`() async throws {
    let (asked, begins) = AsyncStream.makeStream(of: Void.self)
    let (answered, goesOn) = AsyncStream.makeStream(of: Void.self)
    let refused = try member(resource("https://h/a").url)
    let renewed = try resource("https://h/b")
    let origin = origin { _, _ in
      begins.yield()
      for await _ in answered { break }
      return renewed
    }
    let entries = ["one", "two"].map {
      EntryRequests(refused, key: CacheKey(rawValue: $0), to: origin, events: EventStreams())
    }
    let one = Task { try await entries[0].authorize(insteadOf: refused, status: 403) }
    for await _ in asked { break }
    let other = Task { try await entries[1].authorize(insteadOf: refused, status: 403) }
    // Usually the second waits for the first by then.
    for _ in 0..<200 { await Task.yield() }
    goesOn.finish()
    let outcomes = try await [one.value, other.value]
    #expect(outcomes == [true, true])
    #expect(entries.map { $0.authorized().url } == [renewed.url, renewed.url])
  }

  @Test func `Only the newest renewals are kept`() async throws {
    let origin = origin { _, _ in Resource(url: try #require(URL(string: "https://h/a?t=new"))) }
    for number in 0..<(2 * Renewal.most) {
      let refused = member(try #require(URL(string: "https://h/a?t=\(number)")))
      let outcome = try await requests(for: refused, to: origin)
        .authorize(insteadOf: refused, status: 403)
      #expect(outcome)
    }
    let first = member(try #require(URL(string: "https://h/b?t=0")))
    #expect(requests(for: first, to: origin).authorized() == first)
    let last = 2 * Renewal.most - 1
    let newest = member(try #require(URL(string: "https://h/b?t=\(last)")))
    #expect(requests(for: newest, to: origin).authorized().url.query() == "t=new")
  }
}
