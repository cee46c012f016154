// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import RefrainProxy
import TestSupport

/// An origin that reads a request's body and returns it; a script can replace the response.
final class EchoServer: Sendable {
  struct Request: Sendable {
    /// The head, including the empty line.
    var head: String
    var body: [UInt8] = []
    var isComplete = false

    func field(_ name: String) -> String? {
      head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
        .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
    }
  }

  private let server: RawServer
  private let box: Box

  private final class Box: Sendable {
    let requests = Mutex<[Request]>([])
  }

  /// The requests so far, in the order of their heads.
  var requests: [Request] { box.requests.withLock { $0 } }
  var url: URL { get throws { try server.url("") } }

  /// - Parameter answer: the response to a request; nil: its body, as received. An empty text
  ///   closes the connection.
  init(_ answer: @escaping @Sendable (Request) -> String? = { _ in nil }) throws {
    let box = Box()
    self.box = box
    server = try RawServer { connection in
      while true {
        var request = Request(head: connection.readRequest())
        guard request.head.hasSuffix("\r\n\r\n") else { return }
        let index = box.requests.withLock { all in
          all.append(request)
          return all.count - 1
        }
        request.isComplete = Self.readBody(of: &request, connection)
        box.requests.withLock { $0[index] = request }
        guard request.isComplete else { return }
        if let text = answer(request) {
          if text.isEmpty { return }
          connection.send(text)
        } else {
          connection.send(
            "HTTP/1.1 200 OK\r\nContent-Length: \(request.body.count)\r\nCache-Control: no-store\r\n\r\n"
          )
          connection.send(request.body)
        }
      }
    }
  }

  func stop() { server.stop() }

  private static func readBody(
    of request: inout Request, _ connection: RawServer.Connection
  ) -> Bool {
    guard let bytes = connection.read(request.field("Content-Length").flatMap(Int.init) ?? 0) else {
      return false
    }
    request.body = bytes
    return true
  }
}

/// Runs a test with a shared reverse proxy of an echo server, and ends both on every outcome.
///
/// - Parameter answer: the responses of the server; see `EchoServer.init`.
func withEcho(
  _ answer: @escaping @Sendable (EchoServer.Request) -> String? = { _ in nil },
  proxy change: (inout CacheProxy.Configuration) -> Void = { _ in },
  _ body: (TestProxy, EchoServer) async throws -> Void
) async throws {
  let server = try EchoServer(answer)
  defer { server.stop() }
  let origin = try server.url
  try await withReverseProxy(
    cache: { $0.retry.attempts = 2 },
    proxy: {
      $0.origin = origin
      change(&$0)
    }
  ) { try await body($0, server) }
}

/// Runs a test with a shared reverse proxy of a server that sends exactly the bytes of a script.
func withRawOrigin(
  _ script: @escaping @Sendable (RawServer.Connection) -> Void,
  _ body: (TestProxy) async throws -> Void
) async throws {
  let server = try RawServer(script)
  defer { server.stop() }
  let origin = try server.url("")
  try await withReverseProxy(proxy: { $0.origin = origin }, body)
}
