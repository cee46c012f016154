// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// The last requests on the page.
@Suite(.timeLimit(.minutes(1))) struct PageRequestTests {
  private func fault(
    _ status: Int, _ source: ServedRequest.Source, error: String? = nil
  ) -> String? {
    let request = ServedRequest(
      method: "GET", url: "https://example.org/a", status: status, range: nil, bytesSent: 0,
      source: source, seconds: 0, client: "127.0.0.1", error: error)
    return PageTraffic.Recent(number: 1, time: 0, request: request).fault
  }

  @Test func `An error response of the origin is a fault with its remedy`() {
    #expect(fault(404, .relayed) == "The origin answered 404. Check the URL.")
    #expect(fault(503, .relayed) == "The origin answered 503. Try again later.")
    #expect(fault(405, .relayed) == "The origin answered 405.")
    #expect(fault(416, .relayed) == "The origin answered 416.")
    for status in [401, 403] {
      #expect(
        fault(status, .relayed)?.hasSuffix(
          "Send the required credentials, with a header or a new URL.") == true)
    }
  }

  @Test func `A response of the proxy has its own error, or none`() {
    #expect(fault(403, .proxy, error: "Not allowed.") == "Not allowed.")
    #expect(fault(416, .hit)?.contains("origin") == false)
    #expect(fault(200, .hit) == nil && fault(304, .relayed) == nil)
    #expect(fault(200, .miss, error: "The line broke.") == "The line broke.")
  }

  @Test func `A relayed 404 is shown with its remedy`() async throws {
    try await withPage { test, page async throws in
      test.origin.script("/gone", .on(.all, .status(404)))
      #expect(try await test.get("/gone").status == 404)
      try await eventually("the request is noted") { page.traffic.recent(after: 0).count == 1 }
      let reply = try await test.page("/page/state")
      let parts = try JSONSerialization.jsonObject(with: Data(reply.body)) as? [[String: Any]]
      let requests = (parts ?? []).flatMap { $0["requests"] as? [[String: Any]] ?? [] }
      #expect(requests.map { $0["status"] as? Int } == [404])
      #expect(
        requests.map { $0["error"] as? String } == ["The origin answered 404. Check the URL."])
    }
  }
}
