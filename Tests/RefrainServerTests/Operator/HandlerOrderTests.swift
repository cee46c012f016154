// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainServer

/// The operator's handlers come before the app's (`CacheProxy.Configuration.handlers`).
@Suite(.timeLimit(.minutes(1))) struct HandlerOrderTests {
  /// Takes every request, and responds with its target.
  private struct App: ProxyHandler {
    func response(to request: ProxyRequest) async throws -> ProxyResponse? {
      ProxyResponse(fields: ["X-App": "yes"], body: Data(request.target.utf8))
    }
  }

  private func expectApp(_ reply: Reply, _ target: String) {
    #expect(reply.status == 200 && reply["X-App"] == "yes", "\(target)")
    #expect(reply.text == target)
  }

  @Test func `Behind a token the operator's paths and the page are not the app's`() async throws {
    try await withServer(server: { configuration, _ in
      configuration.servesPage = true
      configuration.proxy.handlers = [App()]
    }) { test async throws in
      let place = "/\(test.token)"
      let health = try await test.reply(to: "\(place)/health")
      #expect(health.status == 200 && health["X-App"] == nil)
      #expect(health["Content-Type"] == "application/json")
      #expect(health.text.contains("\"healthy\""))
      for target in ["/health?origin=0", "/metrics", "/"] {
        let reply = try await test.reply(to: place + target)
        #expect(reply["X-App"] == nil, "\(target)")
      }
      // A method that the operator refuses does not go on to the app either.
      let refused = try await test.reply(to: "\(place)/health", method: "DELETE")
      #expect(refused.status == 405 && refused["X-App"] == nil)
      for target in ["/healthy", "/health/", "/lists/a?b=c", "/http/\(test.originHost)/a"] {
        expectApp(try await test.reply(to: place + target), target)
      }
      #expect(test.origin.connectionsAccepted == 0)
    }
  }

  @Test func `In front of one origin the operator has a listener and one path of its own`()
    async throws
  {
    try await withNode(server: {
      $0.healthPath = "/up"
      $0.proxy.handlers = [App()]
    }) { test async throws in
      let up = try await test.get("/up")
      #expect(up.status == 200 && up.text == "healthy\n" && up["X-App"] == nil)
      for target in ["/health", "/up/", "/a?b=c"] { expectApp(try await test.get(target), target) }
      let health = try await test.admin("/health")
      #expect(health.status == 200 && health["X-App"] == nil)
      // The app's handlers are not asked at the operator's listener.
      #expect(try await test.admin("/a").status == 404)
      #expect(test.origin.connectionsAccepted == 0)
    }
  }
}
