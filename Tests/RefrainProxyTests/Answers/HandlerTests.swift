// SPDX-License-Identifier: MIT
import Foundation
import NIOPosix
import OriginServer
import Refrain
import TestSupport
import Testing

@testable import RefrainProxy

/// Handlers of the app's own (`ProxyHandler`).
@Suite(.timeLimit(.minutes(1))) struct HandlerTests {
  /// Takes what `take` returns a response to.
  private struct Handler: ProxyHandler {
    let take: @Sendable (ProxyRequest) async throws -> ProxyResponse?

    func response(to request: ProxyRequest) async throws -> ProxyResponse? {
      try await take(request)
    }
  }

  private struct Failure: Error {}

  private static let token = "a-token-of-this-test"

  /// Runs a proxy with handlers: under a token, or in front of one origin.
  private func withHandlers(
    _ handlers: [Handler], servesOrigin: Bool = false,
    _ body: (TestProxy, _ prefix: String) async throws -> Void
  ) async throws {
    try await withProxy(proxy: { configuration, origin in
      configuration.handlers = handlers
      if servesOrigin {
        configuration.origin = origin.baseURL
      } else {
        configuration.token = Self.token
      }
    }) { try await body($0, servesOrigin ? "" : "/\(Self.token)") }
  }

  @Test(arguments: [false, true])
  func `The first handler that takes a request responds, and the cache to the others`(
    _ servesOrigin: Bool
  ) async throws {
    let first = Handler { request in
      guard request.target.hasPrefix("/lists/") else { return nil }
      return ProxyResponse(
        fields: ["Content-Type": "text/plain", "Content-Length": "3", "X-Bad": "a\r\nX-Forged: 1"],
        body: Data("\(request.method) \(request.target) of \(request.client)".utf8))
    }
    let second = Handler { request in
      switch request.target {
      case "/lists/a?b=c", "/moved":
        ProxyResponse(status: 302, fields: ["Location": "/elsewhere"])
      default: nil
      }
    }
    try await withHandlers([first, second], servesOrigin: servesOrigin) { test, prefix in
      test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/song")
      let list = try await test.reply(to: "\(prefix)/lists/a?b=c")
      #expect(list.status == 200)
      #expect(list.text == "GET /lists/a?b=c of 127.0.0.1")
      #expect(list["Content-Type"] == "text/plain")
      #expect(list["X-Bad"] == nil && list["X-Forged"] == nil)
      let head = try await test.reply(to: "\(prefix)/lists/a?b=c", method: "HEAD")
      #expect(head.status == 200 && head.body.isEmpty)
      #expect(head["Content-Length"] == "30")
      let moved = try await test.reply(to: "\(prefix)/moved")
      #expect(moved.status == 302 && moved["Location"] == "/elsewhere")
      for _ in 0..<2 { #expect(try await test.get("/song").body.count == 1000) }
      #expect(test.origin.log("/song").bodyBytesSent == 1000)
      #expect(test.origin.log("/lists/a?b=c").requests.isEmpty)
    }
  }

  @Test func `A handler reads the body of a request, within its limit`() async throws {
    let handler = Handler { request in
      guard request.target == "/notes" else { return nil }
      let body = try await request.body(limit: 5)
      return body == Data("drop".utf8)
        ? nil : ProxyResponse(status: 201, body: Data(body.reversed()))
    }
    try await withHandlers([handler]) { test, prefix in
      func post(_ body: String) async throws -> Reply {
        let request =
          "POST \(prefix)/notes HTTP/1.1\r\nHost: \(test.host)\r\nContent-Length: \(body.utf8.count)\r\n"
          + "Connection: close\r\n\r\n\(body)"
        return try await test.connect { connection in
          try await connection.send(request)
          return try await connection.readReply()
        }
      }
      let short = try await post("abcde")
      #expect(short.status == 201 && short.text == "edcba")
      #expect(try await post("abcdef").status == 413)
      // What it has read cannot be sent to an origin any more.
      #expect(try await post("drop").status == 500)
    }
  }

  @Test func `No handler hears of a request that is not for this proxy`() async throws {
    let handler = Handler { request in
      Issue.record("\(request.method) \(request.target) came")
      return ProxyResponse()
    }
    try await withHandlers([handler]) { test, prefix in
      let misled = try await test.reply(to: "\(prefix)/a", host: "evil.example")
      #expect(misled.status == 421)
      let guessed = try await test.reply(to: "/another-token-of-this/a")
      #expect(guessed.status >= 400)
      let traced = try await test.reply(to: "\(prefix)/a", method: "TRACE")
      #expect(traced.status >= 400)
    }
    try await withHandlers([handler], servesOrigin: true) { test, _ in
      let misled = try await test.reply(to: "/a", host: "evil.example")
      #expect(misled.status == 421)
      let foreign = [
        "Origin: https://evil.example", "Sec-Fetch-Site: cross-site", "Content-Length: 0",
      ]
      let forged = try await test.reply(to: "/a", foreign, method: "POST")
      #expect(forged.status == 403)
    }
  }

  @Test func `The failure of a handler is a 500 without details, and a warning`() async throws {
    let handler = Handler { request in
      switch request.target {
      case "/a": throw Failure()
      case "/b": throw MediaCacheError(.offline, "It is not there.")
      case "/c": return ProxyResponse(status: 99)
      default: return nil
      }
    }
    try await withHandlers([handler]) { test, prefix in
      let events = test.cache.events(includingTraffic: false)
      let failed = try await test.reply(to: "\(prefix)/a")
      #expect(failed.status == 500)
      #expect(!failed.text.contains("Failure"))
      for await case .warning(let warning) in events {
        #expect(warning.contains("Failure") && warning.contains("/a"))
        break
      }
      #expect(try await test.reply(to: "\(prefix)/b").status == 504)
      #expect(try await test.reply(to: "\(prefix)/c").status == 500)
    }
  }

  @Test func `A body without a known end is written as it arises`() async throws {
    let ends = AsyncStream<Void>.makeStream()
    let handler = Handler { request in
      switch request.target {
      case "/count":
        return ProxyResponse(fields: ["Content-Type": "text/plain"]) { body in
          for number in 1...3 { try await body.write(Data("\(number)\n".utf8)) }
          try await body.write(Data())
        }
      case "/broken":
        return ProxyResponse { body in
          try await body.write(Data("a part".utf8))
          throw Failure()
        }
      case "/endless":
        return ProxyResponse { body in
          defer { ends.continuation.yield() }
          while await body.isWanted {
            try await body.write(Data("again\n".utf8))
            try await Task.sleep(for: .milliseconds(10))
          }
        }
      default: return nil
      }
    }
    try await withHandlers([handler]) { test, prefix in
      let count = try await test.reply(to: "\(prefix)/count")
      #expect(count.text == "1\n2\n3\n" && count.isComplete && count["Content-Length"] == nil)
      let head = try await test.reply(to: "\(prefix)/count", method: "HEAD")
      #expect(head.status == 200 && head.body.isEmpty && head["Content-Length"] == nil)
      try await eventually("both are logged") { test.log.all.count == 2 }
      #expect(test.log.all.map(\.bytesSent).sorted() == [0, 6])
      #expect(try await !test.reply(to: "\(prefix)/broken").isComplete)
      try await test.connect { connection async throws in
        try await connection.request("\(prefix)/endless", host: test.host)
        _ = try await connection.readHead()
        _ = try await connection.readText(before: "again\n")
      }
      for await _ in ends.stream { break }
    }
  }

  @Test func `A body that an app writes holds up no event loop`() async throws {
    let handler = Handler { request in
      guard request.target == "/written" else { return nil }
      return ProxyResponse { writer in
        for _ in 0..<3 {
          let isOnLoop = MultiThreadedEventLoopGroup.currentEventLoop != nil
          try await writer.write(Data(isOnLoop ? "on".utf8 : "off ".utf8))
        }
      }
    }
    try await withHandlers([handler]) { test, prefix in
      try await #expect(test.reply(to: "\(prefix)/written").text == "off off off ")
    }
  }

  @Test func `An error after the client has left is not logged`() async throws {
    let hasBegun = DispatchSemaphore(value: 0)
    let never = AsyncStream<Void>.makeStream()
    let handler = Handler { _ in
      hasBegun.signal()
      // Ends when the task is cancelled.
      for await _ in never.stream {}
      throw MediaCacheError(.offline, "It is not there.")
    }
    try await withHandlers([handler]) { test, prefix in
      let request = "GET \(prefix)/a HTTP/1.1\r\nHost: \(test.host)\r\n\r\n"
      try await test.onSocket { client in
        try client.send(request)
        guard hasBegun.wait(timeout: .now() + 20) == .success else {
          throw PlainSocket.TookTooLong()
        }
        client.reset()
      }
      try await eventually("it is logged") { test.log.all.count == 1 }
      let logged = try #require(test.log.all.first)
      #expect(logged.error == nil && logged.status == 0)
      #expect(test.proxy.service.traffic.values.errors == 0)
    }
    never.continuation.finish()
  }

  @Test func `A response is logged, and readable for the allowed web origin, unless it says no`()
    async throws
  {
    let handler = Handler { request in
      var response = ProxyResponse(status: 404)
      response.error = "There is no list."
      switch request.target {
      case "/a": return response
      case "/b":
        (response.isLogged, response.isForWebOrigin) = (false, false)
        return response
      default: return nil
      }
    }
    try await withProxy(proxy: { configuration, _ in
      configuration.handlers = [handler]
      configuration.token = Self.token
      configuration.allowedWebOrigin = "https://example.org"
    }) { test in
      let silent = try await test.reply(to: "/\(Self.token)/b")
      #expect(silent.status == 404 && silent["Access-Control-Allow-Origin"] == nil)
      let logged = try await test.reply(to: "/\(Self.token)/a")
      #expect(logged["Access-Control-Allow-Origin"] == "https://example.org")
      try await eventually("one is logged") { !test.log.all.isEmpty }
      #expect(test.log.all.map(\.error) == ["There is no list."])
    }
  }
}
